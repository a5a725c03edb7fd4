"""Bit strings that differ in few bits: by blocks of bits, the same pairs as by comparing all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.engine.workers import Workers
from lookalike.features.vectors import rows_of, words_of
from lookalike.matching.bit_strings import near_bit_strings
from lookalike.read import open_data
from lookalike.types import VectorKind, Wanted
from lookalike.verify.measures import Measure


def rows_from(bits):
    """Bit strings as the jobs store them, from a matrix of zeros and ones."""
    [block] = open_data(bits.astype(bool), "text").blocks()
    kind = VectorKind(bits.shape[1], "bits")
    sets = words_of(*rows_of(block.items(Wanted("text")).features, kind), kind)
    return kind, kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)


def search(bits, most, earlier=0, **how):
    kind, rows = rows_from(bits)
    measure = replace(Measure.parse("hamming", most), of_vectors=True)
    with Workers(2) as workers:
        return list(near_bit_strings(kind, measure, rows, earlier, workers, **how))


def listed(parts):
    return sorted((int(i), int(j)) for part in parts for i, j in zip(part.left, part.right))


def by_counting(bits, most, earlier=0):
    ones = bits.astype(np.float32)
    apart = ones.sum(1)[:, None] + ones.sum(1) - 2 * ones @ ones.T  # whole numbers, exact in 32 bits
    return [
        (i, j)
        for i, j in zip(*np.nonzero(np.triu(apart <= most, 1)))
        if not earlier or i < earlier <= j
    ]  # fmt: skip


def copies(count, width, seed, ones=0.5, flips=6):
    """Strings of which many are copies of others with some bits flipped; bits are set with chance `ones`."""
    draw = np.random.default_rng(seed)
    bits = (draw.random((count, width)) < ones).astype(np.uint8)
    for i in range(1, count, 2):
        bits[i] = bits[draw.integers(0, i)]
        bits[i, draw.integers(0, width, draw.integers(0, flips + 1))] ^= 1
    return bits


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 150),
    st.integers(0, 60),
    st.integers(0, 2**32),
    st.sampled_from([0.5, 0.05, 0.0]),
    st.data(),
)
def test_blocks_find_the_same_pairs_as_comparing_all(width, count, seed, ones, data):
    bits = copies(count, width, seed, ones) if count else np.zeros((1, width), np.uint8)
    most = data.draw(st.one_of(st.integers(0, min(12, width)), st.integers(0, width + 2)))
    earlier = data.draw(st.integers(0, max(0, count - 1)))
    want = by_counting(bits, most, earlier)
    for blocks in (True, False, None):
        assert listed(search(bits, most, earlier, blocks=blocks, room=data.draw(st.sampled_from([1, 7, 100])))) == want


@pytest.mark.parametrize("earlier", [0, 400])
def test_a_killed_search_resumes_where_it_stopped(earlier):
    bits = copies(1000, 100, seed=3)
    bits[::3, 10:] = bits[0, 10:]  # a large bucket, cut into tasks
    whole = search(bits, 4, earlier, blocks=True, room=5000)
    assert len(whole) > 10
    assert [part.reached for part in whole] == [*range(1, len(whole) + 1)]
    for reached in (0, 1, 7, len(whole) - 1, len(whole)):
        rest = search(bits, 4, earlier, blocks=True, room=5000, first=reached)
        assert listed(rest) == listed(whole[reached:])
        assert [part.reached for part in rest] == [part.reached for part in whole[reached:]]


def test_few_pairs_are_compared_if_few_can_be_near():
    bits = copies(6000, 128, seed=5)
    parts = search(bits, 7)
    assert listed(parts) == listed(search(bits, 7, blocks=False))
    assert sum(part.compared for part in parts) < 6000 * 5999 / 2 / 100
    assert sum(len(part.left) for part in parts) > 3000


def test_all_pairs_are_compared_if_blocks_do_not_help():
    bits = copies(1500, 64, seed=6)
    assert listed(search(bits, 30)) == listed(search(bits, 30, blocks=True))
    assert sum(part.compared for part in search(bits, 30)) < sum(
        part.compared for part in search(bits, 30, blocks=True)
    )


@pytest.mark.parametrize("job", ["pairs", "dedup"])
def test_jobs_at_recall_1(job):
    bits = copies(2500, 72, seed=9).astype(bool)
    want = by_counting(bits, 3)
    if job == "pairs":
        found = la.pairs(bits, measure="hamming", threshold=3, recall=1)
        assert list(zip(found["left"].to_pylist(), found["right"].to_pylist())) == want
    else:
        removed = la.dedup(bits, measure="hamming", threshold=3, recall=1).removed
        near = set(want)
        kept = np.setdiff1d(np.arange(2500), removed["row"].to_numpy())
        assert not any((int(i), int(j)) in near for i in kept[:300] for j in kept)
        assert all(
            (min(i, j), max(i, j)) in near for i, j in zip(removed["row"].to_pylist(), removed["kept_row"].to_pylist())
        )
