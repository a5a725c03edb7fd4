from __future__ import annotations

import numpy as np
import pytest

from lookalike.kernels.partners import rank_partners
from lookalike.linkage.scoring.words.alone import REPEATED, judge_groups
from lookalike.linkage.scoring.words.groups import MOST, Groups, within


def draw_pairs(seed, records=60, count=500):
    draw = np.random.default_rng(seed)
    near = np.concatenate([np.transpose(np.triu_indices(4, 1)) + 4 * group for group in range(10)])
    left, right = (np.append(draw.integers(0, records, count), near[:, side]) for side in (0, 1))
    keys = np.unique(np.minimum(left, right)[left != right] * records + np.maximum(left, right)[left != right])
    ends = (keys // records).astype(np.int32), (keys % records).astype(np.int32)
    score = draw.random(len(keys)) + 3.0 * (ends[0] // 4 == ends[1] // 4)  # groups of four
    return *ends, score, draw.random(len(keys)) < 0.7


def partners_of(record, left, right, score):
    """The partners of a record, best first, with the places of their pairs."""
    pairs = [
        (-score[k], k, int(left[k] + right[k] - record)) for k in range(len(left)) if record in (left[k], right[k])
    ]
    return [(partner, place) for _, place, partner in sorted(pairs)]


@pytest.mark.parametrize("seed", range(3))
def test_partners_are_ranked(seed):
    left, right, score, _ = draw_pairs(seed)
    score = np.round(score, 1)  # of equal scores, the first counts
    best, places = np.full((60, 5), -9.0), np.full((60, 5), -1, np.int32)
    rank_partners(left, right, score, best, places)
    for record in range(60):
        wanted = [place for _, place in partners_of(record, left, right, score)][:5]
        assert places[record][places[record] >= 0].tolist() == wanted
        assert best[record].tolist() == [*score[wanted], *[-9.0] * (5 - len(wanted))]


@pytest.mark.parametrize("seed", range(3))
def test_closed_groups_are_those_of_the_definition(seed):
    left, right, score, alike = draw_pairs(seed)
    partners = {record: partners_of(record, left, right, score) for record in range(60)}
    wanted = {}
    for record, own in partners.items():
        for size in range(2, MOST + 1):
            group = frozenset([record, *(partner for partner, _ in own[: size - 1])])
            others = [partners[one][: size - 1] for one in group]
            closed = len(group) == size and all(
                {one for one, _ in some} | {me} == group for me, some in zip(group, others)
            )
            if closed and (size == 2 or all(2 * sum(alike[place] for _, place in some) >= size - 1 for some in others)):
                worst = min(score[place] for some in others for _, place in some)
                outer = [partners[one][size - 1 : size] for one in group]
                best = max([score[place] for some in outer for _, place in some], default=score.min())
                if any(not some for some in outer):
                    best = max(best, score.min())
                wanted[group] = 2 * worst - best
    groups = Groups.find(left, right, score, alike, 60)
    found = {frozenset(np.flatnonzero((groups.of_record == number).any(axis=1)).tolist()): stands_out
             for number, stands_out in enumerate(groups.stands_out.tolist())}  # fmt: skip
    assert any(len(group) > 2 for group in wanted)
    assert found == pytest.approx(wanted)
    assert groups.size.tolist() == [len(group) for group in found]


@pytest.mark.parametrize("least", [-np.inf, 4.0, 6.0, np.inf])
def test_chosen_groups_are_the_largest_that_stand_out_enough_or_else_the_clearest(least):
    groups = Groups.find(*draw_pairs(1), 60)
    chosen = groups.choose(least)
    for number in np.unique(chosen[chosen >= 0]):
        assert np.count_nonzero(chosen == number) == groups.size[number]
    for record in range(60):
        own = groups.of_record[record][groups.of_record[record] >= 0]
        enough = own[groups.stands_out[own] >= least]
        if len(enough):
            assert chosen[record] == enough[-1]
        elif chosen[record] >= 0:
            larger = own[groups.size[own] > groups.size[chosen[record]]]
            assert (groups.stands_out[larger] <= groups.stands_out[chosen[record]]).all()


def repeat(draw, records, sizes, top=8):
    """Pairs of one table: exponential scores by chance, and entities with the given numbers of records."""
    left = np.repeat(np.arange(records, dtype=np.int32), top)
    right = ((left + draw.integers(1, records, len(left))) % records).astype(np.int32)
    ends, start = [np.empty((2, 0), np.int64)], 0
    for size in sizes:
        ends.append(np.array(np.triu_indices(size, 1)) + start)
        start += size
    matches = np.concatenate(ends, axis=1).astype(np.int32)
    score = np.append(draw.exponential(1, len(left)), draw.normal(12, 1, matches.shape[1]))
    truth = np.arange(len(score)) >= len(left)
    return np.append(left, matches[0]), np.append(right, matches[1]), score, truth


@pytest.mark.parametrize("sizes", [[3] * 50, [3, 4, 5, 6] * 30, [2] * 40 + [3] * 40])
def test_entities_with_several_records_are_found(sizes):
    left, right, score, truth = repeat(np.random.default_rng(5), 1500, sizes)
    found = judge_groups(left, right, score, np.ones(len(left), np.bool_), 1500)
    assert found.repeated > REPEATED
    sure = np.flatnonzero(found.inside)[found.likely >= 0.5]
    assert truth[sure].mean() > 0.9
    assert truth[sure].sum() > 0.65 * truth.sum()
    assert abs(found.likely.sum() - truth[found.inside].sum()) < 0.15 * len(found.likely)


@pytest.mark.parametrize("sizes", [[], [2] * 300])
def test_groups_by_chance_are_not_repeated_entities(sizes):
    left, right, score, _ = repeat(np.random.default_rng(5), 1500, sizes)
    assert judge_groups(left, right, score, np.ones(len(left), np.bool_), 1500).repeated <= REPEATED


def test_records_that_are_not_alike_are_no_group():
    """Products of a series are each other's best partners, but differ in their numbers."""
    left, right, score, truth = repeat(np.random.default_rng(5), 1500, [4] * 40)
    found = judge_groups(left, right, score, ~truth, 1500)
    assert found.repeated == 0
    assert not found.inside[truth].any()
    groups = Groups.find(left, right, score, ~truth, 1500)
    assert 0 < within(groups.choose(-np.inf), left, right)[truth].mean() < 0.4  # pairs at most


def test_of_groups_within_each_other_the_largest_clear_one_counts():
    """Two records of four may be nearly equal: this makes their pair stand out more, but the others belong to it."""
    left, right, score, truth = repeat(np.random.default_rng(5), 1500, [4] * 60)
    equal = truth & (left % 4 == 0) & (right % 4 == 1)
    score[truth], score[equal] = score[truth] - 1, 14.0
    found = judge_groups(left, right, score, np.ones(len(left), np.bool_), 1500)
    assert found.inside[truth].mean() > 0.6  # 0.5 if the clearest counted


def test_without_pairs_there_are_no_groups():
    nothing = np.empty(0, np.int32)
    found = judge_groups(nothing, nothing, np.empty(0), np.empty(0, np.bool_), 3)
    assert found.repeated == 0
    assert len(found.inside) == 0
