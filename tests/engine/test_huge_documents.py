"""One huge document must not break the memory bound. The peak is taken from outside, from a process of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

LOOKALIKE = Path(sys.executable).with_name("lookalike")
WORDS = [f"w{number:x}" for number in range(50_000)]
SMALL = [" ".join(WORDS[k : k + 60]) for k in range(0, 40_000, 100)]
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
KINDS = ["english", "german", "chinese", "endless", "repeated"]
FORMATS = ["jsonl", "csv", "txt", "parquet", "folder"]


def huge_text(kind, nbytes, seed=0):
    """About `nbytes` of UTF-8 without line ends."""
    draw = np.random.default_rng(seed)
    if kind == "chinese":
        return draw.integers(0x4E00, 0x9000, nbytes // 3, np.uint16).tobytes().decode("utf-16-le")
    if kind in ("endless", "repeated"):
        return "a" * nbytes if kind == "endless" else "a " * (nbytes // 2)
    words = np.full((nbytes // 6 + 1, 6), ord(" "), np.uint8)
    words[:, 0] = ord("w")
    words[:, 1:5] = DIGITS[draw.integers(0, 16, (len(words), 4), np.uint8)]
    text = words.tobytes().decode()[:nbytes]
    return text.replace("w1", "ä1").replace("w2", "ß") if kind == "german" else text


def write_input(folder, form, texts):
    path = folder / f"in.{form}"
    if form == "folder":
        path.mkdir()
        for number, text in enumerate(texts):
            (path / f"{number:04}.txt").write_text(text)
    elif form == "parquet":
        with pq.ParquetWriter(path, pa.schema([("text", pa.large_string())])) as writer:
            # a row group for each of the huge ones: what writers put on one page has to be read at once
            for part in [texts[: len(SMALL)], *([text] for text in texts[len(SMALL) :])]:
                writer.write_table(pa.table({"text": pa.array(part, pa.large_string())}))
    else:
        # no text holds a quote or a backslash
        row = {"jsonl": '{{"text": "{}"}}'.format, "txt": str, "csv": '"{}"'.format}[form]
        with path.open("w") as out:
            out.write("text\n" if form == "csv" else "")
            out.writelines(row(text) + "\n" for text in texts)
    return path


MEASURE = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(started.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""
"""A small process between: a child's peak begins with that of the process that it is forked from."""


def run(path, out, memory):
    """Exit code, what was said, and the peak of resident memory in bytes."""
    command = [LOOKALIKE, "dedup", path, "-o", out, "--memory", memory, "--quiet"]
    done = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)], capture_output=True, text=True)
    code, peak = map(int, done.stdout.split())
    return code, done.stderr, peak


@pytest.fixture(scope="module")
def base_bytes(tmp_path_factory):
    """What a run on small texts takes."""
    folder = tmp_path_factory.mktemp("base")
    code, said, peak = run(write_input(folder, "jsonl", SMALL), folder / "out", "512MiB")
    assert code == 0, said
    return peak


@pytest.fixture(scope="module")
def long_text():
    return huge_text("english", 120_000_000)


@pytest.mark.parametrize("form", ["jsonl", "csv", "folder"])
def test_a_long_text_is_in_memory_only_once(tmp_path, base_bytes, long_text, form):
    path = write_input(tmp_path, form, [*SMALL, long_text])
    code, said, peak = run(path, tmp_path / "out", "1GiB")
    assert code == 0, said
    # blocks of 16 MiB, work on a chunk, kernels for long rows
    assert peak < base_bytes + 1.1 * len(long_text) + (176 << 20)
    if form != "folder":
        assert (tmp_path / "out" / "kept" / path.name).read_bytes() == path.read_bytes()


def test_input_that_does_not_fit_is_refused_before_it_is_read(tmp_path, base_bytes):
    path = write_input(tmp_path, "jsonl", [*SMALL, huge_text("endless", 250_000_000)])
    code, said, peak = run(path, tmp_path / "out", "512MiB")
    assert code == 4
    assert "in.jsonl:401: a document of 250 MB needs about 0.62 GiB" in said
    assert peak < 1.05 * (512 << 20)


@pytest.fixture
def scratch(tmp_path):
    """Gone after each test: all of them together would fill a disk."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["2GiB", "1GiB"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_a_document_of_500_mb(scratch, form, kind, memory):
    path = write_input(scratch, form, [*SMALL, huge_text(kind, 500_000_000)])
    code, said, peak = run(path, scratch / "out", memory)
    assert peak < 1.05 * (int(memory[0]) << 30)
    if form == "parquet" and memory == "1GiB":
        assert code == 4
        assert "in.parquet: rows" in said
    else:
        assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_ten_documents_of_500_mb_in_sequence(scratch, form):
    texts = [huge_text("repeated" if seed % 2 else "english", 500_000_000, seed) for seed in range(10)]
    path = write_input(scratch, form, [*SMALL, *texts])
    del texts
    code, said, peak = run(path, scratch / "out", "2GiB")
    assert peak < 1.05 * (2 << 30)
    if form == "parquet":  # one is still being written while the next is decoded: these need 3 GiB, and that is said
        assert code == 4
        assert "in.parquet: rows 400 to 400" in said
        code, said, peak = run(path, scratch / "out", "3GiB")
        assert peak < 1.05 * (3 << 30)
    assert code == 0, said
