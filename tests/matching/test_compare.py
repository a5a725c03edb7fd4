"""A part that does not fit in memory: its blocks are read a bounded number of times, and its pairs are the same."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cramped import cramp
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.stores.block_buckets import BlockBuckets
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.sets import SetStore
from lookalike.engine.stores.work import WorkFolder
from lookalike.jobs.dedup import dedup_in_memory
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.matching.stages import LocalStages
from lookalike.read import open_data
from lookalike.types import Buckets

SETS, ELEMENTS = 60, 300
COMMON = [[*range(ELEMENTS - 20), *(1000 * (one + 1) + extra for extra in range(20))] for one in range(SETS)]


class Watched(LocalStages):
    """Keeps the candidates, to see what was read of them."""

    def list_pairs(self, run, candidates, *args):
        self.candidates = candidates
        return super().list_pairs(run, candidates, *args)


def watch(sets_bytes, method, monkeypatch):
    """The pairs, the candidates, and how often all bands were read."""
    passes = []
    each = BucketStore.__iter__
    monkeypatch.setattr(BucketStore, "__iter__", lambda store: (passes.append(1), each(store))[1])
    settings = cramp(Settings.parse(method=method), sets_bytes=sets_bytes, set_buffer_bytes=1000)
    stages = Watched()
    found = find_similar_pairs([open_data(COMMON, "text")], settings, Progress(), stages=stages)
    return pa.concat_tables(found.tables(ids=False)), stages.candidates, len(passes)


@pytest.mark.parametrize("method", ["lsh", "brute"])
def test_a_block_is_read_once_for_each_group_that_fits_in_memory(method, monkeypatch):
    whole, *_ = watch(1 << 30, method, monkeypatch)
    assert len(whole) == SETS * (SETS - 1) / 2
    for parts in (4, 10):
        sets_bytes = 8 * ELEMENTS * SETS // parts
        pairs, candidates, passes = watch(sets_bytes, method, monkeypatch)
        assert pairs.equals(whole)
        blocks = candidates.packing.blocks
        reads = candidates.sets.reads
        assert sorted(reads) == list(range(blocks))
        assert blocks > 2 * parts
        # to measure it, in its own group, and with each later group
        assert max(reads.values()) <= 2 + parts
        assert passes <= 4


@given(
    st.lists(st.lists(st.sets(st.integers(0, 11), min_size=2, max_size=6), max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(-1, 3), min_size=12, max_size=12).map(sorted),
    st.booleans(),
    st.booleans(),
)
def test_shares_of_blocks_are_the_buckets(tmp_path_factory, bands, blocks, spilled, lazily):
    """Of every block and group, the members of each bucket that are in them, in order."""
    block_of = np.array(blocks, np.int32)
    apart = [[sorted(bucket - set().union(*band[:k])) for k, bucket in enumerate(band)] for band in bands]
    stores = [Buckets(np.cumsum([0, *map(len, band)]), np.array([*itertools.chain(*band)], np.int32)) for band in apart]
    work = WorkFolder(tmp_path_factory.mktemp("work"), {}, resume=False) if spilled else None
    for group in (range(0, 1), range(1, 2), range(2, 4)):
        with BlockBuckets(stores, block_of, work, "buckets.arrow", 0) as buckets:
            buckets.hold(group, lazily=lazily)
            lists = [buckets.within(), *(buckets.with_block(block) for block in range(group.start))]
            for inside, found in zip([[*group], *([block, *group] for block in range(group.start))], lists):
                for band, joint in zip(apart, found, strict=True):
                    expected = [[one for one in bucket if block_of[one] in inside] for bucket in band]
                    members = np.split(joint.members, joint.starts[1:-1])
                    assert [some.tolist() for some in members if len(some)] == [some for some in expected if some]
        assert work is None or not work.has("buckets.arrow")


def test_dedup_reads_no_block_again_whose_sets_are_all_removed(monkeypatch):
    """Of similar sets, all but the first are removed: only its block is compared with later ones."""
    reads, clear = {}, SetStore.clear
    monkeypatch.setattr(SetStore, "clear", lambda store: (reads.update(store.reads), clear(store))[1])
    settings = cramp(Settings.parse(method="lsh"), sets_bytes=8 * ELEMENTS * SETS // 10, set_buffer_bytes=1000)
    result = dedup_in_memory([open_data(COMMON, "text")], [], settings)
    assert len(result.removed) == SETS - 1
    assert len(reads) > 20
    assert sorted(reads.values())[:-1] == [2] * (len(reads) - 1)
