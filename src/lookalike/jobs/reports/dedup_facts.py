"""The facts that the report of a dedup run shows, from its tables: read in batches, never all at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.read.columns import json_text
from lookalike.report.dedup.facts import ShownCluster
from lookalike.report.distributions import SimilarityBin, SizeBin
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.types import Float64, Int64, strings_to_arrow, to_arrow, to_numpy
from lookalike.types import compute as pc

SHOWN = 10
"""Clusters and pairs that are shown."""
MEMBERS = 4
"""Members of a cluster that are shown."""
BINS = 40
SIZES = 24
"""Sizes of clusters that are counted one by one; larger ones are counted together."""
ROWS = 1 << 16
"""Rows that are looked at together."""
Batches = Callable[[Sequence[str]], Iterator[pa.Table]]
"""Some columns of a table, some rows at a time."""


def batches_of(table: Path | pa.Table) -> Batches:
    """A Parquet file or a table in memory, in batches."""

    def of_file(columns: Sequence[str]) -> Iterator[pa.Table]:
        with pq.ParquetFile(table) as file:
            for batch in file.iter_batches(ROWS, columns=list(columns)):
                yield pa.Table.from_batches([batch])

    def of_table(columns: Sequence[str]) -> Iterator[pa.Table]:
        some = table.select(list(columns))  # type: ignore[union-attr]
        for first in range(0, len(some), ROWS):
            yield some.slice(first, ROWS)

    return of_file if isinstance(table, Path) else of_table


def bin_values(removed: Batches, name: str, threshold: float) -> list[SimilarityBin]:
    """Count removed items by similarity or distance.

    Examples
    --------
    >>> table = pa.table({"similarity": [0.8, 0.95, 1.0]})
    >>> [(one.low, one.high, one.count) for one in bin_values(batches_of(table), "similarity", 0.8)][-2:]
    [(0.99, 0.995, 0), (0.995, 1.0, 1)]
    """
    low, high = np.inf, -np.inf
    for batch in removed([name]):
        values = _numbers(batch, name)
        low, high = min(low, float(values.min(initial=np.inf))), max(high, float(values.max(initial=-np.inf)))
    if low > high:
        return []
    edges = _edges(low, high, threshold, name)
    counts = np.zeros(len(edges) - 1, np.int64)
    for batch in removed([name]):
        # a value equal to an edge belongs to the bin above it; the largest value belongs to the last bin
        places = np.searchsorted(edges, _numbers(batch, name), side="right") - 1
        counts += np.bincount(np.clip(places, 0, len(counts) - 1), minlength=len(counts))
    return [SimilarityBin(*ends) for ends in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist())]


def _edges(low: float, high: float, threshold: float, name: str) -> Float64:
    """Round numbers from the threshold (or the least value, if that is lower) to 1, or to the largest value."""
    start, end = min(low, threshold), max(high, threshold)
    if name == "similarity" and end <= 1:
        end = 1.0
    elif name == "distance":
        start = 0.0
    rough = max(end - start, 1e-9) / BINS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = np.floor(start / step + 1e-9), np.ceil(end / step - 1e-9)
    # multiples of a decimal, rounded to its digits: 0.7, not 0.7000000000000001
    return np.array([float(f"{place * step:.12g}") for place in np.arange(first, max(last, first + 1) + 1)])


def count_sizes(clusters: Batches) -> tuple[list[SizeBin], int, list[tuple[int, Any]]]:
    """Count clusters by size; also return the largest size, and the sizes and kept ids of the largest clusters.

    Examples
    --------
    >>> table = pa.table({"id": ["a", "b", "c"], "cluster": [0, 0, 0], "size": [3, 3, 3], "kept": [True, False, False]})
    >>> count_sizes(batches_of(table))
    ([SizeBin(low=3, high=3, clusters=1)], 3, [(3, 'a')])
    """
    counted: Counter[int] = Counter()
    largest: list[tuple[int, int, Any]] = []
    for batch in clusters(["id", "cluster", "size", "kept"]):
        heads = pc.filter(batch, batch.column("kept"))
        sizes = _numbers(heads, "size")
        counted.update(dict(zip(*(some.tolist() for some in np.unique(sizes, return_counts=True)))))
        first = np.argsort(-sizes, kind="stable")[:SHOWN]
        rows = pc.take(heads, to_arrow(first)).to_pylist()
        largest += [(-row["size"], row["cluster"], row["id"]) for row in rows]
        largest = sorted(largest, key=lambda one: one[:2])[:SHOWN]
    return bin_sizes(counted), max(counted, default=0), [(-size, name) for size, _, name in largest]


def bin_sizes(counted: Mapping[int, int]) -> list[SizeBin]:
    """One bin per size for small sizes; beyond, each bin ends at twice its start.

    Examples
    --------
    >>> bin_sizes({2: 7, 30: 1, 40: 1})
    [SizeBin(low=2, high=2, clusters=7), SizeBin(low=25, high=48, clusters=2)]
    """
    bins: Counter[tuple[int, int]] = Counter()
    for size, clusters in counted.items():
        low = high = size
        if size > SIZES:
            doublings = int(np.log2((size - 1) / SIZES) + 1e-12)
            low, high = SIZES * 2**doublings + 1, SIZES * 2 ** (doublings + 1)
        bins[low, high] += clusters
    return [SizeBin(*ends, clusters) for ends, clusters in sorted(bins.items())]


def find_doubtful(removed: Batches, name: str, shown: int = SHOWN) -> list[ShownPair]:
    """The removed items that are least similar to the item kept for them."""
    found: list[ShownPair] = []
    for batch in removed([*_PLACES, name]):
        found = sorted([*found, *_pairs(_least(batch, name, shown), name)], key=_doubt(name))[:shown]
    return found


def find_members(removed: Batches, name: str, largest: Sequence[tuple[int, Any]]) -> list[ShownCluster]:
    """The largest clusters, each with the members that are least similar to its kept item."""
    if not largest:
        return []
    found: dict[tuple[str, int], list[ShownPair]] = defaultdict(list)
    counted: Counter[tuple[str, int]] = Counter()
    for batch in removed([*_PLACES, name]):
        ids = batch.column("kept_id")
        sought = plain_ids(pa.chunked_array([_ids([one for _, one in largest], ids.type)]))
        mine = pc.filter(batch, pc.is_in(plain_ids(ids), value_set=sought.combine_chunks()))
        for place in sorted(set(zip(mine.column("kept_file").to_pylist(), mine.column("kept_row").to_pylist()))):
            same = pc.and_(pc.equal(mine.column("kept_file"), place[0]), pc.equal(mine.column("kept_row"), place[1]))
            members = pc.filter(mine, same)
            counted[place] += len(members)
            pairs = [*found[place], *_pairs(_least(members, name, MEMBERS), name)]
            found[place] = sorted(pairs, key=_doubt(name))[:MEMBERS]
    order = {json_text(name): number for number, (_, name) in enumerate(largest)}
    clusters = [ShownCluster(pairs[0].right, counted[place] + 1, pairs) for place, pairs in found.items()]
    clusters.sort(key=lambda one: (-one.size, order[json_text(one.keeper.id)], one.keeper.file, one.keeper.row))
    return clusters[: len(largest)]


def plain_ids(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids that Arrow can compare: lists, structs and half floats, for which it has no functions, as texts."""
    if not pa.types.is_nested(ids.type) and not pa.types.is_float16(ids.type):
        return ids
    return pa.chunked_array([pa.array([json_text(one) for one in ids.to_pylist()], pa.large_string())])


def _ids(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as ids of a type; texts, which most are, without `pa.array`, which imports pandas."""
    return pc.cast(strings_to_arrow(values), kind) if kind in _TEXTS else pa.array(values, kind)


_TEXTS = (pa.string(), pa.large_string())


_PLACES = ("id", "file", "row", "kept_id", "kept_file", "kept_row")


def _least(batch: pa.Table, name: str, most: int) -> pa.Table:
    """The rows of the most doubtful removals, in order."""
    values = _numbers(batch, name)
    order = np.argsort(-values if name == "distance" else values, kind="stable")[:most]
    return pc.take(batch, to_arrow(order))


def _pairs(rows: pa.Table, name: str) -> list[ShownPair]:
    return [
        ShownPair(ShownItem(row["id"], row["file"], row["row"]),
                  ShownItem(row["kept_id"], row["kept_file"], row["kept_row"]), row[name])
        for row in rows.to_pylist()
    ]  # fmt: skip


def _doubt(name: str) -> Callable[[ShownPair], float]:
    return lambda one: -one.value if name == "distance" else one.value


def count_files(removed: Batches) -> Counter[str]:
    """Removed items by file."""
    counted: Counter[str] = Counter()
    for batch in removed(["file"]):
        for one in pc.value_counts(batch.column("file")):
            counted[one["values"].as_py()] += one["counts"].as_py()
    return counted


def _numbers(batch: pa.Table, name: str) -> Any:
    values: Float64 | Int64 = to_numpy(batch.column(name).combine_chunks())
    return values
