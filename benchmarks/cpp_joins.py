"""The exact join of short sets next to published algorithms in C++: milliseconds on the same sets, alternating.

AllPairs and PPJoin (`adapters/all_pairs.cpp`) are compiled for this processor and run on one thread; ours runs on one
and on two. All take sets whose elements are already numbered by frequency, prepare their index and list the pairs;
reading and numbering are not included. Baskets and payments are read from LOOKALIKE_DATA, the others are generated:
the fewer sets share an element, the less there is to gain from anything but a plain index.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from lookalike.candidates.exact import join_exact
from lookalike.candidates.numbering import number_elements
from lookalike.types import Numbered, Sets
from tables import draw_table

HERE = Path(__file__).resolve().parent
THRESHOLDS = (Fraction(4, 5), Fraction(9, 10), Fraction(19, 20))
JACCARD = 0
ROUNDS, REPEATS = 5, 5
THREADS = 2
COPIED = 50
"""One set in this many has a near copy."""

Elements = set[tuple[int, ...]]


def known_sets(data: Path) -> Iterator[tuple[str, Elements]]:
    """The sets of integers of baskets, and the words of payments."""
    lines = next((data / "baskets").glob("*.dat")).read_text().splitlines()
    yield "baskets", {tuple(sorted(set(map(int, line.split())))) for line in lines}
    numbers: dict[str, int] = {}
    memos = pq.read_table(data / "transactions" / "transactions_origin.parquet")["memo"].to_pylist()
    words = [{numbers.setdefault(word, len(numbers)) for word in (memo or "").lower().split()} for memo in memos]
    yield "words of payments", {tuple(sorted(some)) for some in words}


def draw_sets(count: int, mean: int, universe: int, skewed: bool) -> Elements:
    """Random sets, a few with a near copy; if `skewed`, elements are drawn with a frequency of 1 over their rank."""
    draw = np.random.default_rng(1)
    found: list[tuple[int, ...]] = []
    for size in 1 + draw.poisson(mean - 1, count):
        some = universe ** draw.random(size) if skewed else draw.integers(0, universe, size)
        found.append(tuple(sorted(set(some.astype(int).tolist()))))
    for number in draw.integers(0, count, count // COPIED):
        copy = list(found[number])
        copy[draw.integers(len(copy))] = int(draw.integers(universe))
        found.append(tuple(sorted(set(copy))))
    return set(found)


def number_sets(elements: Elements) -> Numbered:
    """The sets in the form that the join takes, in random order."""
    rows = sorted(some for some in elements if some)
    random.Random(1).shuffle(rows)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return number_elements(Sets(indptr, np.array([one for row in rows for one in row], np.uint64)))[0]


def time_ours(sets: Numbered, threshold: Fraction, threads: int, pool: ThreadPoolExecutor) -> tuple[list[float], int]:
    """Milliseconds of several joins, and the number of pairs."""
    rule, each = (JACCARD, threshold.numerator, threshold.denominator), map if threads == 1 else pool.map
    took, found = [], 0
    for _ in range(REPEATS):
        started = time.perf_counter()
        found = sum(len(part.left) for part in join_exact(sets, rule, threads=threads, each=each))  # type: ignore[arg-type]
        took.append(1e3 * (time.perf_counter() - started))
    return took, found


def time_theirs(program: Path, file: Path, threshold: Fraction) -> dict[str, tuple[list[float], int]]:
    """The least and the median milliseconds of each algorithm, and the number of pairs."""
    command = [program, file, str(threshold.numerator), str(threshold.denominator), str(REPEATS)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    parts = [line.split() for line in lines]
    return {name: ([float(least), float(median)], int(pairs)) for name, least, median, pairs in parts}


def compare(sets: Numbered, threshold: Fraction, program: Path, file: Path, pool: ThreadPoolExecutor) -> list[str]:
    """A row of the table: milliseconds at best of ours on one thread and on two, of the others, and the ratio."""
    took: dict[str, list[float]] = {}
    pairs = set()
    for _ in range(ROUNDS):
        rows = {f"{threads} threads": time_ours(sets, threshold, threads, pool) for threads in (1, THREADS)}
        for name, (times, found) in (rows | time_theirs(program, file, threshold)).items():
            took.setdefault(name, []).append(min(times))
            pairs.add(found)
    if len(pairs) != 1:
        raise RuntimeError(f"different numbers of pairs at {threshold}: {sorted(pairs)}")
    least = {name: statistics.median(times) for name, times in took.items()}
    ratio = least[f"{THREADS} threads"] / min(least["AllPairs"], least["PPJoin"])
    return [str(float(threshold)), f"{pairs.pop():,}", *(f"{one:.1f}" for one in least.values()), f"{ratio:.2f}"]


def main() -> None:
    """Compile, measure, print."""
    if shutil.which("g++") is None:
        sys.exit("g++ is needed to compile adapters/all_pairs.cpp: install it, for example with `apt-get install g++`")
    data = os.environ.get("LOOKALIKE_DATA")
    drawn: dict[str, Callable[[], Elements]] = {
        "50,000 of 10 in 100,000": lambda: draw_sets(50_000, 10, 100_000, False),
        "50,000 of 10, skewed": lambda: draw_sets(50_000, 10, 100_000, True),
        "100,000 of 5 in a million, skewed": lambda: draw_sets(100_000, 5, 1_000_000, True),
        "20,000 of 10 in 20,000": lambda: draw_sets(20_000, 10, 20_000, False),
    }
    rows = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(THREADS) as pool:
        program, file = Path(scratch) / "all_pairs", Path(scratch) / "sets"
        source = HERE / "adapters" / "all_pairs.cpp"
        subprocess.run(["g++", "-O3", "-march=native", "-o", program, source], check=True)
        for name, elements in [*(known_sets(Path(data)) if data else ()), *((n, make()) for n, make in drawn.items())]:
            sets = number_sets(elements)
            sizes = np.array([len(sets), len(sets.tokens)])
            file.write_bytes(sizes.tobytes() + sets.indptr.tobytes() + sets.tokens.tobytes())
            rows += [[name, *compare(sets, one, program, file, pool)] for one in THRESHOLDS]
    heads = ["sets", "threshold", "pairs", "ours, 1 thread", "2 threads", "AllPairs", "PPJoin", "ratio, 2 threads"]
    print(draw_table(heads, rows))


if __name__ == "__main__":
    main()
