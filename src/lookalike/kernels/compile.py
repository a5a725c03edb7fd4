"""How every kernel is compiled: without the GIL, cached on disk, with NumPy's rules for division."""

from collections.abc import Callable
from typing import Any

import numba as nb


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays that callers run on threads."""
    return nb.njit(nogil=True, cache=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small step that is pasted into the kernels that use it."""
    return nb.njit(nogil=True, forceinline=True, error_model="numpy")(function)
