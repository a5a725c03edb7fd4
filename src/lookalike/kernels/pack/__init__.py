"""Kernels as object code: compiled once by Numba, and loaded later without importing it.

A *pack* is one file per kernel, signature and kind of processor. `build` writes it, `load` reads it, and `call` makes a
Python function of it. See docs/decisions/0020-kernel-packs.md.
"""

from __future__ import annotations

from collections.abc import Callable

Announce = Callable[[str], None]


def _log(text: str) -> None:
    import logging  # imported here: most runs compile nothing

    logging.getLogger("lookalike").warning(text)


_announce: Announce = _log


def announce_with(announce: Announce) -> None:
    """Set how to announce that kernels have to be compiled; used by the command line."""
    global _announce
    _announce = announce


_expected: tuple[str, ...] = ()


def expect(*jobs: str) -> None:
    """Declare which job is running, as named in `usual.txt`: if kernels have to be compiled, its own come first."""
    global _expected
    _expected = jobs


def expected() -> tuple[str, ...]:
    """The running job, if it was declared."""
    return _expected


def announce(text: str) -> None:
    """Announce that kernels have to be compiled."""
    _announce(text)
