"""All methods over thresholds: predicted and real seconds, candidates, memory; and whether `auto` chose well.

Run by `make bench-exact`. Data: `--data` (or LOOKALIKE_DATA) names a folder with baskets/ and articles/; source files
come from the corpus of peers.py. SetSimilaritySearch runs beside it where it needs less than `--peer-seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from lookalike.jobs.choice import choose, predict, sample, with_method
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.jobs.progress import Progress
from lookalike.jobs.run import peak_memory_bytes
from lookalike.jobs.settings import Settings
from lookalike.read import open_data, open_inputs

HERE = Path(__file__).parent
THRESHOLDS = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95")
BRUTE_ITEMS = 12_000
"""Brute force is not tried on more."""


def data_sets(folder: Path):
    """Name, a function that opens it, and the options that it is compared with."""
    baskets = next((folder / "baskets").glob("*.dat*"))
    yield "baskets", lambda: open_inputs([baskets]), {}
    articles = next((folder / "articles").glob("*10000.train"), None) or next((folder / "articles").glob("*.train"))
    texts = [line.split(" ", 1)[1] for line in articles.read_text().splitlines()]
    yield "articles, words", lambda: [open_data(texts, "text")], {"shingle": "word:1"}
    yield "articles, word:5", lambda: [open_data(texts, "text")], {}
    for corpus in sorted(HERE.glob(".data/corpus-*/corpus.parquet"), key=lambda path: path.stat().st_size)[-1:]:
        table = pq.read_table(corpus)
        yield "source files", partial(lambda rows: [open_data(rows, "text")], table), {}


def run_cell(opened, settings: Settings, method: str) -> dict[str, float]:
    started = time.perf_counter()
    found = find_similar_pairs(opened(), with_method(settings, method), Progress())
    return {
        "seconds": time.perf_counter() - started,
        "pairs": len(found.pairs),
        "candidates": found.counts["candidates"],
        "peak_bytes": peak_memory_bytes(),
    }


def run_row(name: str, opened, options: dict[str, str], threshold: str) -> dict[str, object]:
    settings = Settings.parse(method="auto", threshold=threshold, **options)
    predicted = predict(sample(opened(), settings), settings)
    _, choice = choose(opened(), settings)
    assert choice is not None
    items = sum(source.about_rows()[0] for source in opened())
    methods = [method for method in predicted if method != "brute" or items <= BRUTE_ITEMS]
    real = {method: min((run_cell(opened, settings, method) for _ in range(2)), key=lambda one: one["seconds"])
            for method in methods}  # fmt: skip
    best = min(one["seconds"] for one in real.values())
    chosen = real[choice.method]["seconds"] if choice.method in real else float("nan")
    return {"data": name, "threshold": threshold, "items": items, "chosen": choice.method,
            "auto_over_best": chosen / best, "predicted": predicted, "real": real}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LOOKALIKE_DATA", "data")))
    parser.add_argument("--thresholds", default=",".join(THRESHOLDS))
    parser.add_argument("--only")
    given = parser.parse_args()
    rows = []
    for name, opened, options in data_sets(given.data):
        if given.only and given.only not in name:
            continue
        for threshold in given.thresholds.split(","):
            row = run_row(name, opened, options, threshold)
            rows.append(row)
            cells = "  ".join(f"{method} {row['predicted'][method]:.2f}->{one['seconds']:.2f} s ({one['pairs']:,})"
                              for method, one in row["real"].items())  # fmt: skip
            print(f"{name:<18} {threshold:<5} {row['chosen']:<6} {row['auto_over_best']:.2f}x  {cells}", flush=True)
    good = sum(row["auto_over_best"] <= 1.5 for row in rows)
    print(f"auto within 1.5x of the best in {good} of {len(rows)} cells", file=sys.stderr)
    (HERE / "results" / "methods.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
