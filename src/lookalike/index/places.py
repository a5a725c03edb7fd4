"""Recognise whether INDEX names a folder, tables in a database, or other data."""

from __future__ import annotations

from pathlib import Path

from lookalike.read.earlier import is_index_folder

_SCHEMES = ("postgresql://", "postgres://")


def is_database(place: object) -> bool:
    """Whether a name is the URL of a database.

    Examples
    --------
    >>> is_database("postgresql://localhost/news")
    True
    """
    return isinstance(place, str) and place.startswith(_SCHEMES)


def is_index(place: object) -> bool:
    """Whether a name is that of an index rather than of other data.

    Examples
    --------
    >>> is_index("news.jsonl")
    False
    """
    return is_database(place) or (isinstance(place, str | Path) and is_index_folder(Path(place)))
