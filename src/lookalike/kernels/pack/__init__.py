"""Kernels as object code: compiled by Numba once, loaded later without importing it.

A *pack* is one file for each kernel, signature and kind of processor. `build` writes it, `load` reads it, and
`call` makes a Python function of it. See docs/decisions/0020-kernel-packs.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

Announce = Callable[[str], None]


def _log(text: str) -> None:
    logging.getLogger("lookalike").warning(text)


_announce: Announce = _log


def announce_with(announce: Announce) -> None:
    """Use another way to say that kernels have to be compiled; the command line does."""
    global _announce
    _announce = announce


_expected: tuple[str, ...] = ()


def expect(*jobs: str) -> None:
    """Name the running job, as in `usual.txt`: if kernels have to be compiled, those that it needs come first."""
    global _expected
    _expected = jobs


def expected() -> tuple[str, ...]:
    """The job that is running, or nothing."""
    return _expected


def announce(text: str) -> None:
    """Say that kernels have to be compiled."""
    _announce(text)
