"""Candidates on real records: labels score them, and decide nothing."""

import csv
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lookalike.linkage.blocking.find import find_pairs
from lookalike.types import to_numpy
from plain_blocking import make_column

FEBRL = {
    "given_name": "person",
    "surname": "person",
    "street_number": "code",
    "address_1": "address",
    "address_2": "address",
    "suburb": "text",
    "postcode": "code",
    "state": "code",
    "date_of_birth": "date",
    "soc_sec_id": "code",
}
PAPERS = {"title": "text", "authors": "person", "venue": "text", "year": "number"}
SITES = {"Site name": "text", "Address": "address", "Zip": "code", "Phone": "phone"}


def read_rows(path, **options):
    with path.open(encoding="utf-8" if "DBLP2" not in path.name else "latin-1", errors="replace", newline="") as file:
        return list(csv.DictReader(file, **options))


def columns_of(rows, kinds):
    return [make_column(f, kind, [" ".join(row[f].lower().split()) for row in rows]) for f, kind in kinds.items()]


def pairs_within(names):
    same = defaultdict(list)
    for record, name in enumerate(names):
        same[name].append(record)
    return {pair for records in same.values() for pair in combinations(records, 2)}


def score(columns, split, truth):
    """The share of true pairs among the candidates, and candidates a record."""
    found = find_pairs(columns, split)
    pairs = set(zip(found.left.tolist(), found.right.tolist()))
    return len(truth & pairs) / len(truth), len(pairs) / len(columns[0])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_febrl(data_folder, number):
    rows = read_rows(data_folder / f"febrl/dataset{number}.csv", skipinitialspace=True)
    truth = pairs_within(row["rec_id"].split("-")[1] for row in rows)
    recall, a_record = score(columns_of(rows, FEBRL), len(rows), truth)
    assert recall >= 0.999
    assert a_record <= 70


def test_dblp_acm(data_folder):
    left, right = (read_rows(data_folder / f"dblp_acm/{name}.csv") for name in ("DBLP2", "ACM"))
    number = {row["id"]: record for record, row in enumerate(left + right)}
    links = read_rows(data_folder / "dblp_acm/DBLP-ACM_perfectMapping.csv")
    truth = {(number[row["idDBLP"]], number[row["idACM"]]) for row in links}
    recall, a_record = score(columns_of(left + right, PAPERS), len(left), truth)
    assert recall >= 0.999
    assert a_record <= 70


def test_early_childhood_sites(data_folder):
    rows = read_rows(data_folder / "customers/early_childhood_sites.csv")
    recall, a_record = score(columns_of(rows, SITES), len(rows), pairs_within(row["True Id"] for row in rows))
    assert recall >= 0.995
    assert a_record <= 70


def test_people_with_an_error_in_every_field(monkeypatch):
    """20,000 x 20,000 generated people; a postcode with 2,600 rows."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[3] / "benchmarks"), *sys.path])
    people = pytest.importorskip("people")
    left, right, truth = people.make_tables(20_000, 20_000, 0.1, errors=1.0, seed=3)
    columns = []
    for name, kind in (("name", "person"), ("address", "address"), ("postcode", "code"), ("phone", "phone")):
        values = left[name].to_pylist() + right[name].to_pylist()
        columns.append(make_column(name, kind, values))
    found = find_pairs(columns, 20_000)
    keys = found.left.astype(np.int64) * 40_000 + found.right
    wanted = to_numpy(truth["left"]) * 40_000 + to_numpy(truth["right"]) + 20_000
    assert np.isin(wanted, keys).mean() >= 0.99
    assert len(found) <= 70 * 40_000
    told = {report.name: report for report in found.report}
    assert told["postcode"].oversize >= 1
    assert told["postcode"].largest >= 2_000


def test_people_are_as_described(monkeypatch):
    """Sizes, the crowded postcode, unlike shared values, and creation dates near each other where shared."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[3] / "benchmarks"), *sys.path])
    people = pytest.importorskip("people")
    left, right, truth = people.make_tables(30_000, 20_000, 0.2, errors=1.0)
    assert (left.num_rows, right.num_rows, truth.num_rows) == (30_000, 20_000, 4_000)
    crowded = max(left["postcode"].value_counts().field("counts").to_pylist())
    assert crowded == pytest.approx(0.065 * 30_000, rel=0.1)
    one, other = left.take(truth["left"]), right.take(truth["right"])
    for field in ("name", "address", "phone"):
        same = [a == b for a, b in zip(one[field].to_pylist(), other[field].to_pylist())]
        assert np.mean(same) < 0.15, field
    apart = [abs((a - b).days) for a, b in zip(one["created"].to_pylist(), other["created"].to_pylist())]
    assert np.mean(apart) == pytest.approx(10, abs=0.6)
    again = people.make_tables(30_000, 20_000, 0.2, errors=1.0)
    assert again[1].equals(right)
