"""An index as the input of a batch job: its items, in input order, as a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.settings import Settings
from lookalike.errors import UsageError
from lookalike.features.shingles import as_elements
from lookalike.index.batch import Content
from lookalike.index.contract import Lookup, Store
from lookalike.index.kind import Kind
from lookalike.index.naming import typed_ids
from lookalike.types import (
    DEFAULT_ID,
    Block,
    Bool,
    Int64,
    ItemMemory,
    Items,
    Layout,
    Sets,
    VectorKind,
    Wanted,
    matrix_to_arrow,
)

BLOCK_BYTES = 8 << 20
"""The approximate size of the content of a block."""
AGREEING = ("measure", "threshold", "recall", "hashes", "shingle", "bag", "language", "seed")
"""The options of an index that a batch job must have in common with it."""


def check_agreement(store: Store, settings: Settings) -> None:
    """Refuse a job that compares items in another way than the index does.

    Raises
    ------
    UsageError
        One line that names the options to use.
    """
    own, told = store.kind.settings.to_dict(), settings.to_dict()
    if settings.matching.length_ratio:
        raise UsageError(f"{store.name}: --length-ratio does not work with an index; leave it out")
    if differing := [name for name in AGREEING if own[name] != told[name]]:
        wanted = " ".join(_option(name, own[name]) for name in differing)
        raise UsageError(f"{store.name}: the index was created with other options than those of this run; use {wanted}")


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"no --{name}"
    return f"--{name} {value}"


class IndexState(NamedTuple):
    """The state of an index that a job has read; part of the identity of its input, like a file."""

    name: str
    nbytes: int
    stamp: Sequence[int]


@dataclass(slots=True)
class _Block:
    """Some items of an index."""

    source: IndexSource
    numbers: Int64
    nbytes: int
    exclusive: bool = False

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:
        """Read them, or only some of them."""
        source = self.source
        numbers = self.numbers if rows is None else self.numbers[rows]
        columns = {}
        if wanted.columns:
            ids = typed_ids(source.lookup.ids(numbers), source.integers)
            columns = dict.fromkeys(wanted.columns, ids)
        return Items(as_features(source.lookup.content(numbers), source.lookup.kind), columns)

    def kept_rows(self, keep: Bool, decoded: Any = None) -> Any:
        """The items of an index are not written anywhere."""
        raise NotImplementedError


class IndexSource:
    """The items of an index in its current state. Other processes may change the index during the job."""

    def __init__(self, store: Store) -> None:
        self.lookup: Lookup = store.lookup
        self.integers = self.lookup.integers
        self.name = self.kept_path = store.name
        self._numbers = self.lookup.numbers() if store.kind.decided else np.empty(0, np.int64)
        self.nbytes = self.lookup.content_bytes() if len(self._numbers) else 0
        self.rejected_rows: dict[int, Int64] = {}
        self.item_memory: ItemMemory | None = None
        self.holds_vectors = store.kind.settings.items.vectors is not None
        self.files = [IndexState(self.name, self.nbytes, tuple(store.state))]

    def column_names(self) -> Sequence[str]:
        """Every item has an id."""
        items = self.lookup.kind.settings.items
        return [items.column, items.id or DEFAULT_ID]

    def estimate_rows(self) -> tuple[int, bool]:
        """The number of items."""
        return len(self._numbers), True

    def blocks(self) -> Iterator[Block]:
        """All items in input order."""
        count = len(self._numbers)
        each = max(1, int(BLOCK_BYTES * count / max(1, self.nbytes)))
        for first in range(0, count, each):
            some = self._numbers[first : first + each]
            yield _Block(self, some, self.nbytes * len(some) // count)

    def layout(self) -> Layout:
        """The items of an index are not written anywhere."""
        raise NotImplementedError

    def locate(self, row: int) -> tuple[str, int]:
        """The place of an item in the index."""
        return self.name, row


def as_features(content: Content, kind: Kind) -> pa.Array:
    """Stored content as a column of items: texts, sets or vectors."""
    if kind.store == "text":
        return content.as_texts()
    vectors = kind.settings.items.vectors
    if vectors is None:
        return as_elements(Sets(content.offsets, content.data))
    return _vectors(content, vectors)


def _vectors(content: Content, kind: VectorKind) -> pa.Array:
    """Vectors from their words; an item without any is null."""
    there = np.diff(content.offsets) > 0
    words = content.data.reshape(-1, kind.words)
    if kind.scalar == "bits":
        rows = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : kind.dimension].astype(np.bool_)
    else:
        rows = np.ascontiguousarray(words.view(kind.scalar)[:, : kind.dimension])
    found = matrix_to_arrow(rows)
    found = found.cast(pa.large_list(found.type.value_type))
    if there.all():
        return found
    return found.take(pa.array(np.cumsum(there) - 1, mask=~there))
