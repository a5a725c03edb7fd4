"""Items as read from a source: blocks, rejected rows, and the layout of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from lookalike.errors import ResourceError
from lookalike.types import Bool, Int64, UInt8
from lookalike.types.frozen import frozen


@frozen
class Rejected:
    """A line or file that could not be read, skipped by `--on-error skip`."""

    file: str
    line: int
    """1-based; 0 for the whole file."""
    error: str
    raw: bytes


@frozen
class Items:
    """The items of one block: the compared column, and any other columns that were requested."""

    features: pa.Array
    """large_string (text), or a list array of tokens (strings or integers)."""
    columns: dict[str, pa.Array] = field(default_factory=dict)
    rejected: Sequence[Rejected] = ()
    decoded: Any = None
    """Data that `Block.kept_rows` can reuse instead of decoding the block again; may be dropped."""

    def __len__(self) -> int:
        return len(self.features)


@frozen
class Wanted:
    """The columns that a job needs for every item."""

    features: str
    """The column that is compared."""
    columns: tuple[str, ...] = ()
    """Further columns (an id, the column of a keep rule), returned unchanged."""
    skip_errors: bool = False
    """Collect bad lines in `Items.rejected` instead of raising at the first."""
    any_type: bool = False
    """Accept any type in the features of text formats, as in other columns: nothing is compared yet."""


@frozen
class ItemMemory:
    """The memory that one item may take while it is read and processed.

    Examples
    --------
    >>> ItemMemory(1000, 400, 1.0).largest(2.0)
    200
    """

    memory_bytes: int
    """The memory of the whole run."""
    base_bytes: int
    """The memory that the run takes besides the item."""
    work_factor: float = 0.0
    """Memory that processing takes per byte of text, in addition to reading."""

    def largest(self, factor: float) -> int:
        """The size of the largest item that fits, if reading it takes `factor` bytes of memory per byte."""
        return int(max(0, self.memory_bytes - self.base_bytes) / (factor + self.work_factor))

    def check(
        self,
        place: str,
        nbytes: int,
        factor: float,
        what: str = "a document",
        advice: str = "remove the document",
    ) -> None:
        """Refuse an item that does not fit, before it is read."""
        if nbytes > self.largest(factor):
            needed = self.base_bytes + nbytes * (factor + self.work_factor)
            raise ResourceError(
                f"{place}: {what} of {nbytes / 1e6:,.0f} MB needs about {needed / 2**30:.2f} GiB of memory; "
                f"--memory is {self.memory_bytes / 2**30:.2f} GiB. Increase --memory, or {advice}"
            )


class StoredFiles(NamedTuple):
    """Files that are to be written, each of them an item; their bytes are parts of one array."""

    paths: Sequence[str]
    """Below `kept/`."""
    data: UInt8
    starts: Int64
    """int64[files]: where each begins."""
    stops: Int64
    """int64[files]: where each ends."""

    def slice(self, first: int, last: int) -> StoredFiles:
        """Consecutive files; nothing is copied."""
        return StoredFiles(self.paths[first:last], self.data, self.starts[first:last], self.stops[first:last])

    def pieces(self) -> Iterator[tuple[str, memoryview]]:
        """Path and bytes of each file."""
        whole = self.data.data
        for path, start, stop in zip(self.paths, self.starts.tolist(), self.stops.tolist()):
            yield path, whole[start:stop]


class Block(Protocol):
    """Consecutive rows of one source. Cheap to hold: its methods do the work, on any thread."""

    nbytes: int
    """Its share of the input, for the progress bar."""
    exclusive: bool
    """Whether it is so large that no other block should be processed at the same time."""

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Parse the block, or only the given items (ascending, counted from 0)."""

    def kept_rows(self, keep: Bool, decoded: Any = None) -> Any:
        """The rows of the items for which `keep` is true, unchanged, for the writer of the source's layout.

        `decoded` is `Items.decoded` of the block, if still available.
        """


@frozen
class Layout:
    """How a source is stored, so that its surviving rows can be written in the same way.

    `kind` is "lines" (bytes; text lines with their line ends), "table" (Arrow tables, written to Parquet), "array" (a
    NumPy matrix) or "files" (one file per item).
    """

    kind: str
    prefix: bytes = b""
    """lines: what precedes the first row (byte order mark, CSV header), encoded."""
    compression: str | None = None
    """lines: None, "gzip" or "zstd". table: the Parquet codec."""
    schema: pa.Schema | None = None
    """table: the stored schema, including metadata."""
    row_group_rows: int | None = None
    """table: rows in a full row group of the input."""
    long_columns: tuple[str, ...] = ()
    """table: paths of the columns with values so long that each copy of one matters."""
    array: tuple[str, int] = ("", 0)
    """array: type and number of columns."""


class Source(Protocol):
    """One input: a file, standard input, a table in memory, or a folder of one-item files."""

    name: str
    """As the user typed it; FILE in `FILE:ROW`."""
    kept_path: str
    """Where its surviving rows go, below `kept/`; unique among the sources of a run."""
    nbytes: int
    """Its size as stored; 0 if unknown."""
    rejected_rows: dict[int, Int64]
    """Bad lines or rows, by block number; known once the block has been read."""
    item_memory: ItemMemory | None
    """The memory that one item may take; None if unlimited."""

    def column_names(self) -> Sequence[str] | None:
        """The names of the columns; None if they may differ from row to row (JSONL)."""

    def estimate_rows(self) -> tuple[int, bool]:
        """The number of rows, without reading all of them, and whether it is exact."""

    def blocks(self) -> Iterator[Block]:
        """The whole source in order. Every call returns the same blocks."""

    def layout(self) -> Layout:
        """How to write its rows back."""

    def locate(self, row: int) -> tuple[str, int]:
        """The file of a row of the source, and the row's number in that file."""


def total_bytes(sources: Sequence[Source]) -> int:
    """The size of all sources."""
    return sum(source.nbytes for source in sources)
