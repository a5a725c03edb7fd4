"""From what the user wants (threshold, recall) to what the stages need (bands, rows).

This package knows probabilities, and nothing of items, sets or files.
"""
