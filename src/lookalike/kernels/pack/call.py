"""Turn the address of a packed kernel into a Python function that checks arguments and calls it without the GIL.

The arguments are passed in one block with eight bytes for each: numbers by value, arrays as the address of the NumPy
object, whose data, shape and strides are read by the packed code (see `glue`). Results are returned the same way.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lookalike.kernels.pack.signature import Array, Group, Kind, Scalar, flatten, parse

Native = Callable[[bytes, Any], int]
NATIVE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
REQUIRED = object()
"""Marks an argument without a default."""
_HEADER = object.__basicsize__
_FORMATS = {"bool": "?7x", "float32": "f4x", "float64": "d", "uint64": "Q"}


class Memory:
    """Memory that a kernel allocated for a result; it is freed with the last array that uses it."""

    __slots__ = ("__array_interface__", "_address", "_release")

    def __init__(self, address: int, release: Callable[[int], None], view: dict[str, Any]) -> None:
        self._address, self._release = address, release
        self.__array_interface__ = view

    def __del__(self) -> None:
        self._release(self._address)


def make_call(name: str, parameters: Mapping[str, Any], takes: str, gives: str, native: Native, release: Any) -> Any:
    """Make a Python function for one signature; it returns NotImplemented for arguments of other types.

    Parameters
    ----------
    parameters
        The names of the arguments, each with its default or `REQUIRED`.
    takes, gives
        The signatures of the arguments and of the result; `gives` is empty for a kernel without a result.
    """
    kinds = parse(takes)
    lines, flat, checks = _unpacking(dict(zip(parameters, kinds, strict=True)))
    listed = [name if value is REQUIRED else f"{name}=_defaults[{name!r}]" for name, value in parameters.items()]
    packed = ", ".join(f"id({part})" if isinstance(kind, Array) else part for part, kind in flat)
    types = {f"_{kind.name}": np.dtype(kind.name) for _, kind in flat if isinstance(kind, Array)}
    layout = "<q" + "".join("q" if isinstance(kind, Array) else _FORMATS.get(kind.name, "q") for _, kind in flat)
    results = _Results(gives)
    source = [
        f"def {name}({', '.join(listed)}):",
        *(f"    {line}" for line in lines),
        *([f"    if not ({' and '.join(checks)}): return NotImplemented"] if checks else []),
        "    _out = _room()",
        f"    _status = _native(_pack({_HEADER}, {packed}), _out)",
        "    if _status:",
        "        return _failed(_status)",
        *results.lines(),
    ]
    space: dict[str, Any] = {
        "_defaults": parameters,
        "_ndarray": np.ndarray,
        "_pack": struct.Struct(layout).pack,
        "_native": native,
        "_room": ctypes.c_char * results.layout.size,
        "_unpack": results.layout.unpack,
        "_array": _array_maker(release),
        "_failed": _failed,
        **types,
    }
    exec("\n".join(source), space)
    return space[name]


def _unpacking(kinds: Mapping[str, Kind]) -> tuple[list[str], list[tuple[str, Scalar | Array]], list[str]]:
    """Source lines that unpack tuples, the names of their parts, and conditions on them."""
    lines: list[str] = []
    flat: list[tuple[str, Scalar | Array]] = []

    def visit(kind: Kind, name: str) -> None:
        if isinstance(kind, Group):
            parts = [f"_{name}_{i}" for i in range(len(kind.items))]
            lines.append(f"{''.join(f'{part}, ' for part in parts)}= {name}")
            for part, item in zip(parts, kind.items):
                visit(item, part)
        else:
            flat.append((name, kind))

    for name, kind in kinds.items():
        visit(kind, name)
    checks = [
        f"{name}.__class__ is _ndarray and {name}.dtype == _{kind.name}"
        for name, kind in flat
        if isinstance(kind, Array)
    ]
    return lines, flat, checks


def _failed(status: int) -> Any:
    """Handle a status other than 0: an array with another layout (1000 and above), or a lack of memory."""
    if status >= 1000:
        return NotImplemented
    raise MemoryError("a kernel could not allocate memory")


class _Results:
    """How to make Python objects from the block that a kernel has filled."""

    def __init__(self, gives: str) -> None:
        self._kinds = parse(gives)
        layout = "<"
        for kind in flatten(self._kinds):
            if isinstance(kind, Array):
                layout += "q" * (2 + 2 * kind.dimensions)
            else:
                layout += _FORMATS.get(kind.name, "q")
        self.layout = struct.Struct(layout)

    def lines(self) -> list[str]:
        """The last lines of the function, in which the block is `_out`."""
        if not self._kinds:
            return ["    return None"]
        names: list[str] = []
        made = self._make(self._kinds[0], names)
        return [f"    {', '.join(names)}, = _unpack(_out)", f"    return {made}"]

    def _make(self, kind: Kind, names: list[str]) -> str:
        """The expression for a result; appends the names of its values to `names`."""
        if isinstance(kind, Group):
            return f"({''.join(self._make(item, names) + ', ' for item in kind.items)})"
        count = 1 if isinstance(kind, Scalar) else 2 + 2 * kind.dimensions
        mine = [f"_v{len(names) + i}" for i in range(count)]
        names += mine
        if isinstance(kind, Scalar):
            return mine[0]
        address, data, *sizes = mine
        shape, strides = ", ".join(sizes[: kind.dimensions]), ", ".join(sizes[kind.dimensions :])
        typed = np.dtype(kind.name).str
        return f"_array({address}, {data}, ({shape},), {f'({strides},)' if kind.strided else None}, {typed!r})"


def _array_maker(release: Callable[[int], None]) -> Callable[..., Any]:
    def array(address: int, data: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, typed: str) -> Any:
        view = {"shape": shape, "typestr": typed, "data": (data, False), "strides": strides, "version": 3}
        if not address:  # part of an argument: it is the caller's memory, which may be freed earlier
            return np.asarray(Memory(0, _nothing, view)).copy()
        return np.asarray(Memory(address, release, view))

    return array


def _nothing(address: int) -> None:
    """Free nothing."""
