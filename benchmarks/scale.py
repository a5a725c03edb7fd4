"""How time and memory grow: generated documents of about 500 bytes, 5% of them near-copies, in three sizes.

Writes results/scale.json and a plot of time and memory against size. Run by `make bench-scale`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import run_measured

HERE = Path(__file__).parent
WORDS, LETTERS = 80, 5
BATCH = 100_000


def vocabulary(draw: np.random.Generator, size: int = 50_000) -> np.ndarray:
    """Words of five letters and a space, as rows of bytes."""
    letters = draw.integers(ord("a"), ord("z") + 1, (size, LETTERS), np.uint8)
    return np.hstack([letters, np.full((size, 1), ord(" "), np.uint8)])


def batches(items: int, seed: int = 1):
    """Tables of documents; every twentieth copies an earlier one of its batch and changes a word."""
    draw = np.random.default_rng(seed)
    words = vocabulary(draw)
    for first in range(0, items, BATCH):
        count = min(BATCH, items - first)
        chosen = (len(words) * draw.random((count, WORDS)) ** 2).astype(np.int64)
        copies = np.arange(20, count, 20)
        chosen[copies] = chosen[(copies * draw.random(len(copies))).astype(np.int64)]
        chosen[copies, draw.integers(0, WORDS, len(copies))] = draw.integers(0, len(words), len(copies))
        data = words[chosen].reshape(-1)
        offsets = np.arange(count + 1, dtype=np.int64) * WORDS * (LETTERS + 1)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        text = pa.Array.from_buffers(pa.large_string(), count, buffers)
        yield pa.table({"id": np.arange(first, first + count), "text": text})


def write_corpus(path: Path, items: int) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    writer = None
    for table in batches(items):
        writer = writer or pq.ParquetWriter(partial, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=50_000)
    assert writer is not None
    writer.close()
    partial.rename(path)


COPY = (
    "import sys, pyarrow.parquet as pq\n"
    "source = pq.ParquetFile(sys.argv[1])\n"
    "with pq.ParquetWriter(sys.argv[2], source.schema_arrow, compression='zstd') as out:\n"
    "    for group in range(source.num_row_groups):\n"
    "        out.write_table(source.read_row_group(group))\n"
)
"""The floor: read every row group and write it again."""


def run_size(items: int, memory: str, scratch: Path) -> dict[str, float]:
    path = scratch / f"scale-{items}.parquet"
    write_corpus(path, items)
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
    copied, out = scratch / "copy.parquet", scratch / "out"
    floor = run_measured([sys.executable, "-c", COPY, str(path), str(copied)])
    copied.unlink(missing_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("lookalike")), "dedup", str(path), "-o", str(out), "--memory", memory]
    done = run_measured(command)
    run = json.loads((out / "run.json").read_text())
    shutil.rmtree(out)
    return {
        "items": items,
        "megabytes": items * WORDS * (LETTERS + 1) / 1e6,
        "seconds": done.seconds,
        "floor_seconds": floor.seconds,
        "ratio": done.seconds / floor.seconds,
        "peak_bytes": done.peak_bytes,
        "removed": run["counts"]["removed"],
        "stages": run["seconds"],
    }


def plot(rows: list[dict[str, float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    time, memory = figure.subplots(1, 2)
    size = [row["items"] / 1e6 for row in rows]
    time.plot(size, [row["seconds"] for row in rows], "o-", label="lookalike dedup")
    time.plot(size, [row["floor_seconds"] for row in rows], "s--", label="read and write the same Parquet")
    time.set(xlabel="million documents", ylabel="seconds", ylim=(0, None), xlim=(0, None))
    time.legend(frameon=False)
    memory.plot(size, [row["peak_bytes"] / 2**30 for row in rows], "o-")
    memory.set(xlabel="million documents", ylabel="peak memory, GiB", ylim=(0, None), xlim=(0, None))
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="2500000,5000000,10000000")
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--scratch", type=Path, default=HERE / ".data")
    options = parser.parse_args()
    rows = []
    for items in map(int, options.sizes.split(",")):
        rows.append(run_size(items, options.memory, options.scratch))
        print(json.dumps(rows[-1]), flush=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "scale.json").write_text(json.dumps({"memory": options.memory, "runs": rows}, indent=1) + "\n")
    plot(rows, results / "scale.svg")


if __name__ == "__main__":
    main()
