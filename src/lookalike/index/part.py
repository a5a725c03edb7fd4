"""The common interface of the parts of an index: segments on disk, and the table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import DigestSettings, KeyedSets, item_sets
from lookalike.index.batch import Content
from lookalike.types import Bool, Int64, Sets, UInt64
from lookalike.verify.measures import Measure

if TYPE_CHECKING:
    from lookalike.index.folder.checked_file import Array
    from lookalike.index.question import Question

ROOM = 1 << 16
"""Pairs that are collected before they are compared; more only if one item alone has more."""
Found = tuple[Int64, Int64]
"""Pairs of a queried item and an item of a part, by number."""


class StoredSets(NamedTuple):
    """Stored sets in the form that kernels compare, without a copy."""

    offsets: Int64
    data: UInt64
    file: tuple[UInt64, UInt64, Bool]
    """How the blocks of their file are checked; see `kernels.checksums.damaged_block`."""
    begins: tuple[int, int]
    """Where these arrays begin in it."""
    stopped_at: Callable[[int], None]
    """Says what is wrong with a damaged block; does nothing if there is none."""


class Contents(Protocol):
    """Access to the content of items."""

    def contents(self, numbers: Int64) -> tuple[Content, Int64]:
        """Content that includes these items, and their positions in it."""

    def sizes(self, numbers: Int64) -> Int64:
        """How many values the content of each item has."""


class Part(Contents, Protocol):
    """Items, numbered from 0, that can be found by their bucket keys and ids."""

    def __len__(self) -> int: ...

    def find(self, asked: KeyedSets, measure: Measure) -> Iterator[Found]:
        """Distinct pairs that share a bucket, ordered by queried item; some dissimilar ones may be omitted."""

    def ask(self, question: Question, arguments: tuple[int, int, int], gone: Bool, first: int) -> int | None:
        """Find the items that are similar to a text and share a bucket with it; for an index that stores sets.

        Parameters
        ----------
        arguments
            Those of the measure.
        gone, first
            Item i was removed if gone[first + i].

        Returns
        -------
        How many there are, for `Question.matches`; None if this takes `find`.
        """

    def stored_sets(self, reads: int) -> StoredSets | None:
        """The sets of all items, if this many can be read at once; for an index that stores sets."""

    def find_ids(self, keys: UInt64) -> Found:
        """Pairs whose ids have the same key."""

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items."""

    def id(self, number: int) -> bytes:
        """The id of one item, in UTF-8."""

    def content_bytes(self) -> int:
        """How many bytes the content of all items has."""

    @property
    def times(self) -> Int64:
        """When each item was added."""


def fetch_sets(part: Contents, numbers: Int64, digesting: DigestSettings, text: bool) -> tuple[Sets, Int64]:
    """The sets of some items, as a collection of sets and their places in it; nothing is copied if sets are stored."""
    content, places = part.contents(numbers)
    if not text:
        return Sets(content.offsets, content.data), places
    distinct, which = np.unique(places, return_inverse=True)
    return item_sets(content.take(distinct).as_texts(), digesting), which.astype(np.int64)


def first_room(asked: int) -> int:
    """The initial room for the pairs of this many items."""
    return min(ROOM, 256 * asked)


def stretches(collect: Callable[[int, Int64, Int64], tuple[int, int]], asked: int) -> Iterator[Found]:
    """Distinct pairs from a kernel that stops when its buffer is full; the buffer grows if one item has more pairs."""
    first, room = 0, first_room(asked)
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    while first < asked:
        stopped, filled = collect(first, left, right)
        if stopped == first:
            left, right = np.empty(2 * len(left), np.int64), np.empty(2 * len(left), np.int64)
            continue
        if filled:
            yield distinct_pairs(left[:filled], right[:filled])
        first = stopped


def distinct_pairs(left: Int64, right: Int64) -> Found:
    """Distinct pairs, ordered by left, then right.

    Examples
    --------
    >>> distinct_pairs(np.array([1, 0, 1]), np.array([7, 9, 7]))
    (array([0, 1]), array([9, 7]))
    """
    packed = (left << 32) | right
    packed.sort()
    packed = packed[np.concatenate([[True], packed[1:] != packed[:-1]])]
    return packed >> 32, packed & 0xFFFFFFFF


def joined_pairs(found: Iterable[Found]) -> Found:
    """All pairs of some lists."""
    lists = [(np.empty(0, np.int64), np.empty(0, np.int64)), *found]
    return np.concatenate([left for left, _ in lists]), np.concatenate([right for _, right in lists])


def row_ends(offsets: Array, rows: Int64) -> tuple[Int64, Int64]:
    """Where rows start and end."""
    return np.asarray(offsets[rows]), np.asarray(offsets[rows + 1])
