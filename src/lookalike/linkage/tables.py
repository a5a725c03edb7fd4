"""The tables to be linked: the columns that are needed, from files or data in memory, and the ids of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.columns import check_optional
from lookalike.engine.corpus import fill_ids
from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.match_columns import join_record
from lookalike.linkage.fields.spec import RECORD
from lookalike.linkage.memory import check_records
from lookalike.linkage.settings import LinkSettings
from lookalike.read import open_data
from lookalike.read.columns import check_column, check_header, find_bad_utf8, join_column, one_array
from lookalike.read.jsonl import list_columns
from lookalike.read.lines import LineSource
from lookalike.read.slices import Slice
from lookalike.read.tables import TableSource
from lookalike.types import DEFAULT_ID, Source, Wanted, strings_to_arrow, to_arrow
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen


@frozen
class RecordTable:
    """One of the tables: its name, the columns that are needed, and the ids of its records."""

    name: str
    table: pa.Table
    ids: pa.Array
    files: tuple[tuple[str, int], ...] = ()
    """The files that the records come from, in order, with the number of records of each; empty if it is not known."""
    parts: tuple[str, ...] = ()
    """If a field is the whole record, the columns that it consists of."""

    @classmethod
    def read(cls, sources: Sequence[Source], settings: LinkSettings, side: str) -> RecordTable:
        """Read the `left` or `right` table from files."""
        if not sources:  # of an earlier run that kept nothing
            raise UsageError(f"the {side} table has no files, so there is nothing to link")
        own = settings.id_of(side) or DEFAULT_ID
        optional = [own] if settings.id is None else []
        records = 0

        def count(more: int) -> None:
            nonlocal records
            records += more
            check_records(records, len(settings.fields), settings.execution)

        names, more, whole = _columns_to_read(sources, settings, side)
        tables = [read_records(source, names, [*own_ones, *optional], count) for source, own_ones in zip(sources, more)]
        table = _join_tables(tables)
        parts = _parts(table, settings, side) if whole else ()
        table = _add_record(table, settings, side) if whole else table
        name = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
        ids = one_array(table.column(own))
        if ids.null_count or not len(ids):
            places = [source.locate(row) for source, rows in zip(sources, map(len, tables)) for row in range(rows)]
            ids = fill_ids(ids, strings_to_arrow([f"{file}:{row}" for file, row in places]))
        return cls(name, table, ids, tuple((source.name, len(one)) for source, one in zip(sources, tables)), parts)

    @classmethod
    def of(cls, data: Any, settings: LinkSettings, side: str) -> RecordTable:
        """The `left` or `right` table, from data in memory; records without an id are identified by their numbers."""
        names, own = settings.columns(side), settings.id_of(side) or DEFAULT_ID
        if isinstance(data, list | tuple) and not data:  # an empty list has no columns
            data = pa.table({name: pa.nulls(0) for name in names})
        source = _open(data, next(iter(names), DEFAULT_ID))
        source.name = side
        names, more, whole = _columns_to_read([source], settings, side)
        table = read_records(source, names, [*more[0], own] if settings.id is None else more[0])
        parts = _parts(table, settings, side) if whole else ()
        table = _add_record(table, settings, side) if whole else table
        ids, numbers = one_array(table.column(own)), to_arrow(np.arange(len(table)))
        if ids.null_count == len(ids):
            ids = numbers
        elif ids.null_count:
            ids = fill_ids(ids, strings_to_arrow([str(number) for number in range(len(ids))]))
        return cls(side, table, ids, parts=parts)

    def repeated_ids(self) -> int:
        """The number of records whose id occurs in an earlier record."""
        kind, last = self.ids.type, max(0, len(self.ids) - 1)
        if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            ascending = pc.less(self.ids.slice(0, last), self.ids.slice(1))
            if pc.all(ascending, min_count=0).as_py():  # the usual case
                return 0
        ids = self.ids.storage if isinstance(self.ids, pa.ExtensionArray) else self.ids  # such as UUIDs
        if pa.types.is_nested(ids.type):  # Arrow cannot compare lists
            return len(ids) - len(set(map(repr, ids.to_pylist())))
        return len(ids) - len(pc.unique(ids))


def _open(data: Any, column: str) -> TableSource:
    """Data in memory; a column of texts and numbers is read as texts, as from lines of JSON."""
    try:
        return open_data(data, column)
    except UsageError:
        columns = _columns_in(data)
        if not any(map(_is_mixed, columns.values())):
            raise
        texts = {name: _as_texts(values) if _is_mixed(values) else values for name, values in columns.items()}
        rows = [dict(zip(texts, row)) for row in zip(*texts.values())]
        return open_data(rows, column)


def _columns_in(data: Any) -> dict[str, list[Any]]:
    """The values of dicts or of a pandas data frame, by column; none of other data."""
    if isinstance(data, list | tuple) and all(isinstance(row, dict) for row in data):
        return {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns") and data.columns.is_unique:
        return {name: data[name].astype(object).where(data[name].notna(), None).tolist() for name in data.columns}
    return {}


def _is_mixed(values: list[Any]) -> bool:
    """Whether a column has texts and numbers, but nothing else."""
    kinds = {type(one) for one in values if one is not None}
    return {str} < kinds and all(issubclass(kind, str | int | float | np.number) for kind in kinds)


def _as_texts(values: list[Any]) -> list[str | None]:
    return [None if one is None else str(one) for one in values]


def _columns_to_read(
    sources: Sequence[Source], settings: LinkSettings, side: str
) -> tuple[list[str], list[list[str]], bool]:
    """The columns that every file must have, further columns of each file, and whether a field is the whole record.

    A field is the whole record if it is called `record` and no column is. Further columns are read if all are needed.
    """
    names = settings.columns(side)
    if settings.id is not None and settings.id == settings.id_of(side):  # the same column in both tables
        check_optional(list(sources), settings.id, "id")
    none: list[list[str]] = [[] for _ in sources]
    if settings.fields and RECORD not in names:
        return names, none, False
    present = [list_columns(source) for source in sources]
    for source, some in zip(sources, present):
        if isinstance(source, LineSource) and source.has_head:
            check_header(source.name, some)
    whole = RECORD in names and not any(RECORD in some for some in present)
    if settings.fields and not whole:
        return names, none, False
    names = [name for name in names if name != RECORD]
    return names, [[name for name in some if name not in names] for some in present], whole


def _join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of all tables with all their columns; null where a table lacks a column."""
    names = dict.fromkeys(name for table in tables for name in table.column_names)

    def chunks(name: str) -> Iterator[pa.Array]:
        for one in tables:
            yield from one[name].chunks if name in one.column_names else [pa.nulls(len(one))]

    return pa.table({name: join_column(chunks(name)) for name in names})


def _parts(table: pa.Table, settings: LinkSettings, side: str) -> tuple[str, ...]:
    return tuple(name for name in table.column_names if name not in settings.others(side))


def _add_record(table: pa.Table, settings: LinkSettings, side: str) -> pa.Table:
    """The columns in use, plus all values of each record as one text."""
    record = join_record(table, settings.others(side))
    used = {*settings.columns(side), settings.id_of(side) or DEFAULT_ID}
    return table.select([name for name in table.column_names if name in used]).append_column(RECORD, record)


def read_records(
    source: Source, names: Sequence[str], optional: Sequence[str] = (), count: Callable[[int], None] | None = None
) -> pa.Table:
    """The columns with these names, of any type; `optional` columns are null if they do not exist.

    `count` is called with the number of records read since its last call, and may raise an error to stop reading.

    Examples
    --------
    >>> from lookalike.read.tables import open_data
    >>> read_records(open_data(pa.table({"zip": [1, 2], "x": [0, 0]}), "zip"), ["zip"]).to_pydict()
    {'zip': [1, 2]}
    """
    present = source.column_names()
    wanted = list(dict.fromkeys([*names, *(name for name in optional if present is None or name in present)]))
    if present is not None:
        for name in wanted:
            check_column(name, source.name, present)
    pieces = []
    for piece in _pieces(source, wanted):
        if count is not None:
            count(len(piece[wanted[0]]))
        pieces.append(piece)
    table = pa.table({name: join_column([piece[name] for piece in pieces]) for name in wanted})
    if present is None:
        _check_lines(source, table.select(list(dict.fromkeys(names))))
    for name in dict.fromkeys(optional):
        if name not in wanted:
            table = table.append_column(name, pa.nulls(len(table)))
    return table


def _check_texts(source: Source, piece: dict[str, pa.Array], first: int) -> None:
    """Refuse texts that are not valid UTF-8; `first` is the number of the first row."""
    for name, values in piece.items():
        if bad := find_bad_utf8(values):
            file, row = source.locate(first + bad[0])
            raise BadDataError(f"{file}: row {row}: column {name!r}: not valid UTF-8")


def _pieces(source: Source, names: list[str]) -> Iterator[dict[str, pa.Array]]:
    first = 0
    for block in source.blocks():
        if isinstance(block, Slice):
            table = block.read(tuple(names))
            piece = {name: one_array(table.column(name)) for name in names}
            _check_texts(source, piece, first)
            yield piece
            first += len(table)
        else:
            items = block.items(Wanted(names[0], tuple(names), any_type=True))
            yield {name: items.columns[name] for name in names}


def _check_lines(source: Source, table: pa.Table) -> None:
    """Refuse columns that no line has. Each line names its own columns, so a column without values is read alone."""
    empty = [name for name in table.column_names if table.column(name).null_count == len(table)]
    for name in empty if len(table) else ():
        next(iter(source.blocks())).items(Wanted(name, any_type=True))
