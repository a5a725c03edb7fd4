"""The words that explain a link in the report."""

from __future__ import annotations

import re

import numpy as np

import lookalike as la
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.shared_words import list_shared
from lookalike.types import strings_to_arrow


def column_of(*values):
    return Column("title", "text", np.arange(len(values), dtype=np.int32), strings_to_arrow(values))


def test_codes_written_in_two_ways_are_listed_and_counted():
    column = column_of("drill gsr 18v28", "gsr18v28 drill", "blue gsr 18v28", "gsr", "drill gsr18v28")
    assert list_shared(column, [(0, 1), (1, 0), (0, 2), (0, 3)]) == [
        [("drill", 3), ("gsr18v28", 4)],
        [("drill", 3), ("gsr18v28", 4)],
        [("18v28", 2), ("gsr", 3)],  # both write two words
        [("gsr", 3)],
    ]
    assert list_shared(column_of("a 1", "1 a"), [(0, 1)]) == [[("1", 2), ("a", 2)]]
    assert list_shared(column_of("x a", "1", "a1"), [(0, 2)]) == [[]]  # not across records


def test_misspelt_words_are_listed_with_the_word_of_the_other_record():
    column = column_of("rechargable battery pack", "rechargeable batteri pack", "pac", "battery 12", "battery 24")
    assert list_shared(column, [(0, 1), (0, 2), (3, 4)]) == [
        [("battery/batteri", 1), ("rechargable/rechargeable", 1), ("pack", 2)],
        [],  # short words are not
        [("battery", 3)],
    ]
    long = [" ".join(f"{letter}{n:c}word" for n in range(97, 122)) for letter in "pq"]
    assert list_shared(column_of(*long), [(0, 1)]) == [[]]  # too many to compare, as in the score


def test_the_report_shows_the_code_that_made_a_link(tmp_path):
    """A letter and a number that one shop writes with a hyphen."""
    left = [{"id": n, "title": f"{['lamp', 'desk', 'chair'][n % 3]} KX-{n * 37 + 1000}"} for n in range(60)]
    right = [{"id": n, "title": f"KX{n * 37 + 1000} {['lamp', 'desk', 'chair'][n % 3]} new"} for n in range(60)]
    for name, rows in (("a", left), ("b", right)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,title", *(f"{one['id']},{one['title']}" for one in rows)]))
    out = tmp_path / "out"
    la.link(tmp_path / "a.csv", tmp_path / "b.csv", "title:text", out=out, threads=1)
    page = (out / "report.html").read_text("utf-8")
    assert re.search(r"in common, and in how many records: kx\d{4} \(2\), ", page)
