"""Refine long runs of equal keys on the cluster: connect their items by rare elements instead.

Boilerplate connects thousands of items that have nothing else in common, and their part is too large for one task.
Similar sets among them share a rare element (see `lookalike.candidates.prefix`): tasks send the rare elements of their
items as keys of one more band, and the connections by these keys replace the runs. No fixed order of elements loses a
pair, so a sample is enough to learn which elements are common.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.kernels.prefix import count_elements, list_prefixes
from lookalike.matching.tasks import TaskSets
from lookalike.spark.cluster import Cluster, payloads
from lookalike.spark.comparing import SETS, Comparing, FetchPart, fetch_sets, receive_sets, send_sets
from lookalike.spark.keys import KEYS, Band, Sending, join_keys, send_keys
from lookalike.spark.pieces import Written, noting_failure, to_batch, write_piece
from lookalike.types import to_arrow, to_numpy

RARE = "rare"
COUNTED = "counted.arrow"
SAMPLED_PARTS = 16
SAMPLED_ITEMS = 50_000
"""Items whose elements are counted, from this many parts of the input at most."""


class Rare(NamedTuple):
    """What the tasks need besides their part."""

    comparing: Comparing
    sending: Sending
    floor: tuple[int, int]
    """The least share of its elements that a set has in common with a similar set."""


def connect_by_rare(
    cluster: Cluster, parts: list[FetchPart], comparing: Comparing, floor: Fraction | None, sending: Sending
) -> list[Written]:
    """Two jobs: count the elements of a sample, then join all items by their rare elements."""
    counting = comparing._replace(tasks_of=[[(0, False)]])
    rows = cluster.map(cluster.tasks(sample_parts(parts)), partial(send_sets, comparing=counting), SETS)
    cluster.run(cluster.send(rows, "task", 1), partial(count_sets, folder=comparing.folder))
    share = (0, 1) if floor is None else (floor.numerator, floor.denominator)
    rare = Rare(comparing, sending, share)
    rows = cluster.map(cluster.tasks(parts), partial(send_rare, rare=rare), KEYS)
    step = partial(join_keys, sending=sending, bands=1)
    return cluster.run(cluster.send(rows, "partition", sending.partitions), step)


def sample_parts(parts: list[FetchPart]) -> list[FetchPart]:
    """Some parts, and some of their rows, evenly spaced."""
    chosen = parts[:: -(-len(parts) // SAMPLED_PARTS)]
    step = max(1, sum(len(part.rows) for part in chosen) // SAMPLED_ITEMS)
    return [part._replace(**{name: getattr(part, name)[::step] for name in FetchPart._fields[3:]}) for part in chosen]


def count_sets(batches: Iterator[pa.RecordBatch], *, folder: str) -> Iterator[pa.RecordBatch]:
    """Count the elements of the sample."""
    _, given = receive_sets(batches)
    if given is not None:
        table = pa.table({"count": to_arrow(_count(given))})
        yield to_batch([write_piece(Path(folder), COUNTED, iter([table]), table.schema)])


def _count(given: TaskSets) -> np.ndarray:
    indptr = given.sets.indptr
    return np.asarray(count_elements(np.arange(len(given)), indptr[:-1], indptr[1:], given.sets.elements))


def send_rare(batches: Iterator[pa.RecordBatch], *, rare: Rare) -> Iterator[pa.RecordBatch]:
    """Send the rare elements of the items of parts."""
    folder = Path(rare.comparing.folder)
    with pa.memory_map(str(folder / COUNTED)) as file:
        counters = np.array(to_numpy(pa.ipc.open_file(file).read_all().column("count").combine_chunks()))
    for part in payloads(batches):
        with noting_failure(folder, part.number):
            found = [Band(np.empty(0, np.uint64), np.empty(0, np.int32))]
            for sets, some in fetch_sets(part, rare.comparing):
                given = np.arange(len(sets)), sets.indptr[:-1], sets.indptr[1:], sets.elements
                starts, keys, _ = list_prefixes(*given, counters, *rare.floor)
                found.append(Band(keys, np.repeat(part.rows[some], np.diff(starts))))
            yield from send_keys(part.number, [Band(*map(np.concatenate, zip(*found)))], rare.sending)
