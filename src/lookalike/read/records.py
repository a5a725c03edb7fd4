"""Some columns of a table in files, all rows in memory: records to be linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.columns import join_column, missing_column, one_array
from lookalike.read.slices import Slice
from lookalike.types import Source, Wanted


def read_records(source: Source, names: Sequence[str]) -> pa.Table:
    """The columns of these names, whatever their types.

    Examples
    --------
    >>> from lookalike.read.tables import open_data
    >>> read_records(open_data(pa.table({"zip": [1, 2], "x": [0, 0]}), "zip"), ["zip"]).to_pydict()
    {'zip': [1, 2]}
    """
    wanted = list(dict.fromkeys(names))
    present = source.column_names()
    for name in wanted:
        if present is not None and name not in present:
            raise missing_column(name, source.name, present)
    pieces = list(_pieces(source, wanted))
    return pa.table({name: join_column([piece[name] for piece in pieces]) for name in wanted})


def _pieces(source: Source, names: list[str]) -> Iterator[dict[str, pa.Array]]:
    feature = 0
    for block in source.blocks():
        if isinstance(block, Slice):
            table = block.read(tuple(names))
            yield {name: one_array(table.column(name)) for name in names}
            continue
        while True:
            try:
                items = block.items(Wanted(names[feature], tuple(names)))
                break
            except BadDataError:
                # what is compared as text must be text; of records that is any column
                feature += 1
                if feature == len(names):
                    raise
        yield {name: items.columns[name] for name in names}
