"""A persistent index in a folder: items with their buckets, stored between calls, and queries for similar items.

`index.StoredIndex` is the entry point. Stores implement `contract`: a folder (`folder/`) or a PostgreSQL database
(`postgres/`). Nothing here knows the terminal.
"""
