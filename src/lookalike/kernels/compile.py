"""How every kernel is compiled: without the GIL, cached on disk, with NumPy's rules for division."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays that callers run on threads."""
    return nb.njit(nogil=True, cache=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small function that is inlined into the kernels that use it."""
    return nb.njit(nogil=True, forceinline=True, error_model="numpy")(function)


def bare_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that allocates no array and calls only `bare` functions: it counts no references.

    Numba counts a reference for every array passed to a function, inlined or not, with an atomic instruction on which
    threads wait for each other. In a kernel of many small functions that took half of the time.
    """
    return _compile(function, cache=True)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small function that is inlined into a bare kernel; it can allocate no array."""
    return _compile(function, forceinline=True)


def _compile(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    compiled: Callable[..., Any] = nb.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)  # type: ignore
    return compiled


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether machine code of a kernel exists, in this process or on disk."""
    dispatcher: Any = function
    if dispatcher.signatures:
        return True
    stored = Path(dispatcher._cache.cache_path)
    return any(stored.glob(f"{dispatcher.py_func.__module__.rpartition('.')[2]}.{dispatcher.py_func.__name__}-*.nbc"))
