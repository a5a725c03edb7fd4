"""Paths in the form that kernels read, and where kernels can read the files."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

from lookalike.types.arrays import UInt8


@cache
def kernels_open_files() -> bool:
    """Whether kernels can open files on this system: Linux, with a C library that has `statx`."""
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "statx")


def path_block(paths: Sequence[str]) -> UInt8:
    r"""The bytes of paths, one after the other, each with a NUL at its end: uint8[bytes], read-only.

    Raises
    ------
    ValueError
        If a path contains a NUL, as from `os.open`.

    Examples
    --------
    >>> bytes(path_block(["a", "b/c"]))
    b'a\x00b/c\x00'
    """
    joined = os.fsencode("\0".join([*paths, ""]))
    if joined.count(b"\0") != len(paths):
        raise ValueError("embedded null byte")
    return np.frombuffer(joined, np.uint8)
