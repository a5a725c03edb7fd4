from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.linkage.scoring import validation
from lookalike.linkage.scoring.validating_field import ValidatingField
from lookalike.linkage.scoring.validation import valid_fraction, validate
from lookalike.linkage.settings import LinkSettings


def test_the_numbers_of_the_lecture():
    # Two records created at random within 90 days lie 30 days apart on average.
    days = np.arange(0, 90, 0.25)
    assert np.abs(days[:, None] - days).mean() == pytest.approx(30, abs=0.01)
    for x in (0, 6, 10, 15, 29.5, 30):
        assert valid_fraction(x, random=30) == pytest.approx((30 - x) / 30)
    # Identical records lie 10 days apart: by the lecture's formula only two of three of these would be valid.
    assert valid_fraction(10, random=30) == pytest.approx(2 / 3)
    assert valid_fraction(10, random=30, matching=10) == 1
    assert valid_fraction(20, random=30, matching=10) == 0.5
    # Where all delays up to 90 days are alike, random pairs lie 45 days apart: (45 - x)/35.
    assert valid_fraction(24, random=45, matching=10) == pytest.approx((45 - 24) / 35)


def test_fractions_stay_between_none_and_all():
    assert valid_fraction(5, random=30, matching=10) == 1
    assert valid_fraction(35, random=30, matching=10) == 0
    with pytest.raises(UsageError, match="choose another field"):
        valid_fraction(5, random=10, matching=10)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), min_size=70, max_size=150))
def test_bins_hold_every_pair_and_nothing_falls(pairs):
    scores, differences = np.array(pairs, np.float64).T
    differences[differences > 18] = np.nan
    found = validate(scores, differences, np.arange(0.0, 60), matching=1.0, quantile=1)
    for row in found.table():
        above = scores >= row.cut
        assert row.pairs == above.sum()
        assert 0 <= row.low <= row.precision <= row.high <= 1
    assert found.cuts[0] == scores.min()
    assert (np.diff(found.cuts) > 0).all()
    assert (np.diff(found.precision) >= -1e-12).all()
    assert (np.diff(found.fractions) >= -1e-12).all()
    known = ~np.isnan(differences)
    assert found.known.sum() == known.sum()
    bin_of = np.searchsorted(found.cuts, scores, side="right") - 1
    for bin_, mean in enumerate(found.means):
        inside = known & (bin_of == bin_)
        if inside.any():
            assert mean == pytest.approx(differences[inside].mean())
    if len(found.cuts) == 1 and known.any():
        assert found.precision[0] == pytest.approx(valid_fraction(differences[known].mean(), 29.5, 1.0))


def world(seed, pairs=4000, missing=0.2, outliers=0.01, steep=1.0):
    """Pairs of which the more are valid the higher they score; how far they differ does not depend on the score."""
    draw = np.random.default_rng(seed)
    scores = draw.uniform(-8, 12, pairs)
    chance = 1 / (1 + np.exp(-steep * scores))
    valid = draw.random(pairs) < chance
    dates = draw.uniform(0, 90, (2, pairs))
    differences = np.where(valid, draw.exponential(10, pairs), np.abs(dates[0] - dates[1]))
    differences[draw.random(pairs) < outliers] = 36500  # a wrong century
    differences[draw.random(pairs) < missing] = np.nan
    random = np.abs(np.subtract(*draw.uniform(0, 90, (2, 5000))))
    random[draw.random(5000) < outliers] = 36500
    return scores, differences, random, valid, chance


CUTS = (-8.0, -2.0, 0.0, 2.0, 5.0)


def test_intervals_cover_the_true_precision():
    covered, right, errors = np.zeros(len(CUTS)), np.zeros(len(CUTS)), []
    worlds = 150
    for seed in range(worlds):
        scores, differences, random, valid, chance = world(seed)
        found = validate(scores, differences, random)
        for place, cut in enumerate(CUTS):
            row = found.at(cut)
            above = scores >= row.cut
            covered[place] += row.low <= chance[above].mean() <= row.high
            right[place] += row.low <= valid[above].mean() <= row.high
            errors.append(row.precision - valid[above].mean())
    # 95% within four standard deviations of so many worlds; the sure ones make the interval at the top narrower.
    least = 0.95 - 4 * math.sqrt(0.95 * 0.05 / worlds)
    assert (covered / worlds >= least).all(), covered / worlds
    assert (right / worlds >= least).all(), right / worlds
    assert (covered / worlds).mean() < 0.999  # an interval that covers everything would tell nothing
    assert abs(np.mean(errors)) < 0.005


def test_few_bogus_pairs_that_were_not_seen_are_allowed_for():
    # 40 pairs of which one in fifty is bogus: in most worlds none is, and the interval must still reach 0.98.
    covered = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        random = draw.uniform(0, 90, 3000)
        valid = draw.random(40) < 0.98
        differences = np.where(valid, draw.uniform(0, 4, 40), draw.uniform(0, 90, 40))
        found = validate(np.ones(40), differences, random, matching=2.0)
        covered += found.low[0] <= 0.98 <= found.high[0]
    assert covered >= 0.95 * 200 - 4 * math.sqrt(0.95 * 0.05 * 200)


def test_the_interval_is_narrower_with_more_pairs():
    widths = []
    for pairs in (800, 80_000):
        scores, differences, random, *_ = world(1, pairs)
        row = validate(scores, differences, random, sure=scores > 8).at(0.0)
        widths.append(row.high - row.low)
    assert widths[1] < 0.03 < 0.1 < widths[0]


def test_the_cut_for_a_precision():
    scores, differences, random, _, chance = world(5, 100_000)
    found = validate(scores, differences, random)
    for wanted in (0.7, 0.9, 0.97):
        row, cautious = found.cut_for(wanted), found.cut_for(wanted, cautious=True)
        assert row.precision >= wanted
        assert chance[scores >= row.cut].mean() == pytest.approx(wanted, abs=0.03)
        assert cautious.cut >= row.cut
        assert cautious.low >= wanted
        below = [other for other in found.table() if other.cut < row.cut]
        assert below[-1].precision < wanted
    assert found.cut_for(0).cut == scores.min()
    bogus = validate(scores, np.abs(np.random.default_rng(1).uniform(0, 90, 100_000)), random, matching=5)
    assert bogus.cut_for(0.9) is None
    with pytest.raises(UsageError, match=r"precision must be between 0 and 1, not 1\.5"):
        found.cut_for(1.5)


def test_outliers_are_cut_off():
    scores, differences, random, valid, _ = world(2, 20_000, outliers=0.02)
    plain = validate(scores, differences, random)
    assert plain.at(0).precision == pytest.approx(valid[scores >= plain.at(0).cut].mean(), abs=0.05)
    assert plain.random.mean < 1000


def test_certain_pairs_are_valid_and_show_how_far_matches_differ():
    scores, differences, random, _, _ = world(3)
    sure = scores > 9
    found = validate(scores, differences, random, sure)
    known = sure & ~np.isnan(differences)
    capped = np.minimum(differences[known], np.quantile(random, validation.QUANTILE))
    assert found.matching.pairs == known.sum()
    assert found.matching.mean == pytest.approx(capped.mean())
    assert found.known.sum() == (~np.isnan(differences) & ~sure).sum()
    assert found.at(11.9).precision == pytest.approx(1, abs=0.01)
    # Where every pair is said to be sure, there is nothing left to measure.
    top = scores > 0
    every = validate(scores[top], differences[top], random, np.ones(top.sum(), bool))
    assert set(every.precision) == set(every.low) == {1.0}


def test_too_few_sure_pairs_give_a_lower_bound_and_a_note():
    scores, differences, random, valid, _ = world(4)
    sure = np.zeros(len(scores), bool)
    sure[np.argsort(scores)[-5:]] = True
    found, zero = validate(scores, differences, random, sure), validate(scores, differences, random, matching=0.0)
    assert "lower bound" in found.notes[0]
    assert found.at(0).precision < valid[scores >= 0].mean()
    assert found.precision.tolist() == zero.precision.tolist()


@pytest.mark.parametrize("pairs", [1, 3, 25])
def test_a_handful_of_pairs(pairs):
    found = validate(np.arange(pairs, dtype=np.float64), np.ones(pairs), np.arange(90.0))
    assert len(found.cuts) == 1
    assert found.low[0] < found.precision[0] <= found.high[0] <= 1
    assert found.high[0] > 0.99
    assert "lower bound" in found.notes[0]
    with pytest.raises(UsageError, match="no candidate pair has a value"):
        validate(np.ones(pairs), np.full(pairs, np.nan), np.arange(90.0))


def test_impossible_validation_is_refused():
    scores, differences, random, *_ = world(1)
    with pytest.raises(UsageError, match="does not distinguish matches from random"):
        validate(scores, random[: len(scores)], random)
    with pytest.raises(UsageError, match="only 3 random pairs"):
        validate(scores, differences, np.array([1.0, 2.0, 3.0, np.nan]))
    with pytest.raises(UsageError, match="as many"):
        validate(scores, differences[1:], random)


def test_payments_are_validated_by_their_dates(data_folder):
    folder = data_folder / "transactions"
    if not folder.is_dir():
        pytest.skip("no transactions among the real data")
    tables = [pq.read_table(folder / f"transactions_{name}.parquet") for name in ("origin", "destination")]
    truth, days, amounts = (
        [table[name].combine_chunks().cast(kind).to_numpy() for table in tables]
        for name, kind in (("ground_truth", "int64"), ("transaction_date", "int32"), ("amount", "float64"))
    )
    memos = [[memo.upper() for memo in table["memo"].to_pylist()] for table in tables]
    left, right = near_amounts(memos, amounts)
    scores = score_payments(memos, amounts, left, right)
    matches, differences = truth[0][left] == truth[1][right], np.abs(days[0][left] - days[1][right]).astype(float)
    draw = np.random.default_rng(1)
    random = np.abs(draw.choice(days[0], 100_000) - draw.choice(days[1], 100_000)).astype(float)
    found = validate(scores, differences, random)
    assert found.matching.mean == pytest.approx(2.85, abs=0.2)
    assert np.abs(random).mean() == pytest.approx(35, abs=0.5)
    assert 32 < found.random.mean < 35  # the largest tenth is cut off
    true = [matches[scores >= row.cut].mean() for row in found.table()]
    assert len(true) > 20
    assert min(true) < 0.4 < 0.99 < max(true)
    for row, precision in zip(found.table(), true):
        assert row.precision == pytest.approx(precision, abs=0.03)
    row = found.cut_for(0.95)
    assert matches[scores >= row.cut].mean() == pytest.approx(0.95, abs=0.02)


def near_amounts(memos, amounts):
    """Pairs whose memos begin alike and whose amounts differ by at most three percent."""
    starts = np.array([memo[:4] for side in memos for memo in side])
    number = np.unique(starts, return_inverse=True)[1] * 1e9
    left, right = number[: len(memos[0])], number[len(memos[0]) :]
    order = np.argsort(right + amounts[1])
    keys = (right + amounts[1])[order]
    first, last = (np.searchsorted(keys, left + amounts[0] * factor) for factor in (0.97, 1.03))
    counts = last - first
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return np.repeat(np.arange(len(left)), counts), order[places]


def score_payments(memos, amounts, left, right):
    """The share of common trigrams, and how near the amounts are."""
    grams = [[{memo[i : i + 3] for i in range(len(memo) - 2)} for memo in side] for side in memos]
    shared = [
        len(grams[0][i] & grams[1][j]) / max(1, min(len(grams[0][i]), len(grams[1][j])))
        for i, j in zip(left.tolist(), right.tolist())
    ]
    apart = np.abs(amounts[0][left] - amounts[1][right]) / np.maximum(amounts[0][left], 0.01)
    return 10 * np.array(shared) + 6 * (apart < 1e-9) + 4 * (1 - apart / 0.03)


def test_a_value_without_a_square_counts_as_none():
    """Warnings are errors here."""
    table = pa.table({"name": ["ann lee", "bob ray", "cy dow", "di fox"] * 9, "n": [1.0, 2.0, 1e300, -1e300] * 9})
    settings = LinkSettings.parse("name", validate="n")
    field = ValidatingField.read(table, None, settings, print)
    assert np.count_nonzero(np.isnan(field.values)) == 18
