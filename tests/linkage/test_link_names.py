"""Linking people who are called by a nickname, or whose given name and surname changed places."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from calling import jsonl
from linking import f1, link_in_run, pairs_of
from lookalike.errors import BadDataError
from lookalike.linkage.fields.nicknames import read_nicknames
from lookalike.linkage.scoring import score as link_scoring
from lookalike.linkage.scoring.points import deduct
from lookalike.linkage.settings import LinkSettings

FIELDS = ["given:person", "surname:person", "born:code", "town:person"]
TRUTH = {(f"l{n}", f"r{n}") for n in range(400)}


def _mistyped(draw, text):
    place = draw.integers(0, len(text) - 1)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def make_people(seed, nicknames=0.0, exchanged=0.0):
    """Two tables of 900 people, the first 400 of each the same; some are called otherwise in the right one.

    There is little else to know them by: a year that is wrong for a third of them, and a town.
    """
    draw = np.random.default_rng(seed)
    groups = read_nicknames("english").groups
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]

    def word(size):
        return "".join(draw.choice(syllables, size))

    surnames, towns = [word(3) for _ in range(250)], [word(4) for _ in range(60)]

    def person():
        group = groups[draw.integers(len(groups))]
        return group, {"given": group[0], "surname": draw.choice(surnames), "born": str(draw.integers(1940, 2000)),
                       "town": draw.choice(towns)}  # fmt: skip

    tables = [], []
    for n in range(900):
        group, one = person()
        other = dict(one) if n < 400 else person()[1]
        if n < 400:
            if draw.random() < nicknames:
                other["given"] = draw.choice(group[1:])
            if draw.random() < exchanged:
                other["given"], other["surname"] = other["surname"], other["given"]
            if draw.random() < 1 / 3:
                other["born"] = str(draw.integers(1940, 2000))
            if draw.random() < 1 / 10:
                other["surname"] = _mistyped(draw, other["surname"])
        for rows, row, letter in zip(tables, (one, other), "lr"):
            rows.append({"id": f"{letter}{n}", **{name: str(value) for name, value in row.items()}})
    return tables


def score(links):
    return f1(pairs_of(links), TRUTH)


def agreements(links, name):
    return links[name].combine_chunks().field("agreement").to_pylist()


def test_people_called_by_a_nickname_are_found():
    without, known = [], []
    for seed in range(2):
        tables = make_people(seed, nicknames=0.1)
        without.append(score(la.link(*tables, FIELDS).links))
        result = la.link(*tables, FIELDS, nicknames="english")
        known.append(score(result.links))
        assert result.run["options"]["nicknames"] == "english"
        assert any(row["level"] == "equal by nickname" for row in result.run["weights"])
        assert agreements(result.links, "given").count("equal by nickname") >= 25
        assert any(one["name"].startswith("given by nickname") for one in result.run["hashes"])
    assert all(more > less for more, less in zip(known, without))
    assert np.mean(known) > max(0.995, np.mean(without) + 0.005)


def test_without_nicknames_there_is_no_nickname_level():
    result = la.link(*make_people(1, nicknames=0.1), FIELDS)
    assert result.run["options"]["nicknames"] is None
    assert "nickname" not in json.dumps([result.run["weights"], result.run["hashes"], result.run["notes"]])


def test_a_pair_that_only_nicknames_connect_becomes_a_candidate():
    """Peggy and Margaret, with different numbers, among people whose names have other letters."""
    draw = np.random.default_rng(3)
    rows = [{"name": "".join(draw.choice(list("cdfnox"), 9)), "no": str(draw.integers(10**9))} for _ in range(3000)]
    rows[10]["name"], rows[2000]["name"] = "Peggy", "Margaret"
    found = {}
    for asked in (None, "english"):
        settings = LinkSettings.parse(["name:person", "no:code"], nicknames=asked)
        pairs = link_in_run(pa.Table.from_pylist(rows), None, settings).candidates
        found[asked] = (10, 2000) in set(zip(pairs.left.tolist(), pairs.right.tolist()))
    assert found == {None: False, "english": True}


def test_nicknames_of_a_file_and_by_points(tmp_path):
    path = tmp_path / "ours.txt"
    path.write_text("# ours\nmargaret pegeen\n", "utf-8")
    a = [{"given": "Margaret", "zip": "60302"}, {"given": "John", "zip": "11111"}]
    b = [{"given": "Pegeen", "zip": "60302"}, {"given": "Jon", "zip": "22222"}]
    asked = {"fields": ["given:person", "zip:code"], "scoring": "points", "probability": 0.5}
    [link] = la.link(a, b, **asked, nicknames=path).links.to_pylist()
    assert (link["left"], link["right"]) == (0, 0)
    # Half of what the first step down costs: the levels after it earn what they always do.
    assert link["given"] == {"agreement": "equal by nickname", "weight": pytest.approx(100 - 100 / 6 / 2)}
    assert len(la.link(a, b, **asked).links) == 0
    path.write_text("margaret\n", "utf-8")
    with pytest.raises(BadDataError, match=r"ours\.txt, line 1: 'margaret' is alone on its line"):
        la.link(a, b, **asked, nicknames=path)


def test_levels_of_some_data_leave_the_points_of_the_others():
    usual = deduct([7]).earned[0]
    for more in (1, 2):
        earned = deduct([7 + more], deductions=[link_scoring._deductions(7 + more, "person")]).earned[0]
        np.testing.assert_allclose(np.delete(earned, range(2, 2 + more)), usual)
        assert (np.diff(earned[1:]) < 0).all()
    assert link_scoring._deductions(7, "person") is None


def test_nicknames_without_a_name_are_noted():
    """Charlotte is a city, too, and Lottie is not another name of it."""
    rows = [{"zip": f"{10000 + 7 * n}", "city": f"Charlotte {'abcdefg'[n % 7]}{'xyz'[n % 3]}"} for n in range(50)]
    result = la.link(rows, rows, ["zip:code", "city"], nicknames="english")
    assert [field["kind"] for field in result.run["options"]["fields"]] == ["code", "place"]
    assert not any(row["level"] == "equal by nickname" for row in result.run["weights"])
    assert any(
        note.startswith("--nicknames english has no effect: no field is of kind person") for note in result.run["notes"]
    )


def test_names_that_changed_places_are_found(monkeypatch):
    without, known = [], []
    for seed in range(3):
        tables = make_people(seed, exchanged=0.05)
        result = la.link(*tables, FIELDS)
        known.append(score(result.links))
        with monkeypatch.context() as patch:
            patch.setattr(link_scoring, "insert_exchanged", lambda *_, **__: [])
            without.append(score(la.link(*tables, FIELDS).links))
        rows = {(row["left"], row["right"]): row for row in result.links.to_pylist()}
        changed = [n for n in range(400) if tables[0][n]["given"] == tables[1][n]["surname"]]
        links = [rows[f"l{n}", f"r{n}"] for n in changed if (f"l{n}", f"r{n}") in rows]
        assert len(links) >= 8
        for row in links:
            [silent, telling] = sorted(("given", "surname"), key=lambda name: len(row[name]["agreement"]))
            assert row[silent] == {"agreement": "exchanged", "weight": 0}
            assert row[telling]["agreement"] == f"exchanged with {silent}"
            total = result.run["prior"] + sum(row[name.partition(":")[0]]["weight"] for name in FIELDS)
            assert row["score"] == pytest.approx(total, abs=1e-9)
        [level] = [row for row in result.run["weights"] if row["level"].startswith("exchanged")]
        [equal] = [row for row in result.run["weights"] if row["level"] == "equal" and row["field"] == level["field"]]
        assert 0 < level["weight"] <= equal["weight"] + 1e-9
    assert all(more > less for more, less in zip(known, without))
    assert np.mean(known) > np.mean(without) + 0.01


@pytest.mark.parametrize("scoring", ["weights", "points"])
def test_without_exchanged_names_nothing_is_different(monkeypatch, scoring):
    tables = make_people(1)
    result = la.link(*tables, FIELDS, scoring=scoring)
    monkeypatch.setattr(link_scoring, "insert_exchanged", lambda *_, **__: [])
    plain = la.link(*tables, FIELDS, scoring=scoring)
    assert result.links.equals(plain.links)
    for key in ("weights", "prior", "cut", "precision", "counts"):
        assert result.run[key] == plain.run[key]


def test_all_names_in_the_other_field(monkeypatch):
    """A table whose columns were mixed up as a whole: most of it is found, and was not."""
    left, right = make_people(5)
    mixed = [row | {"given": row["surname"], "surname": row["given"]} for row in right]
    assert score(la.link(left, mixed, FIELDS).links) > 0.7
    monkeypatch.setattr(link_scoring, "insert_exchanged", lambda *_, **__: [])
    assert score(la.link(left, mixed, FIELDS).links) < 0.1


def test_the_report_names_nicknames_and_exchanged_names(tmp_path):
    """A folder: links.parquet, run.json and the report name the same levels."""
    for name, rows in zip("ab", make_people(2, nicknames=0.2, exchanged=0.1)):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(*rows))
    out = tmp_path / "links"
    result = la.link(tmp_path / "a.jsonl", tmp_path / "b.jsonl", FIELDS, nicknames="english", out=out)
    page = (out / "report.html").read_text("utf-8")
    run = json.loads((out / "run.json").read_text("utf-8"))
    levels = {row["level"] for row in run["weights"]}
    [exchanged] = [level for level in levels if level.startswith("exchanged")]
    assert "equal by nickname" in levels
    assert "equal by nickname" in page
    assert exchanged in page
    links = pq.read_table(out / "links.parquet")
    assert links.equals(result.links)
    said = {name: set(agreements(links, name)) for name in ("given", "surname")}
    assert "equal by nickname" in said["given"]
    assert {"exchanged", exchanged} <= said["given"] | said["surname"]
    assert score(links) > 0.97
