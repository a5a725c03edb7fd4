"""Array types, and conversions between NumPy and Arrow that copy nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
UInt64 = npt.NDArray[np.uint64]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Like the built-in map; jobs pass one that uses their threads."""
NOWHERE = np.iinfo(np.int64).min
"""In place of a bucket number: the item is in no (further) bucket."""
Span = tuple[int, int]
"""A half-open range of numbers, usually of sets: first..second-1."""


def stretch_by_stretch(
    work: Callable[[Span], tuple[Any, int, int]], each: Mapper, spans: Iterable[Span]
) -> Iterator[Any]:
    """Yield the results for each span in order, where `work` may stop early because its buffer is full.

    `work` returns its result, where it stopped, and where the span ends. The rest of a span that did not fit is done
    here. No thread runs ahead, so memory stays bounded.

    Examples
    --------
    >>> def at_most_two(span):
    ...     stop = min(span[1], span[0] + 2)
    ...     return list(range(span[0], stop)), stop, span[1]
    >>> list(stretch_by_stretch(at_most_two, map, [(0, 3), (3, 4)]))
    [[0, 1], [2], [3]]
    """
    for made, stopped, last in each(work, spans):
        yield made
        while stopped < last:
            made, stopped, _ = work((stopped, last))
            yield made


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct values, ascending.

    Unlike `np.unique`, it does not import masked arrays: that import takes a tenth of the time of a small job.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def to_arrow(values: npt.NDArray[Any], valid: Bool | None = None) -> pa.Array:
    """A NumPy array as an Arrow array, with nulls where it is not `valid`.

    Unlike `pa.array`, it does not import pandas: that import takes longer than a small job.

    Examples
    --------
    >>> to_arrow(np.array([True, False])).to_pylist(), to_arrow(np.arange(2)).to_pylist()
    ([True, False], [0, 1])
    >>> to_arrow(np.arange(3), np.array([True, False, True])).to_pylist()
    [0, None, 2]
    """
    import pyarrow as pa

    stored = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    known = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(_arrow_type(values.dtype), len(values), [known, pa.py_buffer(stored)])


@cache
def _arrow_type(dtype: np.dtype[Any]) -> pa.DataType:
    import pyarrow as pa

    return pa.from_numpy_dtype(dtype)


def matrix_to_arrow(rows: npt.NDArray[Any]) -> pa.Array:
    """A matrix of numbers as lists, one per row.

    Examples
    --------
    >>> matrix_to_arrow(np.array([[1, 2], [3, 4]])).to_pylist()
    [[1, 2], [3, 4]]
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(rows.astype(np.float32) if rows.dtype == np.float16 else rows).ravel()
    values = pa.array(flat) if flat.dtype == np.bool_ else to_arrow(flat)
    return pa.FixedSizeListArray.from_arrays(values, rows.shape[1])


def words_in(buffer: Any, kind: npt.DTypeLike, count: int = -1, offset: int = 0) -> npt.NDArray[Any]:
    """Numbers in a buffer, not copied unless they are unaligned: kernels and SIMD loops take aligned arrays only.

    The start of a file that is mapped is aligned, but not every part of it, and neither are all buffers of Arrow.

    Examples
    --------
    >>> words_in(bytes(3) + (7).to_bytes(8, "little"), np.uint64, 1, 3)
    array([7], dtype=uint64)
    """
    found = np.frombuffer(buffer, kind, count, offset)
    return found if found.flags.aligned else found.copy()


def to_numpy(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Numbers without nulls as a NumPy array; copied only if they are in several chunks.

    Unlike Arrow's method of that name, it does not import pandas.

    Examples
    --------
    >>> to_numpy(to_arrow(np.arange(4)).slice(1)).tolist()
    [1, 2, 3]
    """
    import pyarrow as pa

    kind = np.dtype(_FLOATS.get(str(values.type), str(values.type)))
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([np.empty(0, kind), *(to_numpy(chunk) for chunk in values.chunks)])
    assert not values.null_count, "a null has no number"
    stored = values.buffers()[1]
    if stored is None or not len(values):
        return np.empty(0, kind)
    return words_in(stored, kind, len(values), values.offset * kind.itemsize)


_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def strings_to_arrow(values: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array of large_string; like `to_arrow`, without pandas.

    Examples
    --------
    >>> strings_to_arrow(["a", "", "bc"]).to_pylist()
    ['a', '', 'bc']
    """
    return bytes_to_arrow([value.encode() for value in values])


def bytes_to_arrow(values: Sequence[bytes]) -> pa.Array:
    """UTF-8 strings as an Arrow array of large_string.

    Examples
    --------
    >>> bytes_to_arrow([b"a", b"", b"bc"]).to_pylist()
    ['a', '', 'bc']
    """
    import pyarrow as pa

    offsets = np.array([0, *accumulate(map(len, values))], np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def text_scalar(value: str | None) -> pa.Scalar:
    """A string or null as an Arrow scalar of large_string; like `pa.scalar`, without pandas.

    Examples
    --------
    >>> text_scalar("a").as_py(), text_scalar(None).as_py()
    ('a', None)
    """
    import pyarrow as pa

    return pa.nulls(1, pa.large_string())[0] if value is None else strings_to_arrow([value])[0]


def text_arrays(texts: pa.Array) -> tuple[UInt8, Int64]:
    """Text in the form that kernels read: the UTF-8 bytes of all strings, and their offsets. A null counts as empty.

    Nothing is copied unless the type is not large_string or there are nulls.

    Returns
    -------
    data : uint8[bytes], read-only; never empty
    offsets : int64[texts + 1], read-only

    Examples
    --------
    >>> import pyarrow as pa
    >>> data, offsets = text_arrays(pa.array(["ab", None, "c"]))
    >>> bytes(data), offsets.tolist()
    (b'abc', [0, 2, 2, 3])
    """
    import pyarrow as pa

    from lookalike.types import compute as pc

    if texts.type != pa.large_string():
        texts = pc.cast(texts, pa.large_string())
    if texts.null_count:
        texts = pc.fill_null(texts, "")
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or not len(texts):
        offsets = np.zeros(len(texts) + 1, np.int64)
    else:
        offsets = words_in(offset_buffer, np.int64, len(texts) + 1, 8 * texts.offset)
    has_data = data_buffer is not None and data_buffer.size
    data = np.frombuffer(data_buffer, np.uint8) if has_data else np.zeros(1, np.uint8)
    # read-only, so that each kernel needs one compiled variant: Arrow buffers may or may not be writable
    data.flags.writeable = False
    offsets.flags.writeable = False
    return data, offsets
