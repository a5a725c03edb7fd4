"""The peak resident size of a run stays within --memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = str(Path(sys.executable).with_name("lookalike"))
MEASURE = (
    "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10); sys.exit(code)"
)
"""A small process: a child counts what its parent held at the fork."""
LIMIT = 512


def peak_mebibytes(*command):
    """Exit code and peak of a command; if it refuses, it says that it needs more memory."""
    done = subprocess.run([sys.executable, "-c", MEASURE, PROGRAM, *map(str, command)], capture_output=True, text=True)
    assert done.returncode != 4 or "--memory" in done.stderr.splitlines()[-1], done.stderr
    return done.returncode, int(done.stdout.split()[-1])


def write_long(path, documents, length, group_rows=None):
    """Documents of `length` words of five letters, every tenth a near-copy of the one before."""
    draw = np.random.default_rng(3)
    letters = draw.integers(ord("a"), ord("z") + 1, (5000, 6), np.uint8)
    letters[:, 5] = ord(" ")
    rows = letters[(5000 * draw.random((documents, length)) ** 3).astype(np.int32)]
    rows[10::10, :-3] = rows[9:-1:10, :-3]
    offsets = np.arange(documents + 1, dtype=np.int64) * 6 * length
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(rows.reshape(-1))]
    text = pa.Array.from_buffers(pa.large_string(), documents, buffers)
    table = pa.table({"id": np.arange(documents), "text": text})
    pq.write_table(table, path, compression="zstd", row_group_size=group_rows or documents)
    return path


def test_a_large_row_group_of_long_documents_stays_within_memory(tmp_path):
    path = write_long(tmp_path / "in.parquet", 10_000, 1300)
    code, peak = peak_mebibytes("dedup", path, "-o", tmp_path / "out", "--memory", "512MiB", "--method", "lsh")
    assert code == 0
    assert peak <= LIMIT
    kept = pq.ParquetFile(tmp_path / "out/kept/in.parquet")
    assert kept.metadata.num_rows == 9001


def test_hundreds_of_columns_in_one_row_group_stay_within_memory(tmp_path):
    """Arrow holds a page of every column that it decodes: 0.8 GiB."""
    rows, path = 60_000, tmp_path / "wide.parquet"
    draw = np.random.default_rng(1)
    table = {"text": [f"{row} {row % 7}" for row in range(rows)]} | {f"c{k}": draw.random(rows) for k in range(400)}
    pq.write_table(pa.table(table), path, row_group_size=rows)
    code, peak = peak_mebibytes("dedup", path, "-o", tmp_path / "out", "--shingle", "word:1", "--memory", "512MiB")
    assert code == 0
    assert peak <= LIMIT


def test_a_long_text_that_is_stored_once_stays_within_memory(tmp_path):
    """1 GB of text in a file of a megabyte."""
    text = "".join(np.random.default_rng(1).choice([*"abcdefgh "], 1_000_000))
    once = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array([text]))
    path = tmp_path / "once.parquet"
    pq.write_table(pa.table({"text": once}), path)
    code, peak = peak_mebibytes("pairs", path, "-o", tmp_path / "out.csv", "--threshold", "1", "--memory", "512MiB")
    assert code == 0
    assert peak <= LIMIT


@pytest.mark.slow
def test_reports_of_eight_million_pairs_stay_within_memory(tmp_path):
    """During the run and from the file: with all pairs in memory, each took 0.7 GiB or more."""
    path, out = tmp_path / "in.txt", tmp_path / "pairs.parquet"
    path.write_text("".join(" ".join(f"w{j}" for j in range(60)) + f" x{i % 7} y{i}\n" for i in range(4000)))
    options = "--shingle", "word:1", "--threshold", "0.9", "--report", "--memory", "512MiB"
    code, peak = peak_mebibytes("pairs", path, "-o", out, *options)
    assert code == 0
    assert peak <= LIMIT
    assert pq.ParquetFile(out).metadata.num_rows == 7_998_000
    code, peak = peak_mebibytes("report", out, "--memory", "512MiB")
    assert code == 0
    assert peak <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("words", [20, 1300, 20_000, 160_000])
@pytest.mark.parametrize("command", ["dedup", "pairs", "neighbors"])
@pytest.mark.parametrize("shingle", ["word:5", "char:9"])
def test_every_command_stays_within_memory_or_refuses(tmp_path, words, command, shingle):
    path = write_long(tmp_path / "in.parquet", 250_000_000 // (6 * words), words, 10_000)
    out = tmp_path / ("out" if command == "dedup" else "out.parquet")
    method = () if command == "neighbors" else ("--method", "lsh")
    code, peak = peak_mebibytes(command, path, "-o", out, "--memory", "512MiB", "--shingle", shingle, *method)
    assert code in (0, 4)
    assert peak <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dedup", "pairs", "neighbors"])
@pytest.mark.parametrize("group_rows", [10, 10_000])
def test_the_sample_of_long_documents_stays_within_memory(tmp_path, command, group_rows):
    """The choice of a method at a low threshold, and of neighbors whether to refuse, needs some of the text."""
    path = write_long(tmp_path / "in.parquet", 250, 160_000, group_rows)
    out = tmp_path / ("out" if command == "dedup" else "out.parquet")
    code, peak = peak_mebibytes(command, path, "-o", out, "--memory", "512MiB", "--threshold", "0.5")
    assert code in (0, 4)
    assert peak <= LIMIT


@pytest.mark.slow
def test_an_index_that_is_larger_than_memory(tmp_path):
    """375 MB of sets: neither what is written nor what is read of it stays in memory."""
    path, index = write_long(tmp_path / "in.parquet", 6_000, 1300), tmp_path / "index"
    limit = "--memory", "512MiB"
    code, peak = peak_mebibytes("index", "create", index, path, "--shingle", "char:9", *limit)
    assert code == 0
    assert peak <= LIMIT
    code, peak = peak_mebibytes("index", "query", index, path, "-o", tmp_path / "out.parquet", *limit)
    assert code == 0
    assert peak <= LIMIT
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_rows >= 6_000


@pytest.mark.slow
@pytest.mark.parametrize("words", [20, 1300, 160_000])
@pytest.mark.parametrize("store", ["sets", "text"])
def test_every_use_of_an_index_stays_within_memory_or_refuses(tmp_path, words, store):
    path = write_long(tmp_path / "in.parquet", 250_000_000 // (6 * words), words, 10_000)
    index, new, out = tmp_path / "index", tmp_path / "new", tmp_path / "out"
    limit = "--memory", "512MiB"
    for command in (
        ("index", "create", index, path, "--store", store),
        ("index", "query", index, path, "-o", tmp_path / "found.parquet"),
        ("dedup", path, "--reference", index, "-o", out, "--method", "lsh"),
        ("index", "add", index, path, "--if-new"),
        ("index", "compact", index),
        ("index", "create", new, "--store", store),
        ("index", "add", new, path, "--if-new"),
        ("dedup", path, "--into", new, "-o", out, "--method", "lsh", "--overwrite"),
    ):
        code, peak = peak_mebibytes(*command, *limit)
        assert code in (0, 4), command
        assert peak <= LIMIT, command
        if "create" in command and code:
            return  # a row group of long documents; there is no index to use


def write_copies(path, copies, *, near):
    """Two million documents of 20 words, in groups of equal ones, or of ones that differ in their last word."""
    draw, documents = np.random.default_rng(3), 2_083_333
    words = np.array(["".join(map(chr, word)) for word in draw.integers(ord("a"), ord("z") + 1, (5000, 5))])
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, documents, 10_000):
            ids = np.arange(first, min(documents, first + 10_000))
            texts = [" ".join(row) for row in words[np.random.default_rng(first).integers(0, 5000, (10_000, 19))]]
            chosen = [f"{texts[row // copies]} {f'z{row}' if near else 'z'}" for row in range(len(ids))]
            writer.write_table(pa.table([ids, chosen], schema=schema))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--policy", "connected"), ("--keep", "longest")])
@pytest.mark.parametrize(("copies", "near"), [(3, True), (2000, True), (2000, False)])
def test_copies_of_nearly_everything_stay_within_memory(tmp_path, options, copies, near):
    """Without a reference, every removed item has a reason, and large parts are compared in blocks."""
    path = write_copies(tmp_path / "in.parquet", copies, near=near)
    code, peak = peak_mebibytes("dedup", path, "-o", tmp_path / "out", "--memory", "512MiB", *options)
    assert code in (0, 4)
    assert peak <= LIMIT


@pytest.mark.slow
def test_millions_of_pairs_and_known_items_stay_within_memory(tmp_path):
    path, limit = write_copies(tmp_path / "in.parquet", 3, near=True), ("--memory", "512MiB")
    for command in (
        ("pairs", path, "-o", tmp_path / "pairs.parquet"),
        ("index", "create", tmp_path / "index", path),
        ("index", "add", tmp_path / "index", path, "--if-new"),
    ):
        code, peak = peak_mebibytes(*command, *limit)
        assert code == 0, command
        assert peak <= LIMIT, command
