"""First use after an install: the kernels are compiled once and then kept on disk."""

from __future__ import annotations

from lookalike.engine.progress import Progress
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


def warm_up(progress: Progress) -> None:
    """Compile the kernels of the main job if they are not compiled yet, and say so."""
    if not is_warm():
        progress.say("Compiling kernels, once after each install (about 15 seconds) ...")
        with progress.stage("compiling"):
            compile_kernels()


def is_warm() -> bool:
    """Whether an earlier use has left compiled kernels.

    Examples
    --------
    >>> is_warm() in (True, False)
    True
    """
    return is_compiled(settle_block)  # the last kernel that the main job compiles


def compile_kernels() -> None:
    """Run the main job on a few words, which compiles the kernels that it needs."""
    dedup_in_memory([open_data(_TEXTS, "text")], [], Settings.parse(threads=1))
