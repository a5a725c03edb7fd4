"""Files of vectors: NumPy's .npy, and .fvecs and .bvecs, in which each vector is preceded by its dimension.

Rows are read on demand, in blocks: a memory-mapped file would count as memory of the process.
"""

from __future__ import annotations

import io
import tokenize
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import check_length
from lookalike.read.files import File, first_line
from lookalike.read.slices import Slice
from lookalike.read.txt import COLUMN
from lookalike.types import READ_LIMITS, Block, Bool, Int64, ItemMemory, Layout, ReadLimits, matrix_to_arrow

_NUMBERS = "fiub"
"""Kinds of NumPy arrays that hold numbers: floating point, signed and unsigned integers, booleans."""

MOST_ROW_BYTES = 1 << 30
"""The longest vector that is accepted; NumPy cannot describe rows of 2 GiB."""


class Storage(NamedTuple):
    """How the rows of a file are stored."""

    start: int
    """Offset of the first one."""
    rows: int
    row: np.dtype[Any]
    whole: npt.NDArray[Any] | None = None
    """All of them, if they are not stored one after the other."""


class VectorSource:
    """A file of vectors of one dimension."""

    holds_vectors = True
    """Integers are vectors too, rather than sets."""

    def __init__(self, file: File, encoding: str, limits: ReadLimits = READ_LIMITS) -> None:  # noqa: ARG002
        self.file = file
        self.limits = limits
        self.name = file.name
        self.kept_path = file.kept_path
        self.nbytes = file.nbytes
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}

    @cached_property
    def storage(self) -> Storage:
        """How the rows are stored, read once."""
        with self.file.reading():
            return self.read_storage()

    @abstractmethod
    def read_storage(self) -> Storage:
        """Read from the file how its rows are stored."""

    @abstractmethod
    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        """The vectors in stored rows, the first of which is row `first` of the file."""

    def read_rows(self, first: int, last: int) -> npt.NDArray[Any]:
        """Some rows as they are stored."""
        storage = self.storage
        if storage.whole is not None:
            return storage.whole[first:last]
        nbytes = (last - first) * storage.row.itemsize
        with self.file.reading(), self.file.open() as stream:
            stream.seek(storage.start + first * storage.row.itemsize)
            data = stream.read(nbytes)
        if len(data) != nbytes:
            row = first + len(data) // storage.row.itemsize
            raise BadDataError(f"{self.name}: row {row}: the file ends within it; write the file again")
        return np.frombuffer(data, storage.row)

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def estimate_rows(self) -> tuple[int, bool]:
        """The number of rows."""
        return self.storage.rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """The file and the row's number in it."""
        return self.name, row

    @abstractmethod
    def layout(self) -> Layout:
        """How to write the rows back."""

    def blocks(self) -> Iterator[Block]:
        """Some rows at a time."""
        self.file.check_unchanged()
        storage = self.storage
        step = max(1, self.limits.vector_bytes // storage.row.itemsize)
        for index, start in enumerate(range(0, storage.rows, step)):
            yield VectorBlock(self, index, start, min(step, storage.rows - start))


class VectorBlock(Slice):
    """Some rows of a file of vectors."""

    source: VectorSource

    def __init__(self, source: VectorSource, index: int, first_row: int, length: int) -> None:
        super().__init__(source, index, first_row, length, length * source.storage.row.itemsize)

    def _rows(self) -> npt.NDArray[Any]:
        return self.source.read_rows(self.first_row, self.first_row + self.length)

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:  # noqa: ARG002
        """The vectors as lists."""
        return pa.table({COLUMN: matrix_to_arrow(self.source.numbers(self._rows(), self.first_row))})

    def kept_rows(self, keep: Bool, decoded: pa.Table | None = None) -> Any:  # noqa: ARG002
        """The kept rows, as bytes."""
        rows = self._rows()
        check_length(keep, rows)
        return rows[np.asarray(keep, bool)].tobytes()


class NpySource(VectorSource):
    """A matrix as NumPy saves it, one vector per row."""

    def read_storage(self) -> Storage:
        """The header; nothing in the file is executed (no pickles)."""
        with self.file.open() as stream:
            head = io.BytesIO(stream.read(1 << 16))
        try:
            version = np.lib.format.read_magic(head)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a warning about files that Python 2 wrote, which are fine
                size, by_columns, kind = read(head)
        except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, tokenize.TokenError) as error:
            raise BadDataError(f"{self.name}: not a .npy file of numbers: {first_line(error)}") from error
        if len(size) != 2 or kind.kind not in _NUMBERS:
            what = "object" if kind.hasobject else str(kind)
            raise BadDataError(
                f"{self.name}: has an array of shape {size}, type {what}; save a matrix of numbers, one vector per row"
            )
        if size[0] < 0 or size[1] < 0:
            raise BadDataError(f"{self.name}: has an array of shape {size}, which is impossible; write the file again")
        if not size[1]:
            raise BadDataError(f"{self.name}: its vectors have dimension 0; save a matrix with at least one column")
        if kind.itemsize > 8 or kind.byteorder == ">":
            raise BadDataError(f"{self.name}: has numbers of type {kind}; save them as float32 or float64")
        _check_dimension(self.name, size[1], kind.itemsize)
        row = np.dtype((kind, (size[1],)))
        missing = head.tell() + size[0] * row.itemsize - self.file.nbytes
        if self.file.nbytes and missing > 0:
            raise BadDataError(f"{self.name}: ends too early: {missing:,} bytes are missing; write the file again")
        return Storage(head.tell(), size[0], row, self._whole() if by_columns else None)

    def _whole(self) -> npt.NDArray[Any]:
        """A matrix that was saved column by column."""
        with self.file.open() as stream:
            found: npt.NDArray[Any] = np.load(io.BytesIO(stream.read()), allow_pickle=False)
        return np.ascontiguousarray(found)

    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:  # noqa: ARG002
        """The rows themselves."""
        return rows

    def layout(self) -> Layout:
        """A matrix of the same type."""
        kind, size = self.storage.row.subdtype or (np.dtype("f4"), (1,))
        return Layout("array", array=(kind.str, size[0]))


class VecsSource(VectorSource):
    """Each vector is preceded by its dimension, a 32-bit integer."""

    number: type[np.generic] = np.float32

    def read_storage(self) -> Storage:
        """The dimension of the first vector; the others are checked when they are read."""
        with self.file.open() as stream:
            head = stream.read(4)
            nbytes = self.file.nbytes or len(head) + len(stream.read())
        if not head:
            return Storage(0, 0, self._record(1))
        if len(head) < 4 or (dimension := int(np.frombuffer(head, "<i4")[0])) < 1:
            raise BadDataError(
                f"{self.name}: row 0: does not start with the dimension of a vector; is it a file of another format?"
            )
        number_bytes = np.dtype(self.number).itemsize
        if 4 + dimension * number_bytes > nbytes:
            raise BadDataError(
                f"{self.name}: row 0: the file ends within its {dimension:,} numbers; is it a file of another format?"
            )
        _check_dimension(self.name, dimension, number_bytes)
        record = self._record(dimension)
        if nbytes % record.itemsize:
            self._raise_uneven(nbytes, record, dimension)
        return Storage(0, nbytes // record.itemsize, record)

    def _raise_uneven(self, nbytes: int, record: np.dtype[Any], dimension: int) -> NoReturn:
        """Raise an error that names the row with a different dimension, or the row in which the file ends."""
        with self.file.open() as stream:
            for row in range(nbytes // record.itemsize + 1):
                stream.seek(row * record.itemsize)
                found = stream.read(4)
                if len(found) == 4 and (other := int(np.frombuffer(found, "<i4")[0])) != dimension:
                    raise self._wrong_dimension(row, other, dimension)
        raise BadDataError(
            f"{self.name}: row {nbytes // record.itemsize}: the file ends within it; write the file again"
        )

    def _wrong_dimension(self, row: int, found: int, dimension: int) -> BadDataError:
        return BadDataError(
            f"{self.name}: row {row}: dimension {found}; the vectors before it have dimension {dimension}"
        )

    def _record(self, dimension: int) -> np.dtype[Any]:
        return np.dtype([("dimension", "<i4"), ("numbers", np.dtype(self.number).newbyteorder("<"), (dimension,))])

    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        """What follows the dimension, which must be the same in every row."""
        found: npt.NDArray[Any] = rows["numbers"]
        other = np.flatnonzero(rows["dimension"] != found.shape[1])
        if len(other):
            raise self._wrong_dimension(first + int(other[0]), int(rows["dimension"][other[0]]), found.shape[1])
        return found

    def layout(self) -> Layout:
        """Records as they are."""
        return Layout("lines")


def _check_dimension(name: str, dimension: int, number_bytes: int) -> None:
    """Refuse vectors of more bytes than NumPy can describe."""
    if dimension * number_bytes > MOST_ROW_BYTES:
        raise BadDataError(f"{name}: vectors of {dimension:,} numbers are too long; reduce their dimension")


class FvecsSource(VecsSource):
    """Vectors of 32-bit floating point numbers."""


class BvecsSource(VecsSource):
    """Vectors of bytes; as bit strings, eight bits per byte."""

    number = np.uint8
