"""Usage is 2, bad data 3, and the message says where; nothing is left behind."""

import gzip
import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import FOX, IDEAS, jsonl, kept, names, removed

GOOD = b'{"id": "a", "text": "x y z"}\n'


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--threshold", "1.5"], "threshold"),
        (["--threshold", "0"], "threshold"),
        (["--threshold", "80%"], "threshold"),
        (["--threshold", "0.01"], "459"),
        (["--recall", "1", "--method", "lsh"], "--method exact"),
        (["--recall", "nan"], "recall"),
        (["--hashes", "0"], "hashes"),
        (["--hashes", "many"], "--hashes"),
        (["--shingle", "word"], "word:5"),
        (["--shingle", "char:0"], "char:0"),
        (["--shingle", "stopword:3", "--language", "xx"], "'xx'"),
        (["--measure", "nonsense"], "jaccard"),
        (["--measure", "containment", "--method", "lsh"], "--method exact"),
        (["--measure", "overlap", "--method", "brute"], "whole number"),
        (["--method", "nonsense"], "lsh"),
        (["--seed", "-1"], "seed"),
        (["--seed", str(1 << 64)], "seed"),
        (["--threads", "0"], "threads"),
        (["--on-error", "shrug"], "skip"),
        (["--encoding", "klingon"], "klingon"),
        (["--encoding", "idna"], "idna"),
        (["--nonsense"], "--nonsense"),
        (["--column"], "--column"),
    ],
)
@pytest.mark.parametrize("command", ["dedup", "pairs"])
def test_wrong_options_are_usage_errors(cli, news, tmp_path, command, options, says):
    out = "out" if command == "dedup" else "out.csv"
    done = cli(command, news, "-o", out, *options)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""
    assert names(tmp_path) == ["news.jsonl"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--keep", "nonsense"], "longest"),
        (["--keep", "max:"], "max:COL"),
        (["--policy", "nonsense"], "connected"),
        (["--reference", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_wrong_options_of_dedup_are_usage_errors(cli, news, tmp_path, options, says):
    done = cli("dedup", news, "-o", "out", *options)
    assert done.code == 2
    assert says in done.err
    assert "Plan:" not in done.err  # it is said at once, not after the plan and the compiling
    assert names(tmp_path) == ["news.jsonl"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["absent.jsonl"], "absent.jsonl: no such file"),
        (["news.jsonl", "absent.jsonl"], "absent.jsonl: no such file"),
        (["*.csv"], "*.csv: no file matches"),
        (["nosuch://place/a.jsonl"], "nosuch://place/a.jsonl"),
        (["hollow"], "hollow: the folder has no files"),
        ([""], "empty"),
        ([], "INPUT"),
    ],
)
@pytest.mark.parametrize("command", [("dedup", "-o", "below/out"), ("pairs",)])
def test_inputs_that_are_not_there_are_usage_errors(cli, news, tmp_path, command, given, says):
    (tmp_path / "hollow").mkdir()
    done = cli(command[0], *given, *command[1:])
    assert done.code == 2
    assert says in done.err
    assert done.out == ""
    assert names(tmp_path) == ["hollow", "news.jsonl"]


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["tune", "more"], ["dedup", "news.jsonl"]])
def test_wrong_commands_are_usage_errors(cli, news, arguments):
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("lookalike: ")
    assert done.err.endswith(" -h\n")  # where the options are explained
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("options", [["--threshold", "0"], ["--recall", "1"], ["--hashes", "0"], ["--plot", "a.pdf"]])
def test_wrong_options_of_tune_are_usage_errors(cli, tmp_path, options):
    done = cli("tune", *options)
    assert done.code == 2
    assert done.err.startswith("lookalike: ")
    assert (done.out, names(tmp_path)) == ("", [])


BAD = {
    "broken.jsonl": (GOOD + b'{"id": "b", "text": \n' + GOOD, "broken.jsonl:2: not valid JSON"),
    "array.jsonl": (GOOD * 2 + b"[1]\n", "array.jsonl:3: not a JSON object"),
    "number.jsonl": (GOOD + b'{"text": 5}\n', "number.jsonl:2: column 'text' is a number"),
    "nocolumn.jsonl": (b'{"id": "a", "body": "x"}\n', "no column 'text'; its columns are 'id', 'body'"),
    "notutf8.jsonl": (GOOD + b'{"id": "b", "text": "\xff\xfe"}\n', "notutf8.jsonl:2: not valid UTF-8"),
    "control.jsonl": (GOOD + b'{"id": "b", "text": "a\x00b"}\n', "Invalid control character at character 22"),
    "half.jsonl": (GOOD + b'{"id": "b", "text": "\\ud800"}\n', "half.jsonl:2"),
    "truncated.jsonl.gz": (gzip.compress(GOOD * 1000, mtime=0)[:-20], "truncated.jsonl.gz"),
    "not.jsonl.gz": (GOOD, "not.jsonl.gz"),
    "not.jsonl.zst": (GOOD, "not.jsonl.zst"),
    "not.parquet": (b"PAR1 nonsense", "not.parquet"),
    "void.parquet": (b"", "void.parquet"),
    "nocolumn.csv": (b"id,body\n1,x\n", "nocolumn.csv: no column 'text'"),
    "twice.csv": (b"id,text,text\n1,x,y\n", "twice.csv: the header has column 'text' more than once"),
    "ragged.csv": (b"id,text\n1,x\n2,y,z\n", "ragged.csv:3: expected 2 fields as in the header, found 3"),
    "lines.csv": (b'id,text\n1,"x\ny"\n2\n', "lines.csv:4: expected 2 fields as in the header, found 1"),
    "notutf8.csv": (b"id,text\n1,x\n2,caf\xe9\n", "notutf8.csv:3: not valid UTF-8"),
    "returns.csv": (b"id,text\r1,x\r", "returns.csv:1"),
    "notutf8.txt": (b"x\ny\ncaf\xe9\n", "notutf8.txt:3: not valid UTF-8"),
    "notutf8.html": (b"<p>caf\xe9", "notutf8.html: not valid UTF-8"),
}


@pytest.mark.parametrize("command", ["dedup", "pairs"])
@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_named_by_file_and_line(cli, tmp_path, command, name):
    content, says = BAD[name]
    (tmp_path / name).write_bytes(content)
    done = cli(command, name, "-o", "deep/out" if command == "dedup" else "deep/out.csv")
    assert done.code == 3
    assert says in done.err.splitlines()[-1]
    assert done.err.splitlines()[-1].startswith("lookalike: ")
    assert done.out == ""
    assert names(tmp_path) == [name]


@pytest.mark.parametrize(
    "command",
    [
        ("dedup", "-o", "out"),
        ("pairs",),
        ("neighbors",),
        ("link", "-o", "out", "--fields", "text"),
        ("faces",),
        ("fingerprints",),
    ],
)
def test_two_columns_of_one_name_are_bad_data(cli, tmp_path, command):
    table = pa.table([[1.0], ["a"], ["b"], [1], [2]], names=["m", "text", "text", "x", "y"])
    pq.write_table(table, tmp_path / "a.parquet")
    done = cli(command[0], "a.parquet", *command[1:], "--quiet")
    assert (done.code, done.err) == (
        3,
        "lookalike: a.parquet: column 'text' occurs more than once; rename one of them\n",
    )


def test_a_parquet_column_must_be_the_only_one_of_its_name(cli, tmp_path):
    table = pa.table([[FOX], [IDEAS], [1], [2]], names=["text", "text", "n", "n"])
    pq.write_table(table, tmp_path / "a.parquet")
    done = cli("dedup", "a.parquet", "-o", "out")
    assert done.code == 3
    assert "a.parquet: column 'text' occurs more than once" in done.err
    pq.write_table(table.select([0, 2, 3]), tmp_path / "a.parquet")
    assert cli("dedup", "a.parquet", "-o", "out").code == 0
    assert pq.read_schema(tmp_path / "out/kept/a.parquet").names == ["text", "n", "n"]


def test_bad_data_does_not_touch_an_earlier_output(cli, news, tmp_path):
    assert cli("dedup", news, "-o", "out").code == 0
    before = kept(tmp_path / "out")
    (tmp_path / "broken.jsonl").write_bytes(b"oops\n")
    assert cli("dedup", "broken.jsonl", "-o", "out", "--overwrite").code == 3
    assert kept(tmp_path / "out") == before
    assert names(tmp_path) == ["broken.jsonl", "news.jsonl", "out"]


@pytest.mark.parametrize(
    ("name", "content", "items", "empty"),
    [
        ("empty.jsonl", b"", 0, 0),
        ("blank.jsonl", b"\n \r\n\n", 0, 0),
        ("nulls.jsonl", GOOD + b'{"id": "b", "text": null}\n', 2, 1),
        ("absent.jsonl", GOOD + b'{"id": "b"}\n', 2, 1),
        ("head.csv", b"id,text\n", 0, 0),
        ("empty.csv", b"", 0, 0),
        ("blank.txt", b"\n" * 1000, 1000, 1000),
        ("empty.html", b"", 1, 1),
        ("empty.jsonl.gz", gzip.compress(b"", mtime=0), 0, 0),
    ],
)
def test_nothing_to_compare_is_not_an_error(cli, tmp_path, name, content, items, empty):
    (tmp_path / name).write_bytes(content)
    done = cli("dedup", name, "-o", "out", "--json")
    assert done.code == 0
    counts = done.json()["counts"]
    assert (counts["items"], counts["empty"], counts["kept"], counts["removed"]) == (items, empty, items, 0)
    again = cli("pairs", name)
    assert (again.code, again.out) == (0, "left\tright\tsimilarity\n")


def test_an_empty_parquet_file_keeps_its_schema(cli, tmp_path):
    schema = pa.schema([("id", pa.int32()), ("text", pa.string()), ("more", pa.list_(pa.float32()))])
    pq.write_table(schema.empty_table(), tmp_path / "a.parquet")
    assert cli("dedup", "a.parquet", "-o", "out").code == 0
    assert pq.read_schema(tmp_path / "out/kept/a.parquet").equals(schema)


def test_skipped_lines_are_set_aside_with_their_place(cli, tmp_path):
    content = jsonl({"id": "a", "text": FOX}) + b"oops\n\n" + b'{"text": "\xff"}\n' + jsonl({"id": "b", "text": FOX})
    (tmp_path / "a.jsonl").write_bytes(content)
    done = cli("dedup", "a.jsonl", "-o", "out", "--on-error", "skip")
    assert done.code == 0
    assert "2 bad lines" in done.err
    rows = [json.loads(line) for line in (tmp_path / "out/rejected.jsonl").read_text().splitlines()]
    assert [(row["file"], row["line"], row["raw"]) for row in rows] == [
        ("a.jsonl", 2, "oops"),
        ("a.jsonl", 4, '{"text": "\\xff"}'),
    ]
    assert all(row["error"] for row in rows)
    assert removed(tmp_path / "out") == [("b", "a")]
    assert kept(tmp_path / "out") == {"a.jsonl": jsonl({"id": "a", "text": FOX})}


def test_without_bad_lines_skipping_leaves_an_empty_list(cli, news, tmp_path):
    assert cli("dedup", news, "-o", "out", "--on-error", "skip").code == 0
    assert (tmp_path / "out/rejected.jsonl").read_bytes() == b""
    assert cli("dedup", news, "-o", "stop").code == 0
    assert "rejected.jsonl" not in names(tmp_path / "stop")


def test_a_bad_file_among_documents_is_skipped(cli, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text(FOX)
    (folder / "b.txt").write_bytes(b"\xff\xfe\xfd")
    (folder / "c.txt").write_text(IDEAS)
    stopped = cli("dedup", "texts", "-o", "out")
    assert stopped.code == 3
    assert "texts/b.txt" in stopped.err
    assert cli("dedup", "texts", "-o", "out", "--on-error", "skip").code == 0
    assert sorted(kept(tmp_path / "out")) == ["a.txt", "c.txt"]
    assert json.loads((tmp_path / "out/rejected.jsonl").read_text())["file"] == "texts/b.txt"


@pytest.mark.parametrize(
    ("error", "says"), [(MemoryError(), "out of memory"), (RuntimeError("can't start new thread"), "no more threads")]
)
def test_limits_of_the_system_are_one_line(cli, news, tmp_path, monkeypatch, error, says):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(threading.Thread, "start", fail)
    done = cli("dedup", news, "-o", "out")
    assert done.code == 4
    assert says in done.err
    assert done.err.count("\n") == 1
    assert names(tmp_path) == ["news.jsonl"]
