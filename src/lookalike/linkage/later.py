"""Records that arrive later: the remaining records of a finished run, and the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.finished import Finished
from lookalike.linkage.tables import RecordTable
from lookalike.read import join_column
from lookalike.read.columns import one_array
from lookalike.read.txt import read_small_lines
from lookalike.types import DEFAULT_ID, Bool, Int64, text_scalar, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

SIDES = ("left", "right")


class RemovedRecords(NamedTuple):
    """Records that were removed."""

    ids: list[pa.Array]
    """By table."""
    clusters: list[Int64]
    """By table, the cluster that each was in, or -1."""


class NamedId(NamedTuple):
    """An id that a user named, and where."""

    id: str
    place: str


@frozen
class LaterRecords:
    """All records of a later run, and what the finished run knows about them."""

    left: RecordTable
    right: RecordTable | None
    before: Int64
    """The cluster of each record in the finished run; -1 for none, and for new records."""
    new: Bool
    removed: RemovedRecords
    notes: tuple[str, ...] = ()


def add_records(
    old: Finished, new: Sequence[RecordTable | None], without: Sequence[NamedId], place: str
) -> LaterRecords:
    """Append the new records of each table to the remaining records of the finished run.

    `place` names the finished run in messages.
    """
    given = [old.left] if old.right is None else [old.left, old.right]
    clusters = np.split(old.clusters, [len(old.left.ids)])
    stays = _stay(given, without, place)
    tables, before, fresh, ids, gone = [], [], [], [], []
    for table, more, own, stay in zip(given, new, clusters, stays):
        kept, count = table if stay.all() else _select(table, stay), 0
        ids.append(pc.filter(table.ids, to_arrow_mask(~stay)))
        gone.append(own[~stay])
        if more is not None:
            added = _number_on(table, more)
            _refuse_known(kept, added, place)
            count, kept = len(added.ids), _append(kept, added)
        tables.append(kept)
        before.append(np.append(own[stay], np.full(count, -1)))
        fresh.append(np.arange(len(kept.ids)) >= len(kept.ids) - count)
    right = tables[1] if len(tables) > 1 else None
    removed = RemovedRecords(ids, gone)
    notes = tuple(filter(None, (compare_parts(table, more) for table, more in zip(given, new) if more is not None)))
    return LaterRecords(tables[0], right, np.concatenate(before), np.concatenate(fresh), removed, notes)


def to_arrow_mask(mask: Bool) -> pa.Array:
    """A mask as an Arrow array."""
    return pc.cast(to_arrow(mask.astype(np.int8)), pa.bool_())


def read_without(without: str | Path | Sequence[object]) -> list[NamedId]:
    """The ids to remove: from a file with one id per line, from a text with commas, or from a list.

    Examples
    --------
    >>> [one.id for one in read_without("a1,a2")], [one.id for one in read_without([7])]
    (['a1', 'a2'], ['7'])
    """
    if not isinstance(without, str | Path):
        return [NamedId(str(one), "without") for one in without]
    path = Path(without)
    if names_file(without):
        lines = read_small_lines(path, "--without")
        named = [NamedId(line.strip(), f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    elif isinstance(without, Path):
        raise UsageError(f"--without {path}: no such file")
    else:
        named = [NamedId(one.strip(), "--without") for one in without.split(",")]
    found = [one for one in named if one.id]
    if not found:
        raise UsageError(f"--without {without}: names no id")
    return found


def names_file(without: object) -> bool:
    """Whether this is the path of a file rather than ids.

    Examples
    --------
    >>> names_file(__file__), names_file("a1,a2"), names_file(["a1"]), names_file("a1," * 1_000)
    (True, False, False, False)
    """
    try:
        return isinstance(without, str | Path) and Path(without).is_file()
    except OSError:  # too long for a file name
        return False


def _stay(tables: Sequence[RecordTable], without: Sequence[NamedId], place: str) -> list[Bool]:
    """For each table, which records remain."""
    stays = [np.ones(len(table.ids), np.bool_) for table in tables]
    if not without:
        return stays
    known = [_text_ids(table) for table in tables]
    wanted = pa.array([one.id for one in without], pa.large_string())
    places = [to_numpy(pc.cast(pc.is_in(wanted, value_set=ids), pa.int8())) == 1 for ids in known]
    chosen: list[list[str]] = [[] for _ in tables]
    for number, one in enumerate(without):
        owners = [side for side, here in enumerate(places) if here[number]]
        owners = owners or _prefixed(one.id, known)
        if not owners:
            raise BadDataError(f"{one.place}: no record of {place} has the id '{one.id}'")
        if len(owners) > 1:
            raise BadDataError(
                f"{one.place}: both tables of {place} have the id '{one.id}'; write left:{one.id} or right:{one.id}"
            )
        prefixed = not places[owners[0]][number]
        chosen[owners[0]].append(one.id.partition(":")[2] if prefixed else one.id)
    for side, names in enumerate(chosen):
        out = pc.is_in(known[side], value_set=pa.array(names, pa.large_string()))
        stays[side] = to_numpy(pc.cast(out, pa.int8())) == 0
    return stays


def _prefixed(name: str, known: Sequence[pa.Array]) -> list[int]:
    """The table of an id that is written with the name of its table."""
    side, colon, own = name.partition(":")
    if not colon or side not in SIDES[: len(known)]:
        return []
    number = SIDES.index(side)
    return [number] if pc.any(pc.equal(known[number], text_scalar(own))).as_py() else []


def _text_ids(table: RecordTable) -> pa.Array:
    try:
        return pc.cast(table.ids, pa.large_string())
    except pa.ArrowException:
        raise BadDataError(f"{table.name}: ids of type {table.ids.type} cannot be compared with others") from None


def _select(table: RecordTable, stay: Bool) -> RecordTable:
    mask = to_arrow_mask(stay)
    columns = {name: pc.filter(table.table.column(name), mask) for name in table.table.column_names}
    ends = np.cumsum([0, *(records for _, records in table.files)])
    files = [(name, int(stay[low:high].sum())) for (name, _), low, high in zip(table.files, ends, ends[1:])]
    return replace(table, table=pa.table(columns), ids=pc.filter(table.ids, mask), files=tuple(files))


def _number_on(old: RecordTable, new: RecordTable) -> RecordTable:
    """Number records in memory without ids, continuing after the old ones."""
    given = new.table.column(DEFAULT_ID) if DEFAULT_ID in new.table.column_names else None
    if given is None or given.null_count < len(given) or not pa.types.is_integer(new.ids.type):
        return new
    last = pc.max(old.ids).as_py() if pa.types.is_integer(old.ids.type) and len(old.ids) else len(old.ids) - 1
    return replace(new, ids=to_arrow(np.arange(len(new.ids)) + int(last) + 1))


def _refuse_known(old: RecordTable, new: RecordTable, place: str) -> None:
    """Refuse a new record with the id of an old one."""
    known = to_numpy(pc.cast(pc.is_in(_text_ids(new), value_set=_text_ids(old)), pa.int8()))
    rows = np.flatnonzero(known)
    if len(rows):
        raise BadDataError(
            f"{new.name}, row {rows[0]}: {place} already has a record with the id '{new.ids[int(rows[0])]}' "
            f"({len(rows):,} such rows); remove old records with --without, or give new ones other ids (--id)"
        )


def _append(old: RecordTable, new: RecordTable) -> RecordTable:
    names = [name for name in old.table.column_names if name in new.table.column_names]
    both = {name: join_column([*old.table.column(name).chunks, *new.table.column(name).chunks]) for name in names}
    known = bool(old.files) and bool(new.files)
    files = old.files + new.files if known else ()
    return replace(old, table=pa.table(both), ids=one_array(join_column([old.ids, new.ids])), files=files)


def compare_parts(old: RecordTable, new: RecordTable) -> str:
    """What is different about new records as texts, because their columns are; empty if nothing is, or it is unknown.

    Examples
    --------
    >>> old = RecordTable("a", pa.table({}), pa.array([]), parts=("t", "m"))
    >>> compare_parts(old, replace(old, name="b", parts=("t", "x")))
    'new records of b differ as texts from the old ones, which may hide matches: no column m; additional column x'
    """
    found = [f"no column {name}" for name in old.parts if name not in new.parts]
    found += [f"additional column {name}" for name in new.parts if name not in old.parts]
    if not found or not old.parts:
        return ""
    return f"new records of {new.name} differ as texts from the old ones, which may hide matches: {'; '.join(found)}"
