import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from lookalike.candidates.parts import connected_parts, split_parts
from lookalike.errors import ResourceError, UsageError
from lookalike.jobs import setstore
from lookalike.jobs.memory import BASE_BYTES, Budget, machine_memory, parse_memory
from lookalike.jobs.setstore import SetStore
from lookalike.types import Buckets, Sets

TEXTS = corpus(500, seed=12)


@pytest.fixture
def cramped(monkeypatch):
    """So little room for sets that they go to disk and are compared in many batches."""

    def room(nbytes):
        monkeypatch.setattr(Budget, "sets_bytes", property(lambda self: nbytes))
        monkeypatch.setattr(setstore, "READ_ELEMENTS", 1000)

    return room


@pytest.mark.parametrize("options", [{}, {"policy": "connected"}, {"keep": "longest"}, {"reference": TEXTS[:40]}])
def test_batches_change_nothing(cramped, options):
    calm = la.dedup(TEXTS, **options)
    largest = 0
    for room in (40_000, 12_000):
        cramped(room)
        tight = la.dedup(TEXTS, **options)
        assert tight.removed.equals(calm.removed)
        assert tight.run["counts"] == calm.run["counts"]
        largest = max(largest, tight.run["counts"]["removed"])
    assert largest > 50


def test_batches_change_no_pairs(cramped):
    calm = la.pairs(TEXTS)
    cramped(12_000)
    assert la.pairs(TEXTS).equals(calm)


def test_what_cannot_fit_is_refused_with_advice(cramped):
    cramped(2_000)
    with pytest.raises(ResourceError, match="--memory"):
        la.dedup(TEXTS)
    with pytest.raises(ResourceError, match="--reference"):
        Budget(BASE_BYTES + (1 << 20)).check_items(1_000_000)
    Budget(2 << 30).check_items(12_000_000)
    assert Budget(4 << 30).joining_threads(1_000_000, 2) == 2
    assert Budget(1 << 30).joining_threads(7_000_000, 2) == 1


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=20), st.integers(0, 60), st.data())
def test_a_store_gives_back_what_it_got(rows, limit, data):
    rows = [sorted(set(row)) for row in rows]
    store = SetStore(limit)
    cut = data.draw(st.integers(0, len(rows)))
    for some in (rows[:cut], rows[cut:]):
        indptr = np.cumsum([0, *map(len, some)]).astype(np.int64)
        store.add(Sets(indptr, np.array([v for row in some for v in row], np.uint64)))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    found = store.read(chosen)
    assert [found[k].tolist() for k in range(len(found))] == [row for row, c in zip(rows, chosen) if c]
    assert store.sizes.tolist() == [len(row) for row in rows]


@given(st.lists(st.sets(st.integers(0, 14), min_size=2, max_size=4), min_size=1, max_size=8), st.integers(1, 30))
def test_parts_are_whole_and_fit(groups, limit):
    lists = [sorted(group) for group in groups]
    buckets = Buckets(np.cumsum([0, *map(len, lists)]), np.array([m for one in lists for m in one], np.int32))
    members = np.unique(buckets.members).astype(np.int64)
    part_of = connected_parts(buckets, 15)
    for one in lists:
        assert len({part_of[m] for m in one}) == 1
    nbytes = np.arange(1, len(members) + 1)
    heaviest = max(nbytes[part_of[members] == head].sum() for head in set(part_of[members].tolist()))
    if heaviest > limit and nbytes.sum() > limit:
        with pytest.raises(ResourceError):
            list(split_parts(buckets, members, nbytes, limit))
        return
    parts = list(split_parts(buckets, members, nbytes, limit))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(members)))
    for part in parts:
        assert nbytes[part].sum() <= limit
        assert part.tolist() == sorted(part.tolist())
    of_part = {int(m): k for k, part in enumerate(parts) for m in members[part]}
    assert all(len({of_part[m] for m in one}) == 1 for one in lists)


@pytest.mark.parametrize("wrong", ["", "much", "-1GiB", "4 gigs", "100MB", 5])
def test_sizes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="--memory"):
        parse_memory(wrong)


def test_the_default_is_half_of_what_there_is():
    assert parse_memory(None) == max(512 << 20, machine_memory() // 2)
    assert la.dedup(["a"], memory="3GiB").run["options"]["memory_bytes"] == 3 << 30
