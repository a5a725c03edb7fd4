"""Records with many identical copies: one stands for all, and they form one cluster however many there are."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from linking import make_people
from lookalike.linkage.blocking import copies as module
from lookalike.linkage.blocking.copies import find_copies
from lookalike.linkage.fields.columns import Column
from lookalike.types import strings_to_arrow

FIELDS = "name,address,phone"
rows = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 1)), max_size=40)


def columns_of(table):
    codes = np.array(table, np.int32).reshape(-1, 2)
    return [Column(name, "person", codes[:, n], strings_to_arrow(list("abc"))) for n, name in enumerate("xy")]


def first_of(table, many):
    """The definition, record by record."""
    often = {row for row, count in Counter(table).items() if count > many and row != (-1, -1)}
    return [table.index(row) if row in often else place for place, row in enumerate(table)]


@given(rows, st.integers(0, 5))
def test_copies_are_those_of_the_definition(table, many):
    assert find_copies(columns_of(table), many).first.tolist() == first_of(table, many)


def test_equal_digests_of_different_records_make_no_copies(monkeypatch):
    monkeypatch.setattr(module, "digest_rows", lambda codes: np.zeros(len(codes), np.uint64))
    table = [(0, 0), (1, 0), (0, 0), (0, 1), (0, 0)]
    assert find_copies(columns_of(table), 2).first.tolist() == [0, 1, 0, 3, 0]


def with_copies(count, tables=1):
    """People of one table or two, one of whom was entered `count` times more."""
    table = pa.concat_tables(make_people(300, 300, 0.3, errors=0.2, seed=6)[:tables])
    again = pa.concat_tables([table.slice(7, 1)] * count)
    both = pa.concat_tables([table, again]).drop_columns("id")
    return both.append_column("id", pa.array([f"r{n:05}" for n in range(len(both))]))


def clusters_of(result):
    return dict(zip(result.clusters["id"].to_pylist(), result.clusters["cluster"].to_pylist()))


@pytest.mark.parametrize("count", [5, 40, 400])
def test_any_number_of_copies_is_one_cluster(count):
    table = with_copies(count)
    result = la.link(table, fields=FIELDS, id="id", threads=1)
    clusters = clusters_of(result)
    ids = table["id"].to_pylist()
    copies = {clusters.get(one) for one in [ids[7], *ids[300:]]}
    assert len(copies) == 1
    assert None not in copies
    note = next((one for one in result.run["notes"] if "copies" in one), "")
    assert note.startswith(f"{count} records are copies" if count >= module.many_copies(300) else "")
    assert bool(note) == (count >= module.many_copies(300))


def test_copies_are_linked_to_the_first_only():
    result = la.link(with_copies(40), fields=FIELDS, id="id", threads=1)
    links = zip(result.links["left"].to_pylist(), result.links["right"].to_pylist())
    assert {left for left, right in links if right >= "r00300"} == {"r00007"}


def test_copies_do_not_make_a_value_common():
    column = Column("x", "person", np.array([0, 0, 0, 1, -1], np.int32), strings_to_arrow(list("ab")))
    assert column.counts().tolist() == [3, 1]
    apart = np.array([False, True, True, False, False])
    assert replace(column, apart=apart).counts().tolist() == [1, 1]


def test_other_records_are_linked_as_without_the_copies():
    few, many = (la.link(with_copies(count, 2), fields=FIELDS, id="id", threads=1) for count in (1, 400))
    links = [
        {(a, b) for a, b in zip(one.links["left"].to_pylist(), one.links["right"].to_pylist()) if b < "r00600"}
        for one in (few, many)
    ]
    assert len(links[0]) > 50
    assert len(links[0] ^ links[1]) <= 0.02 * len(links[0])


def test_later_records_join_the_cluster_of_the_copies(tmp_path):
    table = with_copies(40)
    for name, part in (("full", table), ("early", table.slice(0, 320)), ("late", table.slice(320))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    options = {"fields": FIELDS, "id": "id", "threads": 1}
    la.link(tmp_path / "full.parquet", out=tmp_path / "full", **options)
    la.link(tmp_path / "early.parquet", out=tmp_path / "early", **options)
    la.link(tmp_path / "late.parquet", against=tmp_path / "early", out=tmp_path / "later", threads=1)
    names = table["id"].to_pylist()[300:]
    for run in ("full", "later"):
        found = pq.read_table(tmp_path / run / "clusters.parquet")
        clusters = dict(zip(found["id"].to_pylist(), found["cluster"].to_pylist()))
        assert len({clusters.get(name) for name in names}) == 1
        assert None not in {clusters.get(name) for name in names}
