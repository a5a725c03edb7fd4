"""Arrow's compute functions, as in `pyarrow.compute`, each created when it is first used.

Importing `pyarrow.compute` generates signatures and documentation for three hundred functions, which takes longer than
a small job. Arrow's methods that import it, such as `Array.take` and `Array.cast`, cost the same. The functions here
have the same names, arguments and results:

>>> import pyarrow as pa
>>> from lookalike.types import compute
>>> compute.utf8_upper(pa.array(["a", None])).to_pylist()
['A', None]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import _compute

from lookalike.types.arrays import strings_to_arrow, to_arrow

Values = Any
"""Any Arrow data: an array, a chunked array, a table or a record batch."""
_NAMES = {"and_": "and", "or_": "or"}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = _make(name)
    globals()[name] = made
    return made


def _make(name: str) -> Callable[..., Any]:
    """A function that takes arrays, then options, by position or by name."""
    try:
        function = _compute.get_function(_NAMES.get(name, name))
    except KeyError:
        raise AttributeError(f"Arrow has no function {name!r}") from None
    arity = function.arity
    options_class: Any = getattr(_compute, function._doc.options_class or "", None)

    def call(*arguments: Any, **options: Any) -> Any:
        count = len(arguments) if arity is Ellipsis else arity
        arrays = [_scalar(one) if isinstance(one, str | int | float) else one for one in arguments[:count]]
        more = arguments[count:]
        return function.call(arrays, options_class(*more, **options) if more or options else None)

    return call


def _scalar(value: str | float) -> pa.Scalar:
    """A Python value as an Arrow scalar; `pa.scalar` would import pandas."""
    return cast(strings_to_arrow([value]), pa.string())[0] if isinstance(value, str) else to_arrow(np.array([value]))[0]


def cast(values: Values, kind: pa.DataType, *, safe: bool = True) -> Values:
    """Convert values to another type; with `safe`, a value that does not fit is an error.

    Examples
    --------
    >>> cast(pa.array([1, 2]), pa.large_string()).to_pylist()
    ['1', '2']
    """
    if values.type == kind:
        return values
    options = _compute.CastOptions.safe(kind) if safe else _compute.CastOptions.unsafe(kind)
    return _compute.call_function("cast", [values], options)


def cast_table(table: Values, schema: pa.Schema) -> Values:
    """A table or record batch whose columns have the types of a schema with the same names.

    Examples
    --------
    >>> cast_table(pa.table({"a": [1]}), pa.schema([("a", pa.string())])).column("a").to_pylist()
    ['1']
    """
    columns = [cast(column, kind) for column, kind in zip(table.columns, schema.types, strict=True)]
    return type(table).from_arrays(columns, schema=schema)


def take(values: Values, indices: Values) -> Values:
    """The values at some positions.

    Examples
    --------
    >>> take(pa.array(["a", "b"]), pa.array([1])).to_pylist()
    ['b']
    """
    return _compute.call_function("take", [values, indices])


def fill_null(values: Values, value: str | float | pa.Scalar) -> Values:
    """Replace every null by a value.

    Examples
    --------
    >>> fill_null(pa.array(["a", None]), "").to_pylist(), fill_null(pa.array([None, 2]), 0).to_pylist()
    (['a', ''], [0, 2])
    """
    if not isinstance(value, pa.Scalar):  # `pa.scalar` imports pandas
        value = cast(_scalar(value), values.type)
    return _compute.call_function("coalesce", [values, value])
