"""The pair graph that a run saves, so that it can be repeated at a higher threshold or with another keep rule.

For connected parts with few pairs, all similar pairs are listed with their overlap, and nothing needs to be compared
again. For parts that may have too many pairs, the buckets are saved. The choice depends only on the sets of the part,
so a run with less memory, which compares large parts in blocks, saves the same graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.buckets import renumber, select
from lookalike.candidates.parts import connected_parts
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.matching.batches import Candidates
from lookalike.matching.comparable import Comparable, CutPart
from lookalike.matching.decisions import CollectedDecisions
from lookalike.matching.find import places_of
from lookalike.matching.near_misses import list_near_misses, rank
from lookalike.types import Bool, Buckets, Int32, Int64, UInt8, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import all_pairs, list_pairs
from lookalike.write import checksum, write_json, write_tables

FOLDER = "graph"
"""Its folder within an output folder."""
LINKS, ITEMS, SOURCES = "links.parquet", "items.parquet", "sources.json"
PAIR, SIZE, BUCKET, NEAR = range(4)
"""Kinds of rows: (left, right, overlap) of a similar pair; (item, size) of a set; (item, 1 if a bucket begins there,
otherwise 0) of the buckets of large parts; (left, right, overlap) of two kept sets that were close to the threshold."""
NAMES = ["kind", "left", "right", "value"]
ROWS = 1 << 20
"""Rows of a row group of links."""
ITEM_ROWS = 1 << 18
"""Items that are written at a time."""
PAIRS_PER_SET = 32
"""All pairs of a part are listed if there are at most this many for each of its sets."""


class PairGraph:
    """Filled batch by batch; in a large run, each batch is saved as a piece.

    Parameters
    ----------
    pairs_per_set
        Parts with more pairs per set than this are saved as buckets.
    """

    def __init__(self, run: Run[Settings], pairs_per_set: int = PAIRS_PER_SET) -> None:
        self._prefix = f"graph-{run.settings.execution.budget.batch_name}"
        self._work = run.work
        self._pairs_per_set = pairs_per_set
        self._batch: list[pa.Table] = []
        self._cut: CutPart | None = None
        self._whole_bytes = run.settings.execution.budget.whole_bytes
        self._parts: tuple[Int32, Bool] | None = None
        self._batches: dict[int, pa.Table | None] = {}

    def _name(self, batch: int) -> str:
        return f"{self._prefix}-{batch:05}.arrow"

    def has(self, batch: int) -> bool:
        """Whether a killed run has saved this batch."""
        if self._work is None or not self._work.has(self._name(batch)):
            return False
        self._batches[batch] = None
        return True

    def add(self, run: Run[Settings], candidates: Candidates, found: Comparable, removed: Bool | None) -> None:
        """Add sets that were compared: pairs, sizes and large buckets. A part cut into blocks is added once.

        `removed` are the places whose sets are removed, if known: it determines which pairs are between kept sets.
        """
        if found.cut is not None:
            self._cut = found.cut  # added when the batch is closed: until then its blocks need the memory
            return
        matching = run.settings.matching
        coarse = self._coarse(candidates, found)
        if coarse.any():
            self._add_coarse(candidates, found.places[coarse], found.sizes[coarse])
        small = _with_few_pairs(found.buckets, len(found), self._pairs_per_set)
        heads = found.buckets.members[found.buckets.starts[:-1]]
        chosen = select(found.buckets, small[heads] & ~coarse[heads])
        ratio = matching.length_ratio.as_integer_ratio()
        listed = list_pairs(chosen, found.sets, matching.measure.arguments, 0, run.workers.map, ratio)
        left, right, overlaps, _ = all_pairs(listed)
        self._add(PAIR, found.places[np.minimum(left, right)], found.places[np.maximum(left, right)], overlaps)
        if removed is not None:
            references = int(np.count_nonzero(found.places < candidates.references))
            near = list_near_misses(run, found, chosen, ~removed[found.places], references)
            self._add(NEAR, found.places[near.left], found.places[near.right], near.overlaps)
        self._add(SIZE, found.places[~coarse], found.sizes[~coarse])
        large = select(found.buckets, ~small[heads] & ~coarse[heads])
        self._add_buckets(Buckets(large.starts, found.places[large.members].astype(np.int32)))

    def _parts_of(self, candidates: Candidates) -> tuple[Int32, Bool]:
        """For each place, its part; for each part, whether a run with little memory may cut it. Computed once."""
        if self._parts is None:
            self._parts = candidates.parts(self._whole_bytes)
        return self._parts

    def _coarse(self, candidates: Candidates, found: Comparable) -> Bool:
        """Which sets are in parts whose original buckets are saved: the large and the crowded ones.

        Refined buckets cannot be used: they depend on which parts were compared together.
        """
        part_of, large = self._parts_of(candidates)
        if found.crowded is not None:
            large = large.copy()
            large[part_of[found.places[found.crowded]]] = True
        return np.asarray(large[part_of[found.places]])

    def _add_coarse(self, candidates: Candidates, places: Int64 | Int32, sizes: Int64 | Int32) -> None:
        """Add parts by their sizes and buckets."""
        self._add(SIZE, places, sizes)
        number = np.full(len(candidates.order), -1, np.int32)
        number[places] = np.arange(len(places), dtype=np.int32)
        for band in candidates.bands:
            mine = renumber(band, number)
            self._add_buckets(Buckets(mine.starts, places[mine.members].astype(np.int32)))

    def _add_buckets(self, buckets: Buckets) -> None:
        heads = np.zeros(len(buckets.members), np.int32)
        heads[buckets.starts[:-1]] = 1
        self._add(BUCKET, buckets.members, heads)

    def _add(self, kind: int, left: Int64 | Int32, right: Int64 | Int32, value: Int32 | None = None) -> None:
        columns = [left, right, np.zeros(len(left), np.int32) if value is None else value]
        kinds = np.full(len(left), kind, np.uint8)
        found = [to_arrow(kinds), *(to_arrow(one.astype(np.int32, copy=False)) for one in columns)]
        self._batch.append(pa.table(found, NAMES))

    def close(self, batch: int, candidates: Candidates) -> None:
        """Finish a batch. Its rows are ordered by part, so that they do not depend on how parts were batched."""
        if self._cut is not None:
            self._add_coarse(candidates, *self._cut)
        table, self._batch = pa.concat_tables(self._batch), []
        if self._cut is None:  # a part that was cut is alone in its batch, and its rows are in order
            table = pc.take(table, to_arrow(_order_rows(table, self._parts_of(candidates)[0])))
        self._batches[batch], self._cut = table, None
        if self._work is None or not self._work.wanted:
            return
        for number, waiting in self._batches.items():
            if waiting is not None:
                self._work.save(self._name(number), waiting)
                self._batches[number] = None

    def tables(self) -> Iterator[pa.Table]:
        """All batches, in order."""
        for batch, table in sorted(self._batches.items()):
            if table is None:
                assert self._work is not None
                table = self._work.load(self._name(batch))
            yield table

    def slices(self) -> Iterator[pa.Table]:
        """All rows, in order, some at a time."""
        for table in self.tables():
            yield from (table.slice(first, ROWS) for first in range(0, max(1, len(table)), ROWS))


def _order_rows(table: pa.Table, part_of: Int32) -> Int32:
    """Sort rows by part, kind, left and right; rows of buckets keep their order within the part.

    Only the rows at which a pair, a size or a bucket starts are sorted: large buckets have many more rows.
    """
    kind, left, right = (to_numpy(column) for column in table.columns[:3])
    head = np.flatnonzero((kind != BUCKET) | (right == 1))
    kinds, lengths = kind[head], np.diff(head, append=len(kind))
    first = np.where(kinds == BUCKET, head, left[head])
    second = np.where(_are_pairs(kinds), right[head], 0)
    order = np.lexsort((second, first, kinds, part_of[left[head]]))
    lengths = lengths[order]
    rows = np.repeat((head[order] - np.cumsum(lengths) + lengths).astype(np.int32), lengths)
    rows += np.arange(len(rows), dtype=np.int32)
    return rows


def _are_pairs(kind: UInt8) -> Bool:
    """Which rows name two items."""
    return np.asarray((kind == PAIR) | (kind == NEAR))


def _in_row_groups(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows, always `rows` at a time: row groups are part of the file and must not depend on the batches."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= rows:
            whole = pa.concat_tables(held)
            full = len(whole) - len(whole) % rows
            yield from (whole.slice(first, rows).combine_chunks() for first in range(0, full, rows))
            held = [whole.slice(full)]
    yield pa.concat_tables(held).combine_chunks()


def _with_few_pairs(buckets: Buckets, sets: int, pairs_per_set: int) -> Bool:
    """Which sets are in parts with few enough pairs to list them all."""
    part_of = connected_parts([buckets], sets)
    members = np.bincount(part_of, minlength=sets)
    sizes = buckets.sizes
    meetings = np.bincount(part_of[buckets.members[buckets.starts[:-1]]], sizes * (sizes - 1) / 2, minlength=sets)
    pairs = np.minimum(meetings, members * (members - 1) / 2)
    return np.asarray((pairs <= pairs_per_set * members)[part_of])


def write_graph(
    folder: Path, graph: PairGraph, collected: CollectedDecisions, known: dict[str, Any]
) -> dict[str, dict[str, int]]:
    """Write the graph to an output folder, by item: links, items, and what is `known` about the sources.

    Returns the entry for run.json: checksums.
    """
    candidates, first = collected.candidates, collected.first
    order, measure = candidates.order, collected.measure
    names = np.zeros(len(order), np.bool_)
    (folder / FOLDER).mkdir()

    def links() -> Iterator[pa.Table]:
        yield pa.table([pa.nulls(0, pa.uint8()), *(pa.nulls(0, pa.int32()) for _ in range(3))], NAMES)
        near: list[pa.Table] = []
        sizes = np.zeros(len(order), np.int64)
        for table in graph.slices():
            kind, left, right, value = (to_numpy(column) for column in table.columns)
            names[left] = True
            sizes[left[kind == SIZE]] = right[kind == SIZE]
            pairs = _are_pairs(kind)
            to = np.where(pairs, order[np.where(pairs, right, 0)], right) if len(kind) else right
            made = pa.table([to_arrow(kind), to_arrow(order[left]), to_arrow(to), to_arrow(value)], NAMES)
            if np.any(kind == NEAR):
                near.append(pc.filter(table, to_arrow(kind == NEAR)))
            yield pc.filter(made, to_arrow(kind != NEAR))
        if near:
            yield _closest(pa.concat_tables(near), order, sizes, measure)

    write_tables(folder / FOLDER / LINKS, _in_row_groups(links(), ROWS))
    copied = first != np.arange(len(order), dtype=np.int32)
    names[first[copied]] = True
    names |= copied
    write_tables(folder / FOLDER / ITEMS, _items(candidates, first, names))
    write_json(folder / FOLDER / SOURCES, known, indent=None)
    return {FOLDER: {name: checksum(folder / FOLDER / name) for name in (LINKS, ITEMS, SOURCES)}}


def _closest(near: pa.Table, order: Int32, sizes: Int64, measure: Measure) -> pa.Table:
    """The closest of all pairs that came close to the threshold."""
    kind, left, right, value = (to_numpy(column) for column in near.columns)
    values = measure.of_overlaps(value.astype(np.int64), sizes[left], sizes[right])
    best = rank(values, order[left], order[right])
    columns = (kind[best], order[left[best]], order[right[best]], value[best])
    return pa.table([to_arrow(np.ascontiguousarray(column)) for column in columns], NAMES)


def _items(candidates: Candidates, first: Int32, named: Bool) -> Iterator[pa.Table]:
    """The items whose places are named, in batches: number, first item with an equal set, length, id."""
    corpus, order = candidates.corpus, candidates.order
    place_of, listed = places_of(order, len(corpus)), np.zeros(len(corpus), np.bool_)
    listed[order[named]] = True
    numbers = np.flatnonzero(listed).astype(np.int32)
    for start in range(0, max(1, len(numbers)), ITEM_ROWS):
        items = numbers[start : start + ITEM_ROWS].astype(np.int64)
        columns = {
            "item": to_arrow(items),
            "first": to_arrow(order[first[place_of[items]]].astype(np.int64)),
            "length": corpus.digests.pick("length", items),
            "id": corpus.ids(items),
        }
        yield pa.table(columns)
