"""Mutated files and random options for every command, and what must hold whatever comes of them.

`python -m fuzzing --help`, with `tests/support` on the path. A case depends on the seed and its number alone.
"""
