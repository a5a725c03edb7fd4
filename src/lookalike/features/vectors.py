"""Convert lists of numbers or bits to checked vectors, and these to the 64-bit words in which they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.kernels.vectors import fingerprint_rows
from lookalike.types import Bool, Int64, Sets, UInt64, VectorKind, to_arrow, to_numpy
from lookalike.types import compute as pc

LARGEST_NUMBER = 1e70
"""The largest float64 allowed: the product of two sums of squares must not overflow."""
_EXACT_IN_FLOAT32 = ("halffloat", "float", "int8", "uint8", "int16", "uint16", "bool")


class VectorError(ValueError):
    """A row that is not a vector like the others; the caller adds the name of the file."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row = row


def is_numbers(features: pa.Array) -> bool:
    """Whether the items are lists of floating-point numbers, and so vectors rather than sets.

    Examples
    --------
    >>> is_numbers(pa.array([[1.5]])), is_numbers(pa.array([[1]])), is_numbers(pa.array(["a"]))
    (True, False, False)
    """
    return _is_list(features) and pa.types.is_floating(features.type.value_type)


def kind_of(features: pa.Array, bits: bool) -> VectorKind | None:
    """The kind of vectors in a column, by its type and first value; None if it has no value.

    Examples
    --------
    >>> kind_of(pa.array([[1.5, 2.5]]), bits=False)
    VectorKind(dimension=2, scalar='float64')
    >>> kind_of(pa.array([[255, 0]], pa.list_(pa.uint8())), bits=True)
    VectorKind(dimension=16, scalar='bits')
    """
    if not len(features) or features.null_count == len(features):
        return None
    value = features.type.value_type if _is_list(features) else features.type
    packed = value == pa.uint8()
    if bits and not (packed or pa.types.is_boolean(value)):
        raise VectorError(0, f"is of type {features.type}; bit strings are lists of uint8 (packed) or of bool")
    if not bits and (not _is_list(features) or not _is_number(value)):
        raise VectorError(0, f"is of type {features.type}; vectors are lists of numbers")
    first = int(to_numpy(pc.cast(pc.is_valid(features), pa.uint8())).argmax())
    length = len(features[first].values)
    if not length:
        raise VectorError(first, "has no numbers")
    if bits:
        return VectorKind(length * 8 if packed else length, "bits")
    return VectorKind(length, "float32" if str(value) in _EXACT_IN_FLOAT32 else "float64")


def _is_list(features: pa.Array) -> bool:
    kind = features.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def rows_of(features: pa.Array, kind: VectorKind) -> tuple[npt.NDArray[Any], Bool]:
    """The vectors of a column as a matrix (for bit strings, of words), without nulls; and which rows are not null.

    Raises
    ------
    VectorError
        For the first row with another number of values, a null, NaN or infinity.

    Examples
    --------
    >>> rows_of(pa.array([[1.0, 2.0], None]), VectorKind(2, "float64"))
    (array([[1., 2.]]), array([ True, False]))
    """
    there = to_numpy(pc.cast(pc.is_valid(features), pa.uint8())).astype(np.bool_)
    if not there.any():
        return np.empty((0, kind.words if kind.scalar == "bits" else kind.dimension), _dtype(kind)), there
    found = kind_of(features, kind.scalar == "bits")
    lists = pc.cast(features, pa.large_list(features.type.value_type))
    lengths = np.diff(to_numpy(lists.offsets))
    packed = kind.scalar == "bits" and lists.type.value_type == pa.uint8()
    wanted = kind.dimension // 8 if packed else kind.dimension
    if found is not None and (packed != (kind.dimension == 8 * wanted) or (lengths[there] != wanted).any()):
        row = int(np.flatnonzero(there & (lengths != wanted))[0]) if (lengths[there] != wanted).any() else 0
        raise VectorError(row, f"has {lengths[row]} values; those before it have {wanted}")
    values = pc.filter(lists, to_arrow(there)).values if not there.all() else pc.list_flatten(lists)
    if values.null_count:
        bad = np.flatnonzero(to_numpy(pc.cast(pc.is_null(values), pa.uint8())))[0] // wanted
        raise VectorError(int(np.flatnonzero(there)[bad]), "holds a null")
    if kind.scalar == "bits":
        return _bit_words(values, packed, wanted, kind), there
    # integers of more than 53 bits are rounded; adding zero turns -0 into 0
    plain = pc.cast(values, pa.type_for_alias(kind.scalar), safe=False)
    limit = min(LARGEST_NUMBER, float(np.finfo(kind.scalar).max))
    with np.errstate(invalid="ignore"):  # a signaling NaN is reported with its row, like any other
        numbers = to_numpy(plain).reshape(-1, kind.dimension) + np.zeros((), kind.scalar)
        good = (np.abs(numbers) <= limit).all(axis=1)
    if not good.all():
        bad = int(np.flatnonzero(~good)[0])
        wrong = numbers[bad][~(np.abs(numbers[bad]) <= limit)][0]
        raise VectorError(int(np.flatnonzero(there)[bad]), f"holds {wrong}: numbers must be finite, and below 1e70")
    return numbers, there


def _dtype(kind: VectorKind) -> str:
    return "uint64" if kind.scalar == "bits" else kind.scalar


def _bit_words(values: pa.Array, packed: bool, length: int, kind: VectorKind) -> UInt64:
    """Bit strings as words: bit i of a string is bit i of its words."""
    if packed:
        given = to_numpy(values).reshape(-1, length)
    else:
        given = np.packbits(to_numpy(pc.cast(values, pa.uint8())).reshape(-1, length), axis=1, bitorder="little")
    rows = np.zeros((len(given), 8 * kind.words), np.uint8)
    rows[:, : given.shape[1]] = given
    return rows.view(np.uint64)


def words_of(rows: npt.NDArray[Any], there: Bool, kind: VectorKind) -> Sets:
    """Vectors as words; a null has none.

    Examples
    --------
    >>> words_of(np.zeros((1, 3), np.float32), np.array([False, True]), VectorKind(3, "float32")).sizes.tolist()
    [0, 2]
    """
    indptr: Int64 = np.concatenate([np.zeros(1, np.int64), np.cumsum(there * np.int64(kind.words))])
    if kind.scalar == "bits":
        return Sets(indptr, np.ascontiguousarray(rows).ravel())
    padded = kind.words * kind.per_word
    if padded > kind.dimension:
        rows = np.concatenate([rows, np.zeros((len(rows), padded - kind.dimension), rows.dtype)], axis=1)
    return Sets(indptr, np.ascontiguousarray(rows).ravel().view(np.uint64))


def fingerprints(sets: Sets) -> UInt64:
    """Fingerprints that identify equal vectors: uint64[2, vectors]."""
    return fingerprint_rows(sets.indptr, sets.elements)  # type: ignore[no-any-return]
