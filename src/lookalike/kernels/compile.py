"""How kernels are written and run.

A `kernel` is a loop over arrays that callers run on threads: compiled by Numba, without the GIL, with NumPy's rules for
division. It names the types that it is compiled for, as `pack.signature` describes. The other decorators are for the
functions that kernels are made of. What they give depends on where they run:

- Usually a kernel is loaded from a *pack* of object code (`lookalike.kernels.pack`), and Numba is not imported.
- A process that builds a pack compiles them.
- With LOOKALIKE_KERNELS=numba, Numba compiles each kernel when it is first called, as it does for any function. That is
  how bounds are checked: NUMBA_BOUNDSCHECK=1 implies it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def _mode() -> str:
    asked = os.environ.get("LOOKALIKE_KERNELS")
    if asked in ("build", "numba"):
        return asked
    return (
        "numba" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" or os.environ.get("NUMBA_DISABLE_JIT") == "1" else "pack"
    )


MODE = _mode()
"""`pack`, `numba` or `build`."""


def kernel(*signatures: str, **variables: tuple[str, ...]) -> Callable[[Function], Function]:
    """Make a kernel of a function, for the given types of arguments.

    Examples
    --------
    >>> @kernel("E[], int64", E=("uint32", "uint64"))
    ... def add(values, number): ...
    """
    return _kernel(signatures, variables, {})


def bare_kernel(*signatures: str, **variables: tuple[str, ...]) -> Callable[[Function], Function]:
    """Make a kernel that allocates no array and calls only `bare` functions: it counts no references.

    Numba counts a reference for every array passed to a function, inlined or not, with an atomic instruction on which
    threads wait for each other. In a kernel of many small functions that took half of the time.
    """
    return _kernel(signatures, variables, {"_nrt": False})


def part(function: Function) -> Function:
    """Compile a function that kernels call."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a small function that is inlined into the kernels that use it."""
    return _compiled(function, forceinline=True)


def bare(function: Function) -> Function:
    """Compile a small function that is inlined into a bare kernel; it can allocate no array."""
    return _compiled(function, forceinline=True, _nrt=False)


def bare_part(function: Function) -> Function:
    """Compile a function that bare kernels call; it can allocate no array."""
    return _compiled(function, _nrt=False)


def unchecked(function: Function) -> Function:
    """Compile a function whose bounds are never checked: a check would keep its loop from being vectorised."""
    return _compiled(function, boundscheck=False)


def by_type(choose: Callable[..., Function]) -> Callable[[Function], Function]:
    """Let the types of the arguments choose which function stands for another; inlined."""

    def decorate(function: Function) -> Function:
        if MODE != "pack":
            from numba.extending import overload

            overload(function, jit_options={"forceinline": True, "nogil": True, "error_model": "numpy"})(choose)
        return function

    return decorate


def intrinsic(function: Function) -> Function:
    """Make a function of machine instructions, written as LLVM code."""
    if MODE == "pack":
        return function
    from numba.extending import intrinsic as numba_intrinsic

    made: Function = numba_intrinsic(function)
    return made


def _kernel(
    signatures: tuple[str, ...], variables: dict[str, tuple[str, ...]], options: dict[str, Any]
) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        if MODE == "pack":
            from lookalike.kernels.pack.kernel import Kernel

            return Kernel(function, signatures, variables)
        compiled: Any = _compiled(function, **options)
        if MODE == "numba":
            return compiled  # type: ignore[no-any-return]
        from lookalike.kernels.pack.linked import linked
        from lookalike.kernels.pack.signature import expand

        compiled.packed_signatures = expand(signatures, variables)
        called = linked(function, compiled.packed_signatures)
        called.dispatcher = compiled
        return called  # type: ignore[no-any-return]

    return decorate


def _compiled(function: Function, **options: Any) -> Function:
    if MODE == "pack":
        return function
    import numba

    if MODE == "build":
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Function = numba.njit(nogil=True, error_model="numpy", **options)(function)
    return made
