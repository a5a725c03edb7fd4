"""First use after an install: the kernels are compiled once and then kept on disk."""

from __future__ import annotations

from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import dedup_in_memory
from lookalike.kernels.compile import is_compiled
from lookalike.kernels.join import settle_block
from lookalike.read import open_data

_TEXTS = [
    "a rose is a rose is a rose",
    "A rose is a rose is a rose!",
    "a rose is a rose is a rose is a rose",
    "ü",
]


def is_warm() -> bool:
    """Is there machine code from an earlier use?

    Examples
    --------
    >>> is_warm() in (True, False)
    True
    """
    return is_compiled(settle_block)  # the last kernel that the main job compiles


def compile_kernels() -> None:
    """Run the main job on a few words, which compiles what it needs."""
    dedup_in_memory([open_data(_TEXTS, "text")], [], Settings.parse(threads=1))
