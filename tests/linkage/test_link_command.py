"""`lookalike link`: what it says, what it leaves, and what it refuses."""

import json
import re

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from calling import jsonl, names
from linking import f1, make_people, pairs_of

FIELDS = ["--fields", "name,address,phone"]
OUTPUT = ["clusters.parquet", "links.parquet", "model", "report.html", "run.json"]


@pytest.fixture(scope="module")
def people():
    return make_people(500, 400, 0.4, errors=0.4, seed=2)


@pytest.fixture
def tables(people, tmp_path):
    for name, table in zip("ab", people):
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    return ["a.csv", "b.csv"]


def found_in(folder):
    return pairs_of(pq.read_table(folder / "links.parquet"))


def test_one_record_is_not_several(cli, tmp_path):
    (tmp_path / "one.csv").write_text("id,name,price\n1,Sony turntable,99 EUR\n")
    done = cli("link", "one.csv", "-o", "links", "--fields", "name,price")
    assert (done.code, "\n1 record, 0 candidate pairs: " in f"\n{done.err}") == (0, True), done.err


def test_two_tables(cli, tables, people, tmp_path):
    done = cli("link", *tables, "-o", "links", *FIELDS, "--validate", "created", "--json")
    assert done.code == 0, done.err
    assert names(tmp_path / "links") == OUTPUT
    links = pq.read_table(tmp_path / "links" / "links.parquet")
    assert links.column_names == ["left", "right", "score", "probability", "name", "address", "phone"]
    assert links.schema.field("name").type == pa.struct({"agreement": pa.large_string(), "weight": pa.float64()})
    clusters = pq.read_schema(tmp_path / "links" / "clusters.parquet")
    assert clusters.names == ["id", "table", "cluster", "size"]
    assert f1(found_in(tmp_path / "links"), people[2]) >= 0.97
    run = done.json()
    assert run["seconds"].pop("publishing") > 0  # after run.json was written
    assert run == json.loads((tmp_path / "links" / "run.json").read_text())
    assert run["counts"]["links"] == len(links)
    assert (run["options"]["left"], run["options"]["right"]) == (["a.csv"], ["b.csv"])
    for said in (
        "Field name: person (",
        "Field phone: phone (",
        "500 x 400 records",
        "Estimated precision of the links: ",
        ", validated by created.",
        "Estimated share of all matches that are candidates: ",
        "Results: links/links.parquet",
    ):
        assert said in done.err, said
    assert "<html" in (tmp_path / "links" / "report.html").read_text("utf-8")


def test_one_table(cli, people, tmp_path):
    both = pa.concat_tables(people[:2])
    pq.write_table(both, tmp_path / "people.parquet")
    done = cli("link", "people.parquet", "-o", "links", *FIELDS, "--json")
    assert done.code == 0, done.err
    assert done.json()["counts"]["right"] is None
    assert "900 records" in done.err
    assert f1(found_in(tmp_path / "links"), people[2]) >= 0.97


def test_formats_give_the_same(cli, tables, people, tmp_path):
    cli("link", *tables, "-o", "csv", *FIELDS)
    for name, table in zip("ab", people):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        rows = [dict(row, created=row["created"].isoformat()) for row in table.to_pylist()]
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(*rows))
    done = cli("link", "a.parquet", "b.jsonl", "-o", "other", *FIELDS, "--threads", "1")
    assert done.code == 0, done.err
    one, other = (pq.read_table(tmp_path / folder / "links.parquet") for folder in ("csv", "other"))
    assert one.to_pylist() == other.to_pylist() != []


def test_spaces_encodings_and_other_names(cli, tables, people, tmp_path):
    """A table with spaces everywhere, in Latin-1, whose columns have names of their own."""
    cli("link", *tables, "-o", "plain", *FIELDS)
    lines = ["id , full name , street, telephone"]
    for row in people[1].to_pylist():
        lines.append(" , ".join(row[name] or "" for name in ("id", "name", "address", "phone")))
    (tmp_path / "spaced.csv").write_bytes("\n".join([*lines, "ü1 , Zoë Müller , 1 Ödweg , "]).encode("latin-1"))
    pa.csv.write_csv(people[0], tmp_path / "a.csv")
    fields = "name=full name, address=street, phone=telephone"
    done = cli("link", "a.csv", "spaced.csv", "-o", "links", "--fields", fields, "--encoding", "latin-1")
    assert done.code == 0, done.err
    found = {(a, b.strip()) for a, b in found_in(tmp_path / "links")}
    assert len(found) > 100
    assert len(found ^ found_in(tmp_path / "plain")) <= 2


def test_ids_by_place_by_column_and_repeated(cli, tmp_path):
    rows = "".join(f"{n // 2},Person{n} Of{n * 7},{20000 + 31 * n}\n" for n in range(60))
    (tmp_path / "a.csv").write_text("key,name,zip\n" + rows)
    (tmp_path / "b.jsonl").write_bytes(
        jsonl(*({"no": f"x{n}", "name": f"Person{n} Of{n * 7}", "zip": 20000 + 31 * n} for n in range(60)))
    )
    fields = ["--fields", "name:person,zip:code"]
    assert cli("link", "a.csv", "b.jsonl", "-o", "places", *fields).code == 0
    assert found_in(tmp_path / "places") == {(f"a.csv:{n}", f"b.jsonl:{n}") for n in range(60)}
    clusters = pq.read_table(tmp_path / "places" / "clusters.parquet").to_pylist()
    assert [(row["id"], row["table"], row["cluster"], row["size"]) for row in clusters] == [
        (f"{file}:{n}", table, n, 2) for n in range(60) for file, table in (("a.csv", "left"), ("b.jsonl", "right"))
    ]
    done = cli("link", "a.csv", "b.jsonl", "-o", "keys", *fields, "--id", "key=no")
    assert done.code == 0, done.err
    assert found_in(tmp_path / "keys") == {(str(n // 2), f"x{n}") for n in range(60)}
    assert "Note: a.csv: ids are not unique (repeated: 30)." in done.err


def test_a_record_without_an_id_is_called_by_its_place(cli, tmp_path):
    rows = [
        {"id": f"x{n}" if n % 2 else None, "name": f"Person{n} Of{n * 7}", "zip": 20000 + 31 * n} for n in range(60)
    ]
    (tmp_path / "a.jsonl").write_bytes(jsonl(*rows))
    assert cli("link", "a.jsonl", "a.jsonl", "-o", "links", "--fields", "name:person,zip:code").code == 0
    names = [f"x{n}" if n % 2 else f"a.jsonl:{n}" for n in range(60)]
    assert found_in(tmp_path / "links") == {(name, name) for name in names}


@pytest.mark.parametrize("method", ["optimal", "greedy", "left", "right", "no", "auto"])
def test_one_to_one(cli, tables, tmp_path, method):
    done = cli("link", *tables, "-o", "links", *FIELDS, "--one-to-one", method, "--json")
    assert done.code == 0, done.err
    assert done.json()["options"]["one_to_one"] == method


def test_one_to_one_without_a_value_means_optimal(cli, tables):
    done = cli("link", *tables, "-o", "links", *FIELDS, "--json", "--one-to-one")
    assert done.code == 0, done.err
    assert done.json()["options"]["one_to_one"] == "optimal"


def test_points_and_quiet(cli, tables, tmp_path):
    done = cli("link", *tables, "-o", "links", *FIELDS, "--scoring", "points", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    links = pq.read_table(tmp_path / "links" / "links.parquet")
    assert len(links) > 20
    assert links["probability"].null_count == len(links)
    assert min(links["score"].to_pylist()) >= 225


def test_a_precision_cuts(cli, tables):
    done = cli("link", *tables, "-o", "links", *FIELDS, "--validate", "created", "--precision", "0.9", "--json")
    assert done.code == 0, done.err
    aim = r"chosen so that 90\.0% of the pairs at or above it are correct; "
    found = r"judging by created, [\d.]+% are \(.+ to .+\)"
    assert re.fullmatch(aim + found, done.json()["cut"]["why"])
    assert done.json()["precision"]["estimate"] >= 0.85


def test_a_validating_field_without_information(cli, tables, people, tmp_path):
    for name, table in zip("ab", people):
        pa.csv.write_csv(table.append_column("same", pa.array([7] * len(table))), tmp_path / f"{name}.csv")
    asked = ["link", *tables, "-o", "links", *FIELDS, "--validate", "same", "--json"]
    done = cli(*asked, "--precision", "0.9")
    assert done.code == 2
    assert "choose another field, or omit --validate" in done.err
    assert not (tmp_path / "links").exists()
    done = cli(*asked)
    assert done.code == 0, done.err
    assert "Note: --validate same: the validating field does not distinguish matches from random pairs" in done.err
    estimated = r"^Estimated precision of the links: [\d.]+%, according to the model itself \(not validated\)\.$"
    assert re.search(estimated, done.err, re.MULTILINE)
    assert "Nothing outside the model confirms it" in (tmp_path / "links" / "report.html").read_text("utf-8")


def test_nicknames_of_the_list_and_of_a_file(cli, tmp_path):
    people = [("Robert", n) for n in range(40)] + [("Zacharias", n) for n in range(40, 80)]
    for name, called in (("a", {}), ("b", {"Robert": "Bob", "Zacharias": "Zazu"})):
        rows = [f"{called.get(given, given)} Person{n * 7 % 80},{10_000 + 37 * n}" for given, n in people]
        (tmp_path / f"{name}.csv").write_text("\n".join(["name,zip", *rows]))
    (tmp_path / "ours.txt").write_text("zacharias zazu\n")
    for source, given in (("english", "Robert"), ("ours.txt", "Zacharias")):
        asked = ["--fields", "name:person,zip:code", "--nicknames", source, "--overwrite", "--json"]
        done = cli("link", "a.csv", "b.csv", "-o", "links", *asked)
        assert done.code == 0, done.err
        assert done.json()["options"]["nicknames"] == source
        links = pq.read_table(tmp_path / "links" / "links.parquet").to_pylist()
        called = {row["left"] for row in links if row["name"]["agreement"] == "equal by nickname"}
        assert called == {f"a.csv:{n}" for one, n in people if one == given}


def test_an_earlier_result_is_kept_without_overwrite(cli, tables, tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mine.txt").write_text("mine")
    assert cli("link", *tables, "-o", "links", *FIELDS).code == 2
    assert names(tmp_path / "links") == ["mine.txt"]
    assert cli("link", *tables, "-o", "other", *FIELDS).code == 0
    before = (tmp_path / "other" / "links.parquet").read_bytes()
    (tmp_path / "other" / "links.parquet").write_bytes(b"old")
    assert cli("link", *tables, "-o", "other", *FIELDS).code == 2
    assert (tmp_path / "other" / "links.parquet").read_bytes() == b"old"
    assert cli("link", *tables, "-o", "other", *FIELDS, "--overwrite").code == 0
    assert (tmp_path / "other" / "links.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, [], "--fields"),
        (2, ["--fields", "name:animal"], "kinds are"),
        (2, [*FIELDS, "--precision", "2"], "--precision must be"),
        (2, [*FIELDS, "--one-to-one", "perhaps"], "optimal"),
        (2, [*FIELDS, "--scoring", "luck"], "points"),
        (2, [*FIELDS, "--validate", "name"], "cannot validate"),
        (2, [*FIELDS, "--nicknames", "klingon"], "--nicknames klingon: no such file, nor a list of that name"),
        (3, [*FIELDS, "--nicknames", "a.csv"], '--nicknames a.csv, line 1: \'"id","name"'),
        (3, ["--fields", "name,nickname"], "a.csv: no column 'nickname'; its columns are 'id', 'name', 'address'"),
        (3, ["--fields", "name=who"], "b.csv: no column 'who'"),
        (3, ["--fields", "name", "--validate", "address"], "neither dates nor numbers"),
        (3, [*FIELDS, "--id", "key"], "no column 'key'"),
    ],
)
def test_errors_leave_nothing(cli, tables, tmp_path, code, arguments, said):
    done = cli("link", *tables, "-o", "links", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert names(tmp_path) == ["a.csv", "b.csv"]


def test_three_tables_are_too_many(cli, tables):
    done = cli("link", *tables, "a.csv", "-o", "links", *FIELDS)
    assert done.code == 2
    assert "one table or two, not 3" in done.err


def test_a_missing_file(cli, tables, tmp_path):
    done = cli("link", "a.csv", "c.csv", "-o", "links", *FIELDS)
    assert done.code == 2
    assert "c.csv: no such file" in done.err
    assert not (tmp_path / "links").exists()


def test_an_empty_table_links_nothing(cli, tables, tmp_path):
    (tmp_path / "none.csv").write_text("id,name,address,phone\n")
    for order in (["a.csv", "none.csv"], ["none.csv", "a.csv"], ["none.csv"]):
        done = cli("link", *order, "-o", "links", *FIELDS, "--overwrite", "--json")
        assert done.code == 0, done.err
        assert done.json()["counts"]["links"] == 0
        assert "nothing to link" in done.err
        assert names(tmp_path / "links") == OUTPUT
        assert pq.read_table(tmp_path / "links" / "links.parquet").num_rows == 0


def test_a_field_without_values_is_reported(cli, tables, people, tmp_path):
    for name, table in zip("ab", people):
        pa.csv.write_csv(table.append_column("email", pa.nulls(len(table), pa.string())), tmp_path / f"{name}.csv")
    done = cli("link", *tables, "-o", "links", "--fields", "name,address,phone,email")
    assert done.code == 0, done.err
    assert "Note: email: no record has a value; the field is ignored." in done.err


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.struct([("a", pa.int64())]), pa.list_(pa.float64(), 1)])
def test_ids_that_are_lists_or_records(cli, tmp_path, kind):
    ids = [{"a": n} if pa.types.is_struct(kind) else [float(n)] for n in (1, 2, 1, 3)]
    table = pa.table({"id": pa.array(ids, kind), "text": ["ann lee", "bob ray", "ann lee", "cy dow"]})
    pq.write_table(table, tmp_path / "a.parquet")
    done = cli("link", "a.parquet", "-o", "out", "--fields", "text")
    assert done.code == 0, done.err
    assert "Note: a.parquet: ids are not unique (repeated: 1)." in done.err
    links = pq.read_table(tmp_path / "out/links.parquet")
    assert links.schema.field("left").type == links.schema.field("right").type == kind
    surest = max(links.to_pylist(), key=lambda row: row["probability"])
    assert surest["left"] == surest["right"] == ids[0]  # those of both records that have the same text


def test_a_run_that_kept_no_file_is_refused(cli, tables, tmp_path):
    for folder in ("new", "known"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.md").write_text("the quick brown fox jumps over the lazy dog")
    assert cli("dedup", "new", "--reference", "known", "-o", "kept").code == 0
    assert not [*(tmp_path / "kept" / "kept").iterdir()]
    done = cli("link", "a.csv", "kept", "-o", "links", *FIELDS)
    assert done.code == 2, done.err
    assert "the right table has no files" in done.err
