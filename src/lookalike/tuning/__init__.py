"""Convert what the user wants (threshold, recall) to what the stages need (bands, rows).

This package knows probabilities, but nothing about items, sets or files.
"""
