"""The changes of a later run, compared with their definition in plain Python, and those of a small run by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.changes import CHANGES, changes_of, count_changes, kinds_of_change, number_clusters
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.later import LaterRecords, RemovedRecords
from lookalike.linkage.linked import Linked, TableSizes
from lookalike.linkage.tables import RecordTable

USED = 4
record = st.tuples(st.integers(-1, 3), st.integers(-1, USED - 1), st.booleans())
"""The part that a record is in now, its cluster before, and whether it is new; -1 for none."""


def number_plainly(parts, before):
    """The first record of each record's part, its number, and the smallest number never used."""
    roots = [-1 if part < 0 else parts.index(part) for part in parts]
    shared = Counter((old, root) for old, root in zip(before, roots) if old >= 0 and root >= 0)
    given: dict[int, int] = {-1: -1}
    for old, root in sorted(shared, key=lambda pair: (-shared[pair], *pair)):
        if root not in given and old not in given.values():
            given[root] = old
    used = USED
    for root in sorted(set(roots) - set(given)):
        given[root], used = used, used + 1
    return roots, [given[root] for root in roots], used


def name_change(number, after, before, new):
    """What happened to a record."""
    own, old = after[number], before[number]
    stayed = {cluster for cluster, earlier in zip(after, before) if cluster == earlier >= 0}
    if old >= 0:
        return None if own == old else "merged" if own in stayed and old not in stayed else "split"
    if own >= 0 and not all(is_new for cluster, is_new in zip(after, new) if cluster == own):
        return "joined"
    return "new" if new[number] else None


@given(st.lists(record, max_size=12))
def test_numbers_and_kinds_by_definition(records):
    parts, before, new = ([row[place] for row in records] for place in range(3))
    before = [-1 if is_new else old for old, is_new in zip(before, new)]
    roots, expected, used = number_plainly(parts, before)
    after, unused = number_clusters(np.array(roots, np.int64), np.array(before, np.int64), USED)
    assert (after.tolist(), unused) == (expected, used)
    kinds = kinds_of_change(after, np.array(before, np.int64), np.array(new, np.bool_))
    named = [None if kind < 0 else CHANGES[kind] for kind in kinds.tolist()]
    assert named == [name_change(number, expected, before, new) for number in range(len(records))]


RECORDS = {  # cluster before and after
    "l0": (2, 2), "l1": (0, 2), "l2": ("new", 2), "l3": ("new", -1), "l4": ("new", 7), "l5": (0, -1), "l6": (3, -1),
    "l7": (-1, 3), "l8": (5, 5), "l9": (6, 5), "l10": (3, 8),
    "r0": (0, 2), "r1": (2, 2), "r2": ("new", 2), "r3": ("new", 7), "r4": (3, 3), "r5": (3, 3), "r6": (5, 5),
    "r7": (6, 5), "r8": (3, 8), "r9": (2, 2),
}  # fmt: skip
PAIRS = {
    ("l0", "r0"): 5.0, ("l0", "r1"): 9.0, ("l0", "r2"): 3.0, ("l0", "r9"): 8.5, ("l1", "r0"): 8.0, ("l1", "r1"): 4.0,
    ("l2", "r1"): 2.0, ("l2", "r2"): 7.0, ("l3", "r3"): 9.5, ("l4", "r3"): 6.0, ("l7", "r4"): 1.5, ("l7", "r5"): 1.0,
    ("l8", "r6"): 8.2, ("l9", "r6"): 2.5, ("l9", "r7"): 8.4, ("l10", "r8"): 7.5,
}  # fmt: skip
"""Scores. All but that of l3 are links."""
NO_MORE = "its pairs no longer connect the cluster, now that there are other records"


def make_found(pairs=PAIRS):
    """The outcome of linking; values are equal from a score of 5 on, and towns are known of the old records only."""
    numbers, score = list(RECORDS), np.array(list(pairs.values()))
    new = np.array([before == "new" for before, _ in RECORDS.values()])
    left, right = (np.array([numbers.index(pair[end]) for pair in pairs], np.int32) for end in (0, 1))
    levels = np.where(score >= 5, 1, 2)
    found = Linked.__new__(Linked)  # only what is needed
    found.sizes = TableSizes(11, 10)
    found.columns = [
        Column("name", "person", np.zeros(len(new), np.int32), pa.array(["ann"])),
        Column("town", "text", np.where(new, -1, 0).astype(np.int32), pa.array(["rome"])),
    ]
    found.candidates = replace(CandidatePairs.none(), left=left, right=right)
    found.levels = np.stack([levels, np.where(new[left] | new[right], 0, levels)], axis=1).astype(np.int8)
    found.level_names = [("equal", "similar")] * 2
    found.score, found.probability = score, score / 10
    found.chosen = np.array([pair != ("l3", "r3") for pair in pairs], np.bool_)
    return found


def list_changes(found, before, after):
    """The changes, if three records were removed."""
    ids = [pa.array([name for name in RECORDS if name[0] == side], pa.large_string()) for side in "lr"]
    left, right = (RecordTable(side, pa.table({}), own) for side, own in zip(("left", "right"), ids))
    gone = [pa.array(["x0"], pa.string()), pa.array(["x1", "x2"], pa.large_string())]
    removed = RemovedRecords(gone, [np.array([0]), np.array([-1, 2])])
    clusters = np.array([-1 if one == "new" else one for one in before])
    new = np.array([one == "new" for one in before])
    return changes_of(found, LaterRecords(left, right, clusters, new, removed), np.array(after))


def test_changes_of_two_tables():
    found = list_changes(make_found(), *zip(*RECORDS.values()))
    assert found.column_names == ["id", "table", "change", "cluster", "before", "partner", "probability", "reason"]
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("l3", "left", "new", None, None, None, None, "no link"),
        ("l4", "left", "new", 7, None, "r3", 0.6, "linked with r3: name equal"),
        ("r3", "right", "new", 7, None, "l4", 0.6, "linked with l4: name equal"),
        # the best link to an old record
        ("l2", "left", "joined", 2, None, "r1", 0.2, "linked with r1: name similar"),
        ("l7", "left", "joined", 3, None, "r4", 0.15, "linked with r4: name similar; town similar"),
        ("r2", "right", "joined", 2, None, "l0", 0.3, "linked with l0: name similar"),
        # the best link between the two clusters, and its record of the other one
        ("l1", "left", "merged", 2, 0, "l0", 0.5, "its cluster was linked with l0: name equal; town equal"),
        ("l9", "left", "merged", 5, 6, "r6", 0.25, "its cluster was linked with r6: name similar; town similar"),
        ("r0", "right", "merged", 2, 0, "l0", 0.5, "its cluster was linked with l0: name equal; town equal"),
        ("r7", "right", "merged", 5, 6, "r6", 0.25, "its cluster was linked with r6: name similar; town similar"),
        ("l5", "left", "split", None, 0, None, None, "records of its cluster were removed"),
        ("l6", "left", "split", None, 3, None, None, NO_MORE),
        ("l10", "left", "split", 8, 3, None, None, NO_MORE),
        ("r8", "right", "split", 8, 3, None, None, NO_MORE),
        ("x0", "left", "removed", None, 0, None, None, "asked for"),
        ("x1", "right", "removed", None, None, None, None, "asked for"),
        ("x2", "right", "removed", None, 2, None, None, "asked for"),
    ]
    assert count_changes(found) == {"new": 3, "joined": 3, "merged": 4, "split": 4, "removed": 3}
    assert count_changes(found[:1]) == {"new": 1, "joined": 0, "merged": 0, "split": 0, "removed": 0}


def test_changes_without_probabilities_or_candidates():
    points = make_found()
    points.probability = None
    assert list_changes(points, *zip(*RECORDS.values()))["probability"].null_count == 17
    none = list_changes(make_found({}), ["new"] * 21, [-1] * 21)[:21].to_pylist()
    assert [row["id"] for row in none] == list(RECORDS)
    assert {tuple(row.values())[2:] for row in none} == {("new", None, None, None, None, "no link")}


@pytest.mark.parametrize("old", [9, 8])
def test_records_of_a_cluster_that_merged_with_two_others(old):
    """Each is explained by a link to the cluster that it is in now, even if the other link is better.

    The same holds for records of two clusters.
    """
    before, after = ([RECORDS[name][0] for name in RECORDS] for _ in "ba")
    names = list(RECORDS)
    for name, then, now in (("l0", 9, 1), ("l1", old, 2), ("r0", 1, 1), ("r1", 2, 2)):
        before[names.index(name)], after[names.index(name)] = then, now
    found = make_found({("l0", "r0"): 9.0, ("l1", "r1"): 3.0})
    after = [-1 if one == "new" else one for one in after]
    rows = {row["id"]: row for row in list_changes(found, before, after).to_pylist()}
    assert [(rows[one]["change"], rows[one]["partner"], rows[one]["probability"]) for one in ("l0", "l1")] == [
        ("merged", "r0", 0.9),
        ("merged", "r1", 0.3),
    ]


def test_two_clusters_that_merged_with_a_third_one():
    """Each is explained by its own link, even if that of the other one is better."""
    before, after = (["new"] * len(RECORDS) for _ in "ba")
    for place, name in enumerate(RECORDS):
        if name[1:] in "012":
            before[place], after[place] = (2, 0, 6)[int(name[1])], 2
    found = make_found({("l1", "r0"): 5.0, ("l2", "r0"): 8.0})
    after = [-1 if one == "new" else one for one in after]
    rows = {row["id"]: row for row in list_changes(found, before, after).to_pylist() if row["change"] == "merged"}
    assert {one: (row["partner"], row["probability"]) for one, row in rows.items()} == {
        "l1": ("r0", 0.5), "r1": ("r0", 0.5), "l2": ("r0", 0.8), "r2": ("r0", 0.8),
    }  # fmt: skip
