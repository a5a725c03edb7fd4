"""Kernels compiled by Numba in this process, beside those that are loaded from packs: to test parts of kernels."""

from __future__ import annotations

import importlib
import os
import sys

import numba

PREFIX = "lookalike.kernels"


def numba_module(name):
    """A module of kernels whose functions are Numba's, under the same name but not in sys.modules."""
    packed = {key: sys.modules.pop(key) for key in list(sys.modules) if key == PREFIX or key.startswith(f"{PREFIX}.")}
    before = os.environ.get("LOOKALIKE_KERNELS")
    os.environ["LOOKALIKE_KERNELS"] = "numba"
    try:
        return importlib.import_module(f"{PREFIX}.{name}")
    finally:
        if before is None:
            del os.environ["LOOKALIKE_KERNELS"]
        else:
            os.environ["LOOKALIKE_KERNELS"] = before
        for key in [key for key in sys.modules if key == PREFIX or key.startswith(f"{PREFIX}.")]:
            del sys.modules[key]
        sys.modules.update(packed)
        if PREFIX in packed:
            sys.modules["lookalike"].kernels = packed[PREFIX]


def compiled(function):
    """A function of a test, compiled as kernels are."""
    return numba.njit(nogil=True, error_model="numpy")(function)
