"""First use after an install: the kernels are compiled once and then kept on disk."""

from __future__ import annotations

from pathlib import Path

from lookalike.jobs.dedup import find_duplicates
from lookalike.jobs.progress import Progress
from lookalike.jobs.settings import Settings
from lookalike.kernels.join import find_keepers
from lookalike.read import open_data

_TEXTS = [
    "a rose is a rose is a rose",
    "A rose is a rose is a rose!",
    "a rose is a rose is a rose is a rose",
    "ü",
]


def is_compiled() -> bool:
    """Is there machine code from an earlier use?

    Examples
    --------
    >>> is_compiled() in (True, False)
    True
    """
    # find_keepers is the last kernel that the main job compiles
    return any(Path(find_keepers._cache.cache_path).glob("join.find_keepers*.nbc"))  # type: ignore[attr-defined]


def compile_kernels() -> None:
    """Run the main job on a few words, which compiles what it needs."""
    settings = Settings.parse(threads=1)
    find_duplicates([open_data(_TEXTS, "text")], [], settings, "first", "direct", Progress())
