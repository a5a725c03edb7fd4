"""How every kernel is compiled: without the GIL, cached on disk, with NumPy's rules for division."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a loop over arrays that callers run on threads."""
    return nb.njit(nogil=True, cache=True, error_model="numpy")(function)  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """Compile a small step that is pasted into the kernels that use it."""
    return nb.njit(nogil=True, forceinline=True, error_model="numpy")(function)  # type: ignore[no-any-return]
