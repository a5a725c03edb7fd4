"""The interface of a store. `index.py`, `additions.py` and the batch jobs use stores only through it.

Items have numbers that grow in input order. A store is made by `stores.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from lookalike.engine.digest import KeyedSets
from lookalike.errors import ResourceError
from lookalike.index.batch import Batch, Content
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.types import Int64
from lookalike.verify.measures import Measure


class StateLostError(ResourceError):
    """The items that a lookup shows are no longer all there; a new lookup, after `refresh`, shows the latest ones."""


class BucketSizes(NamedTuple):
    """How many buckets have 1 item, 2 or 3, 4 to 7, ...: by the smallest size of each class."""

    counts: dict[int, int]
    estimated: bool = False
    """Whether they were counted in a sample."""


class Lookup(Protocol):
    """A snapshot of the items. Can be used on several threads. Any method may raise `StateLostError`."""

    @property
    def kind(self) -> Kind:
        """What the index stores, and how items are compared."""

    @property
    def integers(self) -> bool:
        """Whether all ids were integers."""

    def __len__(self) -> int: ...

    def search(self, asked: KeyedSets, measure: Measure, k: int | None = None) -> Matches:
        """All similar items that share a bucket with the queried items, with their exact similarity.

        With `k`, there may be fewer: those that are not among the best k of an item may be left out.
        """

    def ask(self, text: str, measure: Measure) -> list[tuple[float, int]]:
        """`search` for one text: the similarities and numbers of its matches."""

    def find_ids(self, ids: pa.Array) -> tuple[Int64, Int64]:
        """The rows whose id the index has, and the numbers of those items."""

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items, as text."""

    def few_ids(self, numbers: Sequence[int]) -> list[bytes]:
        """The ids of a few items, in UTF-8: faster than `ids` if there are no more than 32."""

    def numbers(self) -> Int64:
        """The numbers of all items, ascending."""

    def content(self, numbers: Int64) -> Content:
        """The stored content of items (ascending)."""

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
    """One transaction: everything put, held and removed becomes visible to others together, when it is finished."""

    @property
    def lookup(self) -> Lookup:
        """The items, including those held and excluding those removed in this transaction."""

    def put(self, batch: Batch) -> None:
        """Add items; it depends on the store whether the lookup finds them before `finish`."""

    def hold(self, batch: Batch) -> None:
        """Add items that the lookup finds immediately, so that later ones are compared with them."""

    def remove(self, numbers: Int64) -> None:
        """Remove items, which the lookup no longer finds."""

    def finish(
        self, *, repeated: Int64 | None = None, integers: bool = True, counted: int = 0, run: str | None = None
    ) -> None:
        """Make everything visible and durable: immediately, or at the end of the `with` block of the transaction.

        Parameters
        ----------
        repeated
            Rows among those put that are void because another row has their id.
        integers
            Whether all ids were given as integers.
        counted
            By how much the counter for items without an id advances.
        run
            The name of a batch job, so that `has_run` can tell that its items were added.
        """


class Store(Protocol):
    """The storage of an index. A store opened for reading keeps its state until `refresh`."""

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

    @property
    def problem(self) -> str | None:
        """What keeps its segments from being merged, if anything does; nothing is lost by it."""

    @property
    def ended(self) -> str | None:
        """Why it accepts no more changes until it is opened again, if it was opened for writing and does not."""

    def has_run(self, run: str) -> bool:
        """Whether the items of a batch job have been added."""

    def decide(self, kind: Kind) -> None:
        """Fix the kind of items that the index stores, before the first is added."""

    def changing(self) -> AbstractContextManager[Changes]:
        """Start an exclusive transaction; it is rolled back unless it is finished."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep other processes from writing during the block."""

    def refresh(self) -> bool:
        """Load the changes of other processes; return whether there were any."""

    def sync(self) -> None:
        """Wait until everything is on disk."""

    def compact(self) -> None:
        """Free the space of removed items."""

    def outline(self) -> dict[str, int]:
        """The part of `describe` that is cheap: segments and log_bytes, if there are any."""

    def bucket_sizes(self) -> BucketSizes:
        """How many buckets there are of each size."""

    def describe(self, *, buckets: bool = True) -> dict[str, Any]:
        """Sizes, options and plan, as `stats` shows them; if not `buckets`, without what takes reading all keys."""

    def close(self) -> None:
        """Flush everything to disk, and let others write."""
