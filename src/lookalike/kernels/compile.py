"""How every kernel is compiled: without the GIL, cached on disk, with NumPy's rules for division."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays that callers run on threads."""
    return nb.njit(nogil=True, cache=True, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small step that is pasted into the kernels that use it."""
    return nb.njit(nogil=True, forceinline=True, error_model="numpy")(function)


def bare_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that makes no array and whose steps are `bare`: no reference is counted in it.

    Numba counts a reference for every array that is handed to a function, inlined or not, with an atomic instruction
    that threads wait for each other at. In a kernel of many small steps that was half of the time.
    """
    return _compile(function, cache=True)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small step of a bare kernel, pasted into it; it can make no array."""
    return _compile(function, forceinline=True)


def _compile(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    compiled: Callable[..., Any] = nb.njit(nogil=True, error_model="numpy", _nrt=False, **options)(function)  # type: ignore
    return compiled


def is_compiled(function: Callable[..., Any]) -> bool:
    """Is there machine code of a kernel, in this process or on disk from an earlier use?"""
    dispatcher: Any = function
    if dispatcher.signatures:
        return True
    stored = Path(dispatcher._cache.cache_path)
    return any(stored.glob(f"{dispatcher.py_func.__module__.rpartition('.')[2]}.{dispatcher.py_func.__name__}-*.nbc"))
