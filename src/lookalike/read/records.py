"""Some columns of a table in files, all rows in memory: records to be linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from lookalike.read.columns import join_column, missing_column, one_array
from lookalike.read.slices import Slice
from lookalike.types import Source, Wanted


def read_records(
    source: Source, names: Sequence[str], perhaps: Sequence[str] = (), seen: Callable[[int], None] | None = None
) -> pa.Table:
    """The columns of these names, whatever their types; those that are there `perhaps` are null where they are not.

    `seen` is told how many records were read, some at a time, and may end the reading by an error.

    Examples
    --------
    >>> from lookalike.read.tables import open_data
    >>> read_records(open_data(pa.table({"zip": [1, 2], "x": [0, 0]}), "zip"), ["zip"]).to_pydict()
    {'zip': [1, 2]}
    """
    present = source.column_names()
    for name in names:
        if present is not None and name not in present:
            raise missing_column(name, source.name, present)
    wanted = list(dict.fromkeys([*names, *(name for name in perhaps if present is None or name in present)]))
    pieces = []
    for piece in _pieces(source, wanted):
        if seen is not None:
            seen(len(piece[wanted[0]]))
        pieces.append(piece)
    table = pa.table({name: join_column([piece[name] for piece in pieces]) for name in wanted})
    if present is None:
        _check_lines(source, table.select(list(dict.fromkeys(names))))
    for name in perhaps:
        if name not in wanted:
            table = table.append_column(name, pa.nulls(len(table)))
    return table


def _pieces(source: Source, names: list[str]) -> Iterator[dict[str, pa.Array]]:
    for block in source.blocks():
        if isinstance(block, Slice):
            table = block.read(tuple(names))
            yield {name: one_array(table.column(name)) for name in names}
        else:
            items = block.items(Wanted(names[0], tuple(names), as_is=True))
            yield {name: items.columns[name] for name in names}


def _check_lines(source: Source, table: pa.Table) -> None:
    """Lines name their columns one by one: one without a value is asked for alone, which refuses it if none has it."""
    empty = [name for name in table.column_names if table.column(name).null_count == len(table)]
    for name in empty if len(table) else ():
        next(iter(source.blocks())).items(Wanted(name, as_is=True))
