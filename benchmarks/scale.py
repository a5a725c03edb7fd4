"""How time and memory grow: generated documents of about 500 bytes, 5% of them near-copies, in three sizes.

Then corpora that are unlike others (odd.py). Writes results/scale.json and a plot of time and memory against size. Run
by `make bench-scale`; `--only sizes` or `--only odd` runs a half and leaves the other's figures as they are.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from generate import LETTERS, WORDS, batches
from measure import run_measured
from odd import CORPORA, run_odd

HERE = Path(__file__).parent


def write_corpus(path: Path, items: int, seed: int = 1) -> None:
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    writer = None
    for table in batches(items, seed):
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


def record(**figures: object) -> None:
    """Put figures into scale.json, beside those that are there."""
    path = HERE / "results" / "scale.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **figures}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="2500000,5000000,10000000")
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--only", choices=["sizes", "odd"])
    parser.add_argument("--corpora", default=",".join(CORPORA), help="which of the odd ones")
    parser.add_argument("--odd-memory", default="1GiB")
    parser.add_argument("--scratch", type=Path, default=HERE / ".data")
    options = parser.parse_args()
    if options.only != "odd":
        rows = []
        for items in map(int, options.sizes.split(",")):
            rows.append(run_size(items, options.memory, options.scratch))
            print(json.dumps(rows[-1]), flush=True)
        record(memory=options.memory, runs=rows)
        plot(rows, HERE / "results" / "scale.svg")
    if options.only != "sizes":
        odd = []
        for name in options.corpora.split(","):
            odd.append(run_odd(name, options.odd_memory, options.scratch))
            print(json.dumps(odd[-1]), flush=True)
        record(odd=odd)


if __name__ == "__main__":
    main()
