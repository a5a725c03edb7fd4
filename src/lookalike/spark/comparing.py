"""Compare the candidates: each part of the input sends the sets of its candidates to the tasks that compare them.

A task has whole connected parts of the candidates, or two blocks of a part that is too large for one task. It compares
them with the same code as the local engine, and leaves the outcome in the work folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import item_sets
from lookalike.engine.settings import Settings
from lookalike.matching.tasks import TaskSets, list_sets, solve_sets
from lookalike.spark.cluster import payloads
from lookalike.spark.pieces import noting_failure, to_batch, write_piece
from lookalike.types import Int32, Int64, ItemMemory, Sets, Source, UInt8, Wanted, to_arrow, to_numpy, words_in
from lookalike.types import compute as pc

COMPARED = "compared-{:06}.arrow"
SETS = "task int, places binary, flags binary, sizes binary, elements binary"
COPIED, OTHER, EARLIER = 1, 2, 4
"""Flags of a set: see `TaskSets`."""
SENT_BYTES = 32 << 20
"""Sets are sent once they have this size."""


class FetchPart(NamedTuple):
    """The candidates in a part of the input."""

    number: int
    source: Source
    block_starts: Int64
    """The first row of each block of the part, followed by the number of rows."""
    rows: Int32
    """Ascending."""
    places: Int32
    blocks: Int32
    """Which block of the packing each belongs to."""
    flags: UInt8


class Comparing(NamedTuple):
    """What the tasks need besides their sets."""

    folder: str
    settings: Settings
    wanted: Wanted
    memory: ItemMemory
    tasks_of: Sequence[list[tuple[int, bool]]] = ()
    """For each block, the tasks that need it, and whether it is the earlier one of two there."""
    cut: frozenset[int] = frozenset()
    """Tasks that compare blocks of a large part: they list pairs in any case."""
    references: int = 0
    """Places below this hold reference items."""
    listing: bool = False
    """Whether pairs are listed; otherwise keepers are decided."""
    connected: bool = False
    two_sided: bool = False
    by_band: bool = False


def send_sets(batches: Iterator[pa.RecordBatch], *, comparing: Comparing) -> Iterator[pa.RecordBatch]:
    """Read the candidates of parts again, and send their sets to the tasks that need them."""
    for part in payloads(batches):
        with noting_failure(Path(comparing.folder), part.number):
            waiting: list[tuple[Sets, slice]] = []
            nbytes = 0
            for sets, some in fetch_sets(part, comparing):
                waiting.append((sets, some))
                nbytes += sets.elements.nbytes
                if nbytes >= SENT_BYTES:
                    yield from _send(part, waiting, comparing)
                    waiting, nbytes = [], 0
            yield from _send(part, waiting, comparing)


def fetch_sets(part: FetchPart, comparing: Comparing) -> Iterator[tuple[Sets, slice]]:
    """The sets of the candidates in each block of a part, and which of its rows they are."""
    part.source.item_memory = comparing.memory
    digesting = comparing.settings.digesting
    cuts = np.searchsorted(part.rows, part.block_starts)
    for block, first, low, high in zip(part.source.blocks(), part.block_starts, cuts[:-1], cuts[1:]):
        if low < high:
            items = block.items(comparing.wanted, part.rows[low:high].astype(np.int64) - first)
            yield item_sets(items.features, digesting), slice(int(low), int(high))


def _send(part: FetchPart, waiting: list[tuple[Sets, slice]], comparing: Comparing) -> Iterator[pa.RecordBatch]:
    if not waiting:
        return
    some = slice(waiting[0][1].start, waiting[-1][1].stop)
    sets = Sets.joined([sets for sets, _ in waiting])
    lists = pa.LargeListArray.from_arrays(to_arrow(sets.indptr), to_arrow(sets.elements))
    blocks, places, flags = part.blocks[some], part.places[some], part.flags[some]
    by_block = np.argsort(blocks, kind="stable")
    ends = np.flatnonzero(np.diff(blocks[by_block], append=-1)) + 1
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist()):
        mine = by_block[first:last]
        taken = pc.take(lists, to_arrow(mine))
        sizes = np.diff(to_numpy(taken.offsets))
        elements = to_numpy(taken.values)[taken.offsets[0].as_py() :][: int(sizes.sum())]
        for task, earlier in comparing.tasks_of[int(blocks[mine[0]])]:
            marked = flags[mine] | np.uint8(EARLIER if earlier else 0)
            yield _set_batch(task, places[mine], marked, sizes, elements)


def _set_batch(task: int, *arrays: np.ndarray) -> pa.RecordBatch:
    columns = [pa.array([task], pa.int32()), *(pa.array([one.tobytes()], pa.binary()) for one in arrays)]
    return pa.record_batch(columns, ["task", "places", "flags", "sizes", "elements"])


def compare_sets(batches: Iterator[pa.RecordBatch], *, comparing: Comparing) -> Iterator[pa.RecordBatch]:
    """Compare the sets that were sent to one task; the outcome becomes a piece."""
    task, given = receive_sets(batches)
    if given is None:
        return
    cut = task in comparing.cut
    settings = comparing.settings
    folder = Path(comparing.folder)
    with noting_failure(folder, task):
        if comparing.listing or cut:
            if not cut:
                given.earlier = None
            elif not given.earlier.any():  # type: ignore[union-attr]
                given.earlier = np.zeros(len(given), np.bool_)
            listed = list_sets(given, settings, two_sided=comparing.two_sided, by_band=comparing.by_band)
            table = listed.to_table()
        else:
            given.earlier = None
            table = solve_sets(given, settings, comparing.references, connected=comparing.connected).to_table()
        yield to_batch([write_piece(folder, COMPARED.format(task), iter([table]), table.schema)])


def receive_sets(batches: Iterator[pa.RecordBatch]) -> tuple[int, TaskSets | None]:
    """All sets that were sent to a task, ordered by place: the order of arrival differs from run to run."""
    sent: list[tuple[np.ndarray, ...]] = []
    task = -1
    kinds = (np.int32, np.uint8, np.int64, np.uint64)
    for batch in batches:
        task = batch.column("task")[0].as_py()
        rows = zip(*(batch.column(k) for k in range(1, 5)))
        sent += [tuple(words_in(one.as_buffer(), kind) for one, kind in zip(row, kinds)) for row in rows]
    if not sent:
        return task, None
    sent.sort(key=lambda one: (int(one[0].min()), len(one[0])))
    places, flags, sizes, elements = (np.concatenate(columns) for columns in zip(*sent))
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    marks = [flags & mark != 0 for mark in (COPIED, OTHER, EARLIER)]
    return task, TaskSets(places.astype(np.int64), Sets(indptr, elements), *marks)
