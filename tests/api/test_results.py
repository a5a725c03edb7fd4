"""How results show themselves, in a terminal and in a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import lookalike as la

HOSTILE = '"><script>alert(1)</script>&amp;\x00'


class Reader(HTMLParser):
    """The cells of a table, and every tag."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.cells, self.texts, self.open = [], [], [], []
        self.feed(html)
        assert not self.open  # whatever is opened is closed

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, attributes))
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def numbers(text):
    return [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", text)]


@pytest.fixture
def hostile_texts():
    return [{"id": f"{HOSTILE}{n}", "text": "one two three four five six"} for n in range(13)] + [
        {"id": "last", "text": "something else"}
    ]


def test_dedup(hostile_texts):
    result = la.dedup(hostile_texts)
    counts = result.run["counts"]
    assert repr(result) == "DedupResult(14 items: 2 kept, 12 removed)"
    page = Reader(result._repr_html_())
    assert {tag for tag, _ in page.tags} == {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert numbers(page.texts[0]) == [counts["items"], counts["kept"], counts["removed"]]
    assert "First 10 of 12 removed items" in page.texts
    assert page.cells[:3] == ["id", "kept_id", "similarity"]
    wanted = HOSTILE.replace("\x00", "\ufffd")
    assert page.cells[3:6] == [f"{wanted}1", f"{wanted}0", "1.0"]
    assert len(page.cells) == 3 + 10 * 3
    assert [attributes for tag, attributes in page.tags if tag == "th"] == [[("scope", "col")]] * 3


def test_nothing_was_removed():
    page = Reader(la.dedup(["one", "two"])._repr_html_())
    assert page.texts == ["2 items: 2 kept, 0 removed."]
    assert Reader(la.dedup([])._repr_html_()).texts == ["0 items: 0 kept, 0 removed."]


def test_vectors_have_a_distance():
    result = la.dedup(np.array([[1.0, 2.0], [1.0, 2.0], [9.0, 9.0]]), measure="euclidean", threshold=0.5)
    assert "distance" in Reader(result._repr_html_()).cells


def test_a_result_in_files(tmp_path, hostile_texts):
    import json

    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in hostile_texts))
    result = la.dedup(tmp_path / "a.jsonl", out=tmp_path / "out")
    assert result.kept is None
    assert Reader(result._repr_html_()).cells[:6] == Reader(la.dedup(hostile_texts)._repr_html_()).cells[:6]


def test_link():
    names = [f"{given} {name}" for given in ("Ada", "Ben", "Cleo", "Dora") for name in ("Moss", "Nash", "Orr")]
    rows = [{"id": f"{HOSTILE}{n}", "name": name, "phone": f"555-01{10 + 7 * n}"} for n, name in enumerate(names)]
    result = la.link(rows, rows[:5], ["name:person", "phone:phone"])
    counts = result.run["counts"]
    assert counts["links"] == 5
    page = Reader(result._repr_html_())
    assert numbers(page.texts[0]) == [counts["links"], counts["left"], counts["right"]]
    assert page.cells[:4] == ["left", "right", "score", "probability"]
    assert page.cells[4] == HOSTILE.replace("\x00", "\ufffd") + "0"
    assert "<script" not in result._repr_html_()
    points = la.link(rows, rows[:5], ["name:person", "phone:phone"], scoring="points")
    assert "–" in Reader(points._repr_html_()).cells  # points are no probability
    alone = la.link(rows, fields=["name:person", "phone:phone"])
    assert numbers(Reader(alone._repr_html_()).texts[0]) == [alone.run["counts"]["links"], 12]


def test_signatures():
    signatures = la.sketch(["a b", "c d"], hashes=8, seed=3)
    assert repr(signatures) == "Signatures(2 items x 8 hashes, method='fast', seed=3)"
    page = Reader(signatures._repr_html_())
    assert page.texts[0] == "Signatures of 2 items, 8 hashes each (method fast, seed 3)."


def test_plan():
    plan = la.tune(threshold=0.8)
    page = Reader(plan._repr_html_())
    assert numbers(page.texts[0])[:2] == [plan.bands, plan.rows]
    assert f"{plan.threshold:g}" in page.cells
