from collections import Counter
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.candidates.exact import INDEXES, JoinSizes, JoinStats, join_exact
from lookalike.engine.workers import Workers
from lookalike.errors import ResourceError, UsageError
from lookalike.types import Numbered
from lookalike.verify.measures import NUMBERS
from reference import holds

WAYS = ["length", "prefix", "position", "suffix", "inline", "marked"]
THRESHOLDS = [Fraction(1, 4), Fraction(1, 2), Fraction(11, 20), Fraction(2, 3), Fraction(9, 10), Fraction(1)]
measures = st.sampled_from(sorted(NUMBERS))
thresholds = st.sampled_from(THRESHOLDS)


def sets_in(values, largest, most=16):
    return st.lists(st.sets(st.integers(0, values), min_size=1, max_size=largest), max_size=most)


def near_copies(data):
    """Sets made of a few long ones with some elements changed: many pairs just above and below a threshold."""
    rows = []
    for start, size in data:
        row = set(range(size))
        row ^= {start * 7 % 97, start * 13 % 89, start}
        rows.append(row or {0})
    return rows


collections = st.one_of(
    sets_in(6, 5),
    sets_in(30, 20),
    sets_in(300, 4, 30),  # mostly elements of one set only
    sets_in(12, 8).map(lambda rows: rows + rows),  # duplicates
    sets_in(9, 4).map(lambda rows: [{*rows[0], *range(400)}, *rows] if rows else []),  # one giant
    st.lists(st.sets(st.integers(0, 12), min_size=5, max_size=5), max_size=20),  # all of one size
    st.integers(0, 9).map(lambda count: [{i} for i in range(count)]),  # singles only
    st.lists(st.tuples(st.integers(0, 120), st.integers(60, 140)), max_size=14).map(near_copies),
)


def number(rows):
    """Sets in order of size with elements by ascending frequency, and where each row went."""
    frequency = Counter(value for row in rows for value in row)
    order = {value: k for k, value in enumerate(sorted(frequency, key=lambda v: (frequency[v], v)))}
    at = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    indptr = np.cumsum([0, *(len(rows[i]) for i in at)]).astype(np.int64)
    tokens = np.array([t for i in at for t in sorted(order[v] for v in rows[i])], np.uint32)
    return Numbered(indptr, tokens, len(order), sum(f == 1 for f in frequency.values())), [rows[i] for i in at]


def arguments(measure, threshold):
    if measure == "overlap":
        threshold = Fraction(max(1, int(threshold * 5)))
    return threshold, (NUMBERS[measure], threshold.numerator, threshold.denominator)


def brute(rows, measure, threshold, sides=None):
    """Every pair left < right with its overlap, by fractions."""
    return {
        (i, j): len(rows[i] & rows[j])
        for j in range(len(rows))
        for i in range(j)
        if (sides is None or sides[i] != sides[j])
        and (
            holds(measure, rows[i], rows[j], threshold)
            or (measure == "containment" and holds(measure, rows[j], rows[i], threshold))
        )
    }


def listed(chunks):
    return [pair for c in chunks for pair in zip(c.left.tolist(), c.right.tolist(), c.overlaps.tolist())]


def join_way(sets, rule, way, pairs=1 << 19, chunks=64, **options):
    """Join by a way that "best" would take for larger collections."""
    sizes = JoinSizes(short=0 if way == "marked" else 1 << 20, few=0, alone=0, chunks=chunks, pairs=pairs)
    return join_exact(sets, rule, index=way if way in INDEXES else "best", sizes=sizes, **options)


@pytest.mark.parametrize("way", WAYS)
@given(
    collections,
    thresholds,
    measures,
    st.booleans(),
    st.sampled_from([0, 1, 1 << 19]),
    st.randoms(),
    st.sampled_from([1, 2]),
)
@settings(max_examples=120)  # of each way
def test_pairs_are_those_of_brute_force(way, rows, threshold, measure, two_sided, pairs, random, threads):
    threshold, rule = arguments(measure, threshold)
    sets, rows = number(rows)
    sides = np.array([random.random() < 0.5 for _ in rows], bool) if two_sided else None
    first = random.choice([0, random.randint(0, len(rows))])  # where an interrupted join is continued
    options = {"sides": sides, "threads": threads, "first": first}
    with Workers(threads) as workers:
        got = listed(join_way(sets, rule, way, pairs, 3, each=workers.map, **options))
    assert len({(left, right) for left, right, _ in got}) == len(got)
    expected = {pair: overlap for pair, overlap in brute(rows, measure, threshold, sides).items() if pair[1] >= first}
    assert {(left, right): overlap for left, right, overlap in got} == expected


def random_rows(count, seed, kinds=400, size=60):
    random = np.random.default_rng(seed)
    base = [random.choice(kinds, random.integers(3, size), replace=False) for _ in range(count // 5)]
    return [set(one.tolist()) ^ set(random.choice(kinds, 2).tolist()) or {1} for one in base for _ in range(5)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("measure", sorted(NUMBERS))
def test_same_pairs_in_the_same_order_whatever_the_threads_and_chunks(way, measure):
    threshold, rule = arguments(measure, Fraction(3, 5))
    sets, rows = number(random_rows(300, 1))
    sides = np.arange(len(rows)) % 3 == 0
    once = listed(join_way(sets, rule, way, sides=sides))
    assert {(left, right): overlap for left, right, overlap in once} == brute(rows, measure, threshold, sides)
    for pairs, chunks in [(0, 1), (5, 40), (1 << 19, 64)]:
        with Workers(3) as workers:
            again = join_way(sets, rule, way, pairs, chunks, sides=sides, threads=3, each=workers.map)
            assert listed(again) == once


@pytest.mark.parametrize("way", WAYS)
def test_chunks_out_of_order_lose_nothing(way):
    def backwards(function, given):
        return reversed([function(one) for one in reversed(list(given))])

    _, rule = arguments("jaccard", Fraction(1, 2))
    sets, rows = number(random_rows(200, 2))
    got = listed(join_way(sets, rule, way, threads=2, each=backwards))
    assert {(left, right): overlap for left, right, overlap in got} == brute(rows, "jaccard", Fraction(1, 2))


@pytest.mark.parametrize("way", WAYS)
def test_pairs_come_as_they_are_found(way):
    sets, _ = number([{*range(10)} for _ in range(100)])
    sizes = [len(chunk) for chunk in join_way(sets, (0, 1, 1), way, pairs=100)]
    assert sum(sizes) == 4950
    assert max(sizes) <= 200


@pytest.mark.parametrize("way", WAYS)
def test_a_pair_that_bounds_in_floats_would_lose(way):
    assert ceil(0.55 * 100) == 56  # 55.00000000000001
    sets, _ = number([{*range(55)}, {*range(100)}, {*range(55), *range(200, 300)}])
    assert listed(join_way(sets, (NUMBERS["jaccard"], 11, 20), way)) == [(0, 1, 55)]
    assert (0, 1, 55) in listed(join_way(sets, (NUMBERS["containment"], 11, 20), way))


@pytest.mark.parametrize("measure", sorted(NUMBERS))
def test_each_filter_leaves_fewer_pairs_and_none_too_few(measure):
    _, rule = arguments(measure, Fraction(7, 10))
    sets, _ = number(random_rows(400, 3))
    stats = {way: JoinStats() for way in WAYS}
    for way in WAYS:
        for _ in join_way(sets, rule, way, stats=stats[way]):
            pass
    verified = [stats[way].verified for way in WAYS]
    assert verified[:4] == sorted(verified[:4], reverse=True)
    assert len({one.found for one in stats.values()}) == 1
    assert len({one.length for one in stats.values()}) == 1
    last = stats["suffix"]
    assert last.length > last.prefix >= last.position >= last.suffix == last.verified >= last.found > 0
    assert stats["marked"].suffix == last.suffix
    assert stats["marked"].signature <= last.suffix


def test_the_sizes_of_two_collections_are_counted_across_only():
    sets, rows = number(random_rows(60, 4))
    sides = np.arange(len(rows)) % 2 == 0
    stats = JoinStats()
    list(join_exact(sets, (NUMBERS["jaccard"], 4, 5), index="length", sides=sides, stats=stats))
    sizes = [len(row) for row in rows]
    allowed = [(i, j) for j in range(len(rows)) for i in range(j) if 5 * sizes[i] >= 4 * sizes[j]]
    assert stats.length == sum(bool(sides[i] != sides[j]) for i, j in allowed)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("rows", [[], [{1}], [{1}, {2}], [{1}, {1}]])
def test_hardly_any_sets(index, rows):
    sets, _ = number(rows)
    assert listed(join_exact(sets, (0, 1, 1), index=index)) == ([(0, 1, 1)] if rows == [{1}, {1}] else [])


def test_impossible_joins_are_refused_at_once():
    sets, _ = number([{1}, {1}])
    with pytest.raises(UsageError, match="best"):
        join_exact(sets, (0, 1, 1), index="fast")
    with pytest.raises(UsageError, match="sides"):
        join_exact(sets, (0, 1, 1), sides=np.zeros(3, bool))
    with pytest.raises(ResourceError, match="lsh"):
        join_exact(Numbered(sets.indptr, sets.tokens, 1 << 31, 0), (0, 1, 1))


@pytest.mark.parametrize(("threshold", "helped"), [((9, 10), False), ((1, 5), True)])
def test_threads_are_used_if_there_is_work_for_them(threshold, helped):
    draw = np.random.default_rng(4)
    rows = [set(draw.integers(0, 300, 9).tolist()) for _ in range(3000)]
    sets, _ = number(rows + rows[:50])
    calls = []

    def each(work, given):
        given = list(given)
        calls.extend(given)
        return map(work, given)

    few = JoinSizes(few=0, alone=1e6)
    alone = list(join_exact(sets, (0, *threshold), sizes=few))
    found = list(join_exact(sets, (0, *threshold), threads=2, each=each, sizes=few))
    assert bool(calls) == helped
    assert sum(len(part.left) for part in found) == sum(len(part.left) for part in alone) > 0
