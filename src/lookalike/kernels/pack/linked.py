"""How kernels call each other: by name, so that each is compiled only once, in its own module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils, imputils
from numba.extending import intrinsic

from lookalike.kernels.pack.glue import native_symbol
from lookalike.kernels.pack.numba_types import signature_of
from lookalike.kernels.pack.signature import split

_NOWHERE = 4096


def linked(function: Callable[..., Any], signatures: list[str]) -> Any:
    """Make the stand-in for a kernel in the code of other kernels: a call by name, for the matching signature."""
    module = function.__module__.rpartition(".")[2]
    known = [signature_of(*split(text)) for text in signatures]
    symbols = [native_symbol(f"{module}.{function.__name__}.{number}") for number in range(len(known))]
    for symbol in symbols:
        # Numba also links what it compiles; as nothing is run, any address will do.
        llvm.add_symbol(symbol, _NOWHERE)

    def choose(context: Any, *arguments: Any) -> Any:
        for symbol, signature in zip(symbols, known):
            if len(arguments) == len(signature.args) and all(
                context.can_convert(given, wanted) is not None for given, wanted in zip(arguments, signature.args)
            ):
                return signature, _call(symbol)
        return None

    code = function.__code__
    names = ", ".join(code.co_varnames[: code.co_argcount])
    space: dict[str, Any] = {"choose": choose}
    exec(f"def {function.__name__}(context, {names}):\n    return choose(context, {names})", space)
    return intrinsic(space[function.__name__])


def _call(symbol: str) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(signature.return_type, signature.args)
        callee = cgutils.get_or_insert_function(builder.module, kind, symbol)
        status, result = convention.call_function(builder, callee, signature.return_type, signature.args, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return imputils.impl_ret_new_ref(context, builder, signature.return_type, result)

    return generate
