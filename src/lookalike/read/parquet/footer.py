"""The footer of a Parquet file, checked before Arrow reads the file.

Arrow reports most damage as an error. But pyarrow's objects for row groups and columns let C++ exceptions through,
which end the process, and nothing compares the numbers of rows and values that a footer states in several places. So
the footer is read here, without trusting it, and Arrow is asked for the schema and for rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.kernels import thrift
from lookalike.read.files import File
from lookalike.types import Bool, Int64
from lookalike.types.frozen import frozen
from lookalike.types.parquet import FileMetaData, read_footer

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
ENDING_BYTES = 4 + len(MAGIC)
"""What follows a footer: its length, and the magic bytes."""
TAIL_BYTES = 1 << 16
"""How much is read at once at the end of a file: most footers are shorter."""
CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
"""By number in the footer; the last is the LZ4 that Arrow writes."""
DAMAGED = "its footer is damaged"
DECRYPT = "decrypt it first"
TEXT = 6
"""The kind of values of any length."""
REPEATED = 2
"""The repetition of a field with any number of values per row."""

# Paths of fields in the Thrift definition of Parquet's metadata; 0 stands for the elements of a list.
_NODE = (2, 0)
_GROUP = (4, 0)
_CHUNK = (*_GROUP, 1, 0)
_FACTS = (*_CHUNK, 3)
_FIELDS = {
    "nodes": (_NODE, thrift.STRUCT),
    "kind": ((*_NODE, 1), thrift.INTEGER),
    "repetition": ((*_NODE, 3), thrift.INTEGER),
    "name": ((*_NODE, 4), thrift.BINARY),
    "children": ((*_NODE, 5), thrift.INTEGER),
    "rows": ((3,), thrift.LONG),
    "groups": (_GROUP, thrift.STRUCT),
    "columns": ((*_GROUP, 1), thrift.LIST),
    "group_bytes": ((*_GROUP, 2), thrift.LONG),
    "group_rows": ((*_GROUP, 3), thrift.LONG),
    "chunks": (_CHUNK, thrift.STRUCT),
    "encryption": ((*_CHUNK, 8), thrift.STRUCT),
    "kind_of_chunk": ((*_FACTS, 1), thrift.INTEGER),
    "codec": ((*_FACTS, 4), thrift.INTEGER),
    "values": ((*_FACTS, 5), thrift.LONG),
    "nbytes": ((*_FACTS, 6), thrift.LONG),
    "stored_bytes": ((*_FACTS, 7), thrift.LONG),
    "data_start": ((*_FACTS, 9), thrift.LONG),
    "dictionary_start": ((*_FACTS, 11), thrift.LONG),
}


class FooterError(ValueError):
    """What is wrong with a footer, and what to do about it."""

    def __init__(self, what: str, advice: str = "restore the file, or write it again") -> None:
        super().__init__(f"{what}; {advice}")


@frozen
class Chunks:
    """The column chunks of all row groups: int64[row groups, columns of Parquet]."""

    starts: Int64
    """Where the pages begin."""
    stored_bytes: Int64
    nbytes: Int64
    """Size when decompressed."""
    values: Int64
    text_dictionaries: Int64
    """Where the dictionary of texts begins; 0 if there is none."""


@frozen
class Footer:
    """What the footer of a file says, apart from what only Arrow needs."""

    metadata: FileMetaData
    """For Arrow, so that it does not read the footer again. No other use of it is safe."""
    schema: pa.Schema
    rows: int
    group_rows: Int64
    """int64[row groups]"""
    group_bytes: Int64
    """int64[row groups]: size when decompressed."""
    paths: Sequence[str]
    """The columns of Parquet: a nested column has several."""
    chunks: Chunks
    codec: str
    """As Arrow's writer calls it; that of the first chunk."""


class _Leaf(NamedTuple):
    """A column of Parquet."""

    path: str
    kind: int
    is_repeated: bool
    """Whether a row can have several values."""


class _Group(NamedTuple):
    """A node of the schema with nodes below it."""

    prefix: str
    """What the paths below it start with."""
    is_repeated: bool
    left: int
    """How many of its children follow."""


def read_checked_footer(file: File) -> Footer:
    """Read the footer of a Parquet file.

    Raises
    ------
    BadDataError
        If the file is damaged or encrypted, or is no Parquet file.
    """
    with file.reading(), file.open() as opened:
        try:
            tail, before = _read_tail(opened)
            return _parse(tail, before)
        except FooterError as error:
            raise BadDataError(f"{file.name}: cannot be read: {error}") from error
        except UnicodeDecodeError as error:
            raise BadDataError(f"{file.name}: the name of a column is not valid UTF-8") from error


def _read_tail(file: pa.NativeFile) -> tuple[bytes, int]:
    """The footer with all that follows it, and the number of bytes before it."""
    size = file.size()
    file.seek(max(0, size - TAIL_BYTES))
    tail: bytes = file.read()
    if tail.endswith(ENCRYPTED):
        raise FooterError("the file is encrypted", DECRYPT)
    if len(tail) < ENDING_BYTES or not tail.endswith(MAGIC):
        raise FooterError("not a Parquet file, or its end is missing")
    whole = int.from_bytes(tail[-ENDING_BYTES : -len(MAGIC)], "little") + ENDING_BYTES
    before = size - whole
    if before < len(MAGIC):
        raise FooterError("its footer is longer than the file")
    if whole > len(tail):
        file.seek(before)
        tail = file.read()
    return tail[-whole:], before


def _parse(tail: bytes, before: int) -> Footer:
    """Check a footer; `before` is the number of bytes before it."""
    fields = _Fields(tail[:-ENDING_BYTES])
    if fields.has("encryption"):
        raise FooterError("some of its columns are encrypted", DECRYPT)
    leaves = _leaves(fields)
    rows, group_rows = _rows(fields)
    chunks = _chunks(fields, leaves, group_rows, before)
    metadata, schema = read_footer(pa.BufferReader(MAGIC + tail))
    codecs = fields.of_all("codec", "chunks")
    if len(codecs) and not 0 <= codecs.min() <= codecs.max() < len(CODECS):
        raise FooterError("a column has an unknown compression")
    return Footer(
        metadata,
        schema,
        rows,
        group_rows,
        fields.of_all("group_bytes", "groups"),
        [leaf.path for leaf in leaves],
        chunks,
        CODECS[codecs[0]] if len(codecs) else "snappy",
    )


class _Fields:
    """The fields of a footer, by name."""

    def __init__(self, footer: bytes) -> None:
        self._footer = footer
        data, stack = np.frombuffer(footer, np.uint8), np.empty((thrift.DEEPEST, 5), np.int64)
        count = _check_count(thrift.list_fields(data, _WANTED, stack, np.empty((0, 4), np.int64)))
        found = np.empty((count, 4), np.int64)
        thrift.list_fields(data, _WANTED, stack, found)
        order = np.argsort(found[:, 0], kind="stable")
        edges = np.searchsorted(found[order, 0], np.arange(len(_NAMES) + 1))
        self._found = {name: found[order[low:high], 1:] for name, (low, high) in zip(_NAMES, pairwise(edges.tolist()))}

    def has(self, name: str) -> bool:
        """Whether a field occurs at all."""
        return len(self._found[name]) > 0

    def places(self, name: str) -> Int64:
        """Where the elements of a list begin."""
        return self._found[name][:, 1]

    def owners(self, name: str) -> Int64:
        """Where the elements begin that have a field, or whose lists these elements are in."""
        return self._found[name][:, 0]

    def only(self, name: str) -> int:
        """The value of a field of the footer itself."""
        if len(self._found[name]) != 1:
            raise FooterError(DAMAGED)
        return int(self._found[name][0, 1])

    def of_all(self, name: str, owners: str) -> Int64:
        """The values of a field that each element of a list has."""
        if not np.array_equal(self.owners(name), self.places(owners)):
            raise FooterError(DAMAGED)
        return self._found[name][:, 1]

    def of_some(self, name: str, owners: str, default: int) -> Int64:
        """The values of a field that some elements of a list have."""
        values = np.full(len(self.places(owners)), default, np.int64)
        at = np.searchsorted(self.places(owners), self.owners(name))
        if (np.diff(at) < 1).any():
            raise FooterError(DAMAGED)
        values[at] = self._found[name][:, 1]
        return values

    def texts(self, name: str, owners: str) -> list[str]:
        """The texts that each element of a list has."""
        starts = self.of_all(name, owners)
        stops = starts + self._found[name][:, 2]
        return [self._footer[start:stop].decode() for start, stop in zip(starts.tolist(), stops.tolist())]


def _check_count(count: int) -> int:
    if count < 0:
        raise FooterError(DAMAGED)
    return count


def _path(numbers: Sequence[int]) -> int:
    """The numbers of fields from the outermost struct on as one number."""
    path = 0
    for number in numbers:
        path = path << thrift.NUMBER_BITS | number
    return path


_NAMES = sorted(_FIELDS, key=lambda name: _path(_FIELDS[name][0]))
_WANTED = np.array([(_path(_FIELDS[name][0]), _FIELDS[name][1]) for name in _NAMES], np.int64)


def _leaves(fields: _Fields) -> list[_Leaf]:
    """The columns of Parquet: the nodes of the schema with a type and without children, in the order of the schema."""
    names = fields.texts("name", "nodes")
    kinds = fields.of_some("kind", "nodes", -1).tolist()
    repetitions = fields.of_some("repetition", "nodes", -1).tolist()
    children = fields.of_some("children", "nodes", 0).tolist()
    leaves: list[_Leaf] = []
    above = [_Group("", False, children[0] if children else -1)]
    for name, kind, repetition, within in zip(names[1:], kinds[1:], repetitions[1:], children[1:]):
        while above[-1].left == 0 and len(above) > 1:
            above.pop()
        group = above[-1]
        above[-1] = group._replace(left=group.left - 1)
        repeated = group.is_repeated or repetition == REPEATED
        if kind >= 0 and within == 0:
            leaves.append(_Leaf(group.prefix + name, kind, repeated))
        else:
            above.append(_Group(f"{group.prefix}{name}.", repeated, within))
        if group.left < 1 or within < 0 or repetition not in (0, 1, REPEATED):
            raise FooterError("its schema is damaged")
    if any(group.left for group in above):
        raise FooterError("its schema is damaged")
    return leaves


def _rows(fields: _Fields) -> tuple[int, Int64]:
    """The number of rows of the file, and that of each row group."""
    stated, group_rows = fields.only("rows"), fields.of_all("group_rows", "groups")
    if (group_rows < 0).any() or stated != sum(group_rows.tolist()):
        raise FooterError(f"its footer states {stated:,} rows, but its row groups have {sum(group_rows.tolist()):,}")
    return stated, group_rows


def _chunks(fields: _Fields, leaves: Sequence[_Leaf], group_rows: Int64, before: int) -> Chunks:
    """Where the columns are stored: as many in each row group as in the schema, each with a value for every row."""
    if (fields.of_all("columns", "groups") != len(leaves)).any():
        raise FooterError("a row group does not have the columns of the schema")

    def table(values: Int64) -> Int64:
        return values.reshape(len(group_rows), len(leaves))

    def required(name: str) -> Int64:
        return table(fields.of_all(name, "chunks"))

    rows, values, nbytes, stored_bytes = (
        group_rows[:, None],
        required("values"),
        required("nbytes"),
        required("stored_bytes"),
    )
    starts = required("data_start")
    dictionary = table(fields.of_some("dictionary_start", "chunks", 0))
    fits = (starts >= len(MAGIC)) & (starts <= before)
    starts = np.where((dictionary > 0) & (dictionary < starts), dictionary, starts)
    repeated = np.array([leaf.is_repeated for leaf in leaves], bool)
    _check(np.where(repeated, values >= rows, values == rows), leaves, "not as many values as its row group has rows")
    _check(required("kind_of_chunk") == [leaf.kind for leaf in leaves], leaves, "another type than in the schema")
    fits &= (starts >= len(MAGIC)) & (stored_bytes >= 0) & (stored_bytes <= before - starts)
    _check((fits & (nbytes >= 0)) | (rows == 0), leaves, "pages outside of the file")
    is_text = np.array([leaf.kind == TEXT for leaf in leaves], bool)
    return Chunks(starts, stored_bytes, nbytes, values, np.where(is_text, dictionary, 0))


def _check(holds: Bool, leaves: Sequence[_Leaf], what: str) -> None:
    """Raise an error that names the first chunk for which something does not hold."""
    if not holds.all():
        group, leaf = np.argwhere(~holds)[0].tolist()
        raise FooterError(f"according to its footer, column {leaves[leaf].path!r} has {what} (row group {group})")
