"""Read and digest the items of an index on a cluster; the driver writes the index, in input order.

A task reads a part of the input, and leaves the ids, sets and bucket keys of its items in the work folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import naming_bad_vectors
from lookalike.engine.digest import DigestSettings, KeyedSets, keyed_sets
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.read import join_column
from lookalike.spark.cluster import Cluster
from lookalike.spark.pieces import to_batch, write_piece
from lookalike.spark.reading import Part, read_each, split_parts
from lookalike.types import ItemMemory, Items, Rejected, Sets, Source, Wanted, to_arrow, to_numpy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART_BYTES = 16 << 20
KEYED = "keyed-{:06}.arrow"
_ABOUT = b"about"
"""Metadata key of a piece: how many lines its part has, and which of them are bad."""


class IndexKind(Protocol):
    """The properties of the index that are needed here."""

    store: str

    @property
    def digesting(self) -> DigestSettings:
        """Everything that keys depend on."""


class Digesting(NamedTuple):
    """What the tasks need besides their part."""

    folder: str
    digesting: DigestSettings
    memory: ItemMemory
    texts: bool
    """Whether the index stores texts."""


class KeyedItems(NamedTuple):
    """The items of a block in stored form."""

    items: Items
    found: KeyedSets
    ids: pa.Array


class IndexDigesting:
    """Digests sources on a cluster, instead of in this process."""

    def __init__(self, session: SparkSession, folder: Path, settings: Settings, progress: Progress) -> None:
        self._cluster = Cluster(session, folder, progress)
        self._settings = settings

    def __call__(
        self, sources: list[Source], wanted: list[Wanted], kind: IndexKind
    ) -> Iterator[tuple[int, Items, KeyedSets, pa.Array | None, int]]:
        """The items of all sources, part by part, in the form of `index.reading.Reader`."""
        parts = split_parts(sources, wanted, PART_BYTES)
        items = self._settings.items
        memory = self._settings.execution.budget.item_memory(items.shingling.bag, items.characters)
        digesting = Digesting(str(self._cluster.folder), kind.digesting, memory, kind.store == "text")
        step = partial(write_keyed, digesting=digesting)
        self._cluster.run(self._cluster.tasks(parts), step)
        lines = dict.fromkeys(range(len(sources)), 0)
        for part in parts:
            with pa.memory_map(str(self._cluster.folder / KEYED.format(part.number))) as file:
                table = pa.ipc.open_file(file).read_all()
            about = json.loads(table.schema.metadata[_ABOUT])
            rejected = [
                Rejected(file, line + lines[part.source_number], error, bytes.fromhex(raw))
                for file, line, error, raw in about["rejected"]
            ]
            lines[part.source_number] += about["lines"]
            for block, rows in about["aside"].items():
                sources[part.source_number].rejected_rows[int(block)] = np.array(rows, np.int64)
            features, found, ids = _load(table, kind.digesting.bands)
            yield part.source_number, Items(features, {}, rejected), found, ids, part.source.nbytes


def write_keyed(batches: Iterator[pa.RecordBatch], *, digesting: Digesting) -> Iterator[pa.RecordBatch]:
    """Digest parts, and write each as a piece."""
    folder = Path(digesting.folder)

    def send(part: Part, blocks: list[KeyedItems]) -> Iterator[pa.RecordBatch]:
        table = _table(blocks, part.source, digesting)
        yield to_batch([write_piece(folder, KEYED.format(part.number), iter([table]), table.schema)])

    return read_each(batches, folder, digesting.memory, partial(_digest, digesting=digesting), send)


def _digest(part: Part, digesting: Digesting) -> list[KeyedItems]:
    found = []
    for block in part.source.blocks():
        items: Items = block.items(part.wanted)
        with naming_bad_vectors(part.source, block, part.wanted):
            keyed = keyed_sets(items.features, digesting.digesting)
        ids = items.columns[part.wanted.columns[0]] if part.wanted.columns else pa.nulls(len(items))
        found.append(
            KeyedItems(items if digesting.texts else Items(pa.nulls(len(items)), {}, items.rejected), keyed, ids)
        )
    return found


def _table(blocks: list[KeyedItems], source: Source, digesting: Digesting) -> pa.Table:
    """All items of a part, one row each."""
    sets = Sets.joined([block.found.sets for block in blocks])
    bands = digesting.digesting.bands
    keys = np.concatenate([np.empty((0, bands), np.uint64), *(block.found.keys.T for block in blocks)])
    there = np.concatenate([np.empty(0, np.bool_), *(block.found.there for block in blocks)])
    columns = {
        "id": join_column([pa.nulls(0), *(block.ids for block in blocks)]),
        "features": join_column([pa.nulls(0), *(block.items.features for block in blocks)]),
        "set": pa.LargeListArray.from_arrays(to_arrow(sets.indptr), to_arrow(sets.elements)),
        "keys": pa.FixedSizeListArray.from_arrays(to_arrow(np.ascontiguousarray(keys).reshape(-1)), bands),
        "there": pa.array(there),
    }
    rejected = [(bad.file, bad.line, bad.error, bad.raw.hex()) for block in blocks for bad in block.items.rejected]
    aside = {str(block): rows.tolist() for block, rows in source.rejected_rows.items()}
    about = {"lines": getattr(source, "lines", 0), "rejected": rejected, "aside": aside}
    return pa.table(columns).combine_chunks().replace_schema_metadata({_ABOUT: json.dumps(about)})


def _load(table: pa.Table, bands: int) -> tuple[pa.Array, KeyedSets, pa.Array | None]:
    """The features, sets and ids of the items of a part; None for ids if there are none."""
    ids, features, lists, keys, there = (
        column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns
    )
    sets = Sets(to_numpy(lists.offsets), to_numpy(lists.values))
    by_band = np.ascontiguousarray(to_numpy(keys.values).reshape(-1, bands).T)
    found = KeyedSets(sets, by_band, there.to_numpy(zero_copy_only=False))
    return features, found, None if pa.types.is_null(ids.type) else ids
