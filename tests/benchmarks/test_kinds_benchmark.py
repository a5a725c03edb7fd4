"""The benchmark of kinds of records: what variants do to tables and truth, and how results are judged."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from kinds.judge import Result, measure_apart
from kinds.sketch import model
from kinds.tables import Case, pairs_between
from kinds.variants import variants, with_share


def rows(prefix, entities):
    return [{"name": f"{prefix} {n}", "place": f"place {entity}", "entity": str(entity)} for n, entity in entities]


@pytest.fixture
def two():
    left = rows("left", enumerate([0, 1, 2, 3, 4, 5, 6, 7, 7]))
    right = rows("right", enumerate([7, 5, 5, 3, 2, 1, 0, 99, 98]))
    labels = [np.array([int(row["entity"]) for row in table]) for table in (left, right)]
    return Case("two", left, right, "name,place", pairs_between(*labels))


@pytest.fixture
def one():
    table = rows("row", enumerate([0, 0, 0, 1, 1, 2, 3, 3, 4, 5]))
    return Case("one", table, None, "name,place", pairs_between(np.array([int(row["entity"]) for row in table]), None))


def test_the_truth_of_every_variant_is_that_of_its_records(one, two):
    """Every listed pair has one entity, and no pair of one entity is missing."""
    for case in (one, two):
        seen = set()
        for variant in variants(case):
            seen.add(variant.variant)
            right = variant.left if variant.right is None else variant.right
            truth = {(int(a), int(b)) for a, b in variant.truth}
            same = {
                (a, b)
                for a, first in enumerate(variant.left)
                for b, second in enumerate(right)
                if first["entity"] == second["entity"] and (variant.right is not None or a < b)
            }
            assert truth == same, variant.variant
        assert len(seen) > 5


def test_partners_are_removed_and_others_stay(two, one):
    for case in (two, one):
        nobody = with_share(case, 0)
        assert len(nobody.truth) == 0
        assert len(with_share(case, 1).truth) == len(case.truth)
    assert {row["entity"] for row in with_share(two, 0).right} == {"98", "99"}
    assert len(with_share(one, 0).left) == 6


def test_a_case_is_linked_in_a_process_of_its_own(two):
    result = measure_apart(two)
    assert result.error == ""
    assert result.peak_mb > 20
    assert result.links > 0
    hits = result.links * result.precision
    assert result.score == pytest.approx(2 * hits / (result.links + len(two.truth)), abs=1e-3) != 0
    assert "nothing" in measure_apart(two.changed("", fields="nothing")).error


def test_what_is_stated_is_judged():
    def holds(true, **stated):
        return Result("a", "b", precision=true, stated_precision=stated).holds("precision")

    assert holds(0.9, estimate=0.92, low=0.85, high=0.99)
    assert not holds(0.8, estimate=0.92, low=0.85, high=0.99)
    assert not holds(0.9, estimate=0.92)
    assert Result("a", "b", precision=0.9).holds("precision") is None
    assert Result("a", "b", precision=0.5, stated_precision={"estimate": 0.9}).overstated == pytest.approx(0.4)
    assert Result("a", "b", precision=0.9, stated_precision={"estimate": 0.5}).overstated == 0


def test_the_sketch_finds_who_is_listed_twice():
    draw = np.random.default_rng(2)
    names = ["".join(draw.choice(list("abcdefghijklmnop"), 7)) for _ in range(120)]
    left = [{"name": name, "town": names[draw.integers(40)]} for name in names]
    right = [{"name": row["name"][:-1] + "x", "town": row["town"]} for row in left[:60]]
    truth = np.stack([np.arange(60), np.arange(60)], 1)
    case = Case("people", left, right, "name:text,town:person", truth)
    assert measure_apart(case, model.link).score > 0.9
    assert measure_apart(case.changed("", right=[]), model.link).links == 0
