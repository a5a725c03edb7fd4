"""Numbers that each table gives to its own records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.row_numbers import find_row_numbers
from lookalike.types import strings_to_arrow


def column(name, kind, texts):
    values = sorted({text for text in texts if text})
    return Column(name, kind, np.array([values.index(one) if one else -1 for one in texts], np.int32),
                  strings_to_arrow(values))  # fmt: skip


def make_columns(number_of, shared, records=200, seed=1):
    """Two tables whose first records are the same, with numbers."""
    draw = random.Random(seed)
    words = [f"word{n}" for n in range(500)]
    names = [" ".join(draw.sample(words, 4)) for _ in range(2 * records)]
    names[records : records + shared] = [" ".join(reversed(one.split())) for one in names[:shared]]
    numbers = [number_of(side, n) for side in (0, 1) for n in range(records)]
    return [column("name", "text", names), column("no", "code", numbers)]


NUMBERS = {
    "consecutive": lambda side, n: str(n),
    "with a prefix": lambda side, n: f"item-{n:05}",
    "in steps": lambda side, n: str(10 * n + 1000),
    "with gaps": lambda side, n: str(n + n // 2),
    "in other ranges": lambda side, n: str(n + 1000 * side),
    "some missing": lambda side, n: str(n) if n % 3 else "",
    "with a few outliers": lambda side, n: str(n if n > 1 else n + 10**9),
}


@pytest.mark.parametrize("how", NUMBERS)
def test_numbers_of_each_table_are_found(how):
    columns = make_columns(lambda side, n: NUMBERS[how](side, (n * 77 + 50 * side) % 200), 60)
    assert find_row_numbers(columns, 200) == ["no"]


@pytest.mark.parametrize("how", ["consecutive", "with a prefix", "in steps", "with gaps", "some missing"])
def test_numbers_that_both_tables_share_are_not(how):
    assert find_row_numbers(make_columns(NUMBERS[how], 200), 200) == []


OTHERS = {
    "sparse": lambda side, n: str((n * 7919**2) % 10**7),
    "repeated": lambda side, n: str(n // 2),
    "letters": lambda side, n: f"{n}a{n}",
    "decimals": lambda side, n: f"{n}.{n % 7}",
    "no values": lambda side, n: "",
}


@pytest.mark.parametrize("how", OTHERS)
def test_other_values_are_not_row_numbers(how):
    """Even if records with the same value are different ones."""
    assert find_row_numbers(make_columns(OTHERS[how], 0), 200) == []


def test_few_records_have_consecutive_numbers_by_chance():
    assert find_row_numbers(make_columns(NUMBERS["consecutive"], 0, 15), 15) == []
    assert find_row_numbers(make_columns(NUMBERS["consecutive"], 0, 25), 25) == ["no"]


def test_without_another_field_nothing_is_known():
    assert find_row_numbers(make_columns(NUMBERS["consecutive"], 0)[1:], 200) == []


def test_records_that_are_all_alike_confirm_nothing():
    columns = make_columns(NUMBERS["consecutive"], 0)
    assert find_row_numbers([column("name", "text", ["same"] * 400), columns[1]], 200) == []


@pytest.mark.parametrize(("shared", "again", "found"), [(0, 0, ["no"]), (60, 0, ["no"]), (60, 60, []), (60, 5, [])])
def test_numbers_of_one_table_are_found_unless_records_share_them(shared, again, found):
    """The first records are there twice; some of these have the same number."""
    numbers = [
        str(n if n < 1000 or n - 1000 >= again else n - 1000) for n in [*range(1000), *range(1000, 1000 + shared)]
    ]
    names = [f"word{n} word{n * n % 997}" for n in [*range(1000), *range(shared)]]
    assert find_row_numbers([column("name", "text", names), column("no", "code", numbers)], None) == found
