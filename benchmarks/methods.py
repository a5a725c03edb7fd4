"""All methods by threshold: predicted and measured seconds, candidates, memory; and whether `auto` chose well.

Run by `make bench-exact`. `--data` (or LOOKALIKE_DATA) names a folder with baskets/, articles/, transactions/ and
dblp_acm/; source files come from the corpus of peers.py. The planner's constants were set on the data in the first
list; those in the second confirm them. Each cell is `lookalike pairs` with a method, the better of two runs by the sum
of its stages; what it predicts is what `--explain` says. SetSimilaritySearch, in its own environment, is given the same
sets and up to `--peer-seconds`. Results go to results/methods.json and results/methods.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import lookalike as la
import peer_env

LOOKALIKE = Path(sys.executable).with_name("lookalike")
HERE = Path(__file__).parent
THRESHOLDS = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95")
BRUTE_ITEMS = 12_000
"""Brute force is not tried on more items."""


def baskets(folder: Path) -> pa.Array:
    lines = next((folder / "baskets").glob("*.dat")).read_text().splitlines()
    return pa.array([list(map(int, line.split())) for line in lines], pa.list_(pa.int64()))


def articles(folder: Path) -> pa.Array:
    path = max((folder / "articles").glob("*.train"), key=lambda one: one.stat().st_size)
    return pa.array([line.partition(" ")[2] for line in path.read_text(errors="replace").splitlines()])


def sources(_: Path) -> pa.Array:
    path = max(HERE.glob(".data/corpus-*/corpus.parquet"), key=lambda one: one.stat().st_size)
    return pq.read_table(path)["text"].combine_chunks()


def source_lines(folder: Path) -> pa.Array:
    lines = pc.list_flatten(pc.split_pattern(sources(folder)[:2000], "\n"))
    return lines.filter(pc.greater(pc.utf8_length(lines), 20))[:60_000]


def memos(folder: Path) -> pa.Array:
    return pq.read_table(folder / "transactions" / "transactions_origin.parquet")["memo"].combine_chunks()


def titles(folder: Path) -> pa.Array:
    read = pa_csv.ReadOptions(encoding="latin-1")
    tables = [pa_csv.read_csv(folder / "dblp_acm" / name, read_options=read) for name in ("DBLP2.csv", "ACM.csv")]
    return pa.concat_arrays([chunk for table in tables for chunk in table["title"].chunks])


Maker = Callable[[Path], pa.Array]
TUNED: dict[str, tuple[Maker, dict[str, str]]] = {
    "baskets": (baskets, {}),
    "article words": (articles, {"shingle": "word:1"}),
    "articles, word:5": (articles, {}),
    "source files, word:5": (sources, {}),
}
CONFIRMING: dict[str, tuple[Maker, dict[str, str]]] = {
    "source lines, char:4": (source_lines, {"shingle": "char:4"}),
    "payment memos, char:3": (memos, {"shingle": "char:3"}),
    "publication titles, word:1": (titles, {"shingle": "word:1"}),
    "articles, char:9": (articles, {"shingle": "char:9"}),
}
MERGED = ("0.5", "0.8")
"""Where divide-compute-merge is tried: it counts all pairs that share an element, whatever the threshold."""
PEER = ("baskets", "article words")
"""What SetSimilaritySearch is asked to join as well."""


def run_pairs(data: Path, *options: str) -> dict[str, Any]:
    """`lookalike pairs` in a process of its own; what it prints as JSON."""
    done = subprocess.run([LOOKALIKE, "pairs", data, *options, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def run_cell(data: Path, method: str, options: list[str]) -> dict[str, Any]:
    """The better of two runs with a method; the time to start and to write the pairs is not that of the method."""
    best: dict[str, Any] = {"seconds": float("inf")}
    out = data.with_name("pairs.parquet")
    for _ in range(1 if method == "merge" else 2):
        run = run_pairs(data, "--method", method, "-o", str(out), "--overwrite", "--quiet", *options)
        stages = {name: seconds for name, seconds in run["seconds"].items() if name != "writing"}
        if (seconds := sum(stages.values())) < best["seconds"]:
            counts = {name: run["counts"][name] for name in ("pairs", "candidates")}
            best = {"seconds": seconds, **counts, "peak_bytes": run["peak_memory_bytes"], "stages": stages}
    return best


def run_peer(path: Path, threshold: str, limit: float) -> dict[str, Any]:
    command = [str(peer_env.PYTHON), str(HERE / "adapters" / "pairs_setsimilaritysearch.py"), str(path), threshold]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"more_than_seconds": limit}
    return json.loads(done.stdout)


def ask_peer(rows: list[dict[str, Any]], folder: Path, limit: float) -> None:
    """Add SetSimilaritySearch to the rows that it is asked for."""
    if error := peer_env.install_packages(("SetSimilaritySearch",)):
        raise SystemExit(f"SetSimilaritySearch: {error}")
    for name in PEER:
        make, options = TUNED[name]
        with tempfile.TemporaryDirectory() as scratch:
            sets = Path(scratch, "sets.jsonl")
            write_sets(make(folder), options, sets)
            for row in rows:
                if row["data"] == name:
                    row["real"]["SetSimilaritySearch"] = run_peer(sets, row["threshold"], limit)
                    print(name, row["threshold"], row["real"]["SetSimilaritySearch"], file=sys.stderr, flush=True)


def write_sets(data: pa.Array, options: dict[str, str], path: Path) -> None:
    """The same sets as JSON lines."""
    with path.open("w") as file:
        for item in data.to_pylist():
            elements = la.shingles(item, options["shingle"]) if isinstance(item, str) else item
            file.write(json.dumps(sorted(elements)) + "\n")


def run_row(name: str, kind: tuple[Maker, dict[str, str]], threshold: str, folder: Path) -> dict[str, Any]:
    make, options = kind
    data = make(folder)
    given = ["--threshold", threshold, *(part for key, value in options.items() for part in (f"--{key}", value))]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "data.parquet")
        pq.write_table(pa.table({"text": data}), path)
        choice = run_pairs(path, "--explain", *given)
        predicted, chosen = choice["predicted_seconds"], choice["method"]
        methods = [method for method in predicted or [chosen] if method != "brute" or len(data) <= BRUTE_ITEMS]
        real = {method: run_cell(path, method, given) for method in methods}
        best = min(one["seconds"] for one in real.values())
        if name in PEER and threshold in MERGED:
            real["merge"] = run_cell(path, "merge", given)
    over = real[chosen]["seconds"] / best if chosen in real else float("nan")
    return {"data": name, "threshold": threshold, "items": len(data), "chosen": chosen, "auto_over_best": over,
            "predicted": predicted, "real": real}  # fmt: skip


def to_markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| data | threshold | method | predicted s | real s | candidates | pairs | peak MB |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        for method, one in row["real"].items():
            mark = " (auto)" if method == row["chosen"] else ""
            predicted = f"{row['predicted'][method]:.2f}" if method in row["predicted"] else ""
            if "more_than_seconds" in one:
                cells = ["", f"> {one['more_than_seconds']:.0f}", "", "", ""]
            else:
                extra = [f"{one['candidates']:,}" if "candidates" in one else "", f"{one['pairs']:,}"]
                memory = f"{one['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in one else ""
                cells = [predicted, f"{one['seconds']:.2f}", *extra, memory]
            lines.append(f"| {row['data']} | {row['threshold']} | {method}{mark} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(rows: list[dict[str, Any]]) -> str:
    lines = []
    for label, names in (("set on", TUNED), ("confirmed on", CONFIRMING)):
        cells = [row for row in rows if row["data"] in names]
        good = sum(row["auto_over_best"] <= 1.5 for row in cells)
        lines.append(f"constants {label}: auto within 1.5x of the best in {good} of {len(cells)} cells")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOKALIKE_DATA", "data")))
    parser.add_argument("--thresholds", default=",".join(THRESHOLDS))
    parser.add_argument("--only", help="data whose names have this in them")
    parser.add_argument("--peer-seconds", type=float, default=300.0, help="0: without SetSimilaritySearch")
    given = parser.parse_args()
    kinds = {**TUNED, **CONFIRMING}
    rows = []
    chosen = {name: kind for name, kind in kinds.items() if not given.only or given.only in name}
    for name, kind in chosen.items():
        for threshold in given.thresholds.split(","):
            row = run_row(name, kind, threshold, given.data)
            rows.append(row)
            print(f"{name} {threshold}: {row['chosen']} {row['auto_over_best']:.2f}x", file=sys.stderr, flush=True)
            print(to_markdown([row]).split("\n", 2)[2], end="", flush=True)
    if given.peer_seconds:
        ask_peer(rows, given.data, given.peer_seconds)
    print(summary(rows), end="")
    (HERE / "results" / "methods.json").write_text(json.dumps(rows, indent=1) + "\n")
    (HERE / "results" / "methods.md").write_text(to_markdown(rows) + "\n" + summary(rows))


if __name__ == "__main__":
    main()
