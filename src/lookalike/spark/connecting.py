"""Connect the members of the buckets that tasks have joined, by union-find on the driver.

If that does not fit in the driver's memory, the cluster connects them (`lookalike.spark.stars`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np

from lookalike.candidates.buckets import select
from lookalike.candidates.parts import connected_parts
from lookalike.engine.stores.work import WorkFolder
from lookalike.matching.refine import Refined, merge_refined
from lookalike.spark.keys import load_buckets
from lookalike.types import Bool, Buckets, Int32, Int64, distinct


class JoinedKeys:
    """The buckets in the pieces of a stage, by place."""

    def __init__(self, work: WorkFolder, stage: str, kind: str, part_starts: Int64, place_of: Int32) -> None:
        self._work, self._part_starts, self._place_of = work, part_starts, place_of
        names = work.load(stage).column("name").to_pylist()
        self._names = [name for name in names if name.startswith(f"{kind}-")]

    def pieces(self) -> Iterator[tuple[Buckets, Bool]]:
        """The buckets of each piece, and which of them belong to long runs."""
        for name in self._names:
            yield load_buckets(self._work.load(name), self._part_starts, self._place_of)

    def __iter__(self) -> Iterator[Buckets]:
        for buckets, _ in self.pieces():
            yield buckets


class Parts(Protocol):
    """The connected parts of all places."""

    def connect(self, bands: Iterable[Buckets]) -> None:
        """Connect the members of each bucket, in addition to what is already connected."""
        ...

    def of(self, places: Int64) -> Int32:
        """The part of each of some places: the first place that it is connected to."""
        ...


class UnionFind:
    """Parts in the memory of this process, 4 bytes per place."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._part_of: Int32 | None = None

    def connect(self, bands: Iterable[Buckets]) -> None:
        """See `Parts`."""
        self._part_of = connected_parts(bands, self._places, self._part_of)

    def of(self, places: Int64) -> Int32:
        """See `Parts`."""
        return places.astype(np.int32) if self._part_of is None else self._part_of[places]


class Connected:
    """The places that are in some bucket, and the part that each of them belongs to.

    Parameters
    ----------
    unconnected
        Creates parts in which nothing is connected yet.
    """

    def __init__(self, joined: JoinedKeys, places: int, unconnected: Callable[[], Parts]) -> None:
        self._joined, self._places, self._unconnected = joined, places, unconnected
        inside = np.zeros(places, np.bool_)

        def buckets() -> Iterator[Buckets]:
            for found in joined:
                inside[found.members] = True
                yield found

        self._parts = unconnected()
        self._parts.connect(buckets())
        self.members: Int64 = np.flatnonzero(inside)
        self.refined = Refined()

    @property
    def parts(self) -> Int32:
        """For each member, its part."""
        return self._parts.of(self.members)

    def leave_crowds(self, large: Bool, long_run: int) -> Int64:
        """Disconnect long runs; return their places.

        Parameters
        ----------
        large : bool[members]
            Members whose part is too large for a task: runs are disconnected only in these parts.
        long_run
            A run of more places than this is long.
        """
        chosen, crowd = np.zeros(self._places, np.bool_), np.zeros(self._places, np.bool_)
        chosen[self.members[large]] = True
        seen: list[Refined] = []

        def others() -> Iterator[Buckets]:
            for found, long in self._joined.pieces():
                going = (long | (found.sizes > long_run)) & chosen[found.members[found.starts[:-1]]]
                run = select(found, going)
                crowd[run.members] = True
                seen.append(Refined(len(run), int(run.sizes.max(initial=0))))
                yield select(found, ~going)

        self._parts = self._unconnected()
        self._parts.connect(others())
        places = np.flatnonzero(crowd)
        self.refined = merge_refined([*seen, Refined(items=len(places))])
        return places

    def connect(self, joined: JoinedKeys) -> None:
        """Connect places that share a rare element; places that stay isolated have no similar one and are dropped."""
        self._parts.connect(joined)
        parts = self.parts
        found, counts = np.unique(parts, return_counts=True)
        self.members = self.members[counts[np.searchsorted(found, parts)] > 1]


def in_large_parts(parts: Int32, nbytes: Int64, limit: int) -> Bool:
    """For each member, whether the members of its part take more than `limit` bytes.

    Examples
    --------
    >>> in_large_parts(np.array([3, 5, 3], np.int32), np.array([8, 8, 8]), 15).tolist()
    [True, False, True]
    """
    found = distinct(parts)
    at = np.searchsorted(found, parts)
    return np.asarray(np.bincount(at, nbytes)[at] > limit) if len(parts) else np.empty(0, np.bool_)
