"""Names that changed places between two fields, against a plain search."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engine.workers import Workers
from lookalike.linkage.compare.levels import Comparer
from lookalike.linkage.compare.swapped_names import insert_exchanged, name_exchanged
from lookalike.linkage.fields.columns import Column
from lookalike.types import strings_to_arrow

VALUE = st.sampled_from(["ann", "lee", "anna", "ray", "john doe", None])


def column_of(name, kind, values):
    distinct = sorted({value for value in values if value is not None}, reverse=name == "given")
    codes = [-1 if value is None else distinct.index(value) for value in values]
    return Column(name, kind, np.array(codes, np.int32), strings_to_arrow(distinct))


def plain(columns, rows, lots):
    """The levels of lots of pairs after one pair of fields after another was looked at, and the names of new levels."""
    levels = [
        [[Comparer(column).compare(np.array([a]), np.array([b])).item() for a, b in lot] for column in columns]
        for lot in lots
    ]
    partners = {}
    for i, j in combinations([f for f, column in enumerate(columns) if column.kind in ("person", "place")], 2):
        if columns[i].kind != columns[j].kind:
            continue
        one, other = (i, j) if len(columns[i].values) >= len(columns[j].values) else (j, i)
        for own, lot in zip(levels, lots):
            changed = [
                k
                for k, (a, b) in enumerate(lot)
                if (rows[a][i], rows[a][j]) == (rows[b][j], rows[b][i]) and own[one][k] > 1 and own[other][k] > 1
            ]
            if not changed and own is levels[0]:
                break
            partners.setdefault(one, {})[columns[other].name] = True
            for k in changed:
                own[one][k], own[other][k] = -1, 0
    for own in levels:
        for field in partners:
            own[field] = [2 if level == -1 else level + 1 if level > 1 else level for level in own[field]]
    return levels, {field: f"exchanged with {' or '.join(own)}" for field, own in partners.items()}


@given(st.lists(st.tuples(VALUE, VALUE, VALUE, VALUE), min_size=1, max_size=8), st.data())
def test_levels_are_those_of_a_plain_search(rows, data):
    kinds = ["person", "person", "text", data.draw(st.sampled_from(["person", "place"]))]
    names = ["given", "surname", "remark", "middle"]
    columns = [column_of(*one, values) for *one, values in zip(names, kinds, zip(*rows))]
    record = st.integers(0, len(rows) - 1)
    lots = [data.draw(st.lists(st.tuples(record, record), min_size=1, max_size=size)) for size in (12, 6)]
    pairs = [tuple(np.array(lot).T) for lot in lots]
    levels = [np.stack([Comparer(column).compare(*lot) for column in columns]) for lot in pairs]
    told = insert_exchanged(columns, pairs, levels)
    expected, partners = plain(columns, rows, lots)
    assert [found.tolist() for found in levels] == expected
    assert name_exchanged(columns, told) == partners


def test_examples():
    rows = [
        ("john", "smith"),
        ("smith", "john"),
        ("smith", "ray"),
        ("john", None),
        ("smith", "smith"),
        ("jon", "smith"),
    ]
    columns = [column_of(name, "person", values) for name, values in zip(("given", "surname"), zip(*rows))]
    left, right = np.array([0, 1, 0, 0, 0, 0, 1]), np.array([1, 0, 2, 3, 4, 5, 1])
    levels = np.array([[7, 7, 7, 1, 7, 2, 1], [7, 7, 7, 0, 1, 1, 1]], np.int8)
    random = levels[:, :3].copy()
    told = insert_exchanged(columns, [(left, right), (left[:3], right[:3])], [levels, random])
    assert told == [(0, 1)]
    assert levels.tolist() == [[2, 2, 8, 1, 8, 3, 1], [0, 0, 7, 0, 1, 1, 1]]
    assert random.tolist() == [[2, 2, 8], [0, 0, 7]]


def test_without_exchanged_names_among_candidates_nothing_changes():
    """Random pairs that did are left alone."""
    columns = [column_of("given", "person", ["a", "b"]), column_of("surname", "person", ["b", "a"])]
    levels, random = np.array([[7], [7]], np.int8), np.array([[7], [7]], np.int8)
    lots = [(np.array([0]), np.array([0])), (np.array([0]), np.array([1]))]
    assert insert_exchanged(columns, lots, [levels, random]) == []
    assert levels.tolist() == random.tolist() == [[7], [7]]
    empty = np.empty((2, 0), np.int8)
    assert insert_exchanged(columns, [(empty[0], empty[1])], [empty]) == []


@pytest.mark.parametrize(("kinds", "exchanged"), [("person place", 0), ("place place", 1), ("person person", 1)])
def test_places_are_exchanged_with_places_only(kinds, exchanged):
    """Somebody called Lee who lives in Ann is not Ann who lives in Lee."""
    values = (["ann", "lee"], ["lee", "ann"])
    columns = [column_of(name, kind, own) for name, kind, own in zip(("one", "other"), kinds.split(), values)]
    ends = np.array([0]), np.array([1])
    assert len(insert_exchanged(columns, [ends], [np.array([[7], [7]], np.int8)])) == exchanged


def test_threads_and_chunks_change_nothing():
    rng = np.random.default_rng(2)
    rows = [tuple(rng.choice(list("abcdef"), 2)) for _ in range(200)]
    columns = [column_of(name, "person", values) for name, values in zip(("given", "surname"), zip(*rows))]
    pairs = rng.integers(0, 200, 5000), rng.integers(0, 200, 5000)
    levels = np.stack([Comparer(column).compare(*pairs) for column in columns])
    once, again = levels.copy(), levels.copy()
    insert_exchanged(columns, [pairs], [once])
    assert (once != levels).any()
    with Workers(3) as workers:
        insert_exchanged(columns, [tuple(side.astype(np.int32) for side in pairs)], [again], workers.map, chunk=64)
    assert (once == again).all()


def test_known_fields_have_the_level_whatever_the_pairs():
    """A later run has the levels of the run that its weights are from."""
    columns = [column_of("given", "person", ["a", "b"]), column_of("surname", "person", ["b", "a"])]
    levels = np.array([[7], [7]], np.int8)
    assert insert_exchanged(columns, [(np.array([0]), np.array([0]))], [levels], known=[(1, 0)]) == [(1, 0)]
    assert levels.tolist() == [[7], [8]]
    levels = np.array([[7], [7]], np.int8)
    assert insert_exchanged(columns, [(np.array([0]), np.array([1]))], [levels], known=[]) == []
    assert levels.tolist() == [[7], [7]]
