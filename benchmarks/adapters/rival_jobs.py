"""One job of rivals.py, done a few times in this process; prints the seconds of the fastest and what it found.

Called as JOB FILE REPEAT by the Python of the project, or of the peer that the job needs.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COSINE, BITS, JACCARD = 0.95, 10, 0.9
THREADS = 2
BLOCK = 2048


def nearest_faiss(rows: np.ndarray, metric: str) -> int:
    """The 10 nearest others of each vector, by comparing all."""
    import faiss

    faiss.omp_set_num_threads(THREADS)
    index = (faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2)(rows.shape[1])
    if metric == "cosine":
        rows = rows.copy()
        faiss.normalize_L2(rows)
    index.add(rows)
    return int((index.search(rows, 11)[1] >= 0).sum()) - len(rows)


def nearest_ours(rows: np.ndarray, metric: str) -> int:
    """The same, with exact values."""
    import lookalike as la

    return la.neighbors(rows, 10, measure=metric, threads=THREADS).num_rows


def pairs_numpy(rows: np.ndarray) -> int:
    """Pairs above the threshold in products of blocks, in 32 bits."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = 0
    for first in range(0, len(unit), BLOCK):
        left, right = np.nonzero(unit[first : first + BLOCK] @ unit[first:].T >= COSINE)
        found += int(np.count_nonzero(left < right))
    return found


def pairs_ours(rows: np.ndarray, **options: object) -> int:
    """The same by the method that the planner takes; of bit strings by the one named."""
    import lookalike as la

    wanted = {"measure": "cosine", "threshold": COSINE, "threads": THREADS, **options}
    return la.pairs(rows, **wanted).num_rows


def sets_search(sets: list[list[int]]) -> int:
    """Pairs of sets above the threshold, all of them."""
    from SetSimilaritySearch import all_pairs

    return sum(1 for _ in all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=JACCARD))


def sets_ours(sets: list[list[int]]) -> int:
    """The same."""
    import lookalike as la

    return la.pairs(sets, threshold=JACCARD, method="exact", threads=THREADS).num_rows


def write_table(table: Any) -> int:
    """Write the pairs of the job before, as a program would that had them in memory."""
    import tempfile

    import pyarrow.parquet as pq

    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pq.write_table(table, file.name, compression="zstd")
    return int(table.num_rows)


def read(path: str) -> Any:
    """An array, a table, or sets of integers, by the name of the file."""
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.read_table(path)
    return [list(map(int, line.split())) for line in Path(path).read_text("ascii").splitlines()]


JOBS: dict[str, Callable[[Any], int]] = {
    "sets-search": sets_search,
    "sets": sets_ours,
    "table-written": write_table,
    "nearest-cosine-faiss": lambda rows: nearest_faiss(rows, "cosine"),
    "nearest-cosine": lambda rows: nearest_ours(rows, "cosine"),
    "nearest-euclidean-faiss": lambda rows: nearest_faiss(rows, "euclidean"),
    "nearest-euclidean": lambda rows: nearest_ours(rows, "euclidean"),
    "pairs-numpy": pairs_numpy,
    "pairs": pairs_ours,
    "bits-lsh": lambda rows: pairs_ours(rows, measure="hamming", threshold=BITS, method="lsh", recall=0.999),
    "bits": lambda rows: pairs_ours(rows, measure="hamming", threshold=BITS, recall=1),
}


def main() -> None:
    """Run the job that is named."""
    job, path, repeat = sys.argv[1:4]
    rows = read(path)
    seconds, processor = [], []
    for _ in range(int(repeat)):
        started = time.perf_counter(), time.process_time()
        found = JOBS[job](rows)
        seconds.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
    print(json.dumps({"seconds": min(seconds), "cpu_seconds": min(processor), "found": found}))


if __name__ == "__main__":
    main()
