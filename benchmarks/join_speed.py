"""The exact join against the prototype that it grew from: seconds on the same arrays, in the same run.

The prototype is a Python file with `encode` and `join`, given by the caller. Data are the baskets of LOOKALIKE_DATA and
sets of shingles of source files found on this machine; sets that were not used to choose any cut-off (words and
characters of news articles) are there to confirm.
"""

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from corpus import find_files
from lookalike.candidates.exact import join_exact
from lookalike.engine.workers import Workers
from lookalike.features.shingles import Shingling, shingle_texts
from lookalike.kernels.sets import JACCARD
from lookalike.types import Numbered, Sets, strings_to_arrow

ROOTS = (sys.base_prefix, "/usr/share", "/usr/lib", "/usr/include")
THRESHOLDS = ("0.5", "0.7", "0.8", "0.9")


def number_sets(sets: Sets) -> Numbered:
    """Distinct sets in order of size, elements by ascending frequency and then by where they were first seen."""
    rows = {sets[i].tobytes(): i for i in range(len(sets)) if sets.sizes[i]}
    kept = np.array(sorted(rows.values(), key=lambda i: (sets.sizes[i], i)))
    indptr = np.concatenate([[0], np.cumsum(sets.sizes[kept])]).astype(np.int64)
    elements = np.concatenate([sets[i] for i in kept])
    _, first, inverse, counts = np.unique(elements, return_index=True, return_inverse=True, return_counts=True)
    ranks = np.empty(len(counts), np.uint32)
    ranks[np.lexsort((first, counts))] = np.arange(len(counts), dtype=np.uint32)
    tokens = ranks[inverse]
    owners = np.repeat(np.arange(len(kept)), np.diff(indptr))
    tokens = tokens[np.lexsort((tokens, owners))]
    return Numbered(indptr, tokens, len(counts), int(np.sum(counts == 1)))


def read_baskets(data: Path) -> Sets:
    lines = (data / "baskets" / "T10I4D100K.dat").read_text().splitlines()
    rows = [np.unique(np.array(line.split(), np.uint64)) for line in lines]
    return Sets(np.cumsum([0, *map(len, rows)]).astype(np.int64), np.concatenate(rows))


def read_articles(data: Path) -> list[str]:
    lines = (data / "articles" / "articles_2500.train").read_text(errors="replace").splitlines()
    return [line.partition(" ")[2] for line in lines]


def read_sources(most: int) -> list[str]:
    texts = []
    for path in find_files(ROOTS):
        try:
            texts.append(path.read_text())
        except (OSError, UnicodeDecodeError):
            continue
        if len(texts) == most:
            break
    return texts


def collections(data: Path, files: int, wanted: list[str]) -> Iterator[tuple[str, Numbered]]:
    """Yield each collection that is asked for."""

    def shingled(texts: list[str], spec: str) -> Sets:
        return shingle_texts(strings_to_arrow(texts), Shingling.parse(spec))

    makers: dict[str, Callable[[], Sets]] = {
        "baskets": lambda: read_baskets(data),
        "sources": lambda: shingled(read_sources(files), "word:5"),
        "article-words": lambda: shingled(read_articles(data), "word:1"),
        "article-chars": lambda: shingled(read_articles(data), "char:5"),
        "source-lines": lambda: shingled(
            [line for text in read_sources(files // 20) for line in text.splitlines() if len(line) > 20][:100_000],
            "char:4",
        ),
    }
    for name in wanted:
        yield name, number_sets(makers[name]())


def best_of(repeats: int, runs: dict[str, Callable[[], int]]) -> tuple[dict[str, float], int]:
    """Seconds of the fastest of each, taken in turns so that they share what else the machine does; and the pairs."""
    seconds = dict.fromkeys(runs, float("inf"))
    found = set()
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            found.add(run())
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    [pairs] = found
    return seconds, pairs


def run_prototype(prototype: Any, sets: Numbered, num: int, den: int, threads: int) -> int:
    made = prototype.encode(sets.indptr, sets.tokens, sets.distinct, sets.singles, threads=threads)
    return len(prototype.join(made, num, den, threads=threads)[0])


def run_ours(sets: Numbered, num: int, den: int, threads: int) -> int:
    with Workers(threads) as workers:
        chunks = join_exact(sets, (JACCARD, num, den), threads=threads, each=workers.map)
        return sum(len(chunk) for chunk in chunks)


def compare(prototype: Any, sets: Numbered, threshold: str, repeats: int) -> dict[str, float]:
    num, den = Fraction(threshold).as_integer_ratio()
    runs: dict[str, Callable[[], int]] = {}
    for threads in (1, 2):
        runs[f"prototype_{threads}"] = lambda n=threads: run_prototype(prototype, sets, num, den, n)
        runs[f"ours_{threads}"] = lambda n=threads: run_ours(sets, num, den, n)
    seconds, pairs = best_of(repeats, runs)
    ratios = {f"ratio_{n}": seconds[f"ours_{n}"] / seconds[f"prototype_{n}"] for n in (1, 2)}
    return {"pairs": pairs, **seconds, **ratios, "two_to_one": seconds["ours_2"] / seconds["ours_1"]}


def load_prototype(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("prototype", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def few_sets(sets: Numbered, count: int) -> Numbered:
    """Some of the sets, evenly chosen, numbered anew."""
    chosen = np.linspace(0, len(sets) - 1, min(count, len(sets))).astype(np.int64)
    rows = [sets.tokens[sets.indptr[i] : sets.indptr[i + 1]].astype(np.uint64) for i in chosen]
    return number_sets(Sets(np.cumsum([0, *map(len, rows)]).astype(np.int64), np.concatenate(rows)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prototype", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=os.environ.get("LOOKALIKE_DATA"))
    parser.add_argument("--files", type=int, default=60_000, help="source files at most")
    parser.add_argument("--files-low", type=int, default=20_000, help="source files at thresholds below 0.7")
    parser.add_argument("--collections", default="baskets,sources,article-words,article-chars,source-lines")
    parser.add_argument("--thresholds", default=",".join(THRESHOLDS))
    parser.add_argument("--sets", type=int, help="only so many sets of each collection")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    prototype = load_prototype(options.prototype)
    for name, sets in collections(options.data, options.files, options.collections.split(",")):
        if options.sets:
            sets = few_sets(sets, options.sets)
        for threshold in options.thresholds.split(","):
            used = few_sets(sets, options.files_low) if name == "sources" and float(threshold) < 0.7 else sets
            run_prototype(prototype, few_sets(used, 50), 1, 2, 2)  # compile before the clock runs
            row = compare(prototype, used, threshold, options.repeats)
            shown = {key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in row.items()}
            facts = {"sets": len(used), "elements": len(used.tokens), "threshold": threshold}
            print(json.dumps({"collection": name, **facts, **shown}), flush=True)


if __name__ == "__main__":
    main()
