"""What flows between the rooms: batches of items, sets, signatures and pairs.

Nothing here knows how these are made or used; the stages meet in this file and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lookalike.errors import ResourceError

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
"""Like the built-in map; a job hands in one that uses its threads."""
NOWHERE = np.iinfo(np.int64).min
"""In the place of a bucket: the item is in none (or in no further one)."""
Span = tuple[int, int]
"""Things (sets, mostly) from the first number to before the second."""


def stretch_by_stretch(
    work: Callable[[Span], tuple[Any, int, int]], each: Mapper, spans: Iterable[Span]
) -> Iterator[Any]:
    """What is made of each span, in order, where work may stop early because its room is full.

    `work` returns what it made, where it stopped, and where the span ends. A span that did not fit is finished
    here, so that no thread runs ahead and memory stays bounded.

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


def to_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """A NumPy array as an Arrow array.

    `pa.array` would do, but it imports pandas where that is installed, which takes longer than small jobs.

    Examples
    --------
    >>> to_arrow(np.array([True, False])).to_pylist(), to_arrow(np.arange(2)).to_pylist()
    ([True, False], [0, 1])
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    stored = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(stored)])


def matrix_to_arrow(rows: npt.NDArray[Any]) -> pa.Array:
    """A matrix of numbers as lists, one for each row.

    Examples
    --------
    >>> matrix_to_arrow(np.array([[1, 2], [3, 4]])).to_pylist()
    [[1, 2], [3, 4]]
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(rows.astype(np.float32) if rows.dtype == np.float16 else rows).ravel()
    values = pa.array(flat) if flat.dtype == np.bool_ else to_arrow(flat)
    return pa.FixedSizeListArray.from_arrays(values, rows.shape[1])


def to_numpy(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Whole numbers or fractions of Arrow, none of them null, as a NumPy array; not copied where it is one piece.

    The method of that name imports pandas, like `pa.array`.

    Examples
    --------
    >>> to_numpy(to_arrow(np.arange(4)).slice(1)).tolist()
    [1, 2, 3]
    """
    import pyarrow as pa

    kind = np.dtype(_FRACTIONS.get(str(values.type), str(values.type)))
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([np.empty(0, kind), *(to_numpy(chunk) for chunk in values.chunks)])
    assert not values.null_count, "nulls have no number"
    stored = values.buffers()[1]
    if stored is None or not len(values):
        return np.empty(0, kind)
    return np.frombuffer(stored, kind)[values.offset : values.offset + len(values)]


_FRACTIONS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def strings_to_arrow(values: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array of large_string; see to_arrow for why not `pa.array`.

    Examples
    --------
    >>> strings_to_arrow(["a", "", "bc"]).to_pylist()
    ['a', '', 'bc']
    """
    import pyarrow as pa

    stored = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, stored)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(stored))]
    return pa.Array.from_buffers(pa.large_string(), len(stored), buffers)


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of 64-bit elements in compressed rows: row i is `elements[indptr[i]:indptr[i + 1]]`.

    Examples
    --------
    >>> sets = Sets(np.array([0, 2, 2]), np.array([3, 8], np.uint64))
    >>> len(sets), sets.sizes.tolist()
    (2, [2, 0])
    """

    indptr: Int64
    """int64, one more than there are sets; starts at 0 and never falls."""
    elements: UInt64
    """uint64; sorted and distinct within a set."""

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return np.diff(self.indptr)

    def __getitem__(self, row: int) -> UInt64:
        return self.elements[self.indptr[row] : self.indptr[row + 1]]

    @classmethod
    def joined(cls, parts: list[Sets]) -> Sets:
        """Sets one after the other; the list is emptied, so that each part can go as soon as it was copied.

        Examples
        --------
        >>> one = Sets(np.array([0, 1]), np.array([3], np.uint64))
        >>> Sets.joined([one, one]).indptr.tolist()
        [0, 1, 2]
        """
        if len(parts) == 1:
            return parts.pop()
        sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        elements = np.empty(int(indptr[-1]), np.uint64)
        filled = 0
        while parts:
            part = parts.pop(0)
            elements[filled : filled + len(part.elements)] = part.elements
            filled += len(part.elements)
        return cls(indptr, elements)


@dataclass(frozen=True, slots=True)
class VectorKind:
    """What the items of a job on vectors are: so many numbers, or so many bits.

    A vector travels as a set does, its memory cut into words of 64 bits, the last one filled up with zeros.

    Examples
    --------
    >>> VectorKind(3, "float32").words, VectorKind(100, "bits").words
    (2, 2)
    """

    dimension: int
    scalar: str
    """float32, float64 or bits."""

    @property
    def per_word(self) -> int:
        """How many numbers (or bits) there are in a word."""
        return {"float32": 2, "float64": 1, "bits": 64}[self.scalar]

    @property
    def words(self) -> int:
        """How many words a vector takes."""
        return -(-self.dimension // self.per_word)

    def as_rows(self, begins: Int64, ends: Int64, words: UInt64) -> tuple[Int64, Int64, Any]:
        """Vectors as kernels take them: where each begins and ends, and the numbers; of bit strings the words."""
        if self.scalar == "bits":
            return begins, ends, words
        starts = begins * self.per_word
        return starts, starts + self.dimension, words.view(self.scalar)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Sets in order of size, their elements numbered by how often they occur: rare ones have small numbers.

    Examples
    --------
    >>> Numbered(np.array([0, 1, 3]), np.array([1, 0, 1], np.uint32), 2, 1).sizes.tolist()
    [1, 2]
    """

    indptr: Int64
    """int64, one more than there are sets; sizes never fall. No set is empty."""
    tokens: UInt32
    """uint32; ascending and distinct within a set."""
    distinct: int
    """How many different elements there are: tokens are below this."""
    singles: int
    """Tokens below this are in one set only: they can match nothing."""

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return np.diff(self.indptr)


@dataclass(frozen=True, slots=True)
class Signatures:
    """One row of minhash values per item; two rows agree in a column with probability Jaccard."""

    values: UInt32
    """uint32, items x hashes."""
    method: str
    seed: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def hashes(self) -> int:
        """How many values each signature has."""
        return int(self.values.shape[1])

    def similarity(self, left: int, right: int) -> float:
        """The estimate of the Jaccard similarity of two items: the share of equal values."""
        return float(np.mean(self.values[left] == self.values[right]))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Groups of items to be compared with each other: bucket b is `members[starts[b]:starts[b + 1]]`."""

    starts: Int64
    """int64, one more than there are buckets."""
    members: Int32
    """Item numbers, ascending within a bucket."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Int64:
        """How many members each bucket has."""
        return np.diff(self.starts)

    def sizes_below(self, item: int) -> Int64:
        """How many members of each bucket are smaller than this one."""
        if not len(self):
            return np.empty(0, np.int64)
        return np.add.reduceat(self.members < item, self.starts[:-1], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Verified pairs of items, by number, with their exact similarity."""

    left: Int64
    right: Int64
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True)
class Overlapping:
    """Pairs of sets by number, left before right, and how many elements the two share."""

    left: Int64 | Int32
    right: Int64 | Int32
    overlaps: Int64 | Int32

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True)
class Prints:
    """The minutiae of fingerprints, one print after the other: print i has places indptr[i] to indptr[i + 1] - 1.

    Examples
    --------
    >>> prints = Prints(["left thumb"], np.array([0, 2]), np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.zeros(2))
    >>> len(prints), prints.owners.tolist()
    (1, [0, 0])
    """

    names: list[str]
    indptr: Int64
    x: Float64
    """To the right."""
    y: Float64
    """Upwards."""
    angles: Float64
    """Direction in degrees, counterclockwise from the right; NaN where it is not known."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def owners(self) -> Int64:
        """The print that each minutia belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @classmethod
    def joined(cls, parts: Sequence[Prints]) -> Prints:
        """Prints of several sources as one."""
        sizes = [np.diff(part.indptr) for part in parts]
        return cls(
            [name for part in parts for name in part.names],
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
            *(np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("x", "y", "angles")),
        )


def bytes_of(texts: pa.Array) -> tuple[UInt8, Int64]:
    """The UTF-8 bytes of large strings without nulls, and where each starts and ends."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data, np.uint8), ends


@dataclass(frozen=True, slots=True)
class Column:
    """One field of all records: each record's value by number among the distinct ones, -1 where there is none.

    Examples
    --------
    >>> column = Column("name", "person", np.array([1, -1, 0], np.int32), strings_to_arrow(["ann", "bob"]))
    >>> len(column), column.missing
    (3, 1)
    """

    name: str
    kind: str
    """person, text, code, phone, email, date, number or address."""
    codes: Int32
    """int32, one for each record."""
    values: pa.Array
    """large_string, normalised and distinct; none is null or empty."""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> int:
        """How many records have no value."""
        return int(np.count_nonzero(self.codes < 0))


class WordGroups(NamedTuple):
    """The words of each value of a column in order, by number, and the groups that words are in: of nicknames."""

    indptr: Int64
    """Value v has words[indptr[v]:indptr[v + 1]]."""
    words: Int32
    starts: Int64
    """Word w is in groups[starts[w]:starts[w + 1]], ascending; in none if w is no place of `starts`."""
    groups: Int32


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
    as_is: bool = False
    """Take the features of lines whatever they are, as any other column: nothing is compared yet."""


@dataclass(frozen=True, slots=True)
class Room:
    """The memory that one document may take while it is read and worked on.

    Examples
    --------
    >>> Room(1000, 400, 1.0).largest(2.0)
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
    alone: bool
    """Whether it is so large that nothing else should be worked on beside it."""

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Parse the block; with `rows` only these (ascending, counted from the block's first row)."""

    def stored(self, keep: Bool, decoded: Any = None) -> Any:
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
    plain_columns: tuple[str, ...] = ()
    """table: paths of columns with values so long that each further copy of one counts."""
    array: tuple[str, int] = ("", 0)
    """array: type and number of the columns."""


class Source(Protocol):
    """One input: a file, standard input, a table in memory, or a folder of one-item files."""

    name: str
    """What the user calls it; FILE in `FILE:ROW`."""
    kept_name: str
    """Relative path below `kept/`; unique among the sources of a run."""
    nbytes: int
    """Its size as stored, 0 where unknown."""
    set_aside: dict[int, Int64]
    """By number of the block: lines or rows that are no items, known once the block was read."""
    room: Room | None
    """How much memory a document may take; None where that does not matter."""

    def column_names(self) -> Sequence[str] | None:
        """Names that can be asked for in `Wanted`; None where any row can have other names (JSONL)."""

    def about_rows(self) -> tuple[int, bool]:
        """About how many rows there are, without reading them all, and whether that is exact."""

    def blocks(self) -> Iterator[Block]:
        """The whole source in order. May be called again, and then cuts at the same places."""

    def layout(self) -> Layout:
        """How to write its rows back."""

    def locate(self, row: int) -> tuple[str, int]:
        """The file and the row within that file of the source's row."""
