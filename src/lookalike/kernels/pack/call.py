"""Turn the address of a packed kernel into a Python function that checks arguments and calls it without the GIL.

The arguments are passed in one block with eight bytes for each: numbers by value, arrays as the address of the NumPy
object, whose data, shape and strides are read by the packed code (see `glue`). Results are returned the same way.
"""

from __future__ import annotations

import base64
import ctypes
import marshal
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from lookalike.kernels.pack.signature import SCALARS, Array, Group, Kind, Scalar, flatten, parse

Native = Callable[[bytes, Any], int]
NATIVE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
REQUIRED = object()
"""Marks an argument without a default."""
_HEADER = object.__basicsize__
_PYTHON = sys.implementation.cache_tag
"""The version of Python's bytecode, which is fixed in all but preliminary releases."""
_DTYPES = {f"_{kind}": np.dtype(kind) for kind in SCALARS}
_FORMATS = {"bool": "?7x", "float32": "f4x", "float64": "d", "uint64": "Q"}


class Memory:
    """Memory that a kernel allocated for a result; it is freed with the last array that uses it."""

    __slots__ = ("__array_interface__", "_address", "_release")

    def __init__(self, address: int, release: Callable[[int], None], view: dict[str, Any]) -> None:
        self._address, self._release = address, release
        self.__array_interface__ = view

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing():  # at the end of the process the code that frees it may be gone already
            self._release(self._address)


def parameters_of(function: Any) -> dict[str, Any]:
    """The names of a function's arguments, each with its default or `REQUIRED`."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict.fromkeys(names, REQUIRED) | dict(zip(names[len(names) - len(defaults) :], defaults))


class Binder(NamedTuple):
    """A function that was written for a kernel: compiled, and the formats of the blocks that it needs."""

    code: CodeType
    first: str
    rest: str
    results: str

    def to_header(self) -> dict[str, str]:
        """As it is stored in a pack: compiling it again would take a quarter of a millisecond."""
        code = base64.b64encode(marshal.dumps(self.code)).decode()
        return {**self._asdict(), "code": code, "python": _PYTHON}

    @classmethod
    def from_header(cls, stored: Mapping[str, str]) -> Binder | None:
        """A stored function; None if it was compiled by another version of Python."""
        if stored["python"] != _PYTHON or sys.version_info.releaselevel != "final":
            return None
        return cls(marshal.loads(base64.b64decode(stored["code"])), *(stored[name] for name in cls._fields[1:]))


def write_binder(name: str, parameters: Mapping[str, Any], takes: str, gives: str, bound: int = 0) -> Binder:
    """Write a function that takes the first arguments of a kernel and returns a function of the remaining ones.

    The first arguments are checked and packed once. Both functions return NotImplemented for arguments of other types.

    Parameters
    ----------
    parameters
        The names of the arguments, each with its default or `REQUIRED`.
    takes, gives
        The signatures of the arguments and of the result; `gives` is empty for a kernel without a result.
    bound
        How many arguments are bound.
    """
    kinds = list(zip(parameters, parse(takes), strict=True))
    first, rest = _Arguments(parameters, kinds[:bound]), _Arguments(parameters, kinds[bound:])
    results = _Results(gives)
    source = [
        f"def _bind({first.listed}):",
        *first.lines,
        f"    _bound = _header + _pack_first({first.packed})",
        f"    def {name}({rest.listed}):",
        *(f"    {line}" for line in rest.lines),
        "        _out = _room()",
        f"        _status = _native(_bound + _pack_rest({rest.packed}), _out)",
        "        if _status:",
        "            return _failed(_status)",
        *(f"    {line}" for line in results.lines()),
        f"    {name}._kept = ({first.kept})",
        f"    return {name}",
    ]
    return Binder(compile("\n".join(source), f"<{name}>", "exec"), first.layout, rest.layout, results.layout)


def make_binder(binder: Binder, parameters: Mapping[str, Any], native: Native, release: Any) -> Callable[..., Any]:
    """The function that was written for a kernel."""
    results = struct.Struct(binder.results)
    space: dict[str, Any] = {
        "_defaults": parameters,
        "_ndarray": np.ndarray,
        "_header": struct.pack("<q", _HEADER),
        "_pack_first": struct.Struct(binder.first).pack,
        "_pack_rest": struct.Struct(binder.rest).pack,
        "_native": native,
        "_room": ctypes.c_char * results.size,
        "_unpack": results.unpack,
        "_array": _array_maker(release),
        "_failed": _failed,
        **_DTYPES,
    }
    exec(binder.code, space)
    made: Callable[..., Any] = space["_bind"]
    return made


class _Arguments:
    """Source lines that check some of the arguments and pack them into a block."""

    def __init__(self, parameters: Mapping[str, Any], kinds: Sequence[tuple[str, Kind]]) -> None:
        self.lines: list[str] = []
        self._flat: list[tuple[str, Scalar | Array]] = []
        for name, kind in kinds:
            self._visit(kind, name)
        arrays = [(name, kind) for name, kind in self._flat if isinstance(kind, Array)]
        if arrays:
            checks = [f"{name}.__class__ is _ndarray and {name}.dtype == _{kind.name}" for name, kind in arrays]
            self.lines.append(f"    if not ({' and '.join(checks)}): return NotImplemented")
        self.kept = "".join(f"{name}, " for name, _ in arrays)
        """The arrays, which must not be freed before the last call."""
        self.listed = ", ".join(
            name if parameters[name] is REQUIRED else f"{name}=_defaults[{name!r}]" for name, _ in kinds
        )
        self.packed = ", ".join(f"id({name})" if isinstance(kind, Array) else name for name, kind in self._flat)
        formats = ["q" if isinstance(kind, Array) else _FORMATS.get(kind.name, "q") for _, kind in self._flat]
        self.layout = "<" + "".join(formats)

    def _visit(self, kind: Kind, name: str) -> None:
        """Unpack tuples."""
        if not isinstance(kind, Group):
            self._flat.append((name, kind))
            return
        parts = [f"_{name}_{i}" for i in range(len(kind.items))]
        self.lines.append(f"    {''.join(f'{part}, ' for part in parts)}= {name}")
        for part, item in zip(parts, kind.items):
            self._visit(item, part)


def _failed(status: int) -> Any:
    """Handle a status other than 0: an array with another layout (1000 and above), or a lack of memory."""
    if status >= 1000:
        return NotImplemented
    raise MemoryError("a kernel could not allocate memory")


class _Results:
    """How to make Python objects from the block that a kernel has filled."""

    def __init__(self, gives: str) -> None:
        self._kinds = parse(gives)
        self.layout = "<"
        for kind in flatten(self._kinds):
            if isinstance(kind, Array):
                self.layout += "q" * (2 + 2 * kind.dimensions)
            else:
                self.layout += _FORMATS.get(kind.name, "q")

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
