"""The buckets of a part that is cut into blocks, block by block: in memory if there are few, otherwise in a file.

A block is compared with many others. Read with each of them, the buckets of all items would cost more than the sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.stores.work import WorkFolder
from lookalike.types import Buckets, Int32, to_arrow, to_numpy

_SCHEMA = pa.schema([("bucket", pa.int32()), ("member", pa.int32())])


class Share(NamedTuple):
    """What some blocks have of the buckets of a band: ordered by bucket, and by member within a bucket."""

    bucket: Int32
    member: Int32


class BlockBuckets:
    """The buckets of all bands, by block; a group of blocks is held while it is compared with others.

    Parameters
    ----------
    block_of : int32[places]
        The block of each member, or -1 for members of other parts.
    held_bytes
        Beyond this size, the buckets are written to the piece `name` of the work folder.

    Examples
    --------
    >>> band = Buckets(np.array([0, 2, 4]), np.array([0, 2, 1, 3], np.int32))
    >>> with BlockBuckets([band], np.array([0, 0, 1, 2], np.int32)) as buckets:
    ...     buckets.hold(range(1, 2))
    ...     [both.members.tolist() for both in buckets.with_block(0)]
    [[0, 2, 1]]
    """

    def __init__(
        self,
        bands: Iterable[Buckets],
        block_of: Int32,
        work: WorkFolder | None = None,
        name: str = "",
        held_bytes: int = 0,
    ) -> None:
        self._work, self._name = work, name
        self._places: dict[tuple[int, int], int] = {}
        """By band and block, the number of its batch."""
        self._batches: list[pa.RecordBatch] = []
        self._nbytes, self._held_bytes = 0, held_bytes
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._reader: pa.ipc.RecordBatchFileReader | None = None
        self._stack = ExitStack()
        self._bands = 0
        with ExitStack() as writing:
            for band in bands:
                self._add(band, block_of, writing)
                self._bands += 1
        self._group, self._held = range(0), list[Share]()
        self._open()

    def _add(self, band: Buckets, block_of: Int32, writing: ExitStack) -> None:
        """Divide a band among the blocks."""
        blocks = block_of[band.members]
        order = np.argsort(blocks, kind="stable")
        order = order[np.searchsorted(blocks[order], 0) :]
        bucket = np.repeat(np.arange(len(band), dtype=np.int32), band.sizes)[order]
        both, of = [to_arrow(bucket), to_arrow(band.members[order])], blocks[order]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(of)]):
            self._places[self._bands, int(of[first])] = len(self._places)
            self._store(
                pa.record_batch([column.slice(first, last - first) for column in both], schema=_SCHEMA), writing
            )

    def _store(self, batch: pa.RecordBatch, writing: ExitStack) -> None:
        self._batches.append(batch)
        self._nbytes += batch.nbytes
        if self._work is None or (self._writer is None and self._nbytes <= self._held_bytes):
            return
        if self._writer is None:
            self._work.drop(self._name)  # a killed run may have left it
            self._writer = writing.enter_context(self._work.writing(self._name, _SCHEMA))
        for waiting in self._batches:
            self._writer.write_batch(waiting)
        self._batches = []

    def _open(self) -> None:
        if self._writer is not None and self._work is not None:
            path = str(self._work.folder / self._name)
            self._reader = pa.ipc.open_file(self._stack.enter_context(pa.OSFile(path, "rb")))

    def __enter__(self) -> BlockBuckets:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader = None
        self._stack.close()
        if self._writer is not None and self._work is not None:
            self._work.drop(self._name)

    def hold(self, group: range, *, lazily: bool = False) -> None:
        """Read the shares of a group of blocks; `lazily`: those of a band each time when it is needed."""
        self._group = group
        self._held = [] if lazily else [self._read(band, group) for band in range(self._bands)]

    def within(self) -> Iterator[Buckets]:
        """The buckets of each band among the members of the group."""
        for band in range(self._bands):
            yield join_blocks([self._of_group(band)])

    def with_block(self, block: int) -> Iterator[Buckets]:
        """The buckets of each band among the members of an earlier block and of the group."""
        for band in range(self._bands):
            yield join_blocks([self._read(band, range(block, block + 1)), self._of_group(band)])

    def _of_group(self, band: int) -> Share:
        return self._held[band] if self._held else self._read(band, self._group)

    def _read(self, band: int, blocks: range) -> Share:
        numbers = [self._places[band, block] for block in blocks if (band, block) in self._places]
        batches = [self._reader.get_batch(one) if self._reader else self._batches[one] for one in numbers]
        return _merge([Share(*map(to_numpy, batch.columns)) for batch in batches])


def _merge(shares: list[Share]) -> Share:
    """The shares of blocks, in order of blocks, as one."""
    none = np.empty(0, np.int32)
    bucket, member = (np.concatenate(column) for column in zip(Share(none, none), *shares))
    order = np.argsort(bucket, kind="stable")
    return Share(bucket[order], member[order])


def join_blocks(shares: list[Share]) -> Buckets:
    """The buckets of a band among the members of several blocks, which are in order.

    Examples
    --------
    >>> one, other = Share(np.array([0, 1]), np.array([0, 1])), Share(np.array([1, 2]), np.array([2, 3]))
    >>> join_blocks([one, other]).members.tolist()
    [0, 1, 2, 3]
    """
    joint = _merge(shares)
    starts = np.flatnonzero(np.diff(joint.bucket, prepend=-1))
    return Buckets(np.append(starts, len(joint.bucket)), joint.member)
