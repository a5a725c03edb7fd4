"""From what the user wants (threshold, recall) to what the stages need (bands, rows); from agreement to probability.

The room knows probabilities and nothing of items, sets or files.
"""
