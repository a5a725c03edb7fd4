"""Fields that show groups of records: which ones tell records apart, and when the others are left out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lookalike.engine.run import open_run
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.groups import find_groups, tells_apart
from lookalike.linkage.scoring.points import deduct
from lookalike.linkage.scoring.score import Agreement, Scores, score_pairs
from lookalike.linkage.settings import LinkSettings
from lookalike.types import strings_to_arrow

ENTITIES = np.repeat(np.arange(200), 2)
"""Each has two records, and twenty are a group."""


@pytest.mark.parametrize(
    ("codes", "tells"),
    [
        (np.arange(40) // 10, True),
        (np.append(np.arange(40) // 10, 0), False),  # ten records have a value like this, and now a few more
        (np.append(np.zeros(10), np.full(10, -1)), True),
        (np.append(np.zeros(10), np.full(11, -1)), False),  # more than half are missing
    ],
)
def test_a_field_tells_apart_if_ten_records_share_a_value_and_half_have_one(codes, tells):
    assert tells_apart(Column("", "code", codes.astype(np.int32), pa.array([]))) == tells


def make_columns(names):
    """Fields with the values of each entity (a, b, c) or of each group (g, h)."""
    values = strings_to_arrow([str(number) for number in range(200)])
    made = {name: ENTITIES if name in "abc" else ENTITIES // 20 for name in names}
    return [Column(name, "code", codes.astype(np.int32), values) for name, codes in made.items()]


def compare(columns, left, right):
    """Equal or not in each field."""
    return np.stack([np.where(one.codes[left] == one.codes[right], 1, 2) for one in columns]).astype(np.int8).T


def find(same, others, names="agbhc", every=1, matches=True, scoring="weights"):
    """The fields that show groups, if these pairs of an entity, and these of others in its group, are the matches.

    All are candidates (the first ones only if there are `matches`), and only one of `every` few is examined.
    """
    columns = make_columns(names)
    first = 2 * np.arange(200)
    pairs = [(one, one + 1) for one in first if matches] + [(one, one + 2) for one in first if one % 40 < 38]
    left, right = np.array(pairs, np.int32).T.copy()
    same_entity = ENTITIES[left] == ENTITIES[right]
    taken = np.arange(len(pairs)) % every == 0
    chosen = [np.flatnonzero(some & taken)[:wanted] for some, wanted in ((same_entity, same), (~same_entity, others))]
    likely = np.where(taken, 0.1, 0.9)  # what is not examined does not matter
    likely[np.concatenate(chosen)] = 0.5
    drawn = np.random.default_rng(1).permutation(400)[:, None] + np.arange(1, 20)
    random = compare(columns, np.repeat(np.arange(400), 19), drawn.ravel() % 400)
    agreement = Agreement(compare(columns, left, right), random, [("equal", "different")] * len(columns))
    candidates = CandidatePairs(left, right, np.zeros(len(pairs), np.uint8), [], ([], []))
    with open_run(LinkSettings.parse("x", threads=1)) as run:
        scores = score_pairs(columns, candidates, agreement, 79_800, run)
        made = deduct([2]) if scoring == "points" else scores.scoring
        given = Scores(made, scores.score, None if scoring == "nothing" else likely)
        fewest = len(pairs) // every if every > 1 else 1_000
        return find_groups(columns, candidates, agreement, given, 79_800, run, sample=fewest)


@pytest.mark.parametrize("every", [1, 3])
def test_fields_show_groups_if_most_matches_differ_in_what_tells_them_apart(every):
    assert find(1, 2, every=every) == ["g", "h"]
    assert find(2, 2, every=every) == []
    assert find(3, 2, every=every) == []


def test_no_field_shows_groups():
    assert find(0, 0) == []
    assert find(0, 3, "abc") == []  # all tell records apart
    assert find(0, 3, "gh") == []  # none does
    assert find(0, 3, matches=False) == []  # those that do find nothing
    assert find(0, 3, scoring="points") == []
    assert find(0, 3, scoring="nothing") == []
