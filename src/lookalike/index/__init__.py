"""A persistent index in a folder: items with their buckets, kept between calls, and asked what is similar.

`store.FolderIndex` is the way in. Segments (`segment`) never change; small additions go to a log (`log`) and a table in
memory (`table`); the manifest (`manifest`) says what is valid. Nothing here knows the terminal.
"""
