"""Digests in pieces, joined in ranges of keys: the same as a dictionary would find."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engine.digest import Digest
from lookalike.engine.run import open_run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import LARGEST_KEY, DigestedBlock, Digests
from lookalike.engine.stores.work import WorkFolder
from lookalike.matching.find import collapse_copies, join_bands, members_of, places_of
from lookalike.types import Buckets

KEYS = st.sampled_from([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1])


def add_block(digests: Digests, number: int, keys: list[list[int]], prints: list[tuple[int, int]]) -> None:
    count = len(prints)
    digests.add(
        DigestedBlock(
            0,
            number,
            Digest(
                np.array(keys, np.uint64).reshape(digests.bands, count),
                np.ones(count, np.int64),
                np.array(prints, np.uint64).reshape(count, 2).T.copy(),
                np.zeros(count, np.int64),
            ),
            {"id": pa.array([f"{number}-{k}" for k in range(count)])},
        )
    )
    digests.finish()


@given(st.lists(st.lists(st.tuples(KEYS, KEYS, KEYS, KEYS), max_size=6), min_size=1, max_size=4), st.data())
def test_ranges_and_pieces_find_what_a_dictionary_finds(blocks, data):
    digests = Digests(2)
    for number, block in enumerate(blocks):
        add_block(digests, number, [[row[0] for row in block], [row[1] for row in block]], [row[2:] for row in block])
    rows = [row for block in blocks for row in block]
    order = np.array(data.draw(st.permutations(range(len(rows))))[: data.draw(st.integers(0, len(rows)))], np.int32)
    place_of = places_of(order, len(rows))
    ranges = data.draw(st.integers(1, 5))
    first = collapse_copies(digests, place_of, len(order), ranges)
    prints = [rows[item][2:] for item in order]
    assert first.tolist() == [prints.index(one) for one in prints]
    with open_run(Settings.parse(threads=2)) as run:
        store = join_bands(run, digests, place_of, ranges)
    for band, found in enumerate(store):
        groups = defaultdict(list)
        for place, item in enumerate(order):
            groups[rows[item][band]].append(place)
        expected = sorted(group for group in groups.values() if len(group) > 1)
        got = [found.members[a:b].tolist() for a, b in zip(found.starts[:-1], found.starts[1:])]
        assert sorted(got) == expected
    inside = {m for band in store for m in band.members.tolist()}
    assert set(np.flatnonzero(members_of(store, len(order))).tolist()) == inside


@pytest.mark.parametrize("spilled", [False, True])
def test_some_items_of_a_column_in_any_order(tmp_path: Path, spilled: bool) -> None:
    work = WorkFolder(tmp_path / "work", {}, resume=False) if spilled else None
    digests = Digests(1, work, piece_bytes=1)
    for number in range(5):
        add_block(digests, number, [[10 * number, 10 * number + 1]], [(1, 1), (2, 2)])
    assert digests.pick("column id", np.array([9, 0, 3, 0])).to_pylist() == ["4-1", "0-0", "1-1", "0-0"]
    assert digests.pick("key 0", np.array([8, 2])).to_pylist() == [40, 10]
    assert digests.pick("column id", np.array([], np.int64)).type == pa.string()
    assert (work is not None and work.in_use) == spilled
    places, (keys,) = digests.gather(["key 0"], np.arange(10, dtype=np.int32)[::-1].copy(), 11, LARGEST_KEY)
    assert places.tolist() == list(range(7))
    assert keys.tolist() == [41, 40, 31, 30, 21, 20, 11]


def test_ids_of_several_types_get_one_type_everywhere() -> None:
    digests = Digests(0)
    for number, ids in enumerate([pa.array([1, 2]), pa.array(["a", "b"]), pa.nulls(2)]):
        none = Digest(
            np.empty((0, 2), np.uint64), np.ones(2, np.int64), np.zeros((2, 2), np.uint64), np.zeros(2, np.int64)
        )
        digests.add(DigestedBlock(0, number, none, {"id": ids}))
        digests.finish()
    for items in ([0, 1], [2], [5, 0], []):
        assert pa.types.is_large_string(digests.pick("column id", np.array(items, np.int64)).type)
    assert digests.pick("column id", np.array([5, 3, 1])).to_pylist() == [None, "b", "2"]
    assert digests.missing("id") == 2


def test_joined_bands_are_pieces_that_a_later_run_takes_over(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "work", {}, resume=False, save_seconds=0)
    store = BucketStore(work)
    bands = [
        Buckets(np.array([0, 2, 5]), np.array([1, 4, 0, 2, 3], np.int32)),
        Buckets(np.zeros(1, np.int64), np.empty(0, np.int32)),
    ]
    for band in bands:
        store.add(band)
    again = BucketStore(WorkFolder(tmp_path / "work", {}, resume=True))
    assert len(again) == 2
    for band, found in zip(bands, again):
        assert found.starts.tolist() == band.starts.tolist()
        assert found.members.tolist() == band.members.tolist()
