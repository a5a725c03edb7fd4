"""Fingerprints: the lecture's error rates, matches against a plain reference, and what normalisation gains."""

import math

import pytest

from lookalike.errors import UsageError
from lookalike.lookup.fingerprints import find_prints
from lookalike.lookup.grid import normalise
from lookalike.lookup.prints import Prints
from lookalike.lookup.simulated import draw_prints, exact_rates, lecture_rates, recapture, simulate_rates


def within(rate, expected, draws, deviations=4):
    return abs(rate - expected) <= deviations * math.sqrt(expected * (1 - expected) / draws)


def test_the_simulator_shows_the_rates_of_the_lecture():
    want = lecture_rates()
    assert want == pytest.approx((0.015, 0.063), abs=5e-4)
    pairs = 2000
    rates = simulate_rates(pairs)
    assert within(rates.false_negatives, want.false_negatives, pairs)
    assert within(rates.false_positives, want.false_positives, pairs)


@pytest.mark.parametrize("squares", [64, 256])
def test_small_grids_miss_more_as_the_exact_rates_say(squares):
    pairs, want = 4000, exact_rates(squares)
    rates = simulate_rates(pairs, squares, by_square=True)
    # Pairs of a batch share its triples, which on a small grid have squares in common: a little more variation.
    assert within(rates.false_negatives, want.false_negatives, pairs, 6)
    assert within(rates.false_positives, want.false_positives, pairs, 6)
    assert not within(rates.false_negatives, lecture_rates().false_negatives, pairs, 6)


def test_exact_rates_tend_to_those_of_the_lecture():
    assert exact_rates(200_000) == pytest.approx(lecture_rates(), rel=0.01)


def jaccard(one, other):
    either = (one | other).sum()
    return (one & other).sum() / either if either else 0.0


@pytest.mark.parametrize("alone", [False, True])
def test_matches_are_those_of_the_plain_reference(alone):
    gallery = Prints.joined([draw_prints(15)] * 2)  # copies: ties
    probes = gallery if alone else recapture(draw_prints(25))
    found = find_prints(probes, None if alone else gallery, triples=200, threshold=0.15, k=4, probes_at_once=7)
    plan = found.plan
    mine, theirs = (plan.grid.occupy(normalise(one)) for one in (probes, gallery))
    triples = [plan.triples.triple(number) for number in range(200)]
    want, looked_at = [], []
    for p, probe in enumerate(mine):
        candidates = [
            g
            for g, other in enumerate(theirs)
            if not (alone and g == p) and any(probe[t].all() and other[t].all() for t in triples)
        ]
        looked_at.append(len(candidates))
        scored = sorted((-jaccard(probe, theirs[g]), g) for g in candidates)
        scored = [(p, g, -score) for score, g in scored if -score >= 0.15]
        want += [(*row, rank) for rank, row in enumerate(scored[:4], 1)]
    assert len(want) > 20
    assert [tuple(row.values()) for row in found.table().to_pylist()] == want
    assert found.looked_at.tolist() == looked_at


def first_hits(probes, gallery, **options):
    found = find_prints(probes, gallery, threshold=0.01, **options)
    best = found.ranks == 1
    return float((found.left[best] == found.right[best]).sum()) / len(probes)


def test_normalisation_finds_turned_and_scaled_prints():
    gallery = draw_prints(200)
    moved = recapture(gallery, missing=0, false=0, jitter=0)
    rough = recapture(gallery)
    found = {
        rotation: (first_hits(moved, gallery, rotation=rotation), first_hits(rough, gallery, rotation=rotation))
        for rotation in ("none", "axis", "angles")
    }
    # With nothing missing all is undone. With a tenth missing and a tenth false, centre and axis are off too.
    assert found["none"][0] < 0.7
    assert found["axis"][0] >= 0.98
    assert found["angles"][0] >= 0.98
    assert found["none"][1] < found["axis"][1] - 0.2
    assert found["angles"][1] >= 0.75


def test_by_default_strangers_do_not_match():
    gallery = draw_prints(300)
    found = find_prints(recapture(gallery, missing=0.02, false=0.02), gallery)
    same = found.left == found.right
    assert same.sum() >= 0.9 * len(gallery)
    assert (~same).sum() <= 3 * 300 * 300 / 10_000
    assert 0.35 < found.plan.threshold < 0.5
    assert find_prints(draw_prints(3)).plan.threshold == 0.4


def test_wrong_options_are_refused():
    for wrong in ({"k": 0}, {"triples": 0}, {"threshold": 0}, {"threshold": 1.5}):
        [(name, value)] = wrong.items()
        with pytest.raises(UsageError, match=rf"^{name} must be .*, not {value}$"):
            find_prints(draw_prints(2), **wrong)
    with pytest.raises(UsageError, match="rotation one of axis, angles, none"):
        find_prints(draw_prints(2), rotation="left")
    with pytest.raises(UsageError, match="pairs must be at least 1"):
        simulate_rates(0)


def test_nobody():
    none = Prints.joined([])
    assert len(find_prints(none, draw_prints(2)).left) == 0
    assert len(find_prints(draw_prints(2), none).left) == 0
    assert find_prints(none).share == 0
