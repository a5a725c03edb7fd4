"""What INDEX names: the folder of an index, or other data."""

from __future__ import annotations

from pathlib import Path

MANIFEST = "index.json"


def is_index(place: object) -> bool:
    """Whether a path is that of an index rather than of other data.

    Examples
    --------
    >>> is_index("news.jsonl")
    False
    """
    return isinstance(place, str | Path) and (Path(place) / MANIFEST).is_file()
