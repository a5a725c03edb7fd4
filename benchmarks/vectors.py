"""Similar pairs among unit vectors: `lookalike pairs` by bands against all with all in matrix products.

Vectors are random, with planted pairs at a cosine of 0.9. Of all with all a part is timed and scaled up: blocks of
4,096 vectors, one product each and a look for what reaches the threshold, on the same cores. Then both methods are
timed over smaller numbers beside what the planner predicts. Results go to results/vectors.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

HERE = Path(__file__).parent
COSINE, DIMENSION, SHARE = 0.9, 128, 100
"""Every SHARE-th vector has a planted partner."""
BLOCK, BLOCKS = 4096, 24


def make_vectors(count: int, seed: int) -> np.ndarray:
    """Unit vectors; 2i + 1 has cosine 0.9 (and a millionth) with 2i for the first count/SHARE i."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((count, DIMENSION), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    planted = 2 * np.arange(count // SHARE)
    start = rows[planted].astype(np.float64)
    across = draw.standard_normal(start.shape)
    across -= (across * start).sum(1, keepdims=True) / (start**2).sum(1, keepdims=True) * start
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    cosine = COSINE + 1e-6
    rows[planted + 1] = cosine * start + np.sqrt(1 - cosine**2) * across
    return rows


def time_products(rows: np.ndarray) -> float:
    """Seconds that all pairs would take in matrix products."""
    first = np.ascontiguousarray(rows[:BLOCK])
    blocks = max(1, min(BLOCKS, len(rows) // BLOCK))
    started, found = time.perf_counter(), 0
    for number in range(blocks):
        other = np.ascontiguousarray(rows[number * BLOCK : (number + 1) * BLOCK])
        found += np.count_nonzero(first @ other.T >= COSINE)
    each = (time.perf_counter() - started) / blocks
    return each * (len(rows) / BLOCK) ** 2 / 2


def run_lookalike(path: Path, count: int, recall: float, method: str, memory: str) -> dict[str, Any]:
    """The whole command in a process of its own: seconds, memory, and the share of planted pairs that it found."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "pairs.parquet")
        command = [Path(sys.executable).with_name("lookalike"), "pairs", path, "--measure", "cosine", "--json"]
        options = [
            "--threshold",
            str(COSINE),
            "--recall",
            str(recall),
            "--method",
            method,
            "--memory",
            memory,
            "-o",
            out,
        ]
        started = time.perf_counter()
        done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        run = json.loads(done.stdout)
        found = pq.read_table(out)
    left, right = (
        pc.cast(pc.list_element(pc.split_pattern(found[name], ":", max_splits=1, reverse=True), 1), "int64").to_numpy()
        for name in ("left", "right")
    )
    planted = (left % 2 == 0) & (right == left + 1) & (left < 2 * (count // SHARE))
    return {
        "seconds": seconds,
        "peak_bytes": run["peak_memory_bytes"],
        "planted_found": int(planted.sum()) / (count // SHARE),
        "pairs": len(found),
        "candidates": run["counts"]["candidates"],
        "method": run["options"]["method"],
        "plan": run["plan"],
        "stages": run["seconds"],
        "predicted": run["choice"]["predicted_seconds"],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--recall", type=float, default=0.96)
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--smaller", default="1000,10000,50000,200000")
    given = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "unit.npy")
        np.save(path, make_vectors(1000, 1))
        run_lookalike(path, 1000, given.recall, "lsh", given.memory)  # compile before the clock runs
        for count in [*map(int, given.smaller.split(",")), given.count] if given.smaller else [given.count]:
            rows = make_vectors(count, 7)
            np.save(path, rows)
            methods = ["auto"] if count == given.count else ["lsh", "brute", "auto"]
            row = {"products_seconds": time_products(rows)}
            for method in methods:
                row[method] = run_lookalike(path, count, given.recall, method, given.memory)
                one = row[method]
                print(
                    f"{count:,} {method}: {one['seconds']:.2f} s, {one['peak_bytes'] / 2**30:.2f} GiB, planted found "
                    f"{one['planted_found']:.3f}, {one['candidates']:,} candidates, predicted {one['predicted']}, "
                    f"all with all {row['products_seconds']:.2f} s = {row['products_seconds'] / one['seconds']:.1f}x",
                    flush=True,
                )
            results[str(count)] = row
    (HERE / "results" / "vectors.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
