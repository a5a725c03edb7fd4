"""The real sets: records of people, publications, products, films, names and payments, each with its truth."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from kinds.tables import Case, Row, numbered, pairs_between


def read_csv(path: Path, encoding: str = "utf-8-sig") -> list[Row]:
    """The rows of a CSV file."""
    with path.open(encoding=encoding, newline="") as file:
        rows = csv.DictReader(file, skipinitialspace=True)
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in rows]


def read_parquet(path: Path) -> list[Row]:
    """The rows of a Parquet file, as texts."""
    return [{k: "" if v is None else str(v) for k, v in row.items()} for row in pq.read_table(path).to_pylist()]


def between(name: str, left: list[Row], right: list[Row], fields: str, pairs: list[tuple[str, str]], id: str) -> Case:
    """Two tables and a list of matches."""
    truth = numbered(pairs, [row[id] for row in left], [row[id] for row in right])
    return Case(name, left, right, fields, truth)


def within(name: str, rows: list[Row], fields: str, entity: Callable[[Row], str]) -> Case:
    """One table whose records say which entity they are of."""
    labels = np.unique([entity(row) for row in rows], return_inverse=True)[1]
    return Case(name, rows, None, fields, pairs_between(labels, None))


def linkage_set(folder: Path) -> Case:
    """One of the sets in `linkage`."""
    about = json.loads((folder / "set.json").read_text())
    left = read_parquet(folder / "a.parquet")
    right = read_parquet(folder / "b.parquet") if (folder / "b.parquet").exists() else None
    ids = [row[about["id"]] for row in left], None if right is None else [row[about["id"]] for row in right]

    def pairs(name: str) -> np.ndarray:
        return numbered([(row["left"], row["right"]) for row in read_parquet(folder / f"{name}.parquet")], *ids)

    known = pairs("known") if (folder / "known.parquet").exists() else None
    complete = "incomplete" not in about["what"]
    return Case(folder.name, left, right, about["fields"], pairs("truth"), known, complete)


def known_cases(data: Path) -> Iterator[Case]:
    """All real sets."""
    for folder in sorted((data / "linkage").iterdir()):
        yield linkage_set(folder)
    texts = data / "texts_records"

    def listed(name: str) -> list[tuple[str, str]]:
        return [(row["left"], row["right"]) for row in read_csv(texts / f"{name}_truth.csv")]

    for name, fields in (
        ("software", "title:text,description:text,manufacturer,price"),
        ("movies", "title:text,name:person"),
    ):
        tables = [read_csv(texts / f"{name}_{side}.csv") for side in "ab"]
        yield between(name, *tables, fields, listed(name), "id")
    papers = read_csv(texts / "papers.csv")
    truth = numbered(listed("papers"), [row["id"] for row in papers], None)
    yield Case("papers", papers, None, "author:text,title:text,venue:text,year,pages", truth)
    dblp = data / "dblp_acm"
    tables = read_csv(dblp / "DBLP2.csv", "latin-1"), read_csv(dblp / "ACM.csv")
    pairs = [(row["idDBLP"], row["idACM"]) for row in read_csv(dblp / "DBLP-ACM_perfectMapping.csv")]
    yield between("DBLP-ACM", *tables, "title,authors,venue,year", pairs, "id")
    people = "given_name,surname,street_number,address_1,address_2,suburb,postcode,state,date_of_birth,soc_sec_id"
    for number in (1, 2, 3):
        rows = read_csv(data / f"febrl/dataset{number}.csv")
        yield within(f"FEBRL {number}", rows, people, lambda row: row["rec_id"].split("-")[1])
    customers = data / "customers"
    rows = read_csv(customers / "fake_1000.csv")
    yield within("fake_1000", rows, "first_name,surname,dob,city,email", lambda row: row["cluster"])
    rows = read_csv(customers / "early_childhood_sites.csv")
    yield within("early childhood", rows, "Site name,Address,Zip,Phone", lambda row: row["True Id"])
    payments = data / "transactions"
    tables = [read_parquet(payments / f"transactions_{side}.parquet") for side in ("origin", "destination")]
    tables = [[row for row in rows if int(row["ground_truth"]) % 15 == 0] for rows in tables]
    pairs = [(row["ground_truth"], row["ground_truth"]) for row in tables[0]]
    yield between("transactions", *tables, "memo,transaction_date,amount", pairs, "ground_truth")
