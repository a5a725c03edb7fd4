"""Connected parts on the cluster, if the driver has no memory for a number per item: large-star, small-star.

Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii: Connected Components in MapReduce and Beyond (2014). Edges are sent
to the tasks of their ends and replaced by edges to the smallest neighbour until nothing changes: then
every place has one edge, to the first place of its part. The number of rounds depends on the data, O(log² places) at
most. Union-find on the driver needs no rounds, so it is used whenever it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import ResourceError
from lookalike.spark.cluster import Cluster, payloads
from lookalike.spark.pieces import Written, to_batch, write_piece
from lookalike.types import Buckets, Int32, Int64, to_arrow, to_numpy, words_in

EDGES = "partition int, left binary, right binary"
EDGE_BYTES = 64
"""Memory per edge in a task: both ways, packed, sorted."""
MOST_ROUNDS = 64
_SCHEMA = pa.schema([("left", pa.int32()), ("right", pa.int32())])
_ODD = np.uint32(0x9E3779B1)


class Edges(NamedTuple):
    """Pairs of places."""

    left: Int32
    right: Int32


class Stars:
    """The part of each place: the first place that it is connected to, found by the tasks of a cluster.

    A piece, and roughly the input of a task, is `piece_edges` edges.
    """

    def __init__(self, cluster: Cluster, name: str, piece_edges: int) -> None:
        self._cluster, self._name, self._piece_edges = cluster, name, piece_edges
        self._found = Edges(np.empty(0, np.int32), np.empty(0, np.int32))
        self.rounds = 0

    def connect(self, bands: Iterable[Buckets]) -> None:
        """Connect the members of each bucket, in addition to what is already connected."""
        folder = self._cluster.folder
        folder.mkdir(parents=True, exist_ok=True)
        written = [
            write_piece(folder, f"{self._name}-edges-{number:06}.arrow", iter([_table(edges)]), _SCHEMA)
            for number, edges in enumerate(self._edges(bands))
        ]
        partitions = max(1, len(written))
        before: list[tuple[int, int]] = []
        for number in range(MOST_ROUNDS):
            written = self._round(written, number, partitions)
            about = [one[1:] for one in sorted(written)]
            if about == before:
                self.rounds += number
                return self._load(written)
            before = about
        raise ResourceError(f"items were not connected after {MOST_ROUNDS} rounds; give the driver more --memory")

    def of(self, places: Int64) -> Int32:
        """The part of each of some places."""
        if not len(self._found.left):
            return places.astype(np.int32)
        at = np.minimum(np.searchsorted(self._found.left, places), len(self._found.left) - 1)
        return np.where(self._found.left[at] == places, self._found.right[at], places).astype(np.int32)

    def _edges(self, bands: Iterable[Buckets]) -> Iterator[Edges]:
        """Edges from each member of a bucket to the first one, in pieces."""
        waiting, size = [self._found], len(self._found.left)
        for buckets in bands:
            waiting.append(Edges(buckets.members, np.repeat(buckets.members[buckets.starts[:-1]], buckets.sizes)))
            size += len(buckets.members)
            if size >= self._piece_edges:
                yield _joined(waiting)
                waiting, size = [], 0
        if size:
            yield _joined(waiting)

    def _round(self, pieces: list[Written], number: int, partitions: int) -> list[Written]:
        cluster, folder = self._cluster, str(self._cluster.folder)
        rows = cluster.tasks([one.name for one in pieces])
        rows = cluster.map(rows, partial(send_both_ways, folder=folder, partitions=partitions), EDGES)
        rows = cluster.map(
            cluster.send(rows, "partition", partitions), partial(large_star, partitions=partitions), EDGES
        )
        step = partial(small_star, folder=folder, name=f"{self._name}-{number:03}")
        return cluster.run(cluster.send(rows, "partition", partitions), step)

    def _load(self, pieces: list[Written]) -> None:
        left, right = _joined([_read(self._cluster.folder / one.name) for one in pieces] or [self._found])
        by_left = np.argsort(left)
        self._found = Edges(left[by_left], right[by_left])


def _table(edges: Edges) -> pa.Table:
    return pa.table([to_arrow(np.ascontiguousarray(column)) for column in edges], schema=_SCHEMA)


def _read(path: Path) -> Edges:
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    return Edges(*(np.array(to_numpy(column.combine_chunks())) for column in table.columns))


def _joined(several: list[Edges]) -> Edges:
    return Edges(*(np.concatenate(columns) for columns in zip(*several)))


def _distinct(left: Int32, right: Int32) -> Edges:
    """Distinct edges in order, without those of a place to itself."""
    packed = np.unique((left.astype(np.int64) << 32) | right)
    found = Edges((packed >> 32).astype(np.int32), (packed & ((1 << 32) - 1)).astype(np.int32))
    apart = found.left != found.right
    return Edges(found.left[apart], found.right[apart])


def _send(edges: Edges, partitions: int) -> Iterator[pa.RecordBatch]:
    """Send each edge to the task of its left end."""
    mixed = (edges.left.astype(np.uint32) * _ODD).astype(np.uint64)
    target = (mixed * np.uint64(partitions) >> np.uint64(32)).astype(np.int64)
    by_target = np.argsort(target, kind="stable")
    ends = np.cumsum(np.bincount(target, minlength=partitions)).tolist()
    for partition, (first, last) in enumerate(zip([0, *ends[:-1]], ends)):
        if first < last:
            ours = [pa.array([column[by_target[first:last]].tobytes()], pa.binary()) for column in edges]
            yield pa.record_batch([pa.array([partition], pa.int32()), *ours], ["partition", "left", "right"])


def _receive(batches: Iterator[pa.RecordBatch]) -> tuple[int, Edges]:
    """The number of this task, and its distinct edges."""
    partition, found = -1, [Edges(np.empty(0, np.int32), np.empty(0, np.int32))]
    for batch in batches:
        partition = batch.column("partition")[0].as_py()
        rows = zip(batch.column("left"), batch.column("right"))
        found += [Edges(*(words_in(one.as_buffer(), np.int32) for one in row)) for row in rows]
    return partition, _distinct(*_joined(found))


def _smallest(edges: Edges) -> tuple[Int64, Int32]:
    """Where the edges of each left end start, and for each edge the smallest right end of its left end."""
    starts = np.flatnonzero(np.diff(edges.left, prepend=-1))
    return starts, np.repeat(edges.right[starts], np.diff(np.append(starts, len(edges.left))))


def send_both_ways(batches: Iterator[pa.RecordBatch], *, folder: str, partitions: int) -> Iterator[pa.RecordBatch]:
    """Send the edges of pieces to both their ends."""
    for name in payloads(batches):
        left, right = _read(Path(folder) / name)
        yield from _send(_distinct(np.concatenate([left, right]), np.concatenate([right, left])), partitions)


def large_star(batches: Iterator[pa.RecordBatch], *, partitions: int) -> Iterator[pa.RecordBatch]:
    """Connect the larger neighbours of each place to the smallest of it and its neighbours."""
    _, edges = _receive(batches)
    _, smallest = _smallest(edges)
    larger = edges.right > edges.left
    yield from _send(Edges(edges.right[larger], np.minimum(edges.left, smallest)[larger]), partitions)


def small_star(batches: Iterator[pa.RecordBatch], *, folder: str, name: str) -> Iterator[pa.RecordBatch]:
    """Connect each place and its smaller neighbours to the smallest of them, and write the edges as a piece."""
    partition, edges = _receive(batches)
    if partition < 0:
        return
    starts, smallest = _smallest(edges)
    left = np.concatenate([edges.left[starts], edges.right])
    table = _table(_distinct(left, np.concatenate([smallest[starts], smallest])))
    yield to_batch([write_piece(Path(folder), f"{name}-{partition:06}.arrow", iter([table]), _SCHEMA)])
