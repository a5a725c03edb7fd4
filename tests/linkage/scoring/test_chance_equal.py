"""Random pairs that are matches are recognised by values that are equal more often than chance can explain."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.kinds import occur_twice
from lookalike.linkage.scoring.chance_equal import explained_by_chance, leave_out_matches
from lookalike.linkage.scoring.patterns import Patterns

RECORDS = 2_000
LEVELS = np.array([[1, 1], [1, 3], [3, 1], [3, 3]], np.int8)


def column(codes):
    return Column("name", "person", codes.astype(np.int32), pa.nulls(int(codes.max()) + 1))


def patterns(*counts):
    return Patterns(LEVELS, np.array(counts), np.empty(0, np.int32))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_that_are_equal_by_chance_are_kept(seed):
    """Of 2,000 names drawn from 80,000, about 50 are in both tables, and 25 occur twice in a table."""
    drawn = np.random.default_rng(seed).integers(0, 80_000, 2 * RECORDS)
    assert explained_by_chance(column(drawn), RECORDS) > 0.7
    assert not occur_twice(drawn)
    assert explained_by_chance(column(drawn), None) == 1


@pytest.mark.parametrize("matches", [200, 2_000])
def test_names_of_matches_are_left_out(matches):
    both = np.arange(matches)
    left, right = (np.append(both, matches + side * RECORDS + np.arange(RECORDS - matches)) for side in (0, 1))
    assert explained_by_chance(column(np.append(left, right)), RECORDS) < 0.02


def test_names_listed_twice_are_left_out():
    once, twice = np.arange(1_000), np.repeat(np.arange(1_000, 1_500), 2)
    assert explained_by_chance(column(np.append(once, twice)), None) < 0.02


@pytest.mark.parametrize(("confirmed", "kept"), [(90, 0.0), (10, 10.0)])
def test_other_fields_must_confirm_equal_names(confirmed, kept):
    """Two inventors share the title of a patent, but neither name nor town."""
    codes = column(np.tile(np.arange(RECORDS), 2))
    town = column(np.arange(2 * RECORDS) // 1_000)
    found = leave_out_matches(
        patterns(5, 5, 990, 99_000), patterns(confirmed, 100 - confirmed, 0, 0), [codes, town], RECORDS
    )
    assert found[:2].sum() == pytest.approx(kept, abs=0.1)
    assert found[2:].tolist() == [990, 99_000]


def test_values_compared_in_another_way_are_not_judged():
    codes = column(np.tile(np.arange(RECORDS), 2))
    random = patterns(5, 5, 990, 99_000)
    assert leave_out_matches(random, random, [codes, codes], RECORDS, ["name"]).tolist() == random.counts.tolist()
