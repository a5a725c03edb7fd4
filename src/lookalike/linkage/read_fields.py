"""Everything that a run compares: the fields of all records, in an order that does not depend on that of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from lookalike.engine.run import Run
from lookalike.kernels.pack import expect
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.reader import FieldReader
from lookalike.linkage.fields.row_numbers import find_row_numbers, is_unique
from lookalike.linkage.fields.spec import NAMED
from lookalike.linkage.linked import TableSizes
from lookalike.linkage.notes import Notes
from lookalike.linkage.record_order import RecordOrder
from lookalike.linkage.scoring.validating_field import ValidatingField
from lookalike.linkage.settings import LinkSettings


class FieldsRead(NamedTuple):
    """The fields of all records. Of two tables, the smaller one is the left one."""

    settings: LinkSettings
    """With the kind of each field."""
    columns: list[Column]
    validating: ValidatingField | None
    sizes: TableSizes
    order: RecordOrder
    """The rows of the records."""

    @classmethod
    def read(
        cls, left: pa.Table, right: pa.Table | None, run: Run[LinkSettings], notes: Notes, *, learns: bool
    ) -> FieldsRead:
        """Read the fields.

        Row numbers are left out, unless the kind of their field was given or the run `learns` nothing.
        """
        given = run.settings
        reader = FieldReader(left, right, given.fields, run.workers.map)
        if learns and given.scoring == "weights" and not given.custom:
            reader.take_alone_as_text()
        expect("link", *(f"link {'person' if one.kind in NAMED else one.kind}" for one in reader.fields))
        for one in reader.fields:
            run.progress.say(f"Field {one.name}: {one.kind} ({one.why}).")
        columns = reader.columns(notes.add)
        validating = ValidatingField.read(left, right, given, notes.add)
        split = None if right is None else len(left)
        # A function of the user's may tell left from right.
        keep_sides = any(field.compare is not None for field in given.fields)
        more = None if validating is None else validating.values
        order = RecordOrder.find(columns, split, more, keep_sides=keep_sides)
        columns = [order.sort(column) for column in columns]
        if learns:
            columns = _leave_out_row_numbers(columns, order.split(split), given, notes)
        if given.nicknames is not None and all(column.kind != "person" for column in columns):
            notes.add(f"--nicknames {given.nicknames.source} has no effect: no field is of kind person")
        settings = replace(given, fields=tuple(reader.fields), one_to_one=order.side(given.one_to_one))
        sizes = TableSizes(len(left), None if right is None else len(right))
        validating = None if validating is None else validating.take(order.rows)
        return cls(settings, columns, validating, sizes.swap() if order.swapped else sizes, order)


def _leave_out_row_numbers(
    columns: list[Column], split: int | None, settings: LinkSettings, notes: Notes
) -> list[Column]:
    """The columns without row numbers; `split` is where the right table starts."""
    given = {field.name for field in settings.fields if field.kind}
    left_out = [name for name in find_row_numbers(columns, split) if name not in given]
    alone = {column.name for column in columns if split is None and is_unique(column)}
    for name in left_out:
        why = "no two records share a value of it" if name in alone else (
            f"it seems to number the records of {'the' if split is None else 'each'} table, since those with the same "
            "number, if any, have no more in common than others"
        )  # fmt: skip
        notes.add(f"{name} is not compared: {why} ({name}:code compares it all the same)")
    return [column for column in columns if column.name not in left_out]
