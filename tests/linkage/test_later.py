"""Records that arrive later: the links of a full run with the same weights, stable clusters, and what changed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.support.catalogues import make_products

import lookalike as la
from calling import names
from linking import f1, make_people, pairs_of
from lookalike.engine.run import open_run
from lookalike.linkage.changes import kinds_of_change, number_clusters
from lookalike.linkage.finished import Finished
from lookalike.linkage.job import link_records
from lookalike.linkage.later import read_without
from lookalike.linkage.scoring.words.leads import MOST
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings
from lookalike.linkage.tables import RecordTable

FIELDS = ["name", "address", "phone"]


@pytest.fixture(scope="module")
def people():
    return make_people(300, 250, 0.5, errors=0.4, seed=2)


def one_table(people):
    """Both tables as one, in an order that mixes them."""
    both = pa.concat_tables(people[:2])
    return both.take(np.random.default_rng(3).permutation(len(both)))


def links_in_full(result, left, right=None):
    """The links of a full run over these records with the weights of a finished one."""
    settings = result.finished.settings
    tables = [RecordTable.of(data, settings, side) for data, side in ((left, "left"), (right, "right")) if data]
    with open_run(settings) as run:
        found = link_records(tables[0], tables[1] if right else None, run, result.finished.model)
    ids = [str(one) for table in tables for one in table.ids.to_pylist()]
    places = np.flatnonzero(found.chosen)
    ends = found.candidates.left[places].tolist(), found.candidates.right[places].tolist()
    return {(ids[one], ids[other]): score for one, other, score in zip(*ends, found.score[places].tolist())}


def scored(links):
    return dict(zip(zip(links["left"].to_pylist(), links["right"].to_pylist()), links["score"].to_pylist()))


def members_of(result):
    found: dict[int, set[str]] = {}
    for row in result.clusters.to_pylist():
        found.setdefault(row["cluster"], set()).add(row["id"])
    return found


@pytest.mark.parametrize("options", [{}, {"scoring": "points"}, {"precision": 0.999}, {"validate": "created"}])
def test_one_table_has_the_links_of_a_full_run(people, options):
    whole = one_table(people)
    old = la.link(whole[:400], fields=FIELDS, threads=1, **options)
    later = la.link(whole[400:], against=old, threads=1)
    assert scored(later.links) == links_in_full(old, whole)
    assert len(later.links) > len(old.links)
    assert later.run["cut"]["why"] == old.run["cut"]["why"]
    assert later.run["weights"] == old.run["weights"]


def test_weights_of_the_old_records_do_as_well_as_those_of_all(people):
    whole = one_table(people)
    old = la.link(whole[:400], fields=FIELDS, threads=1)
    later, full = la.link(whole[400:], against=old, threads=1), la.link(whole, fields=FIELDS, threads=1)

    def judged(result):
        return f1({tuple(sorted(pair)) for pair in pairs_of(result.links)}, people[2])

    assert judged(later) >= judged(full) - 0.01


def test_two_tables_have_the_links_of_a_full_run(people):
    left, right, _ = people
    old = la.link(left[:250], right[:200], fields=FIELDS, threads=1)
    later = la.link(left[250:], right[200:], against=old, threads=1)
    assert scored(later.links) == links_in_full(old, left, right)
    assert (later.run["counts"]["left"], later.run["counts"]["right"]) == (300, 250)
    one = la.link(right[200:], against=old, into="right", threads=1)
    assert scored(one.links) == links_in_full(old, left[:250], right)


def test_records_of_words_have_the_links_of_a_full_run():
    left, right = make_products(300, 300, 0.4)
    old = la.link(left[:240], right[:240], ["title:text", "maker", "price"], id="id", threads=1)
    later = la.link(left[240:], right[240:], against=old, threads=1)
    assert scored(later.links) == links_in_full(old, left, right)
    assert len(later.links) > len(old.links)
    row = later.links.to_pylist()[0]
    total = later.run["prior"] + sum(row[name]["weight"] for name in ("title", "maker", "price"))
    assert 0 < row["score"] - total <= MOST  # the lead over other partners


@pytest.mark.parametrize("tables", [1, 2])
def test_words_are_scored_as_by_the_run_that_learned(tables):
    """All candidates, also those whose records have a better partner; to the last digit, since a link is at the cut."""
    settings = LinkSettings.parse("title:text,description:text,maker,price", id="id", threads=1)
    products = make_products(300, 300, 0.25)
    left = RecordTable.of(products[0] if tables == 2 else one_table(products), settings, "left")
    right = RecordTable.of(products[1], settings, "right") if tables == 2 else None
    with open_run(settings) as run:
        learned = link_records(left, right, run)
        again = link_records(left, right, run, learned.model())
    assert isinstance(learned.scoring, WordWeights)
    assert again.score.tolist() == learned.score.tolist()
    assert again.chosen.tolist() == learned.chosen.tolist()


def test_the_precision_of_words_keeps_its_interval():
    left, right = make_products(300, 300, 0.4)
    old = la.link(left, right, ["title:text"], id="id", threads=1)
    later = la.link([{"id": "x", "title": None}], against=old, threads=1)
    for bound in ("low", "high"):
        assert later.run["precision"][bound] == pytest.approx(old.run["precision"][bound], abs=0.02)


def test_a_run_that_linked_nothing_says_so_to_later_ones():
    left, right = ([{"id": f"{side}{n}", "title": "red lamp"} for n in range(40)] for side in "pq")
    old = la.link(left, right, ["title:text"], threads=1)
    later = la.link([{"id": "x", "title": "blue lamp"}], against=old, into="right", threads=1)
    assert (len(old.links), len(later.links)) == (0, 0)
    assert any("linked nothing, so neither does this one" in note for note in later.run["notes"])


def test_other_columns_of_whole_records_are_noted(cli, tmp_path):
    left, right = (table.to_pylist() for table in make_products(120, 120, 0.4))
    for name, rows in (("a", left), ("b", right[:90])):
        pa.csv.write_csv(pa.Table.from_pylist(rows), tmp_path / f"{name}.csv")
    assert cli("link", "a.csv", "b.csv", "-o", "out", "--fields", "record:text", "--id", "id").code == 0
    other = [{name: value for name, value in row.items() if name != "maker"} | {"seen": "today"} for row in right[90:]]
    for name, rows in (("same", right[90:]), ("other", other)):
        pa.csv.write_csv(pa.Table.from_pylist(rows), tmp_path / f"{name}.csv")
        done = cli("link", f"{name}.csv", "--against", "out", "--into", "right", "-o", name, "--json")
        assert done.code == 0, done.err
        said = [note for note in done.json()["notes"] if "differ as texts" in note]
        assert [note.partition("matches: ")[2] for note in said] == (
            [] if name == "same" else ["no column maker; additional column seen"]
        )


def test_names_that_are_exchanged_keep_their_level():
    """The weights have a level for exchanged names, or not, whatever the new records show."""
    people = [(f"ann{n:03}", f"lee{n * 7 % 400:03}", str(1930 + n % 60)) for n in range(400)]
    table = [dict(zip(("given", "surname", "born"), row), id=f"a{n}") for n, row in enumerate(people)]
    table += [dict(row, id=f"b{n}") for n, row in enumerate(table[:150])]
    swapped = [dict(row, given=row["surname"], surname=row["given"], id=f"c{n}") for n, row in enumerate(table[:9])]
    fields = ["given:person", "surname:person", "born:code"]
    for first, then in ((table, swapped), (table + swapped, table[:1])):
        old = la.link(first, fields=fields, threads=1)
        new = [dict(row, id=f"x{n}") for n, row in enumerate(then)]
        later = la.link(new, against=old, threads=1)
        assert scored(later.links) == links_in_full(old, first + new)
        assert later.run["weights"] == old.run["weights"]
        assert any(row["level"].startswith("exchanged") for row in old.run["weights"]) == (first is not table)
        gone = la.link(against=later, without=[row["id"] for row in new], threads=1)
        assert gone.run["weights"] == old.run["weights"]


def test_adding_day_by_day_equals_adding_at_once(people):
    whole = one_table(people)
    first = la.link(whole[:350], fields=FIELDS, threads=1)
    second = la.link(whole[350:450], against=first, threads=1)
    third = la.link(whole[450:], against=second, threads=1)
    at_once = la.link(whole[350:], against=first, threads=1)
    assert scored(third.links) == scored(at_once.links)
    assert sorted(map(sorted, members_of(third).values())) == sorted(map(sorted, members_of(at_once).values()))


def test_clusters_keep_their_numbers(people):
    whole = one_table(people)
    old = la.link(whole[:400], fields=FIELDS, threads=1)
    later = la.link(whole[400:], against=old, threads=1)
    before, after = members_of(old), members_of(later)
    for number, members in before.items():
        assert members & after[number]
    fresh = set(after) - set(before)
    assert fresh == set(range(len(before), len(before) + len(fresh)))
    changes = later.changes.to_pylist()
    new = set(whole["id"].to_pylist()[400:])
    assert new <= {row["id"] for row in changes}  # every new record is listed, once
    assert len(changes) == len({row["id"] for row in changes})
    own = {row["id"]: row["cluster"] for row in later.clusters.to_pylist()}
    for row in changes:
        assert row["cluster"] == own.get(row["id"])
        if row["change"] == "joined":
            assert row["partner"] in after[row["cluster"]]
            assert row["reason"].startswith(f"linked with {row['partner']}: ")
        elif row["cluster"] is None:
            assert (row["change"], row["reason"]) == ("new", "no link")
    assert later.run["changes"]["joined"] > 40


def entity(name, street, phone, letter):
    return {"id": letter, "name": name, "address": street, "phone": phone}


@pytest.fixture(scope="module")
def bridge(people):
    """Two entities that only a third record shows to be one; among many others, by points, which do not change."""
    rows = people[0].select(["id", *FIELDS]).to_pylist()
    one = [entity("Ann Mary Lee", "1 Oak Street", "312-555-0101", f"x{n}") for n in range(3)]
    two = [entity("Zoe Quirk", "77 Elm Avenue", "312-555-0101", f"y{n}") for n in range(2)]
    return la.link(rows + one + two, fields=["name:person", "phone:phone"], scoring="points", threads=1)


def test_merged_split_and_removed(bridge):
    before = {row["id"]: row["cluster"] for row in bridge.clusters.to_pylist()}
    assert before["x0"] == before["x1"] == before["x2"] != before["y0"] == before["y1"]
    between = [
        {"id": f"z{n}", "name": name, "address": None, "phone": "312-555-0101"}
        for n, name in enumerate(("Ann Mary Lee", "Ann Mary Lee", "Zoe Quirk"))
    ]
    later = la.link(between, against=bridge, threads=1)
    rows = {row["id"]: row for row in later.changes.to_pylist()}
    assert {rows[name]["change"] for name in ("z0", "z1", "z2")} == {"joined"}
    assert (rows["z0"]["cluster"], rows["z2"]["cluster"]) == (before["x0"], before["y0"])
    assert rows["z0"]["reason"].endswith("name equal; phone equal")
    gone = la.link(against=later, without="z0,z1,x0,y1,y0", threads=1)
    rows = {row["id"]: row for row in gone.changes.to_pylist()}
    assert {name: row["change"] for name, row in rows.items()} == {
        "z0": "removed", "z1": "removed", "x0": "removed", "y0": "removed", "y1": "removed", "z2": "split",
    }  # fmt: skip
    assert rows["z2"]["cluster"] is None
    assert rows["z2"]["reason"] == "records of its cluster were removed"
    assert (rows["x0"]["before"], rows["y1"]["before"]) == (before["x0"], before["y0"])
    left = {row["id"]: row["cluster"] for row in gone.clusters.to_pylist()}
    assert left["x1"] == left["x2"] == before["x0"]
    # A number is never used again.
    again = la.link([dict(between[2], id="z9")], against=gone, threads=1)
    number = {row["id"]: row["cluster"] for row in again.clusters.to_pylist()}["z9"]
    assert number >= bridge.finished.used > before["y0"]


def test_clusters_that_new_records_connect():
    """Two records that fit both clusters make them one, which is the majority of the pairs across."""

    def row(own, name, code):
        return {"id": own, "name": name, "code": code, "phone": "312-555-0101", "email": "ann@lee.org"}

    old = [row("y0", "Zoe Quirk", "a1"), row("y1", "Zoe Quirk", "a1")]
    old += [row(f"x{n}", "Ann Lee", "b77") for n in range(2)]
    fields = ["name:person", "code:code", "phone:phone", "email:email"]
    first = la.link(old, fields=fields, scoring="points", threads=1)
    assert members_of(first) == {0: {"y0", "y1"}, 1: {"x0", "x1"}}
    between = [row("z0", None, None), row("z1", None, None)]
    later = la.link(between, against=first, threads=1)
    assert members_of(later) == {0: {"x0", "x1", "y0", "y1", "z0", "z1"}}
    rows = {one["id"]: one for one in later.changes.to_pylist()}
    assert {name: one["change"] for name, one in rows.items()} == {
        "x0": "merged", "x1": "merged", "z0": "joined", "z1": "joined",
    }  # fmt: skip
    assert rows["x0"]["before"] == 1
    assert rows["x0"]["reason"].startswith("its cluster was linked with z")
    apart = la.link(against=later, without=["z0", "z1"], threads=1)
    assert members_of(apart) == {0: {"y0", "y1"}, 2: {"x0", "x1"}}
    assert {one["id"]: one["change"] for one in apart.changes.to_pylist()} == {
        "x0": "split", "x1": "split", "z0": "removed", "z1": "removed",
    }  # fmt: skip


def test_clusters_that_merge():
    """Of merged clusters the one with most records keeps its number; changes name the link across."""
    after = number_clusters(np.array([0, 0, 0, 0, 0, 0]), np.array([4, 4, 2, 2, 2, -1]), 5)
    assert (after[0].tolist(), after[1]) == ([2] * 6, 5)
    kinds = kinds_of_change(after[0], np.array([4, 4, 2, 2, 2, -1]), np.array([False] * 5 + [True]))
    assert kinds.tolist() == [2, 2, -1, -1, -1, 1]
    tie = number_clusters(np.array([0, 0, 0, 0]), np.array([4, 4, 2, 2]), 5)
    assert tie[0].tolist() == [2] * 4


def test_parts_of_a_cluster():
    """The part with most records keeps the number, of equal parts the first; others get new numbers."""
    numbers, used = number_clusters(np.array([0, 0, 2, 2, 2, -1]), np.array([0, 0, 0, 0, 0, 0]), 3)
    assert (numbers.tolist(), used) == ([3, 3, 0, 0, 0, -1], 4)
    numbers, _ = number_clusters(np.array([0, 0, 2, 2]), np.array([1, 1, 1, 1]), 2)
    assert numbers.tolist() == [1, 1, 2, 2]


@pytest.fixture
def days(people, tmp_path):
    whole = one_table(people)
    for name, some in (("old", whole[:400]), ("new", whole[400:470]), ("next", whole[470:])):
        pa.csv.write_csv(some, tmp_path / f"{name}.csv")
    return whole


def test_the_command(cli, days, tmp_path):
    assert cli("link", "old.csv", "-o", "out", "--fields", ",".join(FIELDS), "--threads", "1").code == 0
    done = cli("link", "new.csv", "--against", "out", "-o", "out2", "--json")
    assert done.code == 0, done.err
    assert names(tmp_path / "out2") == [
        "changes.parquet", "clusters.parquet", "links.parquet", "model", "report.html", "run.json",
    ]  # fmt: skip
    run = done.json()
    assert run["options"]["against"] == "out"
    assert f"Records that changed: {run['changes']['new']} new" in done.err
    (tmp_path / "gone.txt").write_text("\n".join([*days["id"].to_pylist()[:3], ""]))
    done = cli("link", "next.csv", "--against", "out2", "--without", "gone.txt", "-o", "out3", "--json")
    assert done.code == 0, done.err
    assert done.json()["changes"]["removed"] == 3
    old = la.link(days[:400], fields=FIELDS, threads=1)
    expected = la.link(days[400:], against=old, without=days["id"].to_pylist()[:3], threads=1)
    assert scored(pq.read_table(tmp_path / "out3/links.parquet")) == pytest.approx(scored(expected.links))
    # In Python, from the same folder; an output can be replaced.
    again = la.link(tmp_path / "next.csv", against=tmp_path / "out2", out=tmp_path / "out3", overwrite=True)
    assert again.changes.num_rows >= 80
    assert la.link(against=again, without=days["id"].to_pylist()[:1]).run["changes"]["removed"] == 1


def test_impossible_later_runs_are_refused(cli, days, tmp_path):
    cli("link", "old.csv", "-o", "out", "--fields", ",".join(FIELDS))

    def refused(code, *args):
        done = cli("link", *args)
        assert done.code == code, done.err
        assert len(done.err.strip().splitlines()) == 1, done.err
        return done.err

    assert "already has a record with the id" in refused(3, "old.csv", "--against", "out", "-o", "no")
    assert "--probability cannot" in refused(2, "new.csv", "--against", "out", "-o", "no", "--probability", "0.9")
    assert "--fields cannot" in refused(2, "new.csv", "--against", "out", "-o", "no", "--fields", "name")
    assert "needs --against" in refused(2, "new.csv", "--without", "a", "-o", "no", "--fields", "name")
    assert "needs new records" in refused(2, "--against", "out", "-o", "no")
    assert "no record of out has the id 'nobody'" in refused(3, "--against", "out", "-o", "no", "--without", "nobody")
    assert "a second table" in refused(2, "new.csv", "next.csv", "--against", "out", "-o", "no")
    assert "not a folder that" in refused(2, "new.csv", "--against", ".", "-o", "no")
    assert "missing --fields" in refused(2, "new.csv", "-o", "no")
    (tmp_path / "gone.txt").write_text("\n\nnobody\n")
    assert "gone.txt, line 3" in refused(3, "--against", "out", "-o", "no", "--without", "gone.txt")
    many = ",".join(f"nobody{n}" for n in range(100))  # too long for a file name
    assert "has the id 'nobody0'" in refused(3, "--against", "out", "-o", "no", "--without", many)
    model = tmp_path / "out/model/model.json"
    text = model.read_text()
    model.write_text(json.dumps(json.loads(text) | {"format": 99}))
    assert "another version" in refused(3, "new.csv", "--against", "out", "-o", "no")
    model.write_text(text[:100])
    assert "damaged" in refused(3, "new.csv", "--against", "out", "-o", "no")
    model.unlink()
    assert "an earlier version wrote it" in refused(2, "new.csv", "--against", "out", "-o", "no")
    assert not (tmp_path / "no").exists()


def test_ids_in_both_tables(people):
    left, right = ([dict(row, id=n) for n, row in enumerate(table.to_pylist())] for table in people[:2])
    old = la.link(left, right, FIELDS, threads=1)
    with pytest.raises(la.BadDataError, match=r"both tables .* write left:7 or right:7"):
        la.link(against=old, without=[7])
    later = la.link(against=old, without=["right:7"], threads=1)
    assert [row["table"] for row in later.changes.to_pylist() if row["change"] == "removed"] == ["right"]
    assert later.run["counts"]["left"] == 300
    assert later.run["counts"]["right"] == 249


def test_records_without_ids_are_numbered_on(people):
    rows = [{name: row[name] for name in FIELDS} for row in people[0].to_pylist()]
    old = la.link(rows, fields=FIELDS, threads=1)
    later = la.link(rows[:2], against=old, threads=1)
    assert {(300, 0), (301, 1)} <= {(row["id"], row["partner"]) for row in later.changes.to_pylist()}


def test_an_update_replaces_a_record(people):
    rows = people[0].select(["id", *FIELDS]).to_pylist()
    old = la.link(rows, fields=FIELDS, threads=1)
    later = la.link([dict(rows[0], id=rows[1]["id"])], against=old, without=[rows[1]["id"]], threads=1)
    assert [row["change"] for row in later.changes.to_pylist() if row["id"] == rows[1]["id"]] == ["joined", "removed"]


def test_the_model_survives_a_folder(people, tmp_path):
    left, right, _ = people
    for options in ({}, {"scoring": "points"}, {"nicknames": "english", "validate": "created"}):
        old = la.link(left[:200], right[:200], FIELDS, threads=1, **options).finished
        folder = tmp_path / "_".join(["out", *options])
        folder.mkdir()
        for name in ("run.json", "links.parquet"):
            (folder / name).write_text("{}")
        old.save(folder)
        again = Finished.load(folder, old.settings.execution)
        assert again.model.to_dict() == old.model.to_dict()
        assert again.settings.identity() == old.settings.identity()
        assert again.clusters.tolist() == old.clusters.tolist()
        assert again.left.table.equals(old.left.table)
        assert again.right.ids.equals(old.right.ids)


def test_ids_to_remove(tmp_path):
    (tmp_path / "ids.txt").write_text("a\n\n b \n")
    assert [tuple(one) for one in read_without(tmp_path / "ids.txt")] == [
        ("a", f"{tmp_path / 'ids.txt'}, line 1"), ("b", f"{tmp_path / 'ids.txt'}, line 3"),
    ]  # fmt: skip
    with pytest.raises(la.UsageError, match="no such file"):
        read_without(tmp_path / "none.txt")
    with pytest.raises(la.UsageError, match="names no id"):
        read_without(" , ")


def test_new_records_with_fewer_values_do_not_change_the_kind_of_a_field():
    given = ["Ann", "Bob", "Carl", "Dora", "Ed", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo"]
    family = ["Moss", "Nash", "Orr", "Pell", "Quirk", "Ray", "Soto", "Tate", "Ude", "Voss"]
    names = [f"{one} {first}{second.lower()}" for one in given for second in family for first in family]
    towns = [f"Town{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(130)]

    def people(start, stop, places):
        return [{"name": names[n], "town": towns[n % places]} for n in range(start, stop)]

    old = la.link(people(0, 300, 130), people(100, 350, 130), "name,town", one_to_one="no", threads=1)
    later = la.link(people(350, 1199, 5), against=old, threads=1)
    assert later.links.num_rows == old.links.num_rows == 200


def test_new_files_are_read_in_the_encoding_of_the_finished_run(cli, tmp_path):
    rows = [f"{n},Café {n} Zürich,{n * 7919 % 1000:03}" for n in range(60)]
    for name, some in (("old", rows[:50]), ("new", rows[50:]), ("more", ["a,Café 3 Zürich,757"])):
        (tmp_path / f"{name}.csv").write_bytes("\n".join(["id,name,zip", *some, ""]).encode("latin-1"))
    asked = "--fields", "name,zip:code", "--encoding", "latin-1"
    assert cli("link", "old.csv", "-o", "out", *asked).code == 0
    assert cli("link", "new.csv", "--against", "out", "-o", "out2").code == 0
    assert "not valid UTF-8" in cli("link", "new.csv", "--against", "out", "-o", "out3", "--encoding", "utf-8").err
    later = la.link(tmp_path / "more.csv", against=tmp_path / "out2")
    assert later.finished.left.table["name"].to_pylist()[-11:] == [*(f"Café {n} Zürich" for n in range(50, 60)),
                                                                  "Café 3 Zürich"]  # fmt: skip
