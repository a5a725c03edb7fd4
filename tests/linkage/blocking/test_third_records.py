"""Pairs of records that match the same third one become candidates."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lookalike.engine.run import open_run
from lookalike.linkage.blocking import third_records
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.blocking.third_records import propose_by_third
from lookalike.linkage.link import link_tables
from lookalike.linkage.scoring import third_records as scoring
from lookalike.linkage.settings import LinkSettings

RECORDS = 40


def some_pairs(seed: int) -> tuple[CandidatePairs, np.ndarray]:
    draw = np.random.default_rng(seed)
    keys = np.unique(draw.integers(0, RECORDS * RECORDS, 150))
    left, right = (keys // RECORDS).astype(np.int32), (keys % RECORDS).astype(np.int32)
    left, right = left[left < right], right[left < right]
    pairs = replace(CandidatePairs.none(), left=left, right=right, groups=np.zeros(len(left), np.uint8))
    return pairs, draw.random(len(left)) < 0.7


@pytest.mark.parametrize("chunk", [1, 7, 1_000])
def test_all_pairs_through_a_third_record(chunk):
    for seed in range(5):
        pairs, matches = some_pairs(seed)
        near = np.zeros((RECORDS, RECORDS), np.int64)
        near[pairs.left[matches], pairs.right[matches]] = near[pairs.right[matches], pairs.left[matches]] = 1
        expected = np.triu(near @ near, 1) > 0
        expected[pairs.left, pairs.right] = False
        found = np.stack(propose_by_third(pairs, matches, RECORDS, chunk))
        np.testing.assert_array_equal(found, np.stack(np.nonzero(expected)))


def test_a_record_with_very_many_matches_proposes_none(monkeypatch):
    monkeypatch.setattr(third_records, "MOST_MATCHES", 3)
    left, right = np.array([0, 0, 0, 5, 5, 5, 5], np.int32), np.array([1, 2, 3, 6, 7, 8, 9], np.int32)
    pairs = replace(CandidatePairs.none(), left=left, right=right, groups=np.zeros(7, np.uint8))
    found = propose_by_third(pairs, np.ones(7, np.bool_), 10)
    assert [side.tolist() for side in found] == [[1, 1, 2], [2, 3, 3]]


FIELDS = [f"field{number}" for number in range(8)]


def worn_copies(people: int, copies: int) -> tuple[pa.Table, list[int]]:
    """Records of people, in which half of the values are those of somebody else."""
    draw, of = random.Random(2), [person for person in range(people) for _ in range(copies)]
    values = [{name: draw.randrange(people) if draw.random() < 0.5 else person for name in FIELDS} for person in of]
    return pa.Table.from_pylist([{name: f"{name} {row[name] * 7919 % 1000}" for name in FIELDS} for row in values]), of


def test_damaged_records_of_an_entity_are_compared_through_others(monkeypatch):
    table, of = worn_copies(300, 10)

    def count() -> tuple[int, int]:
        """Candidates, each of them once, and how many are true."""
        with open_run(LinkSettings.parse(",".join(f"{name}:code" for name in FIELDS), threads=1)) as run:
            found = link_tables(table, None, run, random_pairs=50_000).candidates
        assert (found.left < found.right).all()
        assert len(np.unique(found.left.astype(np.int64) << 32 | found.right)) == len(found)
        return len(found), int((np.array(of)[found.left] == np.array(of)[found.right]).sum())

    more, more_right = count()
    monkeypatch.setattr(scoring, "CERTAIN", 2.0)
    fewer, fewer_right = count()
    assert more_right - fewer_right > 50
    assert more_right - fewer_right > 0.5 * (more - fewer)


def test_a_later_run_has_the_same_pairs_through_others(monkeypatch):
    """Weights that were learned from these pairs, too, say which records match a third one."""
    table, _ = worn_copies(100, 10)
    with open_run(LinkSettings.parse(",".join(f"{name}:code" for name in FIELDS), threads=1)) as run:
        learned = link_tables(table, None, run, random_pairs=50_000)
        again = link_tables(table, None, run, known=learned.model())
        monkeypatch.setattr(scoring, "CERTAIN", 2.0)
        assert len(link_tables(table, None, run, random_pairs=50_000).candidates) < len(learned.candidates)
    for side in ("left", "right"):
        assert getattr(again.candidates, side).tolist() == getattr(learned.candidates, side).tolist()
    assert again.score.tolist() == learned.score.tolist()
    assert again.chosen.tolist() == learned.chosen.tolist()
