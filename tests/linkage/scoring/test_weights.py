from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.linkage.scoring import weights as module
from lookalike.linkage.scoring.dependence import SMOOTH, grow_tree, independent
from lookalike.linkage.scoring.frequency import adjust_by_frequency, frequency_beyond
from lookalike.linkage.scoring.patterns import patterns_of
from lookalike.linkage.scoring.weights import fit_weights

SIZES = (2, 3, 4, 2, 3)
OFTEN = ([0.9, 0.1], [0.7, 0.2, 0.1], [0.6, 0.15, 0.1, 0.15], [0.95, 0.05], [0.8, 0.1, 0.1])
SELDOM = ([0.01, 0.99], [0.005, 0.015, 0.98], [0.002, 0.008, 0.04, 0.95], [0.3, 0.7], [0.02, 0.03, 0.95])


def drawn(draw, count, tables, missing=0.1):
    columns = [draw.choice(np.arange(1, len(table) + 1), count, p=table) for table in tables]
    levels = np.array(columns, np.int8).T
    levels[draw.random(levels.shape) < missing] = 0
    return levels


def fit(candidates, random, sizes, **options):
    found, chance = patterns_of(candidates), patterns_of(random)
    return fit_weights(found.levels, found.counts, chance.levels, chance.counts, sizes, **options)


@pytest.fixture(scope="module")
def simulated():
    """All pairs of a made-up world; those that agree in one of the first three fields are candidates."""
    draw = np.random.default_rng(7)
    levels = np.vstack([drawn(draw, 2000, OFTEN), drawn(draw, 600_000, SELDOM)])
    match = np.arange(len(levels)) < 2000
    chosen = (levels[:, :3] == 1).any(axis=1)
    random = levels[draw.integers(0, len(levels), 100_000)]
    return levels[chosen], match[chosen], random, len(levels)


def test_simulated_parameters_are_recovered(simulated):
    levels, match, random, pairs = simulated
    found = fit(levels, random, SIZES, pairs=pairs)
    assert found.converged
    assert found.notes == ()
    assert found.others.parent == (-1,) * 5
    # Matches that agree in none of the three fields are no candidates, so agreement is a little more frequent.
    truth = [
        [np.mean(column[column > 0] == level) for level in range(1, size + 1)]
        for column, size in zip(levels[match].T, SIZES)
    ]
    for table, want, own, seldom in zip(found.matches, truth, map(found.others.own, range(5)), SELDOM):
        assert table[1:] == pytest.approx(want, abs=0.02)
        assert table[1:].sum() == pytest.approx(1)
        deviation = np.sqrt(np.array(seldom) / (0.9 * len(random)))
        assert (np.abs(own - seldom) < 4 * deviation).all()
    assert found.expected == pytest.approx(match.sum(), rel=0.02)
    assert found.share == pytest.approx(match.mean(), rel=0.02)
    assert found.prior == pytest.approx(match.sum() / pairs, rel=0.02)


def test_probabilities_are_what_they_say(simulated):
    levels, match, random, pairs = simulated
    chance = fit(levels, random, SIZES, pairs=pairs).probability(levels)
    for low, high in [(0, 0.01), (0.01, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.99), (0.99, 1.1)]:
        inside = (chance >= low) & (chance < high)
        said, pairs_inside = chance[inside].mean(), inside.sum()
        assert pairs_inside > 50
        slack = 4 * math.sqrt(said * (1 - said) / pairs_inside) + 0.1 * said * (1 - said)
        assert match[inside].mean() == pytest.approx(said, abs=slack)


def test_candidates_alone_are_not_all_pairs(simulated):
    # Among candidates chance agreement is common; measured against random pairs that looks like evidence.
    levels, match, random, _ = simulated
    found = fit(levels, random, SIZES)
    assert found.expected > 1.5 * match.sum()
    assert any("number of all pairs is unknown" in note for note in found.notes)


def plain_em(levels, counts, random, random_counts, sizes, rounds):
    """Expectation and maximisation for independent fields, pair counts as given, in plain Python."""
    fields, pairs = range(len(sizes)), sum(counts)

    def own(field):
        seen = [SMOOTH] * sizes[field]
        for pattern, count in zip(random, random_counts):
            if pattern[field]:
                seen[pattern[field] - 1] += count
        return [value / sum(seen) for value in seen]

    u = [own(field) for field in fields]
    halves = [[0.5**i for i in range(size - 1)] for size in sizes]
    start = [[0.9, *(0.1 * half / sum(row) for half in row)] for row in halves]

    def posterior(pattern, m, expected):
        yes, no = max(expected, 1e-9), max(pairs - max(expected, 1e-9), 1e-9 * pairs)
        for field in fields:
            if pattern[field]:
                yes *= m[field][pattern[field] - 1]
                no *= u[field][pattern[field] - 1]
        return yes / (yes + no)

    def ordered(seen, u):
        # The isotonic regression of seen/u by the min-max formula, from the last level to the first.
        def mean(first, last):
            return sum(seen[first : last + 1]) / sum(u[first : last + 1])

        last = len(seen)
        ratio = [min(max(mean(s, t) for t in range(i, last)) for s in range(i + 1)) for i in range(last)]
        often = [value * chance for value, chance in zip(ratio, u)]
        return [value / sum(often) for value in often]

    m, expected = start, pairs / 2
    for _ in range(30):
        expected = sum(count * posterior(pattern, m, expected) for pattern, count in zip(levels, counts))
    for _ in range(rounds):
        found = [count * posterior(pattern, m, expected) for pattern, count in zip(levels, counts)]
        seen = [list(row) for row in start]
        for pattern, much in zip(levels, found):
            for field in fields:
                if pattern[field]:
                    seen[field][pattern[field] - 1] += much
        m, expected = [ordered(row, chance) for row, chance in zip(seen, u)], sum(found)
    return m, u, expected


some_sizes = st.lists(st.integers(2, 4), min_size=1, max_size=3)


@st.composite
def counted_patterns(draw):
    sizes = draw(some_sizes)
    pattern = st.tuples(*(st.integers(0, size) for size in sizes))
    some = [draw(st.dictionaries(pattern, st.integers(1, 500), min_size=1, max_size=8)) for _ in range(2)]
    return sizes, *some


@given(counted_patterns(), st.integers(1, 12))
@settings(max_examples=80)
def test_estimates_are_those_of_plain_python(drawn_patterns, rounds):
    sizes, candidates, random = drawn_patterns
    arrays = [
        (np.array(list(counts), np.int8), np.array(list(counts.values()), np.int64)) for counts in (candidates, random)
    ]
    found = fit_weights(*arrays[0], *arrays[1], sizes, iterations=rounds, tolerance=-1.0)
    m, u, expected = plain_em(
        list(candidates), list(candidates.values()), list(random), list(random.values()), sizes, rounds
    )
    assert found.iterations == rounds
    for field in range(len(sizes)):
        assert found.matches[field][1:] == pytest.approx(m[field], rel=1e-6)
        assert found.others.own(field) == pytest.approx(u[field], rel=1e-9)
        weights = [row.weight for row in found.table() if row.field == field]
        assert all(first >= second - 1e-9 for first, second in pairwise(weights))
    assert found.expected == pytest.approx(expected, rel=1e-6)
    want = [sum(math.log2(m[f][level - 1] / u[f][level - 1]) for f, level in enumerate(p) if level) for p in candidates]
    assert found.score(arrays[0][0]) == pytest.approx(want, rel=1e-5, abs=1e-5)


def copied(draw, count, tables):
    """The last field says almost always what the one before says."""
    levels = drawn(draw, count, tables, 0.0)
    same = draw.random(count) < 0.9
    levels[same, -1] = levels[same, -2]
    return levels


def test_fields_with_the_same_information_are_counted_once():
    draw = np.random.default_rng(3)
    often, seldom = [[0.8, 0.2]] * 4, [[0.005, 0.995]] * 4
    levels = np.vstack([drawn(draw, 1000, often, 0.0), copied(draw, 1_000_000, seldom)])
    match = np.arange(len(levels)) < 1000
    chosen = (levels == 1).any(axis=1)
    random = levels[draw.integers(0, len(levels), 300_000)]
    once, twice = (fit(levels[chosen], random, (2,) * 4, pairs=len(levels), dependent=d) for d in (True, False))
    assert once.others.parent == (-1, -1, -1, 2)
    found = next(row for row in once.table() if row.field == 3 and row.level == 1)
    assert found.weight > 6
    assert found.weight_if_parent_agrees < 0.5
    assert once.expected == pytest.approx(match.sum(), rel=0.1)
    # Taken for independent, the 4,500 pairs that agree in the two by chance pass for matches.
    assert twice.expected > 3 * match.sum()
    wrong = [((w.probability(levels[chosen]) > 0.5) & ~match[chosen]).sum() for w in (once, twice)]
    assert wrong[0] < 0.1 * match.sum() < match.sum() < wrong[1]


def test_matches_among_random_pairs_do_not_look_like_dependence():
    # A small table: one random pair in fifty is a match, and matches agree in everything.
    draw = np.random.default_rng(5)
    often, seldom = [[0.9, 0.1]] * 4, [[0.01, 0.99]] * 4
    levels = np.vstack([drawn(draw, 2000, often), drawn(draw, 98_000, seldom)])
    chosen = (levels == 1).any(axis=1)
    random = levels[draw.integers(0, len(levels), 50_000)]
    found = fit(levels[chosen], random, (2,) * 4, pairs=len(levels))
    assert found.others.parent == (-1,) * 4
    assert found.expected == pytest.approx(2000, rel=0.05)
    # The matches are taken out of chance agreement again: 0.01, not the 0.028 that random pairs show.
    assert [found.others.own(field)[0] for field in range(4)] == pytest.approx([0.01] * 4, rel=0.2)


@pytest.fixture(scope="module")
def chain():
    """Patterns of three fields of which each says mostly what the one before says."""
    draw = np.random.default_rng(2)
    first = draw.integers(1, 3, 200_000)
    second = np.where(draw.random(200_000) < 0.8, first, 3 - first)
    third = np.where(draw.random(200_000) < 0.9, second, 3 - second)
    found = patterns_of(np.array([first, second, third], np.int8).T)
    return found.levels, found.counts.astype(np.float64)


def test_a_tree_multiplies_to_what_was_counted(chain):
    levels, counts = chain
    unlike = np.full(levels.shape, -50.0)
    tree = grow_tree(levels, counts, (2, 2, 2), unlike, 0.0)
    assert tree.parent == (-1, 0, 1)
    assert np.exp2(tree.logs(levels).sum(axis=1)) == pytest.approx(counts / 200_000, abs=0.003)
    assert independent(levels, counts, (2, 2, 2)).parent == (-1,) * 3


def test_possible_matches_do_not_look_like_dependence(chain):
    levels, counts = chain
    # Where the third field speaks for a match, or is missing, nothing is known of the other two.
    assert grow_tree(levels, counts, (2, 2, 2), np.zeros(levels.shape), 0.0).parent == (-1,) * 3
    unlike = np.full(levels.shape, -50.0)
    unlike[:, 2] = 0.0
    missing = np.column_stack([levels[:, :2], np.zeros(len(levels), np.int8)])
    assert grow_tree(missing, counts, (2, 2, 2), unlike, 0.0).parent == (-1,) * 3
    # As many matches as other pairs: one in eight of them may differ in a field, whatever the estimate says. Three
    # times these are 67,000 pairs; more than that go together in the last two fields, fewer in the first two.
    unlike[:, 2] = -50.0
    assert grow_tree(levels, counts, (2, 2, 2), unlike, 1.0).parent == (-1, -1, 1)


def test_a_level_seen_once_says_little_about_another_field():
    levels = np.array([[1, 1, 2], [1, 2, 2], [2, 1, 2], [2, 2, 2], [3, 1, 2]], np.int8)
    tree = grow_tree(levels, np.array([400.0, 100.0, 100.0, 9400.0, 1.0]), (3, 2, 2), np.full((5, 3), -50.0), 0.0)
    assert tree.parent[1] == 0
    own, common, rare = tree.chances[1][[0, 1, 3], 0]
    assert common == pytest.approx(0.8, abs=0.02)
    assert rare == pytest.approx((1 + 10 * own) / 11)


def test_a_field_that_turned_around_gets_no_weight_and_is_named():
    draw = np.random.default_rng(1)
    often, seldom = [*OFTEN, [0.02, 0.98]], [*SELDOM, [0.5, 0.5]]
    levels = np.vstack([drawn(draw, 2000, often), drawn(draw, 200_000, seldom)])
    chosen = (levels[:, :3] == 1).any(axis=1)
    names = ["a", "b", "c", "d", "e", "upside"]
    found = fit(
        levels[chosen], levels[draw.integers(0, len(levels), 50_000)], (*SIZES, 2), pairs=len(levels), names=names
    )
    assert [row.weight for row in found.table() if row.field == 5] == pytest.approx([0, 0], abs=1e-9)
    assert [note for note in found.notes if note.startswith("upside: matches agree in it less often")]
    assert found.expected == pytest.approx(2000, rel=0.05)


HARD = {
    "all agree": ([[1, 1]], [5000]),
    "none agree": ([[2, 2]], [5000]),
    "two patterns": ([[1, 1], [2, 2]], [300, 5000]),
    "all missing": ([[0, 0]], [5000]),
    "one field missing": ([[1, 0], [2, 0]], [300, 5000]),
    "one pair": ([[1, 2]], [1]),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", HARD)
def test_hard_cases_give_finite_numbers_and_report_problems(name, known):
    levels, counts = np.array(HARD[name][0], np.int8), np.array(HARD[name][1])
    random = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], np.int8)
    found = fit_weights(levels, counts, random, np.array([1, 99, 99, 9801]), (2, 2), 1e7 if known else None)
    chance = found.probability(random)
    assert np.isfinite(found.score(random)).all()
    assert ((chance >= 0) & (chance <= 1)).all()
    assert chance[0] >= chance[1] >= chance[3]
    assert 0 <= found.expected <= counts.sum()
    says = " ".join(found.notes)
    if name in ("none agree", "all missing") and known:
        assert found.expected < 1
        assert "no matches found" in says
    if name == "one pair":
        assert "only 1 candidate pairs" in says
    if name == "one field missing" and known:
        assert "field 1: no evidence" in says
    if name == "all agree" and known:
        # 1,000 of 10 million pairs agree in both by chance.
        assert found.expected == pytest.approx(4000, abs=300)


def test_a_single_field_is_distinguished_from_chance_by_frequency():
    one = np.array([[1], [2]], np.int8)
    found = fit_weights(one, np.array([3000, 90_000]), one, np.array([100, 99_900]), (2,), 2e6)
    assert found.expected == pytest.approx(1000, abs=100)  # 2,000 of two million are equal by chance
    assert any("with a single field" in note for note in found.notes)


def test_no_candidates_at_all():
    none = np.empty((0, 2), np.int8)
    found = fit_weights(none, np.empty(0, np.int64), np.array([[1, 2]], np.int8), np.array([5]), (2, 2), 10)
    assert found.share == found.expected == 0
    assert len(found.probability(none)) == 0


def test_an_estimate_that_did_not_settle_says_so(simulated):
    levels, _, random, pairs = simulated
    found = fit(levels, random, SIZES, pairs=pairs, iterations=1)
    assert not found.converged
    assert found.iterations == module.ROUNDS
    assert "did not converge" in found.notes[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sizes": (2, 1)}, "levels"),
        ({"pairs": 5}, "10 candidates among 5 pairs"),
        ({"random_counts": np.array([0])}, "no random pairs"),
        ({"counts": np.array([1, 2])}, "but 2 counts"),
        ({"levels": np.array([[3, 1]], np.int8)}, "field 0 has levels"),
    ],
)
def test_impossible_estimates_are_refused(change, says):
    one = np.array([[1, 1]], np.int8)
    given_ = {"levels": one, "counts": np.array([10]), "random": one, "random_counts": np.array([9]), "sizes": (2, 2)}
    with pytest.raises(UsageError, match=says):
        fit_weights(**{**given_, **change})


def test_rare_values_weigh_more_than_common_ones():
    levels = np.array([1, 1, 1, 2, 0, 1, 1], np.int8)
    frequencies = np.array([0.01, 0.04, 0.0025, 0.5, 0.5, np.nan, 1e-9])
    assert adjust_by_frequency(levels, frequencies, 0.01).tolist() == pytest.approx([0, -2, 2, 0, 0, 0, 8])
    assert adjust_by_frequency(levels, frequencies, 0.01, 0.5, 2.5).tolist() == pytest.approx([0, -1, 1, 0, 0, 0, 2.5])
    assert adjust_by_frequency(levels, frequencies, 0.01, 0).tolist() == [0] * 7
    with pytest.raises(UsageError, match="equal must be above 0"):
        adjust_by_frequency(levels, frequencies, 0)


def test_a_value_that_only_the_pair_has_does_not_count_against_it():
    # A title that occurs once in each of two tables of 2,000 is rarer than one in 2,000: the two may be one.
    frequencies = frequency_beyond(np.array([0.0, 1.0, 20.0]), 2000, equal=1e-5)
    assert frequencies.tolist() == [1e-5, 0.0005, 0.01]
    added = adjust_by_frequency(np.ones(3, np.int8), frequencies, 1e-5, bits=20)
    assert added.tolist() == pytest.approx([0, -math.log2(50), -math.log2(1000)])


def test_frequency_adds_nothing_if_the_parent_field_agrees():
    draw = np.random.default_rng(3)
    random = copied(draw, 300_000, [[0.005, 0.995]] * 3)
    found = fit(np.ones((500, 3), np.int8), random, (2,) * 3, pairs=1e7)
    assert found.others.parent == (-1, -1, 1)
    equal = [found.others.own(field)[0] for field in range(3)]
    levels = np.array([[1, 1, 1], [1, 2, 1], [2, 1, 0]], np.int8)
    added = found.adjust_by_frequency(levels, np.tile(np.array(equal) / 4, (3, 1)))
    assert added.tolist() == [pytest.approx(row) for row in ([2, 2, 0], [2, 0, 2], [0, 2, 0])]
    assert (found.probability(levels, added.sum(axis=1)) >= found.probability(levels)).all()
