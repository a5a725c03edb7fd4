"""Files of vectors: NumPy's .npy, and .fvecs and .bvecs, in which each vector follows its dimension.

Rows are read when they are looked at, some at a time: a file that is mapped into memory would count as memory.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import check_length
from lookalike.read.files import File
from lookalike.read.slices import Slice
from lookalike.read.txt import COLUMN
from lookalike.types import Block, Bool, Int64, ItemMemory, Layout, matrix_to_arrow

BLOCK_BYTES = 4 << 20
"""Of the rows of a block; what is made of them on the way to keys is several times as large."""
_NUMBERS = "fiub"
"""Kinds of NumPy arrays that hold numbers: fractions, integers with and without sign, bits."""


class Shape(NamedTuple):
    """How the rows of a file are stored."""

    start: int
    """Where the first one begins."""
    rows: int
    row: np.dtype[Any]
    whole: npt.NDArray[Any] | None = None
    """All of them, where they do not lie one after the other."""


class VectorSource:
    """A file of vectors of one dimension."""

    holds_vectors = True
    """Whole numbers are vectors here, too, not sets."""

    def __init__(self, file: File, encoding: str) -> None:  # noqa: ARG002
        self.file = file
        self.name = file.name
        self.kept_path = file.kept_path
        self.nbytes = file.nbytes
        self.item_memory: ItemMemory | None = None
        self.rejected_rows: dict[int, Int64] = {}

    @cached_property
    def shape(self) -> Shape:
        """How the rows are stored, looked up once."""
        with self.file.reading():
            return self.look()

    @abstractmethod
    def look(self) -> Shape:
        """Find out how the rows are stored."""

    @abstractmethod
    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        """The vectors in stored rows, of which the first has this number."""

    def read_rows(self, first: int, last: int) -> npt.NDArray[Any]:
        """Some rows as they are stored."""
        shape = self.shape
        if shape.whole is not None:
            return shape.whole[first:last]
        nbytes = (last - first) * shape.row.itemsize
        with self.file.reading(), self.file.open() as stream:
            stream.seek(shape.start + first * shape.row.itemsize)
            data = stream.read(nbytes)
        if len(data) != nbytes:
            raise BadDataError(f"{self.name}: is cut off within row {first + len(data) // shape.row.itemsize}")
        return np.frombuffer(data, shape.row)

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def estimate_rows(self) -> tuple[int, bool]:
        """All of them."""
        return self.shape.rows, True

    def locate(self, row: int) -> tuple[str, int]:
        """A row's file and its number therein."""
        return self.name, row

    @abstractmethod
    def layout(self) -> Layout:
        """How to write its rows back."""

    def blocks(self) -> Iterator[Block]:
        """Some rows at a time."""
        self.file.check_unchanged()
        shape = self.shape
        step = max(1, BLOCK_BYTES // shape.row.itemsize)
        for index, start in enumerate(range(0, shape.rows, step)):
            yield VectorBlock(self, index, start, min(step, shape.rows - start))


class VectorBlock(Slice):
    """Some rows of a file of vectors."""

    source: VectorSource

    def __init__(self, source: VectorSource, index: int, first_row: int, length: int) -> None:
        super().__init__(source, index, first_row, length, length * source.shape.row.itemsize)

    def _rows(self) -> npt.NDArray[Any]:
        return self.source.read_rows(self.first_row, self.first_row + self.length)

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:  # noqa: ARG002
        """The vectors as lists."""
        return pa.table({COLUMN: matrix_to_arrow(self.source.numbers(self._rows(), self.first_row))})

    def kept_rows(self, keep: Bool, decoded: pa.Table | None = None) -> Any:  # noqa: ARG002
        """The rows to keep, as bytes."""
        rows = self._rows()
        check_length(keep, rows)
        return rows[np.asarray(keep, bool)].tobytes()


class NpySource(VectorSource):
    """A matrix as NumPy saves it, a vector a row."""

    def look(self) -> Shape:
        """The header; nothing in the file is run (no pickles)."""
        with self.file.open() as stream:
            head = io.BytesIO(stream.read(1 << 16))
        try:
            version = np.lib.format.read_magic(head)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            size, by_columns, kind = read(head)
        except (ValueError, EOFError) as error:
            raise BadDataError(f"{self.name}: is no .npy file of numbers: {error}") from error
        if len(size) != 2 or kind.kind not in _NUMBERS:
            what = "objects" if kind.hasobject else str(kind)
            raise BadDataError(
                f"{self.name}: holds {size} of {what}; a vector must be a row of numbers in a matrix of two dimensions"
            )
        if not size[1]:
            raise BadDataError(f"{self.name}: its vectors have no numbers")
        if kind.itemsize > 8 or kind.byteorder == ">":
            raise BadDataError(f"{self.name}: numbers of type {kind}: save them as float32 or float64")
        row = np.dtype((kind, (size[1],)))
        missing = head.tell() + size[0] * row.itemsize - self.file.nbytes
        if self.file.nbytes and missing > 0:
            raise BadDataError(f"{self.name}: is cut off: {missing:,} bytes are missing")
        return Shape(head.tell(), size[0], row, self._whole() if by_columns else None)

    def _whole(self) -> npt.NDArray[Any]:
        """A matrix that was saved column by column."""
        with self.file.open() as stream:
            found: npt.NDArray[Any] = np.load(io.BytesIO(stream.read()), allow_pickle=False)
        return np.ascontiguousarray(found)

    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:  # noqa: ARG002
        """The rows themselves."""
        return rows

    def layout(self) -> Layout:
        """As a matrix of the same type."""
        kind, size = self.shape.row.subdtype or (np.dtype("f4"), (1,))
        return Layout("array", array=(kind.str, size[0]))


class VecsSource(VectorSource):
    """Each vector after its dimension, a 32-bit number."""

    number: type[np.generic] = np.float32

    def look(self) -> Shape:
        """All vectors have the dimension of the first; that they do is checked when they are read."""
        with self.file.open() as stream:
            head = stream.read(4)
            nbytes = self.file.nbytes or len(head) + len(stream.read())
        if not head:
            return Shape(0, 0, self._record(1))
        if len(head) < 4 or (dimension := int(np.frombuffer(head, "<i4")[0])) < 1:
            raise BadDataError(f"{self.name}: row 0: does not begin with the dimension of a vector")
        record = self._record(dimension)
        shape = Shape(0, -(-nbytes // record.itemsize), record)
        if nbytes % record.itemsize:
            self._find_other(nbytes, record, dimension)
        return shape

    def _find_other(self, nbytes: int, record: np.dtype[Any], dimension: int) -> None:
        """The file has no whole number of such vectors: say where another one is, or where it ends."""
        with self.file.open() as stream:
            for row in range(nbytes // record.itemsize + 1):
                stream.seek(row * record.itemsize)
                found = stream.read(4)
                if len(found) == 4 and (other := int(np.frombuffer(found, "<i4")[0])) != dimension:
                    raise self._other(row, other, dimension)
        raise BadDataError(f"{self.name}: row {nbytes // record.itemsize}: is cut off")

    def _other(self, row: int, found: int, dimension: int) -> BadDataError:
        return BadDataError(
            f"{self.name}: row {row}: dimension {found}; the vectors before it have dimension {dimension}"
        )

    def _record(self, dimension: int) -> np.dtype[Any]:
        return np.dtype([("dimension", "<i4"), ("numbers", np.dtype(self.number).newbyteorder("<"), (dimension,))])

    def numbers(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        """What follows the dimension, which must be the same everywhere."""
        found: npt.NDArray[Any] = rows["numbers"]
        other = np.flatnonzero(rows["dimension"] != found.shape[1])
        if len(other):
            raise self._other(first + int(other[0]), int(rows["dimension"][other[0]]), found.shape[1])
        return found

    def layout(self) -> Layout:
        """As records."""
        return Layout("lines")


class FvecsSource(VecsSource):
    """Vectors of 32-bit fractions."""


class BvecsSource(VecsSource):
    """Vectors of bytes; as bit strings, eight bits a byte."""

    number = np.uint8
