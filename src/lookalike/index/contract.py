"""What a store of an index must provide. `index.py`, `additions.py` and the batch jobs know stores only by this.

Items have numbers that grow in input order. A store is made by `stores.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from lookalike.engine.digest import KeyedSets
from lookalike.index.batch import Batch, Content
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.types import Int64
from lookalike.verify.measures import Measure


class Lookup(Protocol):
    """The items at one moment. Can be asked on several threads."""

    @property
    def kind(self) -> Kind:
        """What the items are, and how they are compared."""

    @property
    def integers(self) -> bool:
        """Whether all ids were integers."""

    def __len__(self) -> int: ...

    def search(self, asked: KeyedSets, measure: Measure) -> Matches:
        """All similar items that share a bucket with those asked, with their exact similarity."""

    def find_ids(self, ids: pa.Array) -> tuple[Int64, Int64]:
        """The rows whose id the index has, and the numbers of those items."""

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items, as text."""

    def numbers(self) -> Int64:
        """The numbers of all items, ascending."""

    def content(self, numbers: Int64) -> Content:
        """What is stored of items (ascending) to compare them."""

    def times(self, numbers: Int64) -> Int64:
        """When items (ascending) were added: microseconds since 1970."""

    def content_bytes(self) -> int:
        """About how many bytes `content` of all items has."""

    def older_than(self, limit: int) -> Int64:
        """The numbers of items that were added before a time (microseconds since 1970)."""

    @property
    def total(self) -> int:
        """One more than the largest number; numbers below it may be those of removed items."""

    def next_from(self, number: int) -> int | None:
        """The smallest number of an item that is not below this one."""


class Changes(Protocol):
    """One transaction: what is put, held and removed becomes visible to others, all of it, if it is finished."""

    @property
    def lookup(self) -> Lookup:
        """The items, with those that are held and without those that were removed in this transaction."""

    def put(self, batch: Batch) -> None:
        """Add items; whether the lookup finds them before `finish` is up to the store."""

    def hold(self, batch: Batch) -> None:
        """Add items that the lookup finds at once: later ones are compared with them."""

    def remove(self, numbers: Int64) -> None:
        """Remove items, which the lookup no longer finds."""

    def finish(
        self, *, repeated: Int64 | None = None, integers: bool = True, counted: int = 0, run: str | None = None
    ) -> None:
        """Make all of it visible and durable: at once, or at the end of the block that the transaction is for.

        Parameters
        ----------
        repeated
            Rows, of those that were put, that do not count: another one has their id.
        integers
            Whether all ids were given as integers.
        counted
            By how much the numbers go on that items without an id get.
        run
            The name of a batch job, so that `has_run` knows that its items are there.
        """


class Store(Protocol):
    """Where an index is kept. One that was opened for reading keeps its state until `refresh`."""

    name: str
    """As messages show it: a path, or a URL without its password."""
    kind: Kind

    @property
    def writing(self) -> bool:
        """Whether it was opened for writing."""

    @property
    def lookup(self) -> Lookup:
        """The items."""

    @property
    def added(self) -> int:
        """How many items were ever added."""

    @property
    def state(self) -> Sequence[int]:
        """Numbers that change whenever the items change."""

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""

    def decide(self, kind: Kind) -> None:
        """Settle what kind of items the index holds, before the first is added."""

    def changing(self) -> AbstractContextManager[Changes]:
        """Begin a transaction, alone; it is undone unless it is finished."""

    def alone(self) -> AbstractContextManager[None]:
        """Let no other process write during the block."""

    def refresh(self) -> bool:
        """See what others have changed; returns whether there was anything."""

    def sync(self) -> None:
        """Wait until everything is on disk."""

    def compact(self) -> None:
        """Free the space of removed items."""

    def outline(self) -> dict[str, int]:
        """The part of `describe` that takes no time: segments and log_bytes, if there are any."""

    def bucket_sizes(self) -> dict[int, int]:
        """How many buckets have 1 item, 2 or 3, 4 to 7, ...: by the smallest size of each class."""

    def describe(self) -> dict[str, Any]:
        """Sizes, options and plan, as `stats` shows them."""

    def close(self) -> None:
        """Write what is not on disk yet, and let others write."""
