"""The order of the rows and of the tables decides ties only: everything else is the same, to the last bit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.catalogues import make_products

import lookalike as la
from linking import make_people
from lookalike.linkage.fields import kinds
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.numbers import find_units
from lookalike.linkage.record_order import RecordOrder

WORDS = ["title:text", "description:text", "maker", "price"]
LEVELS = ["name", "address", "phone"]


def shuffle(table, seed=1):
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def scored(result, swapped=False):
    """The score and probability of each link, and what each field adds, by the ids of its records."""
    ends = [result.links[side].to_pylist() for side in ("left", "right")]
    ends = ends[::-1] if swapped else ends
    return dict(zip(zip(*ends), zip(*(result.links[name].to_pylist() for name in result.links.column_names[2:]))))


def in_one_table(result):
    return {frozenset(ends): score for ends, score in scored(result).items()}


@pytest.fixture(scope="module", params=["words", "levels"])
def tables(request):
    if request.param == "words":
        return *make_products(400, 300, 0.4), {"fields": WORDS}, {(f"a{n}", f"b{n}") for n in range(400)}
    left, right, truth = make_people(500, 400, 0.4, errors=0.7, seed=3)
    return left, right, {"fields": LEVELS, "validate": "created"}, truth


def test_shuffled_and_swapped_tables_have_the_same_links(tables):
    left, right, options, _ = tables
    found = la.link(left, right, **options, id="id", threads=1)
    again = la.link(shuffle(left), shuffle(right, 2), **options, id="id", threads=2)
    other = la.link(shuffle(right), left, **options, id="id", threads=1)
    assert len(found.links) > 50
    assert found.run["counts"]["ties"] == 0
    assert ("validated by" in found.run["precision"]["how"]) == ("validate" in options)
    assert scored(again) == scored(found)
    assert scored(other, swapped=True) == scored(found)
    assert again.run["precision"] == other.run["precision"] == found.run["precision"]
    assert found.links["left"].to_pylist() == sorted(found.links["left"].to_pylist(), key=left["id"].to_pylist().index)


def test_a_shuffled_table_has_the_same_links(tables):
    left, right, options, _ = tables
    both = pa.concat_tables([left, right])
    found = la.link(both, **options, id="id", threads=1)
    assert len(found.links) > 50
    assert in_one_table(la.link(shuffle(both), **options, id="id", threads=1)) == in_one_table(found)


def test_labels_belong_to_records_wherever_their_rows_are(tables):
    left, right, options, truth = tables
    loose = la.link(left, right, **options, id="id", probability=0.1, threads=1).links
    labels = [
        {"left": a, "right": b, "match": int((a, b) in truth)}
        for a, b in zip(loose["left"].to_pylist(), loose["right"].to_pylist())
    ]
    found = la.link(left, right, **options, id="id", labels=labels, threads=1)
    again = la.link(shuffle(left), shuffle(right), **options, id="id", labels=labels[::-1], threads=1)
    assert len(found.links) > 50
    assert scored(again) == scored(found)
    assert again.run["labels"] == found.run["labels"] is not None


def test_the_side_of_one_to_one_is_that_of_the_user():
    """The smaller table comes first in the comparison, whatever it is called."""
    left, right = make_products(200, 300, 0.5)
    twice = right.set_column(right.column_names.index("id"), "id", pc.binary_join_element_wise(right["id"], "x", ""))
    right = pa.concat_tables([right, twice])
    for tables, side in (((left, right), "right"), ((right, left), "left")):
        links = la.link(*tables, WORDS, id="id", one_to_one=side, threads=1).links
        many, one = ("left", "right") if side == "right" else ("right", "left")
        assert pc.count_distinct(links[one]).as_py() == len(links)
        assert pc.count_distinct(links[many]).as_py() < len(links)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_table_with_several_records_of_an_entity_is_named_as_the_user_does(swapped):
    library, _ = make_products(150, 150, 0.0)
    rows = library.to_pylist()
    crawled = [
        {**row, "id": f"b{row['id'][1:]}-{n}", "title": " ".join(row["title"].split()[n % 2 :]) + f" {'abcd'[n] * 3}"}
        for row in rows
        for n in range(4)
    ]
    crawled = pa.Table.from_pylist(crawled, schema=library.schema)
    tables = (crawled, library) if swapped else (library, crawled)
    found = la.link(*tables, ["title:text", "description:text"], id="id", threads=1)
    (note,) = [one for one in found.run["notes"] if "several records of an entity" in one]
    assert note.startswith(f"the {'left' if swapped else 'right'} table")
    assert found.finished.model.scoring.single == ("left" if swapped else "right")
    # The library grows larger than what was crawled; the model still means the same table.
    more = [{**row, "id": f"{row['id']}-{n}", "title": f"{row['title']} {n}"} for row in rows for n in range(4)]
    later = la.link(more, against=found, into="right" if swapped else "left", threads=1)
    links = later.links.filter(pc.is_in(later.links["right" if swapped else "left"], library["id"]))
    assert pc.count_distinct(links["left" if swapped else "right"]).as_py() == len(links) > 300
    assert later.finished.model.scoring.single == found.finished.model.scoring.single
    assert later.finished.model.assignment == found.finished.model.assignment


def test_a_comparison_of_the_user_is_given_left_and_right():
    seen = []

    def compare(one, other):
        seen.extend([one.to_pylist(), other.to_pylist()])
        return pc.equal(one, other)

    field = la.Field("code", kind="code", levels={"same": 1.0}, compare=compare)
    left, right = (
        [{"code": f"{side}{n}", "name": f"n{n}"} for n in range(count)] for side, count in (("a", 9), ("b", 5))
    )
    la.link(left, right, [field, "name:text"], threads=1)
    assert {value[0] for one in seen[::2] for value in one} == {"a"}
    assert {value[0] for one in seen[1::2] for value in one} == {"b"}


def test_ties_are_counted():
    """Ten customers are twice in the right table, with equal values: which of the two rows is linked is a tie."""
    left, right, truth = make_people(300, 300, 0.5, errors=0.3, seed=6)
    some = sorted(truth)[:10]
    twins = right.filter(pc.is_in(right["id"], pa.array([b for _, b in some])))
    renamed = twins.set_column(
        twins.column_names.index("id"), "id", pc.binary_join_element_wise(twins["id"], "twin", "-")
    )
    right = pa.concat_tables([right, renamed])
    found = la.link(left, right, LEVELS, one_to_one="optimal", threads=1)
    ties = found.run["counts"]["ties"]
    linked = {right_id for _, right_id in scored(found)}
    assert ties == sum((b in linked) != (f"{b}-twin" in linked) for _, b in some) > 5
    again = la.link(shuffle(left), shuffle(right), LEVELS, one_to_one="optimal", threads=1)
    assert again.run["counts"]["ties"] == ties
    differ = scored(found).keys() - scored(again).keys()
    assert 0 < len(differ) <= ties
    assert {b.removesuffix("-twin") for _, b in differ} <= {b for _, b in some}
    several = la.link(left, right, LEVELS, one_to_one="no", threads=1)  # both twins are linked
    assert several.run["counts"]["ties"] == 0


records = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), min_size=1, max_size=12)


def make_columns(rows):
    return [
        Column(name, "text", np.array([-1 if v is None else values.index(v) for v in own], np.int32), pa.array(values))
        for name, own in zip(("one", "two"), zip(*rows))
        for values in [sorted({v for v in own if v is not None}) or ["x"]]
    ]


def written(columns, numbers):
    """The values of these records."""
    return [
        tuple(None if c.codes[n] < 0 else c.values[int(c.codes[n])].as_py() for c in columns) for n in numbers.tolist()
    ]


@given(records, records, st.randoms(use_true_random=False), st.booleans())
def test_the_order_depends_on_contents_only(left, right, random, one_table):
    def ordered(left, right):
        rows = left if right is None else left + right
        columns = make_columns(rows)
        order = RecordOrder.find(columns, None if right is None else len(left))
        sorted_ = [order.sort(column) for column in columns]
        assert written(sorted_, np.arange(len(rows))) == written(columns, order.rows)
        restored = [order.restore(column) for column in sorted_]
        assert written(restored, np.arange(len(rows))) == rows
        assert [rows[n] for n in order.rows[order.numbers]] == rows
        return order, [(column.codes.tolist(), column.values.to_pylist()) for column in sorted_]

    right = None if one_table else right
    order, expected = ordered(left, right)
    again = random.sample(left, len(left)), None if right is None else random.sample(right, len(right))
    assert ordered(*again)[1] == expected
    if right is not None:
        assert ordered(right, left)[1] == expected
    rows = left if right is None else left + right
    split = len(left) if right is not None else len(rows)
    own = [(row >= split, rows[row]) for row in order.rows.tolist()]
    same = np.array([[one == other for other in own] for one in own])
    assert ((order.group[:, None] == order.group) == same).all()


def test_values_are_sampled_by_their_contents():
    values = [f"v{n}" for n in range(500)]
    samples = [kinds.take_sample(pa.array(some, pa.large_string()), 500, most=40) for some in (values, values[::-1])]
    assert {*samples[0].values.to_pylist()} == {*samples[1].values.to_pylist()}
    assert {len(sample.values) for sample in samples} == {40}


def test_units_are_ranked_whatever_the_order_of_values():
    values = [f"{n} {unit}" for n, unit in enumerate(["kg", "g", "lb", "oz", "st", "t"] * 9)]
    found = [find_units(pa.array(some), 0.5, (), False) for some in (values, values[::-1])]
    assert found[0] == found[1]
