from __future__ import annotations

import numpy as np
import pytest

from lookalike.linkage.scoring.words.best_partners import Best, Partners, second_leads
from lookalike.linkage.scoring.words.chance import judge_partners
from lookalike.linkage.scoring.words.weights import estimate_two, judge_two
from lookalike.linkage.scoring.words.within import Chance, WithinTable, draw_groups, rescale


def test_best_partners_by_definition():
    draw = np.random.default_rng(1)
    left, right = draw.integers(0, 20, 300).astype(np.int32), draw.integers(20, 40, 300).astype(np.int32)
    score = draw.integers(0, 9, 300).astype(np.float64)
    best = Best.find(left, right, score, 41)
    for record in range(41):
        own = [(-s, a + b - record) for a, b, s in zip(left.tolist(), right.tolist(), score) if record in (a, b)]
        assert best.partner[record] == (min(own)[1] if own else -1)


def all_pairs(points, others, first, second):
    """Every pair of two sets of points, numbered from `first` and `second`; the score falls off exponentially."""
    left, right = (grid.ravel() for grid in np.meshgrid(np.arange(len(points)), np.arange(len(others)), indexing="ij"))
    pairs = left + first < right + second  # within a table, each pair once
    left, right = left[pairs], right[pairs]
    score = -3 * np.log(np.linalg.norm(points[left] - others[right], axis=1))
    return (left + first).astype(np.int32), (right + second).astype(np.int32), score


def judge(share, sizes=(600, 600), noise=0.01, lift=(0.0, 0.0), seed=2, sampled=1.0, stretch=(1.0, 1.0)):
    """Judge records that are points; the first ones of both tables match but for noise.

    Scores within the tables are multiplied by `stretch` and raised by `lift`.
    """
    draw = np.random.default_rng(seed)
    matches = int(share * min(sizes))
    one, other = (draw.random((size, 3)) for size in sizes)
    other[:matches] = one[:matches] + draw.normal(0, noise, (matches, 3))
    left, right, score = all_pairs(one, other, 0, sizes[0])
    own = [all_pairs(points, points, first, first) for points, first in ((one, 0), (other, sizes[0]))]
    pairs = [np.concatenate([table[part] for table in own]) for part in (0, 1)]
    chance = Chance(*pairs, draw.random(sum(sizes)) < sampled, np.ones(sum(sizes), np.bool_), sizes)
    inside = np.concatenate([factor * table[2] + up for table, factor, up in zip(own, stretch, lift)])
    mutual, between = Partners.find(left, right, score, sum(sizes))
    within = chance.within(inside, second_leads(left, right, score, sum(sizes)))
    likely = judge_partners(between, within, sizes)
    return likely, (right - left == sizes[0])[mutual] & (left[mutual] < matches)


@pytest.mark.parametrize(
    ("share", "sizes"), [(0.1, (600, 600)), (0.2, (300, 900)), (0.2, (900, 300)), (0.5, (900, 300)), (0.9, (600, 600))]
)
def test_precision_is_estimated_without_labels(share, sizes):
    likely, truth = judge(share, sizes)
    assert abs(likely.sum() - truth.sum()) < 0.12 * len(truth)
    chosen = likely > 0.5
    assert truth[chosen].sum() > 0.6 * truth.sum()
    assert abs(likely[chosen].mean() - truth[chosen].mean()) < 0.12


def test_a_sample_represents_its_table():
    likely, truth = judge(0.2, sampled=0.3)
    assert abs(likely.sum() - judge(0.2)[0].sum()) < 0.1 * len(truth)
    assert abs(likely.sum() - truth.sum()) < 0.12 * len(truth)


def test_records_of_one_table_may_be_more_similar_than_those_of_two():
    plain, lifted = (judge(0.2, lift=lift)[0] for lift in ((0.0, 0.0), (2.0, -1.0)))
    assert np.allclose(plain, lifted)


@pytest.mark.parametrize("sizes", [(600, 600), (200, 1000)])
def test_nothing_stands_out_if_the_tables_share_nothing(sizes):
    assert judge(0.0, sizes)[0].sum() < 0.1 * min(sizes)


@pytest.mark.parametrize(("noise", "right"), [(0.03, 0.86), (0.04, 0.68)])
def test_wrong_partners_that_beat_the_match_are_counted(noise, right):
    likely, truth = judge(1.0, noise=noise)  # all records match
    assert truth.mean() == pytest.approx(right, abs=0.01)
    assert abs(likely.mean() - right) < 0.1


def test_without_pairs_within_the_tables_nothing_is_known():
    nothing = Partners(np.empty(0), np.empty(0))
    within = [WithinTable(nothing, records, 0.0) for records in (3, 2)]
    assert judge_partners(Partners(np.ones(2), np.zeros(2)), within, (3, 2)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("stretch", [(3.0, 3.0), (3.0, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_records_written_in_one_way_have_larger_leads(share, stretch):
    likely, truth = judge(share, stretch=stretch)
    assert abs(likely.sum() - judge(share)[0].sum()) < 0.06 * len(truth)
    assert abs(likely.sum() - truth.sum()) < 0.12 * len(truth)


def test_leads_within_a_table_are_never_enlarged():
    draw = np.random.default_rng(3)
    points = draw.random((300, 3))
    left, right, score = all_pairs(points, points, 0, 0)
    chance = Chance(left, right, np.ones(600, np.bool_), np.ones(600, np.bool_), (300, 300))
    plain, wide = chance.within(score)[0].partners, chance.within(score, np.full(600, 99.0))[0].partners
    assert np.array_equal(plain.score, wide.score)
    narrow = chance.within(score, np.full(600, 1e-3))[0].partners
    assert np.array_equal(narrow.next, plain.next)
    assert (narrow.score - narrow.next).mean() < 0.1 * (plain.score - plain.next).mean()


def test_leads_are_compared_with_those_of_the_records_that_look_for_partners_in_a_table():
    """Records of a large table have smaller leads in it than in a small one; that says nothing about chance."""
    draw = np.random.default_rng(4)
    points = draw.random((100, 3))
    left, right, score = all_pairs(points, points, 0, 0)
    chance = Chance(left, right, np.ones(400, np.bool_), np.ones(400, np.bool_), (100, 300))
    leads = second_leads(left, right, score, 400)
    askers = np.concatenate([leads[:100] / 9, np.tile(leads[:100], 3)])
    plain, same = chance.within(score)[0].partners, chance.within(score, askers)[0].partners
    assert np.array_equal(same.score, plain.score)
    reduced = chance.within(score, np.concatenate([leads[:100], np.tile(leads[:100] / 9, 3)]))[0].partners
    assert (reduced.score < plain.score).all()


def count_by_brute_force(points, other):
    """For every group of records: those whose nearest other record is not nearer to another one of the group."""
    groups, distance = draw_groups(len(points), other), np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    found = []
    for record, group in enumerate(groups):
        partner = int(np.argmin(distance[record]))
        rivals = np.flatnonzero((groups == group) & (np.arange(len(points)) != partner))
        if rivals[np.argmin(distance[rivals, partner])] == record:
            beyond = np.sort(distance[record])[1], np.sort(distance[rivals, partner])[1:2].min(initial=np.inf)
            found.append((distance[record, partner], min(beyond)))
    return np.array(sorted(found))


@pytest.mark.parametrize("sizes", [(90, 30), (90, 90), (60, 200), (41, 3)])
def test_records_look_for_partners_in_groups_of_the_size_of_the_other_table(sizes):
    points = np.random.default_rng(5).random((sizes[0], 3))
    left, right, score = all_pairs(points, points, 0, 0)
    every = np.ones(sum(sizes), np.bool_)
    found = Chance(left, right, every, every, sizes).within(score)[0]
    wanted = count_by_brute_force(points, sizes[1])
    assert found.often == len(wanted) / sizes[0]
    assert np.allclose(np.sort(found.partners.score), np.sort(-3 * np.log(wanted[:, 0])))
    assert np.allclose(np.sort(found.partners.next), np.sort(-3 * np.log(wanted[:, 1])))


@pytest.mark.parametrize("sizes", [(1000, 200), (200, 1000)])
def test_what_records_find_in_the_larger_table_is_what_chance_finds_there(sizes):
    """Number and leads of partners by chance between tables that share nothing are predicted from within a table."""
    pairs, predicted, leads = 0, 0.0, []
    for seed in range(8):
        draw = np.random.default_rng(seed)
        one, other = (draw.random((size, 3)) for size in sizes)
        left, right, score = all_pairs(one, other, 0, sizes[0])
        own = [all_pairs(points, points, first, first) for points, first in ((one, 0), (other, sizes[0]))]
        inside = [np.concatenate([table[part] for table in own]) for part in (0, 1, 2)]
        every = np.ones(sum(sizes), np.bool_)
        within = Chance(inside[0], inside[1], every, every, sizes).within(inside[2])[int(np.argmax(sizes))]
        mutual, between = Partners.find(left, right, score, sum(sizes))
        pairs, predicted = pairs + int(mutual.sum()), predicted + within.often * min(sizes)
        leads.append([(some.score - some.next).mean() for some in (between, within.partners)])
    assert predicted == pytest.approx(pairs, rel=0.06)
    assert np.mean(leads, axis=0)[1] == pytest.approx(np.mean(leads, axis=0)[0], rel=0.06)


def test_second_leads_by_definition():
    draw = np.random.default_rng(1)
    left, right = draw.integers(0, 20, 90).astype(np.int32), draw.integers(20, 60, 90).astype(np.int32)
    score = draw.integers(-9, 9, 90).astype(np.float64)
    found = second_leads(left, right, score, 61)
    for record in range(61):
        own = sorted((s for a, b, s in zip(left.tolist(), right.tolist(), score) if record in (a, b)), reverse=True)
        assert (found[record] == own[1] - own[2]) if len(own) > 2 else np.isnan(found[record])


def judge_versions(share, higher, sizes=(600, 600)):
    """The share of correct pairs among as many of the best ones as there are matches, and estimates of it.

    Records are points. The best partners within a table are versions, and score higher by `higher`.
    """
    draw = np.random.default_rng(2)
    matches = int(share * min(sizes))
    one, other = (draw.random((size, 3)) for size in sizes)
    other[:matches] = one[:matches] + draw.normal(0, 0.01, (matches, 3))
    left, right, score = all_pairs(one, other, 0, sizes[0])
    own = [all_pairs(points, points, first, first) for points, first in ((one, 0), (other, sizes[0]))]
    inside = [np.concatenate([table[part] for table in own]) for part in (0, 1, 2)]
    inside[2][Partners.find(*inside, sum(sizes))[0]] += higher
    every = np.ones(sum(sizes), np.bool_)
    given = left, right, Chance(inside[0], inside[1], every, every, sizes), inside[2][:, None].astype(np.float32)
    selves = np.full((1, 1), 99, np.float32)  # no pair is nearly equal
    mutual, likely = judge_two(*given)(score, np.ones(1), 0.0)
    truth = ((right - left == sizes[0]) & (left < matches))[mutual]
    top = np.argsort(-score[mutual])[: truth.sum()]
    return [one[top].mean() for one in (truth, likely, *estimate_two(*given, selves)(score, np.ones(1), 0.0, likely))]


@pytest.mark.parametrize(("share", "higher"), [(0.1, 1.0), (0.1, 2.0), (0.2, 2.0)])
def test_versions_within_a_table_are_not_chance_between_the_tables(share, higher):
    """The leads between the tables show that there are none; the distances of further partners do not."""
    right, cautious, best, *_ = judge_versions(share, higher)
    assert cautious < right - 0.3
    assert abs(best - right) < 0.75 * abs(cautious - right)


@pytest.mark.parametrize(("share", "higher"), [(0.05, 0.0), (0.1, 0.0), (0.1, 1.0), (0.5, 0.0)])
def test_the_true_precision_is_between_the_extremes(share, higher):
    right, _, best, low, high = judge_versions(share, higher)
    assert low <= right <= high
    assert low <= best <= high


def rescaled_leads(wrong, within=1.0):
    """The leads of two pairs within a table, and of a table without pairs, if pairs between have leads of 8 and 1/4."""
    between = Partners(np.array([9.0, 1.25, 1.25]), np.ones(3))
    tables = [
        WithinTable(Partners(np.array([4.0, 8.0]) + within, np.array([4.0, 8.0])), 8, 0.5),
        WithinTable(Partners(np.empty(0), np.empty(0)), 2, 0.0),
    ]
    return [(one.partners.score - one.partners.next).tolist() for one in rescale(tables, between, wrong, 3.0)]


def test_leads_are_rescaled_to_those_of_pairs_that_are_no_matches():
    assert rescaled_leads(np.array([0.0, 1.0, 1.0])) == [pytest.approx([1.5, 1.5]), []]


def test_leads_are_not_enlarged_unless_records_of_a_table_come_in_groups():
    """Then their own leads vanish. Neither are they if most pairs between the tables are matches."""
    unlikely = np.array([0.0, 1.0, 1.0])
    assert rescaled_leads(unlikely, 0.2) == [pytest.approx([0.6, 0.6]), []]
    assert rescaled_leads(unlikely, 0.01) == rescaled_leads(unlikely, 0.0) == [pytest.approx([0.75, 0.75]), []]
    assert rescaled_leads(unlikely / 4, 0.01) == [pytest.approx([0.03, 0.03]), []]


@pytest.mark.parametrize("variants", [2, 3, 5])
def test_a_match_stands_out_though_its_variants_are_nearly_as_good(variants):
    """Products come in variants that are alike, and all are in both tables: the next best partner is a variant."""
    draw = np.random.default_rng(3)
    kinds, records = 200, 200 * variants
    points = np.repeat(draw.random((kinds, 6)), variants, axis=0) + draw.normal(0, 0.02, (records, 6))
    left, right, score = all_pairs(points, points + draw.normal(0, 0.008, points.shape), 0, records)
    own = [all_pairs(points, points, first, first) for first in (0, records)]
    inside = [np.concatenate([table[part] for table in own]) for part in (0, 1, 2)]
    every = np.ones(2 * records, np.bool_)
    chance = Chance(inside[0], inside[1], every, every, (records, records))
    given = left, right, chance, inside[2][:, None].astype(np.float32)
    likely = judge_two(*given)(score, np.ones(1), 0.0)[1]
    selves = np.full((1, 1), 13, np.float32)  # hardly more than a match
    best, *others = estimate_two(*given, selves)(score, np.ones(1), 0.0, likely)
    assert best.sum() > 0.8 * records
    assert min(one.sum() for one in others) <= best.sum()
