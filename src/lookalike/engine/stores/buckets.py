"""The buckets of all bands: in memory in a short run, otherwise one piece per band in the work folder."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Buckets, to_arrow, to_numpy


class BucketStore:
    """Bands are added one by one and can be iterated any number of times.

    Examples
    --------
    >>> store = BucketStore(None)
    >>> store.add(Buckets(np.array([0, 2]), np.array([4, 7], np.int32)))
    >>> [band.members.tolist() for band in store]
    [[4, 7]]
    """

    def __init__(self, work: WorkFolder | None) -> None:
        self._work = work
        self._bands: list[Buckets | str] = []
        while work is not None and work.has(name := self._name(len(self))):
            self._bands.append(name)

    @staticmethod
    def _name(band: int) -> str:
        return f"band-{band:05}.arrow"

    def __len__(self) -> int:
        return len(self._bands)

    def __iter__(self) -> Iterator[Buckets]:
        for band in self._bands:
            yield self._load(band) if isinstance(band, str) else band

    def add(self, buckets: Buckets) -> None:
        """Add the next band."""
        self._bands.append(buckets)
        if self._work is None or not self._work.wanted:
            return
        for number, band in enumerate(self._bands):
            if not isinstance(band, str):
                self._bands[number] = self._save(self._work, number, band)

    def _save(self, work: WorkFolder, number: int, buckets: Buckets) -> str:
        heads = np.zeros(len(buckets.members), np.uint8)
        heads[buckets.starts[:-1]] = 1
        work.save(name := self._name(number), pa.table({"member": to_arrow(buckets.members), "head": to_arrow(heads)}))
        return name

    def _load(self, name: str) -> Buckets:
        assert self._work is not None
        table = self._work.load(name)
        members = to_numpy(table.column("member"))
        heads = to_numpy(table.column("head"))
        return Buckets(np.append(np.flatnonzero(heads), len(members)), members)
