from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.report.html import Markup, escape, tag
from lookalike.report.linkage.examples import compare_values
from lookalike.report.linkage.facts import (
    CALIBRATED,
    MODEL_ALONE,
    Bin,
    EvidenceWeight,
    FieldFact,
    HashFact,
    LevelWeight,
    LinkReport,
    PairExample,
    PairField,
)
from lookalike.report.linkage.page import links_page
from lookalike.report.linkage.summary import (
    describe_doubt,
    describe_measured_doubt,
    estimate_precision,
    sum_up,
    tiles_of,
)
from made_up_links import NAMES, make_report

VOID = {"meta", "input", "col"}


class Element:
    def __init__(self, name: str, attributes: dict[str, str | None], parent: Element | None) -> None:
        self.name, self.attributes, self.parent = name, attributes, parent
        self.parts: list[Element | str] = []

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def all(self, name: str = "", kind: str = "") -> list[Element]:
        found = []
        for part in self.parts:
            if isinstance(part, Element):
                if name in ("", part.name) and (not kind or kind in part.classes):
                    found.append(part)
                found += part.all(name, kind)
        return found

    def by_id(self, name: str) -> Element:
        (found,) = [element for element in self.all() if element.attributes.get("id") == name]
        return found

    def share(self, attribute: str) -> float:
        """A place or width in per cent."""
        value = self.attributes[attribute]
        assert value is not None
        assert value.endswith("%")
        return float(value[:-1])


class Tree(HTMLParser):
    """Reads a page and fails where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.here = Element("", {}, None)
        self.feed(page)
        self.close()
        assert self.here is self.root, f"not closed: {self.here.name}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"attribute twice: {tag} {attrs}"
        element = Element(tag, dict(attrs), self.here)
        self.here.parts.append(element)
        if tag not in VOID:
            self.here = element

    def handle_endtag(self, tag: str) -> None:
        assert self.here.name == tag, f"</{tag}> closes <{self.here.name}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.parts.append(data)


def read(report: LinkReport) -> Element:
    return Tree(links_page(report)).root


def shape(root: Element) -> list[tuple[str, list[str]]]:
    """Tags and names of attributes: what must not depend on texts. Marks of differing letters do."""
    return [(one.name, sorted(one.attributes)) for one in root.all() if one.name != "mark"]


KNOWN = 0.9, 0.8, 0.95
TOLD_BY_MODEL = "precision, according to the model alone"
EMPTY = LinkReport(title="nothing", tables=[("a.csv", 0), ("b.csv", 0)])
FULL = make_report()
POINTS = replace(
    FULL, points=True, converged=None, iterations=None, weights=[LevelWeight("name", "equal", None, None, 100.0, 5)],
    chosen=[PairExample(1, 2, 90, None, [PairField("name", "Bill", "William", "nickname", 90.0)])],
)  # fmt: skip


@pytest.mark.parametrize("report", [EMPTY, FULL, POINTS], ids=["empty", "full", "points"])
def test_the_page_is_complete_and_loads_nothing(report: LinkReport) -> None:
    page = links_page(report)
    root = Tree(page).root
    assert page.startswith("<!doctype html>")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bsrc=", re.sub(r"<td>.*?</td>", "", page))
    for element in root.all():
        assert element.name not in {"link", "img", "iframe", "object", "embed", "base", "use", "image"}
        target = element.attributes.get("href")
        assert target is None or root.by_id(target.removeprefix("#"))
        assert not [name for name in element.attributes if name.startswith("on") or name == "style"]
    assert len(root.all("script")) == 1
    assert page.encode("utf-8").decode("utf-8") == links_page(report)


def test_the_policy_allows_the_script_of_the_page_and_no_other() -> None:
    import base64
    import hashlib

    root = read(FULL)
    (script,) = root.all("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    (policy,) = [one for one in root.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    content = policy.attributes["content"]
    assert content == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


HOSTILE = st.text(st.sampled_from("<>&\"'/ab-!=`\n\t\0\x1b\ud800é漢")) | st.text()


def report_of(text: str) -> LinkReport:
    """The text wherever a text can be."""
    field = PairField(text, text, text + "x", text, 1.0, 0.5)
    example = PairExample(text, text, 2.5, 0.8, [field], 1.0)
    return LinkReport(
        title=text, tables=[(text, 5)], fields=[FieldFact(text, text, text, 0.5, 3)],
        hashes=[HashFact(text, 1, 1, 1, 1, 1, text)], weights=[LevelWeight(text, text, 0.9, 0.1, 3.0, 4)],
        bins=[Bin(0, 1, 3, 0.5, 0.4, 0.6)], cut=0, cut_reason=text, source_of_precision=text, links=1,
        chosen=[example], around=[example], notes=[text],
    )  # fmt: skip


PLAIN = shape(read(report_of("x")))


@given(HOSTILE)
def test_no_text_can_inject_markup(text: str) -> None:
    text = "x" + text  # an empty text would be shown as such, and "x" is told apart by its letter
    page = links_page(report_of(text))
    page.encode("utf-8")
    assert shape(Tree(page).root) == PLAIN


@given(HOSTILE.filter(lambda text: 0 < len(text) < 100))
def test_texts_are_returned_unchanged(text: str) -> None:
    # A parser ends lines by \n alone, and what HTML cannot hold is replaced.
    shown = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]", "\ufffd", text)
    root = read(
        replace(EMPTY, notes=[text], chosen=[PairExample(text, 7, 1, 0.5, [PairField("f", text, None, "l", 1)])])
    )
    assert [item.text for item in root.by_id("notes").all("li")] == [shown]
    assert [item.text for item in root.by_id("pairs").all("bdi")] == [shown, "7", shown]


@given(HOSTILE, HOSTILE)
def test_marking_differences_changes_no_letter(left: str, right: str) -> None:
    for text, shown in zip((left, right), compare_values(left, right)):
        (value,) = Tree(shown).root.parts
        assert isinstance(value, Element)
        assert Markup(escape(value.text)) == escape(text) or (text == "" and value.text in ("empty", ""))
        assert not value.all("mark") or left != right


def marks(left: str, right: str) -> list[list[str]]:
    return [[one.text for one in Tree(value).root.all("mark")] for value in compare_values(left, right)]


def test_differing_letters_are_marked() -> None:
    left, right = (Tree(value).root for value in compare_values("Katharina", "Katarina"))
    assert [mark.text for mark in left.all("mark")] == ["h"]
    assert right.all("mark") == []
    assert marks("onone essentials for", "onone software essentials for") == [[], [" software"]]
    assert marks("12 Main Street", "13 Main Street") == [["2"], ["3"]]
    assert marks("Mary Ann Smith", "Maryann Smith") == [["Mary Ann"], ["Maryann"]]
    assert not Tree(compare_values("abc", "xyz")[0]).root.all("mark"), "wholly different values need no marks"


def test_long_values_are_cut_and_say_so() -> None:
    root = read(replace(FULL, chosen=[PairExample(1, 2, 1, 0.5, [PairField("f", "long " * 500, None, "l", 1)])]))
    value = root.by_id("pairs").all("td")[5]
    assert "(2,500 characters)" in value.text
    assert len(value.text) < 250
    assert root.by_id("pairs").all("td")[6].text == "missing"


def test_escaping_is_the_default_and_none_leaves_attributes_out() -> None:
    assert (
        tag("p", "<b>", Markup("<i></i>"), title='"', id=None, hidden=False) == '<p title="&quot;">&lt;b&gt;<i></i></p>'
    )


def weight_rows(root: Element) -> list[Element]:
    return [row for row in root.by_id("weights").all("tr") if row.all("rect")]


def test_bars_of_weights_are_as_wide_as_weights_and_start_at_zero() -> None:
    rows = weight_rows(read(FULL))
    assert len(rows) == len(FULL.weights)
    spread = max(one.weight for one in FULL.weights) - min(one.weight for one in FULL.weights)
    for row, level in zip(rows, FULL.weights):
        (rect,) = row.all("rect")
        (zero,) = row.all("line", "zero")
        assert rect.share("width") == pytest.approx(96 * abs(level.weight) / spread, abs=0.002)
        start = rect.share("x") + (rect.share("width") if level.weight < 0 else 0)
        assert start == pytest.approx(zero.share("x1"), abs=0.002)
        assert rect.classes == ["for" if level.weight >= 0 else "against"]


def test_weights_table_shows_the_numbers_given() -> None:
    levels = [
        LevelWeight("name", "equal", 0.92, 0.0123, 6.225, 1234),
        LevelWeight("name", "other", 0.08, 0.9877, -3.626, 9),
    ]
    rows = weight_rows(read(replace(FULL, weights=levels)))
    texts = [[cell.text for cell in row.all("td") if "chart" not in cell.classes] for row in rows]
    assert texts == [["equal", "+6.22", "92%", "1.2%", "1,234"], ["other", "−3.63", "8%", "98.8%", "9"]]


def test_a_level_without_pairs_is_assumed_and_no_finding() -> None:
    levels = [LevelWeight("name", "equal", 0.9, 0.1, 3.1, 7), LevelWeight("name", "nickname", 0.1, 0.01, 3.3, 0)]
    section = read(replace(FULL, weights=levels)).by_id("weights")
    seen, assumed = [row for row in section.all("tr") if row.all("rect")]
    assert [row.all("rect")[0].classes for row in (seen, assumed)] == [["for"], ["base"]]
    assert ["assumed" in row.text for row in (seen, assumed)] == [False, True]
    assert "The strongest evidence for a match is name: equal" in section.text
    assert "assumed" not in read(replace(POINTS, weights=levels)).by_id("weights").text


def test_records_made_of_words_have_the_weights_of_their_evidence() -> None:
    kinds = [EvidenceWeight("title", "words in common", 2.5), EvidenceWeight("title", "both values known", -0.5)]
    section = read(replace(FULL, model="words", evidence=kinds)).by_id("weights")
    rows = [[cell.text for cell in row.all("td") if "chart" not in cell.classes] for row in section.all("tr")[2:]]
    assert rows == [["words in common", "+2.50"], ["both values known", "−0.50"]]
    assert "The strongest evidence for a match is title: words in common (+2.50)" in section.text
    assert [cell.text for cell in section.all("th") if "chart" not in cell.classes] == ["kind of evidence", "weight"]


def test_options_are_set_as_code() -> None:
    report = replace(FULL, source_of_precision=MODEL_ALONE, precision=(0.6, None, None), notes=["see --blocks 9"])
    codes = [one.text for one in read(report).all("code")]
    assert {"--validate FIELD", "--precision", "--blocks 9"} <= set(codes)


def bars_of(root: Element) -> list[Element]:
    return [
        rect for kind in ("taken", "left-out") for rect in root.by_id("scores").all("rect", kind) if rect.all("title")
    ]


def test_histogram_has_a_bar_for_every_bin_in_the_right_place() -> None:
    bins = [Bin(0, 1, 10), Bin(1, 2, 0), Bin(2, 3, 40), Bin(3, 5, 20)]
    bars = sorted(bars_of(read(replace(FULL, bins=bins, cut=2))), key=lambda bar: bar.share("x"))
    assert [bar.share("x") for bar in bars] == pytest.approx([2, 2 + 96 * 2 / 5, 2 + 96 * 3 / 5], abs=0.002)
    heights = [float(bar.attributes["height"] or 0) for bar in bars]
    assert heights[1] / heights[0] == pytest.approx(4, rel=1e-3)
    assert heights[1] / heights[2] == pytest.approx(2, rel=1e-3)
    floors = [float(bar.attributes["y"] or 0) + height for bar, height in zip(bars, heights)]
    assert max(floors) - min(floors) < 0.01
    assert [bar.classes[0] for bar in bars] == ["left-out", "taken", "taken"]
    assert bars[2].share("width") == pytest.approx(2 * bars[1].share("width"), rel=0.02)


def test_histogram_takes_logarithms_where_counts_differ_a_lot() -> None:
    bins = [Bin(0, 1, 10_000), Bin(1, 2, 100), Bin(2, 3, 1)]
    root = read(replace(FULL, bins=bins, cut=1.0))
    bars = sorted(bars_of(root), key=lambda bar: bar.share("x"))
    heights = [float(bar.attributes["height"] or 0) for bar in bars]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.01)
    (line,) = [line for line in root.by_id("scores").all("line", "marker") if "x1" in line.attributes]
    assert bars[0].attributes["y"] == line.attributes["y1"], "the largest is as high as the picture"
    tops = {bar.attributes["y"] for bar in bars}
    assert tops <= {line.attributes["y1"] for line in root.by_id("scores").all("line", "grid")}, (
        "bars end at their marks"
    )
    assert "logarithmic" in root.by_id("scores").text
    assert "logarithmic" not in read(replace(FULL, bins=[Bin(0, 1, 100), Bin(1, 2, 50)])).by_id("scores").text


def test_precision_lies_within_its_interval_and_the_cut_at_its_score() -> None:
    bins = [Bin(0, 1, 10, 0.25, 0.0, 0.5), Bin(1, 2, 10), Bin(2, 3, 10, 0.75, 0.5, 1.0), Bin(3, 4, 10, 1.0)]
    scores = read(replace(FULL, bins=bins, cut=3.0)).by_id("scores")
    dots = [(dot.share("cx"), float(dot.attributes["cy"] or 0)) for dot in scores.all("circle")]
    assert [x for x, _ in dots] == pytest.approx([14, 62, 86])
    top, bottom = dots[2][1], 2 * (dots[0][1] - dots[2][1]) - (dots[1][1] - dots[2][1]) + dots[2][1]
    assert (dots[0][1] - top) / (dots[1][1] - top) == pytest.approx(3), "25% is three times as far from the top as 75%"
    boxes = [box for box in scores.all("rect", "interval") if "x" in box.attributes]
    spans = [(float(box.attributes["y"] or 0), float(box.attributes["height"] or 0)) for box in boxes]
    assert [y for y, _ in spans] == pytest.approx([(dots[0][1] + dots[1][1]) / 2, top])
    assert spans[0][1] == spans[1][1] == pytest.approx(2 * (dots[1][1] - top))
    assert bottom > top
    # A line joins neighbours only: not over the bin without an estimate.
    joins = [line for line in scores.all("line", "curve") if line.share("x2") < 100]
    assert [(line.share("x1"), line.share("x2")) for line in joins] == [(62, 86)]
    cuts = [line.share("x1") for line in scores.all("line", "marker") if "x1" in line.attributes]
    assert cuts == [74, 74]


def test_bins_are_listed_with_the_numbers_given() -> None:
    bins = [Bin(-math.inf, -2.5, 1234567), Bin(-2.5, 8, 12, 0.995, 0.98, 0.999), Bin(8, math.inf, 3, 1.0)]
    rows = read(replace(FULL, bins=bins)).by_id("scores").all("tr")[1:]
    assert [[cell.text for cell in row.all("td")] for row in rows] == [
        ["−∞", "−2.50", "1,234,567", "–", "–"],
        ["−2.50", "8", "12", "99.5%", "98% to 99.9%"],
        ["8", "∞", "3", "100%", "–"],
    ]


def test_the_legend_names_only_what_is_drawn() -> None:
    bins = [Bin(0, 1, 10, 0.5), Bin(1, 2, 10, 0.9)]
    known = [*bins, Bin(2, 3, 10, 0.9, 0.8, 1.0)]
    for report, names in (
        (replace(FULL, bins=[Bin(0, 1, 10)], cut=None), ["taken", "left-out"]),
        (replace(FULL, bins=bins), ["taken", "left-out", "curve", "marker"]),
        (replace(FULL, bins=known), ["taken", "left-out", "curve", "interval", "marker"]),
    ):
        (legend,) = read(report).by_id("scores").all("div", "legend")
        shapes = [shape for entry in legend.all("span") for shape in entry.all("rect") + entry.all("line")]
        assert [shape.classes for shape in shapes] == [[name] for name in names]


def test_waterfall_leads_from_the_prior_through_every_field_to_the_score() -> None:
    (example, _) = FULL.chosen
    rows = read(FULL).by_id("pairs").all("details")[0].all("tbody")[0].all("tr")
    assert [row.all("td")[0].parts[0] for row in rows] == ["prior", *NAMES, "score"]
    zero = rows[0].all("line", "zero")[0].share("x1")
    unit = rows[-1].all("rect")[0].share("width") / example.score
    place = zero + unit * example.prior
    for row, field in zip(rows[1:-1], example.fields):
        for rect, step in zip(row.all("rect"), (field.weight, field.adjusted)):
            assert rect.share("width") == pytest.approx(unit * abs(step), abs=0.01)
            assert rect.share("x") == pytest.approx(min(place, place + unit * step), abs=0.01)
            place += unit * step
        assert row.all("line", "step")[-1].share("x1") == pytest.approx(place, abs=0.01)
        assert len(row.all("rect")) == (2 if field.adjusted else 1)
    assert place == pytest.approx(zero + unit * example.score, abs=0.01)
    assert rows[2].all("td")[-1].text == "+2.05common −1.25"
    assert rows[1].all("td")[-1].text == "+7.75"
    assert [row.all("line", "marker")[0].share("x1") for row in rows] == pytest.approx(
        [zero + 6 * unit] * len(rows), abs=0.01
    )


def test_a_score_that_no_field_explains_is_shown() -> None:
    fields = [PairField("name", "a", "a", "equal", 4.0)]
    pairs = read(replace(FULL, chosen=[PairExample(1, 2, 7.5, 0.99, fields, -1.0)])).by_id("pairs")
    names = [row.all("td")[0].parts[0] for row in pairs.all("tr")[1:]]
    assert names == ["prior", "name", "rest", "score"]
    assert pairs.all("tr")[3].all("td")[-1].text == "+4.50"


def test_examples_are_on_their_side_of_the_cut() -> None:
    examples = [PairExample(f"L{score}", "R", score, 0.5, [], score) for score in (5.0, 9.0, 6.0, 5.9, 7.0)]
    section = read(replace(FULL, around=examples, cut=6.0)).by_id("cut")
    order = [one.all("bdi")[0].text if one.name == "details" else one.text
             for one in section.all() if one.name == "details" or "divider" in one.classes]  # fmt: skip
    assert order == ["L9.0", "L7.0", "L6.0", "cut at 6", "L5.9", "L5.0"]
    opened = [one.all("bdi")[0].text for one in section.all("details") if "open" in one.attributes]
    assert opened == ["L6.0", "L5.9"]


def test_hashes_fields_and_notes_are_listed() -> None:
    root = read(
        replace(
            FULL,
            hashes=[HashFact("zip", 10_000, 321, 99, 5_432, 21, "refined")],
            fields=[FieldFact("zip", "code", "digits only", 0.037, 4_321)],
            notes=["one", "two"],
        )
    )
    cells = {name: [cell.text for cell in root.by_id(name).all("td")] for name in ("candidates", "fields")}
    assert cells["candidates"] == ["zip", "10,000", "321", "99", "5,432", "21", "refined"]
    assert cells["fields"] == ["zip", "code", "digits only", "3.7%", "4,321"]
    assert [item.text for item in root.by_id("notes").all("li")] == ["one", "two"]


def summary(report: LinkReport) -> dict[str, str]:
    root = read(report)
    return {name.text: words.text for name, words in zip(root.all("dt"), root.all("dd"))}


def test_the_summary_states_the_findings_and_their_source() -> None:
    bins = [Bin(0, 4, 500, 0.1, 0.0, 0.2), Bin(4, 5, 30, 0.9, 0.8, 1.0), Bin(5, 6, 10, 1.0, 0.9, 1.0)]
    said = summary(replace(FULL, bins=bins, cut=4.0, fields=FULL.fields[:2]))
    assert "customers_2019.csv (1,000,000 records) with " in said["Compared"]
    assert "by given_name and surname. 540 candidate pairs" in said["Compared"]
    assert said["Found"].startswith("98,765 links. The cut is at a score of 4: the lowest")
    assert said["Precision"] == "About 92.5% (82.5% to 100%) of the pairs at or above the cut are matches."
    assert said["Evidence"] == "Validated by 'created'."
    assert "98.7% (98.1% to 99.15%)" in said["Recall"]
    assert "--validate" not in said["Next steps"]


def test_the_summary_of_a_run_without_estimates_claims_nothing() -> None:
    report = replace(FULL, source_of_precision=MODEL_ALONE, converged=False, recall=None, links=0, tables=[("a", 1)])
    said = summary(report)
    assert "a (1 record) with itself" in said["Compared"]
    assert "Nothing outside the model confirms it" in said["Evidence"]
    assert "Unknown" in said["Recall"]
    assert [name for _, name in tiles_of(report)] == [name for _, name in tiles_of(replace(report, recall=KNOWN))][:-1]
    assert "did not converge" in said["Next steps"]
    assert "Nothing was linked" in said["Next steps"]
    assert "--validate" in said["Next steps"]
    assert "did not converge after 17 iterations" in read(report).by_id("weights").all("p", "warning")[0].text
    without = summary(replace(FULL, bins=[Bin(0, 9, 5)], cut=0.0))
    assert without["Precision"].startswith("Unknown")
    partly = summary(replace(FULL, bins=[Bin(0, 1, 30, 0.9), Bin(1, 2, 10)], cut=0.0))
    assert "covers 75% of them" in partly["Precision"]


def test_a_wide_interval_and_labels_are_shown_at_the_top() -> None:
    doubtful = replace(FULL, source_of_precision=MODEL_ALONE, precision=(0.75, 0.5, 0.9))
    assert sum_up(doubtful).endswith("their precision is probably 50% to 90%.")
    assert ("50% to 90%", TOLD_BY_MODEL) in tiles_of(doubtful)
    assert ("75%", TOLD_BY_MODEL) in tiles_of(replace(doubtful, precision=(0.75, 0.7, 0.8)))
    labelled = replace(
        doubtful, precision=(0.75, 0.7, 0.8), labels="Measured on 9 labelled pairs: F1 80.0%.",
        source_of_precision=CALIBRATED,
    )  # fmt: skip
    assert ("75%", "precision, calibrated on labels") in tiles_of(labelled)
    said = summary(labelled)
    assert said["Labels"] == "Measured on 9 labelled pairs: F1 80.0%."
    assert "labelled pairs" in said["Evidence"]
    assert "--validate" not in said["Next steps"]
    assert "Labels" not in summary(doubtful)


def test_records_made_of_words_are_explained_as_such() -> None:
    one = PairExample(1, 2, -9.0, 0.002, [PairField("title", "red lamp", "lamp red", "half the words", 3.0)], -1.5)
    report = replace(FULL, model="words", model_reason="title is of kind text", chosen=[one])
    assert summary(report)["Scoring"] == "By words, because title is of kind text."
    page = links_page(report)
    assert "of the scale, which was fitted to best partners" in page
    assert [row.all("td")[0].text for row in read(report).by_id("pairs").all("tr")[1:2]] == ["start"]
    assert "a record has another partner that is nearly as similar, or more" in page
    assert "no similar partner is left" not in page
    assert "no similar partner is left" in links_page(replace(report, chosen=[replace(one, score=9.0)]))
    assert "log2(m / u)" not in page
    assert "rare value" not in page
    other = links_page(replace(report, model="levels"))
    assert "before any field is considered: one match in about 4 pairs" in other
    assert "not explained by the fields" in other
    assert "Scoring" not in summary(FULL)


def test_the_sentence_names_files_without_their_folders() -> None:
    assert "between a.csv (3 records) and b.csv (2 records)" in sum_up(LinkReport("x", [("in/a.csv", 3), ("b.csv", 2)]))
    assert "in/a.csv (3 records) and a.csv" in sum_up(LinkReport("x", [("in/a.csv", 3), ("a.csv", 2)]))


def test_many_wrong_links_and_wide_intervals_are_doubts() -> None:
    assert (
        describe_doubt(0.6, None, None) == "many links are probably wrong (about 40%): add fields, or set --precision"
    )
    assert describe_doubt(0.4, None, None).startswith("most links are probably wrong (about 60%)")
    assert describe_doubt(0.8, None, None) == describe_doubt(0.75, 0.7, 0.8) == ""
    assert describe_doubt(0.75, 0.5, 0.9).startswith("the tables alone do not show how many links are correct")
    # nobody who has labels is told to begin with labels
    unknown = describe_measured_doubt(0.9, 0.4, 0.98)
    assert unknown.startswith("the labels do not show how many links are correct: probably 40% to 98%.")
    assert describe_measured_doubt(0.3, 0.2, 0.4).startswith("most links are probably wrong (about 70%)")


def test_alarms_come_first() -> None:
    assert 'id="warnings"' not in links_page(FULL)
    alarmed = read(replace(FULL, alarms=[{"kind": "doubtful_links", "text": "many links are probably wrong"}]))
    assert [one.text for one in alarmed.by_id("warnings").all("li")] == ["Many links are probably wrong."]


def test_precision_of_the_run_goes_before_that_of_the_bins() -> None:
    report = replace(FULL, precision=(0.97, 0.95, 0.98))
    assert estimate_precision(report) == (0.97, 0.95, 0.98, 1.0)
    assert "97% (95% to 98%)" in summary(report)["Precision"]


def test_empty_report_says_that_there_is_nothing() -> None:
    root = read(EMPTY)
    assert "0 links" in root.text
    assert root.all("svg") == []
    assert root.by_id("scores").all("p")[0].text == "No pair was scored."


def test_points_have_neither_probabilities_nor_prior() -> None:
    root = read(POINTS)
    assert [cell.text for cell in weight_rows(root)[0].all("td") if "chart" not in cell.classes] == [
        "equal",
        "+100",
        "5",
    ]
    pairs = root.by_id("pairs")
    assert [row.all("td")[0].parts[0] for row in pairs.all("tr")[1:]] == ["name", "score"]
    assert "probability" not in pairs.text
    assert "points" in root.by_id("scores").text


NUMBER = st.floats(width=32) | st.sampled_from([math.inf, -math.inf, math.nan, 0.0, -0.0])


@given(NUMBER, NUMBER, st.lists(NUMBER, min_size=1, max_size=4), st.integers(0, 10**15))
def test_any_numbers_give_a_page_without_broken_places(
    cut: float, score: float, weights: list[float], pairs: int
) -> None:
    fields = [PairField("f", 1, 2, "l", weight, score) for weight in weights]
    root = read(
        replace(
            EMPTY,
            cut=cut,
            bins=[Bin(score, cut, pairs, 0.5), Bin(cut, cut, 1)],
            weights=[LevelWeight("f", "l", 0.5, 0.5, weight, pairs) for weight in weights],
            chosen=[PairExample(1, 2, score, 0.5, fields, weights[0])],
        )
    )
    tallest = max(float(svg.attributes["height"] or 0) for svg in root.all("svg") if "height" in svg.attributes)
    drawn = root.all("rect") + root.all("line") + root.all("circle")
    assert len(drawn) > 2 * len(weights)
    for element in drawn:
        places = {name: element.attributes[name] or "" for name in PLACES if name in element.attributes}
        numbers = {name: float(value.rstrip("%")) for name, value in places.items()}
        most = {name: 100 if value.endswith("%") else tallest for name, value in places.items()}
        assert all(0 <= number <= most[name] for name, number in numbers.items()), places
        for start, size in (("x", "width"), ("y", "height")):
            if start in places and most[start] == most[size]:
                assert numbers[start] + numbers[size] <= most[start] + 0.01, places


PLACES = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height")
