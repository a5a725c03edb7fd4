"""A persistent index in a folder: items with their buckets, stored between calls, and queries for similar items.

`store.FolderIndex` is the way in. Segments (`segment`) never change; small additions go to a log (`log`) and a table in
memory (`table`); the manifest (`manifest`) says what is valid. Nothing here knows the terminal.
"""
