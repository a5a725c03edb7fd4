"""Linking records: what is found against what is true, and every number against a plain account of it."""

import datetime
import html.parser
import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from linking import f1, link_in_run, make_people, pairs_of
from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.decide.links import MOSTLY_ONE
from lookalike.linkage.linked import TableSizes
from lookalike.linkage.settings import LinkSettings

FIELDS = ["name", "address", "phone"]


@pytest.fixture(scope="module")
def people():
    return make_people(700, 500, 0.3, seed=4)


@pytest.fixture(scope="module")
def linked(people):
    left, right, _ = people
    return la.link(left, right, FIELDS, validate="created", threads=2)


def explain(result):
    """The score of each link as the sum of its parts."""
    fields = result.links.column_names[4:]
    return [result.run["prior"] + sum(row[name]["weight"] for name in fields) for row in result.links.to_pylist()]


def test_people_of_two_tables_are_found(people, linked):
    _, _, truth = people
    assert len(truth) == 150
    assert f1(pairs_of(linked.links), truth) >= 0.98
    assert linked.run["counts"]["left"] == 700
    assert linked.run["counts"]["right"] == 500
    assert linked.run["converged"]
    recall = linked.run["candidate_recall"]
    assert recall["low"] <= recall["estimate"] <= recall["high"]
    assert recall["estimate"] > 0.97


def test_people_of_one_table_are_found(people):
    left, right, truth = people
    result = la.link(pa.concat_tables([left, right]), fields=FIELDS)
    assert f1(pairs_of(result.links), truth) >= 0.97
    assert result.run["counts"]["right"] is None
    assert repr(result) == f"LinkResult({len(result.links)} links among 1200 records)"


def test_clusters_are_connected_by_links(linked):
    """Against a search by hand."""
    beside = {}
    for a, b in pairs_of(linked.links):
        beside.setdefault(a, set()).add(b)
        beside.setdefault(b, set()).add(a)
    seen, groups = set(), set()
    for start in beside:
        group, todo = set(), [start]
        while todo:
            one = todo.pop()
            if one not in group:
                group.add(one)
                todo += beside[one]
        if start not in seen:
            groups.add(frozenset(group))
        seen |= group
    told = {}
    for row in linked.clusters.to_pylist():
        told.setdefault(row["cluster"], []).append(row)
        assert row["table"] == {"l": "left", "r": "right"}[row["id"][0]]
    assert {frozenset(row["id"] for row in rows) for rows in told.values()} == groups
    assert all(row["size"] == len(rows) for rows in told.values() for row in rows)
    assert linked.run["counts"]["clusters"] == len(groups)


def test_every_score_is_explained(linked):
    assert linked.links.column_names == ["left", "right", "score", "probability", *FIELDS]
    scores = linked.links["score"].to_numpy()
    assert len(scores) > 100
    np.testing.assert_allclose(explain(linked), scores, atol=1e-9)
    np.testing.assert_allclose(linked.links["probability"].to_numpy(), 1 / (1 + 2.0**-scores), atol=1e-12)
    assert (scores >= linked.run["cut"]["score"]).all()
    assert min(linked.links["probability"].to_pylist()) >= 0.5


def test_agreements_that_are_not_equal_have_the_weight_of_the_table(linked):
    """Frequencies change only what an equal value weighs; the first field of the tree depends on no other."""
    table = {(row["field"], row["level"]): row["weight"] for row in linked.run["weights"]}
    alike = dict.fromkeys(FIELDS, 0)
    for row in linked.links.to_pylist():
        for name in FIELDS:
            level, weight = row[name]["agreement"], row[name]["weight"]
            if level == "missing":
                assert weight == 0
            elif level != "equal":
                alike[name] += weight == pytest.approx(table[name, level])
    assert max(alike.values()) > 50


def test_a_rarer_value_weighs_more():
    rows = [{"name": name, "zip": f"{10000 + 37 * n}"} for n, name in enumerate(["Ann Lee"] * 40 + ["Zoltan Quirk"])]
    rows += [{"name": f"Person Number{n} Of{n % 91}", "zip": f"{50000 + 11 * n}"} for n in range(400)]
    other = [{"name": "Ann Lee", "zip": "10000"}, {"name": "Zoltan Quirk", "zip": f"{10000 + 37 * 40}"}]
    result = la.link(rows, other, ["name:person", "zip:code"], probability=1e-9, one_to_one="no")
    weights = {(row["left"], row["right"]): row["name"]["weight"] for row in result.links.to_pylist()}
    assert weights[40, 1] > weights[0, 0] + 3


def test_nothing_depends_on_the_threads(people, linked):
    left, right, _ = people
    again = la.link(left, right, FIELDS, validate="created", threads=1)
    assert again.links.equals(linked.links)
    assert again.clusters.equals(linked.clusters)
    for key in ("counts", "cut", "precision", "candidate_recall", "hashes", "weights", "validation", "notes", "prior"):
        assert again.run[key] == linked.run[key], key


def test_the_lecture_dates(people):
    """Created within 90 days: random pairs differ by 30 days on average, the same people by 10."""
    left, right, truth = people
    found = link_in_run(left, right, LinkSettings.parse(FIELDS, validate="created"))
    assert found.validation.matching.mean == pytest.approx(10, abs=2)
    assert found.validation.random.mean == pytest.approx(30, abs=1.5)
    ids = left["id"].to_pylist(), right["id"].to_pylist()
    chosen = [(ids[0][a], ids[1][b - 1200]) for a, b in zip(found.candidates.left, found.candidates.right)]
    valid = np.array([pair in truth for pair in chosen])
    estimate, low, high = found.precision
    assert low <= estimate <= high
    assert low - 0.005 <= valid[found.chosen].mean() <= high + 0.005


@pytest.mark.parametrize("wanted", [pytest.param(0.8, marks=pytest.mark.slow), 0.95])
def test_a_wanted_precision_is_reached(wanted):
    """People known by their name and postcode only, every value with an error: five samples, intervals of 95%."""
    inside, off = 0, []
    for seed in range(5):
        left, right, truth = make_people(1500, 1500, 0.4, errors=1.0, seed=seed)
        result = la.link(
            left, right, ["name", "postcode"], validate="created", precision=wanted, one_to_one="no", seed=seed + 1
        )
        found = pairs_of(result.links)
        assert len(found) > 100
        true = len(found & truth) / len(found)
        told = result.run["precision"]
        assert told["how"] == "validated by created"
        inside += told["low"] - 0.005 <= true <= told["high"] + 0.005
        off.append(true - wanted)
    assert inside >= 4
    assert np.mean(off) > -0.03


def test_without_a_validating_field_the_estimate_is_labelled_as_the_model(people):
    left, right, _ = people
    result = la.link(left, right, FIELDS, precision=0.99)
    assert result.run["precision"]["how"] == "the model's own probability"
    probability = result.links["probability"].to_numpy()
    assert result.run["precision"]["estimate"] == pytest.approx(probability.mean())
    assert probability.mean() >= 0.99
    assert result.run["validation"] is None


def test_the_probability_of_a_link_is_a_parameter(people):
    left, right, _ = people
    few = la.link(left, right, FIELDS, probability=0.999, one_to_one="no")
    many = la.link(left, right, FIELDS, probability=0.05, one_to_one="no")
    assert min(few.links["probability"].to_pylist()) >= 0.999
    assert 0.05 <= min(many.links["probability"].to_pylist()) < 0.999
    assert pairs_of(few.links) < pairs_of(many.links)


@pytest.fixture(scope="module")
def twins():
    """The left table holds some people twice, so that their right one has two candidates."""
    left, right, truth = make_people(600, 500, 0.5, errors=0.3, seed=9)
    wanted = sorted(truth)[:60]
    place = {name: n for n, name in enumerate(left["id"].to_pylist())}
    doubles = left.take([place[one] for one, _ in wanted])
    doubles = doubles.set_column(0, "id", pa.array([f"again-{one}" for one, _ in wanted]))
    return pa.concat_tables([left, doubles]), right


@pytest.mark.parametrize("method", ["optimal", "greedy", "left", "right", "no", "auto"])
def test_one_partner_each(twins, method):
    result = la.link(*twins, FIELDS, one_to_one=method)
    rights = result.links["right"].to_pylist()
    lefts = result.links["left"].to_pylist()
    once = [name for name, ids in (("left", lefts), ("right", rights)) if len(set(ids)) == len(ids)]
    said = [note for note in result.run["notes"] if "only one match" in note]
    share = 190 / 250  # of the right ones have one partner: too few for auto
    assert share < MOSTLY_ONE
    assert once == (["left"] if method in ("left", "no", "auto") else ["left", "right"])
    assert not said
    if method in ("no", "left"):
        assert len(rights) - len(set(rights)) >= 50


def test_auto_links_one_to_one_if_nearly_all_records_have_one_match(twins):
    left, right = twins
    fewer = left.slice(0, 610)  # ten doubles
    result = la.link(fewer, right, FIELDS)
    assert any("only one match" in note for note in result.run["notes"])
    assert len(set(result.links["right"].to_pylist())) == len(result.links)


def test_the_optimal_total_exceeds_the_greedy_one():
    """The best pair leaves nothing to the others."""
    left, right = (
        [{"name": "Ann Lee", "zip": "60302", "born": born} for born in dates]
        for dates in (["1990-04-08", "1990-08-04"], ["1990-04-08", "1990-04-03"])
    )
    found, worth = {}, {}
    for method in ("optimal", "greedy"):
        result = la.link(left, right, ["name:person", "zip:code", "born:date"], scoring="points", one_to_one=method)
        found[method] = pairs_of(result.links)
        worth[method] = sum(score - result.run["cut"]["score"] for score in result.links["score"].to_pylist())
    assert found == {"optimal": {(0, 1), (1, 0)}, "greedy": {(0, 0)}}
    assert worth["optimal"] > worth["greedy"] + 5


def test_points_of_the_lecture():
    """Jeffrey and Jeffery lose a few points, as does the same phone with another area code."""
    a = [{"name": "Jeffrey Ullman", "phone": "650-555-0123"}, {"name": "Jennifer Widom", "phone": "650-555-0188"}]
    b = [{"name": "Jeffery Ullman", "phone": "415-555-0123"}, {"name": "Jennifer Widom", "phone": "650-555-0188"}]
    result = la.link(a, b, ["name:person", "phone:phone"], scoring="points")
    rows = {(row["left"], row["right"]): row for row in result.links.to_pylist()}
    assert set(rows) == {(0, 0), (1, 1)}
    assert rows[1, 1]["score"] == 200
    one = rows[0, 0]
    assert one["name"] == {"agreement": "Jaro-Winkler >= 0.95", "weight": pytest.approx(100 * 5 / 6)}
    assert one["phone"] == {"agreement": "equal without area code", "weight": pytest.approx(100 * 2 / 3)}
    assert one["score"] == pytest.approx(150)
    assert one["probability"] is None
    assert result.run["prior"] == 0


def test_points_with_a_validating_field(people):
    left, right, truth = people
    result = la.link(left, right, FIELDS, scoring="points", validate="created", precision=0.9)
    found = pairs_of(result.links)
    assert len(found & truth) / len(found) >= 0.85
    np.testing.assert_allclose(explain(result), result.links["score"].to_numpy())


def test_tables_may_call_a_column_differently(people, linked):
    left, right, _ = people
    names = {"id": "no", "name": "who", "created": "since"}
    other = right.rename_columns([names.get(name, name) for name in right.column_names])
    result = la.link(left, other, ["name=who", "address", "phone"], id="id=no", validate="created=since")
    assert result.links.equals(linked.links)


def test_ids_of_different_types_can_be_mixed(people):
    left, right, truth = people
    numbers = left.set_column(0, "id", pa.array(range(700), pa.int32()))
    wide = right.set_column(0, "id", pa.array(range(500), pa.int64()))
    assert la.link(numbers, wide, FIELDS).links["left"].type == pa.int64()
    mixed = la.link(numbers, right, FIELDS)
    assert f1({(f"l{a}", b) for a, b in pairs_of(mixed.links)}, truth) >= 0.98


def test_records_without_an_id_are_numbered_and_repeated_ids_noted(people, linked):
    left, right, _ = people
    plain = la.link(left.drop_columns("id"), right.drop_columns("id"), FIELDS)
    assert {(f"l{a}", f"r{b}") for a, b in pairs_of(plain.links)} == pairs_of(linked.links)
    same = left.set_column(0, "id", pa.array(["x"] * 2 + left["id"].to_pylist()[2:]))
    result = la.link(same, right, FIELDS)
    assert "left: ids are not unique (repeated: 1)" in result.run["notes"]


def test_a_field_may_be_called_like_a_column_of_the_result(people):
    left, right, _ = people
    left, right = (one.rename_columns(["id", "score", "left", "postcode", "phone", "created"]) for one in (left, right))
    links = la.link(left, right, ["score:person", "left:address", "phone"]).links
    assert links.column_names == ["left", "right", "score", "probability", "score_", "left_", "phone"]
    assert links["score"].type == pa.float64()


def test_a_field_without_values_is_ignored_and_reported(people):
    left, right, truth = people
    left, right = (one.append_column("email", pa.nulls(len(one), pa.string())) for one in (left, right))
    result = la.link(left, right, [*FIELDS, "email"])
    assert "email: no record has a value; the field is ignored" in result.run["notes"]
    assert "email" not in result.links.column_names
    assert f1(pairs_of(result.links), truth) >= 0.98


ROWS = [{"name": "Ann Smith", "zip": 60302}, {"name": "Bob Jones", "zip": 60301}]


@pytest.mark.parametrize(("left", "right"), [([], ROWS), (ROWS, []), ([], []), ([], None), (ROWS[:1], None)])
@pytest.mark.parametrize("scoring", ["weights", "points"])
def test_nothing_to_compare_with(left, right, scoring):
    result = la.link(left, right, ["name", "zip"], scoring=scoring)
    assert (len(result.links), len(result.clusters)) == (0, 0)
    assert result.links.column_names == ["left", "right", "score", "probability", "name", "zip"]
    assert result.run["counts"] == {
        "left": len(left), "right": None if right is None else len(right), "candidates": 0, "links": 0, "ties": 0,
        "refused": 0, "clusters": 0,
    }  # fmt: skip
    [note] = result.run["notes"]
    assert "nothing to link" in note


def test_too_few_records_are_reported():
    result = la.link(ROWS, ROWS, ["name", "zip"])
    assert any("too few to estimate" in note for note in result.run["notes"])


def test_pairs_are_counted_and_drawn_from_all_pairs():
    for left, right in [(5, None), (1, None), (0, None), (4, 3), (4, 0), (0, 3)]:
        sides = TableSizes(left, right)
        every = (
            set(combinations(range(left), 2))
            if right is None
            else {(a, left + b) for a in range(left) for b in range(right)}
        )
        drawn = list(zip(*(side.tolist() for side in sides.draw_pairs(1))))
        assert sides.pairs == len(every)
        assert (len(drawn), set(drawn)) == (len(every), every)  # each pair once
        some = list(zip(*(side.tolist() for side in sides.draw_pairs(1, 4))))
        assert set(some) <= every
        if len(every) > 4:
            assert 0 < len(some) <= 4
        else:
            assert (len(some), set(some)) == (len(every), every)


def test_mixed_types_in_a_column(people):
    """Numbers beside strings of the same digits."""
    left, right, _ = people
    numbers = [dict(row, phone=int(row["phone"]) if row["phone"] else None) for row in left.to_pylist()]
    dated = [dict(row, created=row["created"].isoformat()) for row in right.to_pylist()]
    plain = la.link(left, right, ["name", "address", "phone:phone"], validate="created")
    result = la.link(numbers, dated, ["name", "address", "phone:phone"], validate="created")
    assert result.links.equals(plain.links)
    assert result.run["precision"] == plain.run["precision"]


@pytest.mark.parametrize(
    ("error", "options", "said"),
    [
        (BadDataError, {"fields": "name,nickname"}, "left: no column 'nickname'; its columns are 'id', 'name'"),
        (BadDataError, {"id": "key"}, "no column 'key'"),
        (BadDataError, {"validate": "since"}, "no column 'since'"),
        (BadDataError, {"fields": "name", "validate": "address"}, "neither dates nor numbers"),
        (UsageError, {"fields": "name:animal"}, "kinds are"),
        (UsageError, {"fields": "name,name"}, "named twice"),
        (UsageError, {"fields": []}, "at least one"),
        (UsageError, {"validate": "name"}, "cannot validate"),
        (UsageError, {"fields": "who=name", "validate": "name"}, "cannot validate"),
        (UsageError, {"precision": 1.5}, "--precision must be"),
        (UsageError, {"probability": 0}, "--probability must be"),
        (UsageError, {"scoring": "guess"}, "weights, points"),
        (UsageError, {"one_to_one": "yes"}, "optimal"),
        (UsageError, {"scoring": "points", "precision": 0.9}, "needs --validate"),
        (UsageError, {"out": "links"}, "paths"),
    ],
)
def test_impossible_options_are_refused(people, error, options, said):
    left, right, _ = people
    with pytest.raises(error, match=said.replace("(", r"\(")):
        la.link(left, right, **{"fields": FIELDS} | options)


def test_a_table_has_clusters_and_no_partners(people):
    with pytest.raises(UsageError, match="two tables"):
        la.link(people[0], fields=FIELDS, one_to_one="optimal")
    with pytest.raises(UsageError, match="two tables"):
        la.link(people[0], fields=FIELDS, one_to_one="left")


def _with(tables, name, make):
    """The tables with one column more, made of how many records each has."""
    return tuple(table.append_column(name, make(number, len(table))) for number, table in enumerate(tables))


TELLS_NOTHING = {
    "the validating field does not distinguish matches": lambda _, count: pa.array(
        np.random.default_rng(count).integers(1, 7, count)
    ),
    "certain matches differ by 0 on average, random pairs by 0": lambda _, count: pa.array([7] * count),
    "no candidate pair has a value": lambda number, count: pa.array([1.5 if number else None] * count, pa.float64()),
    "has a value": lambda _, count: pa.nulls(count, pa.float64()),
    "has a value in any": lambda _, count: pa.array(["n/a"] * count),
}
"""A validating field of each kind, by what is said of it."""


@pytest.mark.parametrize("said", TELLS_NOTHING)
@pytest.mark.parametrize("scoring", ["weights", "points"])
def test_a_validating_field_without_information(people, linked, said, scoring):
    """With a wanted precision that is an error. Without, a note says so, and the links are those without the field."""
    left, right = _with(people[:2], "dice", TELLS_NOTHING[said])
    asked = {"fields": FIELDS, "validate": "dice", "scoring": scoring}
    with pytest.raises((UsageError, BadDataError), match=f"--validate dice: .*{said}"):
        la.link(left, right, **asked, precision=0.9)
    result = la.link(left, right, **asked)
    [note] = [note for note in result.run["notes"] if note.startswith("--validate dice: ")]
    assert result.run["validation"] is None
    if scoring == "points":
        assert note.endswith("; so the precision is unknown")
        assert result.run["precision"] is None
        assert len(result.links)
    else:
        assert note.endswith("; so the precision is estimated by the model itself")
        assert result.links.equals(linked.links)
        assert result.run["precision"]["how"] == "the model's own probability"
        assert result.run["precision"]["estimate"] == pytest.approx(result.links["probability"].to_numpy().mean())


@pytest.mark.parametrize(("scoring", "do"), [("weights", "omit --validate"), ("points", "omit --precision")])
def test_the_error_says_what_to_do(people, scoring, do):
    left, right = _with(people[:2], "dice", TELLS_NOTHING["the validating field does not distinguish matches"])
    with pytest.raises(UsageError, match=f"choose another field, or {do}"):
        la.link(left, right, FIELDS, validate="dice", scoring=scoring, precision=0.9)


def test_every_kind_of_table_is_taken(people, linked, tmp_path):
    import pandas as pd
    import polars as pl

    left, right, _ = people
    forms = [
        lambda one: one.to_pylist(),
        lambda one: pl.from_arrow(one),
        lambda one: pd.DataFrame(one.to_pylist()),
    ]
    for number, form in enumerate(forms):
        links = la.link(form(left), form(right), FIELDS, validate="created").links
        assert links.cast(linked.links.schema).equals(linked.links), number
    pq.write_table(left, tmp_path / "left.parquet")
    paths = la.link(tmp_path / "left.parquet", right, FIELDS, validate="created")
    assert paths.links.cast(linked.links.schema).equals(linked.links)


class _Parser(html.parser.HTMLParser):
    """Counts tags that are opened and closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], 0

    def handle_starttag(self, tag, attrs):
        self.seen += 1
        if tag not in ("meta", "br", "img", "link", "input", "col", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_folder_has_the_same_results_and_a_report(people, linked, tmp_path):
    left, right, _ = people
    pq.write_table(left, tmp_path / "left.parquet")
    pq.write_table(right, tmp_path / "right.parquet")
    out = tmp_path / "links"
    result = la.link(tmp_path / "left.parquet", tmp_path / "right.parquet", FIELDS, validate="created", out=out)
    assert sorted(path.name for path in out.iterdir()) == [
        "clusters.parquet", "links.parquet", "model", "report.html", "run.json",
    ]  # fmt: skip
    assert result.links.cast(linked.links.schema).equals(linked.links)
    assert result.clusters.cast(linked.clusters.schema).equals(linked.clusters)
    run = json.loads((out / "run.json").read_text("utf-8"))
    assert run == result.run
    assert run["precision"] == linked.run["precision"]
    why = "100% of the values are one to four words of letters, like names of people, places or companies"
    assert run["options"]["fields"][0] == {"left": "name", "right": "name", "kind": "person", "why": why}
    page = (out / "report.html").read_text("utf-8")
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert not parser.open
    assert parser.seen > 200
    assert "validated by &#x27;created&#x27;" in page
    with pytest.raises(UsageError, match="already exists; choose another name"):
        la.link(tmp_path / "left.parquet", fields=FIELDS, out=out)


@pytest.mark.slow
def test_payments_are_validated_by_their_dates(data_folder):
    """The estimated precision at every cut from 10% on lies within 3 points of the true one."""
    folder = data_folder / "transactions"
    if not folder.is_dir():
        pytest.skip("no transactions in LOOKALIKE_DATA")
    left, right = (pq.read_table(folder / f"transactions_{side}.parquet") for side in ("origin", "destination"))
    settings = LinkSettings.parse("memo,amount", validate="transaction_date", one_to_one="no")
    found = link_in_run(left, right, settings)
    truth = np.concatenate([left["ground_truth"].to_numpy(), right["ground_truth"].to_numpy()])
    valid = truth[found.candidates.left] == truth[found.candidates.right]
    rows = [row for row in found.validation.table() if row.precision >= 0.1]
    assert len(rows) >= 10
    assert max(row.precision for row in rows) > 0.98
    for row in rows:
        assert row.precision == pytest.approx(valid[found.score >= row.cut].mean(), abs=0.03)
    assert found.precision[0] == pytest.approx(valid[found.chosen].mean(), abs=0.03)


def test_dates_in_parquet_are_dates(tmp_path):
    """Dates, integers and nulls keep their meaning on the way through a file."""
    rows = [{"name": f"Person{n % 50} Of{n % 7}", "born": datetime.date(1960 + n % 40, 1 + n % 12, 1 + n % 28),
             "zip": 10_000 + 13 * (n % 300)} for n in range(300)]  # fmt: skip
    pq.write_table(pa.Table.from_pylist([*rows, {"name": None, "born": None, "zip": None}]), tmp_path / "a.parquet")
    result = la.link(tmp_path / "a.parquet", rows, "name:person,born,zip")
    kinds = {one["left"]: one["kind"] for one in result.run["options"]["fields"]}
    assert kinds == {"name": "person", "born": "date", "zip": "code"}
    found = {(int(a.rpartition(":")[2]), int(b)) for a, b in pairs_of(result.links)}
    assert f1(found, {(n, n) for n in range(300)}) > 0.95
