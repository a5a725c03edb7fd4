"""Levels on real data: they must tell records of one person from those of two."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow.csv as csv
import pytest

from lookalike.linkage.compare.levels import LEVELS, Comparer
from lookalike.linkage.fields.reader import columns_of
from lookalike.linkage.fields.spec import parse_fields

FIELDS = "given_name,surname,street_number,address_1,address_2,suburb,postcode,state,date_of_birth,soc_sec_id"
KINDS = ["person", "person", "code", "address", "address", "place", "code", "code", "date", "code"]


@pytest.fixture(scope="module")
def people(data_folder):
    table = csv.read_csv(data_folder / "febrl" / "dataset3.csv")
    return table.rename_columns([name.strip() for name in table.column_names])


def test_levels_distinguish_matches_from_other_pairs(people):
    columns = columns_of(people, None, parse_fields(FIELDS))
    assert [column.kind for column in columns] == KINDS
    members: dict[str, list[int]] = {}
    for row, name in enumerate(people["rec_id"].to_pylist()):
        members.setdefault(name.split("-")[1], []).append(row)
    true = np.array([pair for rows in members.values() for pair in combinations(rows, 2)])
    left = np.random.default_rng(1).integers(0, len(people), 100_000)
    random = np.stack([left, (left + np.random.default_rng(2).integers(1, len(people), 100_000)) % len(people)], 1)
    for column in columns:
        last = len(LEVELS[column.kind])
        of_true, of_random = (Comparer(column).compare(*pairs.T) for pairs in (true, random))
        shares = [[np.mean(levels[levels > 0] == level) for levels in (of_true, of_random)] for level in (1, 2, last)]
        assert shares[0][0] > 4 * shares[0][1], column.name
        assert shares[2][0] < shares[2][1] / 3, column.name
        if column.kind in ("person", "place", "address"):  # a typing error is nearly as good as none
            assert shares[1][0] > 50 * shares[1][1], column.name
