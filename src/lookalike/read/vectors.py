"""Files of vectors: NumPy's .npy, and .fvecs and .bvecs, in which each vector follows its dimension.

The file is mapped into memory, so that only the rows that are looked at are read.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import check_length
from lookalike.read.files import File
from lookalike.read.slices import Slice
from lookalike.read.txt import COLUMN
from lookalike.types import Block, Bool, Int64, Layout, Room, matrix_to_arrow

BLOCK_BYTES = 16 << 20
_NUMBERS = "fiub"
"""Kinds of NumPy arrays that hold numbers: fractions, integers with and without sign, bits."""


class VectorSource:
    """A file of vectors of one dimension."""

    holds_vectors = True
    """Whole numbers are vectors here, too, not sets."""

    def __init__(self, file: File, encoding: str) -> None:  # noqa: ARG002
        self.file = file
        self.name = file.name
        self.kept_name = file.kept_name
        self.nbytes = file.nbytes
        self.room: Room | None = None
        self.set_aside: dict[int, Int64] = {}
        self._rows: npt.NDArray[Any] | None = None

    @abstractmethod
    def load(self) -> npt.NDArray[Any]:
        """The rows as they are stored."""

    def numbers(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The vectors in stored rows."""
        return rows

    @property
    def rows(self) -> npt.NDArray[Any]:
        """The rows as they are stored, mapped once."""
        if self._rows is None:
            with self.file.reading():
                self._rows = self.load()
        return self._rows

    def column_names(self) -> Sequence[str]:
        """One column."""
        return [COLUMN]

    def about_rows(self) -> tuple[int, bool]:
        """All of them."""
        return len(self.rows), True

    def locate(self, row: int) -> tuple[str, int]:
        """A row's file and its number therein."""
        return self.name, row

    @abstractmethod
    def layout(self) -> Layout:
        """How to write its rows back."""

    def blocks(self) -> Iterator[Block]:
        """Some rows at a time."""
        self.file.check_unchanged()
        rows = self.rows
        step = max(1, BLOCK_BYTES * len(rows) // max(1, rows.nbytes))
        for index, start in enumerate(range(0, len(rows), step)):
            some = rows[start : start + step]
            yield VectorBlock(self, index, start, some)


class VectorBlock(Slice):
    """Some rows of a file of vectors."""

    source: VectorSource

    def __init__(self, source: VectorSource, index: int, first_row: int, rows: npt.NDArray[Any]) -> None:
        super().__init__(source, index, first_row, len(rows), rows.nbytes)
        self.rows = rows

    def read(self, columns: tuple[str, ...] | None) -> pa.Table:  # noqa: ARG002
        """The vectors as lists."""
        return pa.table({COLUMN: matrix_to_arrow(self.source.numbers(self.rows))})

    def stored(self, keep: Bool, decoded: pa.Table | None = None) -> Any:  # noqa: ARG002
        """The rows to keep, as bytes."""
        check_length(keep, self.rows)
        return self.rows[np.asarray(keep, bool)].tobytes()


class NpySource(VectorSource):
    """A matrix as NumPy saves it, a vector a row."""

    def load(self) -> npt.NDArray[Any]:
        """Map the matrix; nothing in the file is run (no pickles)."""
        try:
            if self.file.system is None:
                found = np.load(self.file.path, mmap_mode="r", allow_pickle=False)
            else:
                with self.file.open() as stream:
                    found = np.load(io.BytesIO(stream.read()), allow_pickle=False)
        except ValueError as error:
            raise BadDataError(f"{self.name}: is no .npy file of numbers: {error}") from error
        if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind not in _NUMBERS:
            shape = getattr(found, "shape", "?")
            raise BadDataError(f"{self.name}: holds {shape} of {getattr(found, 'dtype', '?')}; a vector must be a row "
                               "of numbers in a matrix of two dimensions")  # fmt: skip
        if not found.shape[1]:
            raise BadDataError(f"{self.name}: its vectors have no numbers")
        if found.dtype.itemsize > 8 or found.dtype.byteorder == ">":
            raise BadDataError(f"{self.name}: numbers of type {found.dtype}: save them as float32 or float64")
        return found

    def layout(self) -> Layout:
        """As a matrix of the same type."""
        return Layout("array", array=(self.rows.dtype.str, self.rows.shape[1]))


class VecsSource(VectorSource):
    """Each vector after its dimension, a 32-bit number."""

    number: type[np.generic] = np.float32

    def load(self) -> npt.NDArray[Any]:
        """Map the records; all have the dimension of the first."""
        data = self._bytes()
        if not len(data):
            return np.empty(0, self._record(0))
        if len(data) < 4 or (dimension := int(data[:4].view("<i4")[0])) < 1:
            raise BadDataError(f"{self.name}: row 0: does not begin with the dimension of a vector")
        record = self._record(dimension)
        whole = data[: len(data) // record.itemsize * record.itemsize].view(record)
        other = np.flatnonzero(whole["dimension"] != dimension)
        if len(other) or len(whole) * record.itemsize != len(data):
            row = int(other[0]) if len(other) else len(whole)
            found = f"dimension {whole['dimension'][row]}" if len(other) else "is cut off"
            raise BadDataError(f"{self.name}: row {row}: {found}; the vectors before it have dimension {dimension}")
        return whole

    def _record(self, dimension: int) -> np.dtype[Any]:
        return np.dtype([("dimension", "<i4"), ("numbers", np.dtype(self.number).newbyteorder("<"), (dimension,))])

    def _bytes(self) -> npt.NDArray[np.uint8]:
        if self.file.system is None and self.file.nbytes:
            return np.memmap(self.file.path, np.uint8, "r")
        with self.file.open() as stream:
            return np.frombuffer(stream.read(), np.uint8)

    def numbers(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What follows the dimension."""
        found: npt.NDArray[Any] = rows["numbers"]
        return found

    def layout(self) -> Layout:
        """As records."""
        return Layout("lines")


class FvecsSource(VecsSource):
    """Vectors of 32-bit fractions."""


class BvecsSource(VecsSource):
    """Vectors of bytes; as bit strings, eight bits a byte."""

    number = np.uint8
