"""Every kind of INPUT, from the file to the rows that are kept: as they were, byte for byte."""

import datetime
import decimal
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import BARE, COPY, FOX, IDEAS, RIVER, jsonl, kept, pack, process, removed, unpack

ROWS = {
    # what is before the rows, then the rows: the second is a copy of the first
    ".jsonl": (b"", *[jsonl(row) for row in ({"text": FOX, "n": 1.0}, {"text": COPY}, {"n": None, "text": IDEAS})]),
    ".csv": (
        b"\xef\xbb\xbf n , text\r\n",
        f'1, "{FOX}\r\n'.encode(),
        f'2,"{COPY}"\r\n'.encode(),
        f'3,"{IDEAS}\n""two"" lines"'.encode(),
    ),
    ".tsv": (b"text\tn\n", f"{FOX}\t1\n".encode(), f"{COPY}\t2\n".encode(), f'"{IDEAS}\tx"\t\n'.encode()),
    ".dat": (b"", b"3 1 2\r\n", b"1 2  3 3\n", b"-4 5"),
    ".txt": (b"", f"{FOX}\r\n".encode(), f"{COPY}\n".encode(), f"{IDEAS}\x00é".encode()),
}
ROWS[".ndjson"] = ROWS[".jsonl"]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("suffix", ROWS)
def test_rows_of_every_text_format_are_unchanged(cli, tmp_path, suffix, compression):
    head, first, copy, other = ROWS[suffix]
    name = f"a{suffix}{compression}"
    (tmp_path / name).write_bytes(pack(head + first + copy + other, compression))
    done = cli("dedup", name, "-o", "out")
    assert done.code == 0, done.err
    assert unpack(tmp_path / "out/kept" / name) == head + first + other
    assert list(kept(tmp_path / "out")) == [name]
    assert removed(tmp_path / "out", "id", "file", "row", "kept_id", "kept_file", "kept_row", "similarity") == [
        (f"{name}:1", name, 1, f"{name}:0", name, 0, 1.0)
    ]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_pages_are_compared_by_what_a_reader_sees(cli, tmp_path, compression):
    pages = [f"<h1>News</h1><script>x()</script><p>{FOX}", f"<title>NEWS</title><p>{COPY}</p>", f"<p>{IDEAS}"]
    stored = [pack(page.encode(), compression) for page in pages]
    for number, page in enumerate(stored):
        (tmp_path / f"{number}.html{compression}").write_bytes(page)
    assert cli("dedup", f"*.html{compression}", "-o", "out").code == 0
    assert kept(tmp_path / "out") == {f"{n}.html{compression}": stored[n] for n in (0, 2)}
    assert removed(tmp_path / "out", "file", "row", "kept_file", "kept_row") == [
        (f"1.html{compression}", 0, f"0.html{compression}", 0)
    ]


def test_files_in_a_folder_are_items_wherever_they_lie(cli, tmp_path):
    for name, text in {"b.txt": COPY, "a/z.txt": FOX, "a/b/notes": IDEAS + "\n" + RIVER, "c.md": RIVER}.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "texts/.hidden").write_bytes(b"\xff")
    done = cli("dedup", "texts", "-o", "out", "--json")
    assert done.json()["counts"]["items"] == 4
    assert removed(tmp_path / "out", "file", "kept_file") == [("texts/b.txt", "texts/a/z.txt")]
    assert sorted(kept(tmp_path / "out")) == ["a/b/notes", "a/z.txt", "c.md"]


def test_standard_input_is_jsonl(cli, tmp_path):
    done = cli("dedup", "-", "-o", "out", stdin=jsonl({"id": 7, "text": FOX}, {"id": 8, "text": COPY}))
    assert done.code == 0
    assert removed(tmp_path / "out", "id", "file", "kept_id") == [(8, "stdin", 7)]
    assert kept(tmp_path / "out") == {"stdin.jsonl": jsonl({"id": 7, "text": FOX})}
    twice = cli("pairs", "-", "-", stdin=b"")
    assert twice.code == 2
    assert "more than once" in twice.err
    broken = cli("pairs", "-", stdin=b"oops\n")
    assert broken.code == 3
    assert "stdin:1" in broken.err


def test_urls_and_globs_and_files_together(cli, news, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more/one.txt").write_text(COPY + "\n" + RIVER)
    (tmp_path / "more/two.txt").write_text(RIVER)
    done = cli("dedup", f"file://{news}", "more/*.txt", "-o", "out", "--json")
    assert done.code == 0
    assert done.json()["counts"]["items"] == 6
    assert removed(tmp_path / "out") == [("b", "a"), ("more/one.txt:0", "a"), ("more/two.txt:0", "more/one.txt:1")]
    assert kept(tmp_path / "out")["one.txt"] == RIVER.encode()
    assert kept(tmp_path / "out")["two.txt"] == b""


def test_a_folder_by_url(cli, tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in {"a.txt": FOX, "b.txt": COPY}.items():
        (tmp_path / "texts" / name).write_text(text)
    assert cli("dedup", f"file://{tmp_path}/texts", "-o", "out").code == 0
    assert kept(tmp_path / "out") == {"a.txt": FOX.encode()}


def test_items_are_taken_in_the_order_given(cli, tmp_path):
    (tmp_path / "z.txt").write_text(FOX)
    (tmp_path / "a.txt").write_text(COPY)
    assert cli("dedup", "z.txt", "a.txt", "-o", "given").code == 0
    assert removed(tmp_path / "given", "file", "kept_file") == [("a.txt", "z.txt")]
    assert cli("dedup", "*.txt", "-o", "sorted").code == 0
    assert removed(tmp_path / "sorted", "file", "kept_file") == [("z.txt", "a.txt")]


def test_types_of_parquet_columns_are_unchanged(cli, tmp_path):
    when = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)
    columns = {
        "id": pa.array([10, 11, 12, 13], pa.uint16()),
        "text": pa.array([FOX, COPY, None, IDEAS]),
        "nested": pa.array([{"a": [1, None]}, None, {"a": None}, {"a": []}], pa.struct([("a", pa.list_(pa.int8()))])),
        "time": pa.array([when, None, when, when], pa.timestamp("ms", tz="Europe/Berlin")),
        "money": pa.array([decimal.Decimal("1.10"), None, None, decimal.Decimal("-9.99")], pa.decimal128(9, 2)),
        "kind": pa.array(["x", "y", None, "x"]).dictionary_encode(),
        "bytes": pa.array([b"\xff", b"", None, b"\x00"]),
        "tags": pa.array([["a"], [], None, ["b", None]], pa.large_list(pa.string())),
        "map": pa.array([[("k", 1)], [], None, [("l", None)]], pa.map_(pa.string(), pa.int64())),
        "day": pa.array([datetime.date(2020, 1, 1)] * 4),
        "nothing": pa.nulls(4),
        "half": pa.array([1.5, None, 2.5, 0.0], pa.float32()),
    }
    table = pa.table(columns).replace_schema_metadata({"who": "me"})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", row_group_size=2)
    table = pq.read_table(tmp_path / "a.parquet")
    assert cli("dedup", "a.parquet", "-o", "out").code == 0
    found = pq.read_table(tmp_path / "out/kept/a.parquet")
    assert found.schema.equals(table.schema, check_metadata=True)
    assert found.to_pylist() == table.take([0, 2, 3]).to_pylist()
    assert removed(tmp_path / "out") == [(11, 10)]
    assert pq.ParquetFile(tmp_path / "out/kept/a.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([b"\xff", b"b"]),
        pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.20")]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([2**64 - 1, 5], pa.uint64()),
        pa.array(["a", "b"], pa.string_view()),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_of_any_type_are_given_back(cli, tmp_path, ids):
    pq.write_table(pa.table({"id": ids, "text": [FOX, COPY]}), tmp_path / "a.parquet")
    first, second = pq.read_table(tmp_path / "a.parquet")["id"].to_pylist()
    assert cli("dedup", "a.parquet", "-o", "out").code == 0
    assert removed(tmp_path / "out") == [(second, first)]
    assert len(cli("pairs", "a.parquet").rows()) == 2


def test_ids_of_several_types_become_text(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"id": 2**60 + 1, "text": FOX}, {"text": FOX}))
    (tmp_path / "b.jsonl").write_bytes(jsonl({"id": 1.5, "text": FOX}))
    (tmp_path / "c.jsonl").write_bytes(jsonl({"id": "x", "text": FOX}, {"id": None, "text": FOX}))
    days = pa.table({"id": [datetime.date(2020, 1, 1)], "text": [FOX]})
    pq.write_table(days, tmp_path / "d.parquet")
    pq.write_table(pa.table({"id": [b"k\xff"], "text": [FOX]}), tmp_path / "e.parquet")
    done = cli("pairs", "a.jsonl", "b.jsonl", "c.jsonl", "d.parquet", "e.parquet")
    assert done.code == 0
    with_first = [row[1] for row in done.rows()[1:] if row[0] == str(2**60 + 1)]
    assert with_first == ["a.jsonl:1", "1.5", "x", "c.jsonl:1", "2020-01-01", "k\\xff"]
    two = cli("pairs", "a.jsonl", "b.jsonl")
    assert two.rows()[1][:2] == [str(2**60 + 1), "a.jsonl:1"]


def test_column_and_id_are_chosen(cli, tmp_path):
    (tmp_path / "a.csv").write_text(f"id,--json,key\n1,{FOX},x\n2,{BARE},y\n")
    assert cli("dedup", "a.csv", "-o", "out", "--column=--json", "--id", "key").code == 0
    assert removed(tmp_path / "out") == [("y", "x")]
    missing = cli("dedup", "a.csv", "-o", "out2", "--column=--json", "--id", "nope")
    assert missing.code == 3
    assert "a.csv: no column 'nope'; its columns are 'id', '--json', 'key'" in missing.err


def test_spaces_around_csv_values_do_not_count(cli, tmp_path):
    content = f"id , text\n 1 ,  {FOX} \n2, {BARE}\n"
    (tmp_path / "a.csv").write_text(content)
    assert cli("dedup", "a.csv", "-o", "out").code == 0
    assert removed(tmp_path / "out") == [("2", "1")]
    assert kept(tmp_path / "out") == {"a.csv": f"id , text\n 1 ,  {FOX} \n".encode()}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_other_encodings_are_read_and_written_back(cli, tmp_path, encoding):
    rows = [f"1,É{FOX} café\r\n", f"2,é{BARE} CAFÉ\r\n", f"3,{IDEAS} ü\r\n"]
    (tmp_path / "a.csv").write_bytes(("id,text\r\n" + "".join(rows)).encode(encoding))
    assert cli("dedup", "a.csv", "-o", "bad").code == 3
    assert cli("dedup", "a.csv", "-o", "out", "--encoding", encoding).code == 0
    assert removed(tmp_path / "out") == [("2", "1")]
    assert kept(tmp_path / "out") == {"a.csv": ("id,text\r\n" + rows[0] + rows[2]).encode(encoding)}


def test_reference_items_remove_and_are_not_written(cli, news, tmp_path):
    (tmp_path / "old.txt").write_text(f"{IDEAS}\n{RIVER}\n{RIVER}\n")
    done = cli("dedup", news, "-o", "out", "--reference", "old.txt", "--keep", "last", "--json")
    counts = done.json()["counts"]
    assert (counts["items"], counts["kept"], counts["removed"]) == (3, 1, 2)
    assert removed(tmp_path / "out") == [("a", "b"), ("c", "old.txt:0")]
    assert kept(tmp_path / "out") == {"news.jsonl": jsonl({"id": "b", "text": COPY})}


@pytest.mark.parametrize(
    ("rule", "stays"), [("first", "a"), ("last", "c"), ("longest", "b"), ("max:n", "c"), ("min:n", "b")]
)
def test_the_keep_rule_chooses_the_keeper(cli, tmp_path, rule, stays):
    rows = [
        {"id": "a", "text": FOX, "n": 10},
        {"id": "b", "text": COPY + "!!", "n": 9},
        {"id": "c", "text": FOX, "n": 11},
    ]
    (tmp_path / "a.jsonl").write_bytes(jsonl(*rows))
    assert cli("dedup", "a.jsonl", "-o", "out", "--keep", rule).code == 0
    assert kept(tmp_path / "out") == {"a.jsonl": jsonl(*[row for row in rows if row["id"] == stays])}


def test_files_of_one_name_from_two_folders_are_both_kept(cli, tmp_path):
    for folder, text in {"one": FOX, "two": IDEAS}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(text)
    assert cli("dedup", "one/a.txt", "two/a.txt", "-o", "out").code == 0
    assert kept(tmp_path / "out") == {"one/a.txt": FOX.encode(), "two/a.txt": IDEAS.encode()}


@pytest.mark.parametrize(
    "name", ["two words.txt", "日本 é.txt", "a:b:3.txt", "st*r[x]?.txt", "-dash.txt", "a\nb.txt", "UP.TXT"]
)
def test_odd_file_names(cli, tmp_path, name):
    (tmp_path / name).write_text(f"{FOX}\n{COPY}\n")
    assert cli("dedup", "-o", "out", "--", name).code == 0
    assert kept(tmp_path / "out") == {name: f"{FOX}\n".encode()}
    assert removed(tmp_path / "out") == [(f"{name}:1", f"{name}:0")]
    assert cli("pairs", "--", name).rows()[1] == [f"{name}:0", f"{name}:1", "1"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".jsonl.zst", ".html"])
def test_file_names_that_are_not_utf8(tmp_path, suffix):
    name = os.fsdecode(b"caf\xe9") + suffix
    try:
        (tmp_path / name).write_bytes(b"")
    except OSError:
        pytest.skip("this disk has UTF-8 names only")
    if suffix == ".parquet":
        with (tmp_path / name).open("wb") as out:
            pq.write_table(pa.table({"text": [FOX, COPY]}), out)
    else:
        rows = jsonl({"text": FOX}, {"text": COPY})
        (tmp_path / name).write_bytes(pack(rows, (tmp_path / name).suffix))
    done = process("dedup", name, "-o", os.fsdecode(b"out\xe9"), "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.json()["options"]["inputs"] == [name]
    assert list(kept(tmp_path / os.fsdecode(b"out\xe9"))) == [name]
    if suffix != ".html":  # a page is one item
        assert removed(tmp_path / os.fsdecode(b"out\xe9"), "file") == [(f"caf\\xe9{suffix}",)]


def test_a_file_without_known_suffix_is_one_item(cli, tmp_path):
    (tmp_path / "notes").write_text(f"{FOX}\n{COPY}\n")
    assert cli("dedup", "notes", "-o", "out", "--json").json()["counts"]["items"] == 1


def test_links_in_folders_do_not_lead_astray(cli, news, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "self").symlink_to(folder, target_is_directory=True)
    (folder / "nowhere").symlink_to("absent")
    (folder / "news.jsonl").symlink_to(news)
    done = cli("dedup", "folder", "-o", "out", "--json")
    assert done.json()["counts"]["items"] == 3
    assert list(kept(tmp_path / "out")) == ["news.jsonl"]


def test_a_thousand_files(cli, tmp_path):
    (tmp_path / "many").mkdir()
    for number in range(1000):
        (tmp_path / f"many/{number:04}.txt").write_text(f"{FOX} number {number // 2} of a thousand {number // 2}")
    done = cli("dedup", "many", "-o", "out", "--threshold", "1", "--json")
    assert done.json()["counts"]["removed"] == 500
    assert sorted(kept(tmp_path / "out")) == [f"{number:04}.txt" for number in range(0, 1000, 2)]


def test_long_lines_and_many_empty_ones(cli, tmp_path):
    long = "word " * 2_000_000
    (tmp_path / "a.txt").write_text("\n" * 5000 + f"{long}\n{FOX}\n{long}!\n")
    done = cli("dedup", "a.txt", "-o", "out", "--json")
    counts = done.json()["counts"]
    assert (counts["items"], counts["empty"], counts["removed"]) == (5003, 5000, 1)
    assert kept(tmp_path / "out")["a.txt"] == ("\n" * 5000 + f"{long}\n{FOX}\n").encode()


@pytest.mark.parametrize(
    "option",
    [
        ["--threads", "64"],
        ["--threads", "1"],
        ["--shingle", "char:1"],
        ["--shingle", "word:1000"],
        ["--shingle", "stopword:3"],
        ["--seed", str(2**64 - 1)],
        ["--threshold", "1"],
        ["--threshold", "2/3"],
        ["--hashes", "3"],
        ["--bag"],
        ["--method", "brute"],
        ["--policy", "connected"],
        ["--measure", "cosine"],
    ],
    ids=" ".join,
)
def test_options_at_their_limits_still_find_the_copy(cli, news, tmp_path, option):
    done = cli("dedup", news, "-o", "out", "--json", *option)
    assert done.json()["counts"]["removed"] == 1
    assert kept(tmp_path / "out")["news.jsonl"].count(b"\n") == 2
