"""Convert the types of signatures to Numba's types, and back."""

from __future__ import annotations

from typing import Any

from numba.core import types

from lookalike.kernels.pack.signature import Array, Group, Kind, parse


def to_numba(kind: Kind) -> Any:
    """The Numba type for a type of a signature."""
    if isinstance(kind, Group):
        return types.Tuple([to_numba(item) for item in kind.items])
    scalar = types.boolean if kind.name == "bool" else getattr(types, kind.name)
    return types.Array(scalar, kind.dimensions, "A" if kind.strided else "C") if isinstance(kind, Array) else scalar


def signature_of(takes: str, gives: str) -> Any:
    """The Numba signature for the arguments and the result of a kernel."""
    result = to_numba(parse(gives)[0]) if gives else types.none
    return result(*(to_numba(kind) for kind in parse(takes)))


def items_of(kind: Any) -> list[Any]:
    """The types of the items of a tuple."""
    return list(kind.types)


def describe(kind: Any) -> str:
    """A Numba type as text, as written in a signature."""
    if kind == types.none:
        return ""
    if isinstance(kind, types.BaseTuple):
        return f"({', '.join(describe(item) for item in items_of(kind))})"
    if isinstance(kind, types.Array):
        inside = ",".join([".." if kind.layout != "C" else ""] * kind.ndim)
        return f"{kind.dtype}[{inside}]"
    if isinstance(kind, types.Literal):
        return describe(kind.literal_type)
    return str(kind)
