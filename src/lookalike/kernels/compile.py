"""How kernels are written and run.

A `kernel` is a loop over arrays that callers run on threads: it is compiled by Numba, releases the GIL, and follows
NumPy's rules for division. It declares the types that it is compiled for, as described in `pack.signature`. The other
decorators are for the functions that kernels are made of. What the decorators return depends on the environment:

- Usually a kernel is loaded from a *pack* of object code (`lookalike.kernels.pack`), and Numba is not imported.
- A process that builds a pack compiles the kernels.
- With LOOKALIKE_KERNELS=numba, Numba compiles each kernel when it is first called, like any other function. This makes
  it possible to check bounds: NUMBA_BOUNDSCHECK=1 implies it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
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
    """Turn a function into a kernel for the given types of arguments.

    Examples
    --------
    >>> @kernel("E[], int64", E=("uint32", "uint64"))
    ... def add(values, number): ...
    """
    return _kernel(signatures, variables, {})


def bare_kernel(*signatures: str, **variables: tuple[str, ...]) -> Callable[[Function], Function]:
    """Make a kernel without reference counting: it must not allocate arrays, and may call only `bare` functions.

    Numba counts a reference for every array passed to a function, inlined or not, with an atomic instruction that makes
    threads wait for each other. In a kernel made of many small functions, that took half of the time.
    """
    return _kernel(signatures, variables, {"_nrt": False})


def bind(kernel: Function, *first: Any) -> Function:
    """A kernel with its first arguments fixed, like `functools.partial`: for many short calls with the same arrays.

    The arguments must have exactly the types of the signature; NotImplemented is returned for others.
    """
    if MODE == "pack":
        return kernel.bind(*first)  # type: ignore[attr-defined, no-any-return]
    return partial(kernel, *first)


def part(function: Function) -> Function:
    """Compile a function that kernels call."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a small function that is inlined into the kernels that call it."""
    return _compiled(function, forceinline=True)


def bare(function: Function) -> Function:
    """Compile a small function that is inlined into bare kernels; it must not allocate arrays."""
    return _compiled(function, forceinline=True, _nrt=False)


def bare_part(function: Function) -> Function:
    """Compile a function that bare kernels call; it must not allocate arrays."""
    return _compiled(function, _nrt=False)


def unchecked(function: Function) -> Function:
    """Compile a function without bounds checks in any mode: they would keep its loop from being vectorised."""
    return _compiled(function, boundscheck=False)


def by_type(choose: Callable[..., Function]) -> Callable[[Function], Function]:
    """Choose the implementation of a function by the types of its arguments; it is inlined."""

    def decorate(function: Function) -> Function:
        if MODE != "pack":
            from numba.extending import overload

            overload(function, jit_options={"forceinline": True, "nogil": True, "error_model": "numpy"})(choose)
        return function

    return decorate


def intrinsic(function: Function) -> Function:
    """Define a function as machine instructions, written in LLVM code."""
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
