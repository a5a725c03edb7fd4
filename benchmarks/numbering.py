"""How long it takes to number the elements of sets by frequency, step by step, beside np.unique on a part.

The sets are the five-word shingles of source files found on this machine, identical ones taken once.
"""

import argparse
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from corpus import read_texts
from lookalike.candidates import numbering
from lookalike.candidates.buckets import group_prints
from lookalike.engine.workers import Workers
from lookalike.features.shingles import Shingling, shingle_texts
from lookalike.kernels import numbering as kernels
from lookalike.kernels.sets import fingerprint_sets
from lookalike.types import Sets

STEPS = (
    "count_partitions",
    "spread_elements",
    "number_partitions",
    "count_classes",
    "assign_numbers",
    "replace_ids",
    "collect_tokens",
)


def make_sets(items: int) -> Sets:
    """The shingle sets of up to `items` files; no empty set, no set twice."""
    _, texts = read_texts(items)
    sets = shingle_texts(pa.array(texts, pa.large_string()), Shingling("word", 5))
    first = group_prints(*fingerprint_sets(sets.indptr, sets.elements))
    rows = np.flatnonzero((first == np.arange(len(sets))) & (sets.sizes > 0))
    indptr = np.concatenate([[0], np.cumsum(sets.sizes[rows])])
    return Sets(indptr, np.concatenate([sets[row] for row in rows.tolist()]))


def watch_steps(seconds: Counter[str]) -> None:
    """Let every kernel add the seconds it takes to `seconds`, summed over threads."""
    lock = threading.Lock()

    def watched(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            start = time.perf_counter()
            made = kernel(*given)
            with lock:
                seconds[name] += time.perf_counter() - start
            return made

        return run

    for name in STEPS:
        setattr(kernels, name, watched(name, getattr(kernels, name)))


def measure(sets: Sets, threads: int, repeat: int, seconds: Counter[str]) -> None:
    """Print the fastest of `repeat` runs and the share of each step in it."""
    best, steps = float("inf"), Counter[str]()
    with Workers(threads) as workers:
        for _ in range(repeat):
            seconds.clear()
            start = time.perf_counter()
            numbering.number_elements(sets, threads=threads, each=workers.map)
            if time.perf_counter() - start < best:
                best, steps = time.perf_counter() - start, Counter(seconds)
    each = 1e9 / len(sets.elements)
    print(f"{threads} thread(s): {best:.3f} s, {best * each:.1f} ns an element; thread seconds by step:")
    for name in STEPS:
        print(f"  {name:20} {steps[name]:7.3f} s {steps[name] * each:6.2f} ns {steps[name] / steps.total():5.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=60_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    sets = make_sets(options.items)
    numbered, _ = numbering.number_elements(sets)
    print(f"{len(sets):,} sets, {len(sets.elements):,} elements, {numbered.distinct:,} different, ", end="")
    print(f"{numbered.singles:,} of them in one set only")
    seconds = Counter[str]()
    watch_steps(seconds)
    for threads in options.threads:
        measure(sets, threads, options.repeat, seconds)
    part = sets.elements[: len(sets.elements) // 8]
    start = time.perf_counter()
    np.unique(part, return_inverse=True, return_counts=True)
    taken = time.perf_counter() - start
    print(f"np.unique, an eighth of the elements: {taken:.3f} s, {taken / len(part) * 1e9:.1f} ns an element")


if __name__ == "__main__":
    main()
