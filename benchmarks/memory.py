"""Is `--memory` respected? Peak memory relative to the limit, by length of documents, format and size of row groups.

Generated documents, one in ten a near-copy of its neighbour, all lengths with the same amount of text; and `link` on
generated people and products. Prints a table as each run ends and fails if a run exceeds its limit or ends with
anything but success or a refusal (exit code 4). Run by `make bench-memory`, on little text; `--full` takes 925 MB for
each run and 200,000 people or products per table. `--lengths`, `--formats` and `--commands` choose a part.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from people import make_tables
from products import make_products

LENGTHS = (100, 1_000, 8_000, 100_000, 1_000_000)
RUNS: dict[str, list[str]] = {
    "dedup": ["dedup", "IN", "-o", "OUT", "--method", "lsh"],
    "dedup auto": ["dedup", "IN", "-o", "OUT"],
    "dedup against": ["dedup", "IN", "--reference", "OTHER", "-o", "OUT"],
    "pairs": ["pairs", "IN", "-o", "PAIRS", "--method", "lsh"],
    "pairs auto": ["pairs", "IN", "-o", "PAIRS"],
    "pairs against": ["pairs", "IN", "--against", "OTHER", "-o", "PAIRS", "--method", "lsh"],
    "neighbors": ["neighbors", "IN", "-o", "PAIRS"],
    "index create": ["index", "create", "OUT", "IN"],
    "index query": ["index", "query", "INDEX", "IN", "-o", "PAIRS"],
    "index add": ["index", "add", "NEW", "IN", "--if-new"],
    "index compact": ["index", "compact", "INDEX"],
    "dedup index": ["dedup", "IN", "--reference", "INDEX", "-o", "OUT", "--method", "lsh"],
    "dedup into": ["dedup", "IN", "--into", "NEW", "-o", "OUT", "--method", "lsh"],
}
"""What is run on texts; IN is the input, OTHER another name of it, INDEX an index of it, NEW an empty index."""
COMMANDS = (*RUNS, "link")
LINK_MEBIBYTES = (512, 1024)
"""--memory of `link`: what is refused, and what is enough for 200,000 people in each table."""
MEASURE = (
    "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode; "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10); sys.exit(code)"
)
"""A small process that starts the command: a child counts what its parent held at the fork."""
LINE = "| {:>9} | {:<14} | {:<13} | {:>9} | {:>8} | {:>7} |"


def documents(length: int, total_bytes: int, seed: int = 1) -> Iterator[str]:
    """Texts of about `length` bytes; of every ten, the first two are near-copies."""
    draw = np.random.default_rng(seed)
    letters = draw.integers(ord("a"), ord("z") + 1, (50_000, 5), np.uint8)
    words = np.array([row.tobytes().decode() for row in letters], object)
    for number in range(max(20, total_bytes // length)):
        if number % 10 != 1:
            chosen = words[(len(words) * draw.random(max(8, length // 6)) ** 3).astype(int)]
        text = " ".join(chosen if number % 10 != 1 else chosen[:-1])
        yield text


def write_parquet(path: Path, texts: Iterator[str], group_rows: int) -> None:
    """A Parquet file, zstd, with row groups of this many rows."""
    schema = pa.schema([("id", pa.int64()), ("text", pa.large_string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        rows: list[str] = []
        first = 0
        for text in texts:
            rows.append(text)
            if len(rows) == group_rows:
                out.write_table(pa.table([range(first, first + len(rows)), rows], schema=schema), group_rows)
                first, rows = first + len(rows), []
        if rows:
            out.write_table(pa.table([range(first, first + len(rows)), rows], schema=schema), group_rows)


def write_jsonl(path: Path, texts: Iterator[str]) -> None:
    """Lines of JSON."""
    with path.open("w") as out:
        out.writelines(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts))


def write_gzip(path: Path, texts: Iterator[str]) -> None:
    """Compressed lines of JSON."""
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.writelines(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(texts))


def write_zstd(path: Path, texts: Iterator[str]) -> None:
    """Lines of JSON, compressed as one frame."""
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": number, "text": text}).encode() + b"\n")


def write_csv(path: Path, texts: Iterator[str]) -> None:
    """A CSV file."""
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([("id", "text"), *enumerate(texts)])


def write_txt(path: Path, texts: Iterator[str]) -> None:
    """One document per line."""
    with path.open("w") as out:
        out.writelines(text + "\n" for text in texts)


def write_folder(path: Path, texts: Iterator[str]) -> None:
    """One document per file, a thousand files per folder."""
    for number, text in enumerate(texts):
        file = path / f"{number // 1000}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


FORMATS: dict[str, tuple[str, Callable[[Path, Iterator[str]], None]]] = {
    "parquet 1,000": ("in.parquet", lambda path, texts: write_parquet(path, texts, 1_000)),
    "parquet 10,000": ("in.parquet", lambda path, texts: write_parquet(path, texts, 10_000)),
    "parquet one": ("in.parquet", lambda path, texts: write_parquet(path, texts, 1 << 40)),
    "jsonl": ("in.jsonl", write_jsonl),
    "jsonl.gz": ("in.jsonl.gz", write_gzip),
    "jsonl.zst": ("in.jsonl.zst", write_zstd),
    "csv": ("in.csv", write_csv),
    "txt": ("in.txt", write_txt),
    "folder": ("in", write_folder),
}
"""Formats; for Parquet with the rows of a row group."""
MOST_FILES = 50_000
"""A folder of more files is left out."""


def run_one(words: list[str | Path], mebibytes: int) -> tuple[float, float, int]:
    """Peak divided by limit, seconds and exit code of a run."""
    program = str(Path(sys.executable).with_name("lookalike"))
    started = time.perf_counter()
    run = [sys.executable, "-c", MEASURE, program, *map(str, words), "--memory", f"{mebibytes}MiB"]
    done = subprocess.run(run, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / (mebibytes << 20), time.perf_counter() - started, done.returncode


def report(size: int, name: str, command: str, measured: tuple[float, float, int]) -> bool:
    """Print a row of the table; whether the run failed."""
    ratio, seconds, code = measured
    print(LINE.format(f"{size:,}", name, command, f"{ratio:.2f}", f"{seconds:.1f}", code), flush=True)
    return ratio > 1 or code not in (0, 4)


def run_texts(arguments: argparse.Namespace, length: int, name: str, folder: Path) -> int:
    """Run the commands on documents of one length in one format; the number of runs that failed."""
    file, write = FORMATS[name]
    source, other = folder / file, folder / f"other-{file}"
    write(source, documents(length, arguments.megabytes * 10**6))
    other.symlink_to(source, target_is_directory=source.is_dir())
    places: dict[str, str | Path] = {
        "IN": source,
        "OTHER": other,
        "OUT": folder / "out",
        "PAIRS": folder / "out.parquet",
    }
    places |= {"INDEX": folder / "index", "NEW": folder / "new"}
    failed = 0
    for command in arguments.commands:
        if command in RUNS:
            if "INDEX" in RUNS[command] and not (folder / "index").exists():
                make_index(folder / "index", source)
            if "NEW" in RUNS[command]:
                make_index(folder / "new")
            words = [places.get(word, word) for word in RUNS[command]]
            failed += report(length, name, command, run_one(words, arguments.mebibytes))
            remove(folder / "out", folder / "out.parquet", folder / "new")
    return failed


def make_index(index: Path, *sources: Path) -> None:
    """An index of documents, without a limit."""
    program = str(Path(sys.executable).with_name("lookalike"))
    subprocess.run([program, "index", "create", str(index), *map(str, sources), "--quiet"], check=True)


def remove(*outputs: Path) -> None:
    """Remove what a run wrote."""
    for path in outputs:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def run_link(records: int, folder: Path) -> int:
    """Run `link` on two tables of people, and of products; the number of runs that failed."""
    failed = 0
    people = (make_tables(records, records, 0.1)[:2], "name,address,postcode,phone")
    for name, (tables, fields) in {"people": people, "products": (make_products(records, records, 0.5), "all")}.items():
        paths = [folder / "left.parquet", folder / "right.parquet"]
        for path, table in zip(paths, tables):
            pq.write_table(table, path)
        words: list[str | Path] = ["link", *paths, "--fields", fields, "-o", folder / "out", "--overwrite"]
        for mebibytes in LINK_MEBIBYTES:
            failed += report(records, f"{name} {mebibytes}", "link", run_one(words, mebibytes))
    return failed


def run_all(arguments: argparse.Namespace) -> int:
    """Run the requested parts; return the number of runs that failed."""
    failed = 0
    print(LINE.format("bytes", "format", "command", "peak/limit", "seconds", "exit"))
    print("| ---: | --- | --- | ---: | ---: | ---: |")
    for length in arguments.lengths if {*arguments.commands} - {"link"} else ():
        for name in arguments.formats:
            if name == "folder" and arguments.megabytes * 10**6 // length > MOST_FILES:
                continue
            with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
                failed += run_texts(arguments, length, name, Path(folder))
    if "link" in arguments.commands:
        with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
            failed += run_link(arguments.records, Path(folder))
    return failed


def parse(text: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="925 MB of text per run and 200,000 records per table")
    parser.add_argument("--megabytes", type=int, help="text per run (default: 60)")
    parser.add_argument("--records", type=int, help="people or products per table for link (default: 20,000)")
    parser.add_argument("--mebibytes", type=int, default=512, help="--memory of every run")
    parser.add_argument("--lengths", default=LENGTHS, type=lambda given: [int(one) for one in given.split(",")])
    parser.add_argument("--formats", default=[*FORMATS], type=lambda given: given.split(";"), help="separated by ;")
    parser.add_argument("--commands", default=COMMANDS, type=lambda given: given.split(","))
    parser.add_argument("--scratch", default=None, help="a folder with room for a run")
    found = parser.parse_args(text)
    found.megabytes = found.megabytes or (925 if found.full else 60)
    found.records = found.records or (200_000 if found.full else 20_000)
    return found


if __name__ == "__main__":
    failures = run_all(parse())
    sys.exit(f"{failures} runs failed or exceeded --memory" if failures else 0)
