import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from by_numba import numba_module
from lookalike.errors import ResourceError, UsageError
from lookalike.kernels import blocking as kernels
from lookalike.linkage.blocking.budget import PairCollector
from lookalike.linkage.blocking.find import MOST_COMBINED, find_pairs
from lookalike.linkage.blocking.keys import (
    BEGINNING,
    coarsen,
    order_of,
    rank_values,
    shingle_width,
    sketch_columns,
    value_hash,
)
from lookalike.linkage.fields.columns import Column
from plain_blocking import make_column, pairs_of_blocks, plain_order, plain_pairs, values_of

list_shingles = numba_module("blocking").list_shingles
ROOM = 100_000
values = st.none() | st.sampled_from(["ann", "anna", "bob", "", "12", "é", "日本語の名前", "main street 5"])


@st.composite
def tables(draw):
    """Up to three columns of a few records, and where the right table begins."""
    records = draw(st.integers(0, 9))
    kinds = draw(st.lists(st.sampled_from(["person", "code", "address"]), min_size=1, max_size=3))
    column = st.lists(values, min_size=records, max_size=records)
    columns = [make_column(f"f{n}", kind, draw(column)) for n, kind in enumerate(kinds)]
    return columns, draw(st.integers(0, records))


def as_set(found):
    return set(zip(found.left.tolist(), found.right.tolist()))


@given(tables())
def test_every_pair_of_a_key_and_no_other(given_tables):
    columns, split = given_tables
    found = find_pairs(columns, split, most_pairs=ROOM)
    plain = plain_pairs(columns, split)
    pairs = list(zip(found.left.tolist(), found.right.tolist()))
    assert pairs == sorted(set().union(*(brought for _, _, brought in plain)))
    for pair, groups in zip(pairs, found.groups.tolist()):
        assert groups == int(np.bitwise_or.reduce([g for _, g, brought in plain if pair in brought])), pair
    check_report(found, plain)


def check_report(found, plain):
    """The report shows what each hash contributed."""
    times = Counter(pair for _, _, brought in plain for pair in brought)
    told = {re.sub(r", \d+ bands.*", "", report.name): report for report in found.report}
    for name, group, brought in plain:
        report = told[name]
        assert report.group == ("", "A", "B")[group]
        assert report.only == sum(times[pair] == 1 for pair in brought)
        if "shingles" not in name:
            assert report.pairs == len(brought)
        assert report.unpaid == 0
        assert report.note == ""


@given(tables(), st.integers(0, 12))
@settings(max_examples=60)
def test_the_budget_is_respected_and_skipped_blocks_are_reported(given_tables, budget):
    columns, split = given_tables
    found = find_pairs(columns, split, most_pairs=budget)
    everything = find_pairs(columns, split, most_pairs=ROOM)
    assert len(found) <= budget
    assert len(as_set(found)) == len(found)
    if not as_set(found) >= as_set(everything):
        assert any(report.unpaid and report.note for report in found.report)
    for report in found.report:
        assert bool(report.unpaid) == bool(report.note)


def crowded_table(records=3_000, seed=1):
    """Half of the records have one postcode; names are shared by three, states by a third."""
    draw = np.random.default_rng(seed)
    crowded = draw.random(records) < 0.5
    postcode = np.where(crowded, 0, draw.integers(1, 1_000, records))
    columns = {
        "name": ("person", draw.integers(0, records // 3, records) * 7919),
        "postcode": ("code", postcode),
        "state": ("code", draw.integers(0, 3, records)),
        "unknown": ("code", np.zeros(records, np.int64)),
    }
    return [make_column(name, kind, [f"{v}" for v in numbers.tolist()]) for name, (kind, numbers) in columns.items()]


def test_oversize_blocks_are_refined_or_skipped_and_reported():
    columns = crowded_table()
    found = find_pairs(columns, 3_000, most_pairs=60_000)
    told = {report.name: report for report in found.report}
    assert told["name"].oversize == 0
    assert told["postcode"].oversize >= 1
    assert told["postcode"].largest == Counter(values_of(columns[1]))["0"]
    assert told["unknown"].pairs == 0
    assert told["unknown"].unpaid == 3_000 * 2_999 // 2
    assert told["unknown"].note == "refined by another field"
    assert "name + unknown" not in told  # no name is too common alone
    assert told["postcode + state"].records == told["postcode"].largest
    assert "third" in told["state + unknown"].note
    assert "skipped" in told["postcode + state + unknown"].note
    assert pairs_of_blocks(values_of(columns[0]), 3_000) <= as_set(found)
    assert len(found) <= 60_000


def test_values_of_two_fields_for_those_too_common_alone():
    """Two fields of 20 values each: alone too common, together not."""
    draw = np.random.default_rng(2)
    columns = [make_column(n, "code", [f"{n}{v}" for v in draw.integers(0, 20, 1_000)]) for n in ("x", "y")]
    found = find_pairs(columns, 400, most_pairs=6_000)
    told = {report.name: report for report in found.report}
    assert told["x"].pairs == told["y"].pairs == 0
    both = pairs_of_blocks(list(zip(values_of(columns[0]), values_of(columns[1]))), 400)
    assert told["x + y"].pairs == len(both) > 100
    assert both <= as_set(found)
    assert told["x + y"].group == ""


def test_a_field_of_few_values_is_not_put_in_order():
    found = find_pairs(crowded_table(), 3_000, most_pairs=60_000)
    told = {report.name: report for report in found.report}
    assert told["order of state"].pairs == 0
    assert "1,000 records per value" in told["order of state"].note
    assert "order of state read backwards" not in told


def test_some_blocks_predict_the_cost_of_all():
    """As many rows in a band as if all blocks had been counted."""
    draw = np.random.default_rng(2)
    names = ["".join(draw.choice(list("abcdeo"), 7)) for _ in range(8_000)]
    columns = [make_column(name, "person", list(draw.permutation(names))) for name in ("given", "surname")]
    rows = []
    for sampled in (1 << 30, 500):
        found = find_pairs(columns, 8_000, most_pairs=60_000, sampled=sampled)
        rows.append([report.name for report in found.report if "bands of" in report.name])
    assert rows[0] == rows[1]
    assert not all(name.endswith("bands of 2") for name in rows[0])


def test_threads_change_nothing():
    columns = crowded_table()
    alone = find_pairs(columns, 1_200, most_pairs=50_000)
    with ThreadPoolExecutor(3) as pool:
        together = find_pairs(columns, 1_200, most_pairs=50_000, each=pool.map)
    assert alone.report == together.report
    for one, other in ((alone.left, together.left), (alone.right, together.right), (alone.groups, together.groups)):
        assert np.array_equal(one, other)


def test_an_error_in_every_field_is_found():
    """No value is equal, yet nearly every pair is found among thousands of others."""
    draw = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    texts = [["".join(draw.choice(letters, 14)) for _ in range(4_000)] for _ in range(3)]

    def mistype(text):
        place = draw.integers(1, 13)
        return text[:place] + "#" + text[place + 1 :]

    columns = [make_column(f"f{n}", "text", own + [mistype(t) for t in own]) for n, own in enumerate(texts)]
    found = find_pairs(columns, 4_000, most_pairs=200_000)
    assert [report.pairs for report in found.report if report.name in ("f0", "f1", "f2")] == [0, 0, 0]
    hit = sum((i, i + 4_000) in as_set(found) for i in range(0, 4_000, 100))
    assert hit >= 39


@given(st.lists(values, max_size=9), st.lists(values, min_size=9, max_size=9), st.booleans(), st.booleans())
def test_order_by_value_then_by_the_field_beside(own, other, with_other, reverse):
    column = make_column("own", "person", own)
    beside = make_column("other", "text", other[: len(own)]) if with_other else None
    other = None if beside is None else (beside.codes, rank_values(beside))
    assert order_of(column.codes, rank_values(column, reverse), other).tolist() == plain_order(column, beside, reverse)


@given(st.lists(st.tuples(st.integers(0, 30), st.text("ab漢", max_size=6)), max_size=20, unique=True))
def test_values_are_ranked_by_all_their_letters(parts):
    """Also where they begin with the same letters, however many."""
    texts = list(dict.fromkeys("x" * length + text for length, text in parts if length or text))
    ranks = rank_values(make_column("f", "text", texts)).tolist()
    assert ranks == [sorted(text.encode() for text in texts).index(text.encode()) for text in texts]
    ranks = rank_values(make_column("f", "text", texts), reverse=True).tolist()
    assert ranks == [sorted(text[::-1].encode() for text in texts).index(text[::-1].encode()) for text in texts]


def test_numbers_are_put_in_order_by_size():
    assert rank_values(make_column("n", "number", ["10", "9", "-1", "100.5"])).tolist() == [2, 1, 0, 3]
    assert rank_values(make_column("n", "number", ["10", "9", "no"])).tolist() == [0, 1, 2]


@given(st.lists(st.none() | st.text("ab", min_size=1, max_size=8), max_size=9))
def test_texts_are_coarsened_to_how_they_begin(texts):
    for coarse in coarsen(make_column("t", "text", texts)):
        assert values_of(coarse) == [text and text[:BEGINNING] for text in texts]
    begins = [text[:BEGINNING] for text in set(texts) if text]
    assert bool(coarsen(make_column("t", "text", texts))) == (len(set(begins)) < len(begins))
    assert coarsen(make_column("t", "code", texts)) == []


@given(st.floats(1e-3, 1e9), st.floats(0.96, 1.04), st.booleans())
def test_near_numbers_share_a_cell_and_far_ones_do_not(size, factor, negative):
    sign = -1 if negative else 1
    numbers = [repr(sign * n) for n in (size, size * factor, size * 1.2, -size)] + ["0", None]
    grids = [values_of(coarse) for coarse in coarsen(make_column("n", "number", numbers))]
    assert any(grid[0] == grid[1] for grid in grids)
    for grid in grids:
        assert len({grid[0], grid[2], grid[3], grid[4]}) == 4
        assert grid[5] is None


def test_words_among_numbers_are_not_coarsened():
    assert coarsen(make_column("n", "number", ["1", "one"])) == []


@given(st.lists(st.tuples(values, values), max_size=9), st.lists(st.booleans(), min_size=9, max_size=9))
def test_keys_are_equal_exactly_if_values_are(rows, chosen):
    columns = [make_column(f"f{n}", "code", [row[n] for row in rows]) for n in (0, 1)]
    keys = value_hash(columns, 0, np.array(chosen[: len(rows)], np.bool_)).keys[0]().tolist()
    plain = [row if all(row) and take else None for row, take in zip(rows, chosen)]
    assert [key == kernels.NO_KEY for key in keys] == [row is None for row in plain]
    for i, j in combinations(range(len(rows)), 2):
        assert (keys[i] == keys[j]) == (plain[i] == plain[j])


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6), st.integers(1, 4))
@example(["一一一", "帀一一"], 3)  # nine bytes that differ in the first one only
def test_shingles_are_runs_of_characters(texts, width):
    stored = [text.encode(errors="ignore") for text in texts]
    offsets = np.cumsum([0, *map(len, stored)])
    data = np.frombuffer(b"".join(stored) or b"x", np.uint8)
    room = len(data) + 3
    rooms = [np.empty(room, kind) for kind in (np.uint8, np.int64, np.uint32)]
    known = {}
    for row, text in enumerate(stored):
        padded = f" {text.decode()} "
        plain = [padded[i : i + width] for i in range(max(1, len(padded) - width + 1))]
        count = list_shingles(data, *offsets[row : row + 2], width, *rooms, 0)
        got = rooms[2][:count].tolist()
        assert len(got) == len(plain)
        for shingle, element in zip(plain, got):
            assert known.setdefault(shingle, element) == element
    assert len(set(known.values())) == len(known)


def test_slots_agree_as_often_as_shingles_are_shared():
    """Also where fields changed places; 2,000 slots, within three and a half standard deviations."""
    one = make_column("given", "person", ["katherine", "macdonald", "zoe"])
    other = make_column("surname", "person", ["macdonald", "katherine", "macdonald"])
    made = sketch_columns([one, other], "the name", 0, 2_000, 5, map)
    agree = (made.values[:, :1] == made.values).mean(axis=0)
    assert agree[1] == 1.0
    sets = []
    for row in range(3):
        texts = [f" {values_of(column)[row]} " for column in (one, other)]
        sets.append({text[i : i + 3] for text in texts for i in range(len(text) - 2)})
    similarity = len(sets[0] & sets[2]) / len(sets[0] | sets[2])
    assert agree[2] == pytest.approx(similarity, abs=3.5 * (similarity * (1 - similarity) / 2_000) ** 0.5)


def test_short_values_have_short_shingles():
    short, long = make_column("a", "person", ["ann", "bob"]), make_column("b", "text", ["a title of some length"])
    assert [shingle_width([short]), shingle_width([long]), shingle_width([short, short])] == [2, 3, 3]


def test_impossible_searches_are_refused():
    with pytest.raises(UsageError, match="--fields"):
        find_pairs([], 0)
    with pytest.raises(UsageError, match="negative"):
        find_pairs([make_column("a", "code", ["x"])], 1, most_pairs=-1)
    with pytest.raises(ResourceError, match="in parts"):
        PairCollector(1 << 27, 1 << 27, 0, map)


def test_a_hundred_fields_are_combined_within_the_limit_of_hashes():
    """Every value is common, so records must be compared by two and three fields."""
    draw = np.random.default_rng(1)
    values = pa.array([str(one) for one in range(3)], pa.large_string())
    columns = [Column(f"field{n}", "code", draw.integers(0, 3, 400).astype(np.int32), values) for n in range(100)]
    for column in columns:
        column.codes[399] = column.codes[0]
    found = find_pairs(columns, 400)
    assert (0, 399) in set(zip(found.left.tolist(), found.right.tolist()))
    combined = [sum(one.name.count(" + ") == more for one in found.report) for more in (1, 2)]
    assert all(1000 < number <= MOST_COMBINED for number in combined)
