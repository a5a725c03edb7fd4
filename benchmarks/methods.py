"""All methods over thresholds: predicted and real seconds, candidates, memory; and whether `auto` chose well.

Run by `make bench-exact`. `--data` (or LOOKALIKE_DATA) names a folder with baskets/, articles/, transactions/ and
dblp_acm/; source files come from the corpus of peers.py. The planner's constants were set on the data in the first
list; those in the second confirm them. Each method has a process of its own, so that its memory can be told; the better
of two runs counts. SetSimilaritySearch, in its own environment, is given the same sets and up to `--peer-seconds`.
Results go to results/methods.json and results/methods.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import peer_env
from lookalike.engine.method import choose, predict, sample, with_method
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.usage import peak_memory_bytes
from lookalike.features.shingles import sets_of
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.read import open_data
from lookalike.types import Wanted

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


def run_cell(data: pa.Array, settings: Settings) -> dict[str, float]:
    """In a process of its own: the better of two runs, after a short one that loads the compiled kernels."""
    find_similar_pairs([open_data(pa.table({"text": data[:50]}), "text")], settings, Progress())
    base, seconds = peak_memory_bytes(), []
    for _ in range(1 if settings.matching.method == "merge" else 2):
        started = time.perf_counter()
        found = find_similar_pairs([open_data(pa.table({"text": data}), "text")], settings, Progress())
        seconds.append(time.perf_counter() - started)
    return {
        "seconds": min(seconds),
        "pairs": len(found.pairs),
        "candidates": found.counts["candidates"],
        "added_bytes": peak_memory_bytes() - base,
    }


def in_own_process(name: str, threshold: str, method: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--data", folder, "--cell", name, threshold, method]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


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
            peer_sets(make(folder), Settings.parse(**options), sets)
            for row in rows:
                if row["data"] == name:
                    row["real"]["SetSimilaritySearch"] = run_peer(sets, row["threshold"], limit)
                    print(name, row["threshold"], row["real"]["SetSimilaritySearch"], file=sys.stderr, flush=True)


def peer_sets(data: pa.Array, settings: Settings, path: Path) -> None:
    """The same sets as JSON lines."""
    source = open_data(pa.table({"text": data}), "text")
    with path.open("w") as file:
        for block in source.blocks():
            sets = sets_of(block.items(Wanted("text", (), True)).features, settings.items.shingling)
            file.writelines(json.dumps(sets[i].tolist()) + "\n" for i in range(len(sets)))


def run_row(name: str, kind: tuple[Maker, dict[str, str]], threshold: str, folder: Path) -> dict[str, Any]:
    make, options = kind
    data = make(folder)
    settings = Settings.parse(threshold=threshold, **options)
    opened = [open_data(pa.table({"text": data}), "text")]
    sampled = sample(opened, settings)
    predicted = predict(sampled, settings)
    chosen = choose(opened, settings)[0].matching.method
    methods = [method for method in predicted if method != "brute" or len(data) <= BRUTE_ITEMS]
    real = {method: in_own_process(name, threshold, method, folder) for method in methods}
    best = min(one["seconds"] for one in real.values())
    if name in PEER and threshold in MERGED:
        real["merge"] = in_own_process(name, threshold, "merge", folder)
    over = real[chosen]["seconds"] / best if chosen in real else float("nan")
    return {"data": name, "threshold": threshold, "items": len(data), "chosen": chosen, "auto_over_best": over,
            "predicted": predicted, "real": real}  # fmt: skip


def to_markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| data | threshold | method | predicted s | real s | candidates | pairs | memory MB |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        for method, one in row["real"].items():
            mark = " (auto)" if method == row["chosen"] else ""
            predicted = f"{row['predicted'][method]:.2f}" if method in row["predicted"] else ""
            if "more_than_seconds" in one:
                cells = ["", f"> {one['more_than_seconds']:.0f}", "", "", ""]
            else:
                extra = [f"{one['candidates']:,}" if "candidates" in one else "", f"{one['pairs']:,}"]
                memory = f"{one['added_bytes'] / 1e6:.0f}" if "added_bytes" in one else ""
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
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    kinds = {**TUNED, **CONFIRMING}
    if given.cell:
        name, threshold, method = given.cell
        make, options = kinds[name]
        print(
            json.dumps(run_cell(make(given.data), with_method(Settings.parse(threshold=threshold, **options), method)))
        )
        return
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
