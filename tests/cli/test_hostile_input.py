"""Odd files get an answer or one line of error that names the place; names cannot forge a line."""

import struct
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.engine.workers import count_threads
from lookalike.read.documents import page_text


@pytest.mark.parametrize("command", [("dedup", "-o", "out"), ("pairs",), ("neighbors",)])
@pytest.mark.parametrize("rows", ['{"text": []}\n' * 2, '{"text": []}\n{"text": "a b"}\n'])
def test_empty_lists_are_empty_items(cli, tmp_path, command, rows):
    (tmp_path / "a.jsonl").write_text(rows)
    out = () if command[0] == "dedup" else ("-o", "out.csv")
    done = cli(command[0], "a.jsonl", *command[1:], *out, "--json")
    assert done.code == 0, done.err
    assert (done.json()["counts"]["items"], done.json()["counts"]["empty"]) == (2, rows.count("[]"))


def npy(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(60)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("huge.fvecs", struct.pack("<i", 2**31 - 1) + bytes(16)),
        ("rows.npy", npy("(-5, 3)")),
        ("columns.npy", npy("(5, -3)")),
        ("wide.npy", npy("(0, 99999999999)")),
        ("open.npy", npy("(5, 3")),
    ],
)
def test_impossible_vector_files_are_bad_data(cli, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    done = cli("pairs", name, "--measure", "cosine", "--quiet")
    assert done.code == 3
    assert done.err.startswith(f"lookalike: {name}: ")
    assert done.err.count("\n") == 1


def test_a_null_in_a_list_is_named_and_can_be_skipped(cli, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ["a"]}\n{"text": ["a", null]}\n')
    pq.write_table(pa.table({"text": [["a"], ["a", None]]}), tmp_path / "a.parquet")
    assert "a.jsonl:2: column 'text': a null" in cli("pairs", "a.jsonl").err
    assert "a.parquet: row 1: column 'text': a null" in cli("pairs", "a.parquet").err
    for name in ("a.jsonl", "a.parquet"):
        done = cli("pairs", name, "--on-error", "skip", "-o", f"{name}.csv", "--json")
        assert (done.code, done.json()["counts"]["items"], done.json()["counts"]["rejected"]) == (0, 1, 1)


def test_a_number_of_thousands_of_digits_is_named_without_advice_on_python(cli, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "id": ' + "1" * 5000 + "}\n")
    done = cli("pairs", "a.jsonl")
    assert (done.code, "a.jsonl:1: a number" in done.err, "sys." in done.err) == (3, True, False)


def test_threads_are_limited():
    assert count_threads(10**6) < 10**4


def test_sizes_that_are_suggested_are_accepted(cli, news):
    assert "800MB" in cli("pairs", news, "--memory", "much").err
    assert cli("pairs", news, "--memory", "800MB").code == 0
    assert cli("pairs", news, "--memory", "9" * 400).code == 0


def test_names_of_files_and_options_cannot_forge_lines(cli, tmp_path):
    name = "bad\x1b]0;x\x07\nlookalike: forged\u202e.jsonl"
    (tmp_path / name).write_text("{\n")
    for done in (cli("pairs", name, "--quiet"), cli("pairs", "--x\x1b\ny"), cli("pairs", name, "--method", "\x1b\n")):
        assert done.err.count("\n") == 1
        assert not set("\x1b\x07\u202e") & set(done.err)


def test_deeply_nested_pages_take_linear_time():
    started = time.process_time()
    assert page_text("<div>" * 100_000 + "x &amp; y") == "x & y"
    assert time.process_time() - started < 5


def test_binary_data_in_a_line_format_takes_linear_time(cli, tmp_path):
    """About 60 microseconds a bad line; it was quadratic, since lines were counted from the start for each of them."""
    (tmp_path / "a.jsonl").write_bytes(b"\xff\x00\n" * 60_000)
    started = time.process_time()
    assert cli("pairs", "a.jsonl").code == 3
    assert cli("pairs", "a.jsonl", "--on-error", "skip").code == 0
    assert time.process_time() - started < 15


@pytest.mark.parametrize("kind", ["person", "email"])
def test_two_records_with_names_of_a_megabyte(cli, tmp_path, kind):
    (tmp_path / "a.csv").write_text(f"id,name\n1,{'ab' * 500_000}\n2,{'cd' * 500_000}\n")
    started = time.process_time()
    assert cli("link", "a.csv", "-o", "out", "--fields", f"name:{kind}").code == 0
    assert time.process_time() - started < 60


SEEDED = [
    ("dedup", "a.csv", "-o", "out"),
    ("pairs", "a.csv", "--method", "lsh"),
    ("link", "a.csv", "-o", "out", "--fields", "text"),
    ("faces", "a.csv", "--columns", "x,y"),
    ("fingerprints", "a.csv"),
]


@pytest.mark.parametrize("command", SEEDED, ids=lambda command: command[0])
def test_seeds_at_their_limits(cli, tmp_path, command):
    (tmp_path / "a.csv").write_text("id,text,x,y\n1,a b c,1,2\n2,a b c,3,4\n3,a b d,3,9\n")
    done = cli(*command, "--seed", "-1", "--quiet")
    assert (done.code, "seed must be" in done.err, done.err.count("\n")) == (2, True, 1)
    assert cli(*command, "--seed", str(2**64 - 1), "--quiet").code == 0


def test_no_items_can_be_audited(cli, tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "a.parquet")
    done = cli("dedup", "a.parquet", "-o", "out", "--method", "lsh", "--audit", "5", "--json")
    assert (done.code, done.json()["audit"]["recall"]) == (0, None)
    assert cli("audit", "out", "--json").json()["recall"] is None


@pytest.mark.parametrize("count", [2**31, 10**30])
def test_more_neighbours_than_there_are(cli, tmp_path, count):
    np.save(tmp_path / "a.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "a.txt").write_text("a b\na b\na b\n")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n1,2\n1,2\n5,6\n")
    for given in (("neighbors", "a.npy", "--measure", "euclidean"), ("neighbors", "a.txt"), ("faces", "a.csv")):
        done = cli(*given, "-k", count, "--quiet")
        assert (done.code, done.out.count("\n")) == (0, 7), done.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("fingerprints", "a.csv", "--triples", "9" * 30), "triples must be from 1 to 65536"),
        (("tune", "--measure", "euclidean", "--threshold", "1", "--width", "1e-300"), "hashes cannot find pairs"),
        (("pairs", "a.csv", "--measure", "overlap", "--threshold", "9999999999999"), "is too large; the largest is"),
    ],
)
def test_numbers_beyond_any_use_are_refused_at_once(cli, tmp_path, command, says):
    (tmp_path / "a.csv").write_text("x,y,text\n1,2,a\n1,2,b\n5,6,c\n")
    done = cli(*command, "--quiet")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err
