"""Items as they are read: blocks of a source, the rows that were rejected, and how a file is laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from lookalike.errors import ResourceError
from lookalike.types import Bool, Int64


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line or file that could not be read, set aside by `--on-error skip`."""

    file: str
    line: int
    """1-based; 0 where the whole file is meant."""
    error: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Items:
    """The items of one block: what is compared, and the columns asked for beside it."""

    features: pa.Array
    """large_string (text), or a list array of tokens (its values string or integer)."""
    columns: dict[str, pa.Array] = field(default_factory=dict)
    rejected: Sequence[Rejected] = ()
    decoded: Any = None
    """What the block can use again in `stored`, so that it need not be decoded twice; may be dropped."""

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns a job needs of every item."""

    features: str
    """The column that is compared."""
    columns: tuple[str, ...] = ()
    """Further columns (an id, the column of a keep rule) to be handed over as they are."""
    skip_errors: bool = False
    """Set bad lines aside in `Items.rejected` instead of raising at the first."""
    any_type: bool = False
    """Take the features of lines whatever they are, as any other column: nothing is compared yet."""


@dataclass(frozen=True, slots=True)
class ItemMemory:
    """The memory that one document may take while it is read and worked on.

    Examples
    --------
    >>> ItemMemory(1000, 400, 1.0).largest(2.0)
    200
    """

    memory_bytes: int
    """What the whole run may take."""
    base_bytes: int
    """What it takes beside the document."""
    work_factor: float = 0.0
    """Bytes that the work takes for each byte of text, beside those that reading takes."""

    def largest(self, factor: float) -> int:
        """The longest document, where reading takes `factor` bytes for each of its own."""
        return int(max(0, self.memory_bytes - self.base_bytes) / (factor + self.work_factor))

    def check(self, place: str, nbytes: int, factor: float, what: str = "a document") -> None:
        """Refuse what does not fit, before it is read."""
        if nbytes > self.largest(factor):
            needed = self.base_bytes + nbytes * (factor + self.work_factor)
            raise ResourceError(
                f"{place}: {what} of {nbytes / 1e6:,.0f} MB needs about {needed / 2**30:.2f} GiB of memory; "
                f"--memory is {self.memory_bytes / 2**30:.2f} GiB. Give more --memory, or leave it out"
            )


class Block(Protocol):
    """A run of consecutive rows of one source. Cheap to hold: the work happens in its methods, on any thread."""

    nbytes: int
    """Its share of the input, for the progress bar."""
    exclusive: bool
    """Whether it is so large that nothing else should be worked on beside it."""

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Parse the block; with `rows` only these (ascending, counted from the block's first row)."""

    def kept_rows(self, keep: Bool, decoded: Any = None) -> Any:
        """The rows where `keep` is true, just as they are stored, for the writer of the source's layout.

        `decoded` is that of the block's items, if it is still there.
        """


@dataclass(frozen=True, slots=True)
class Layout:
    """How a source is stored, so that its surviving rows can be written the same way.

    `kind` is "lines" (bytes; text lines with their ends), "table" (Arrow tables to Parquet), "array" (a NumPy
    matrix) or "files" (each item a file of its own).
    """

    kind: str
    prefix: bytes = b""
    """lines: what precedes the first row (byte order mark, CSV header), already encoded."""
    compression: str | None = None
    """lines: None, "gzip" or "zstd". table: the Parquet codec."""
    schema: pa.Schema | None = None
    """table: the stored schema, metadata included."""
    row_group_rows: int | None = None
    """table: rows in a full row group of the input."""
    long_columns: tuple[str, ...] = ()
    """table: paths of columns with values so long that each further copy of one counts."""
    array: tuple[str, int] = ("", 0)
    """array: type and number of the columns."""


class Source(Protocol):
    """One input: a file, standard input, a table in memory, or a folder of one-item files."""

    name: str
    """What the user calls it; FILE in `FILE:ROW`."""
    kept_path: str
    """Relative path below `kept/`; unique among the sources of a run."""
    nbytes: int
    """Its size as stored, 0 where unknown."""
    rejected_rows: dict[int, Int64]
    """By number of the block: lines or rows that are no items, known once the block was read."""
    item_memory: ItemMemory | None
    """How much memory a document may take; None where that does not matter."""

    def column_names(self) -> Sequence[str] | None:
        """Names that can be asked for in `Wanted`; None where any row can have other names (JSONL)."""

    def estimate_rows(self) -> tuple[int, bool]:
        """About how many rows there are, without reading them all, and whether that is exact."""

    def blocks(self) -> Iterator[Block]:
        """The whole source in order. May be called again, and then cuts at the same places."""

    def layout(self) -> Layout:
        """How to write its rows back."""

    def locate(self, row: int) -> tuple[str, int]:
        """The file and the row within that file of the source's row."""
