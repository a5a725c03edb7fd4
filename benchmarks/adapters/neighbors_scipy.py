"""SciPy: a sparse matrix times its transpose in blocks of rows, then the k largest of each row.

Interface of the adapters for neighbours: FILE K QUERIES; prints one JSON object with the seconds for the work after
reading, how many items were asked for, and the sum of the similarities (to compare answers).
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

BLOCK_ROWS = 1000


def read_sets(path: str) -> list[list[int]]:
    """Return the sets of a .dat file."""
    return [sorted({int(number) for number in line.split()}) for line in Path(path).read_text().splitlines()]


def nearest(sets: list[list[int]], k: int, queries: int) -> float:
    """Find the k nearest of the first sets; return the sum of their Jaccard similarities."""
    indptr = np.cumsum([0, *map(len, sets)])
    elements = np.fromiter((element for one in sets for element in one), np.int64, indptr[-1])
    matrix = csr_array((np.ones(len(elements), np.int32), elements, indptr))
    turned, sizes = matrix.T.tocsr(), np.diff(indptr)
    total = 0.0
    for start in range(0, queries, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, queries)
        shared = matrix[start:stop] @ turned
        rows = np.repeat(np.arange(start, stop), np.diff(shared.indptr))
        similarity = shared.data / (sizes[rows] + sizes[shared.indices] - shared.data)
        similarity[rows == shared.indices] = 0
        for first, last in zip(shared.indptr[:-1], shared.indptr[1:]):
            row = similarity[first:last]
            if len(row) > k:
                row = row[np.argpartition(row, len(row) - k)[-k:]]
            total += float(row.sum())
    return total


def main() -> None:
    """Time it."""
    path, k, queries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sets = read_sets(path)
    queries = min(queries, len(sets)) or len(sets)
    started = time.perf_counter()
    total = nearest(sets, k, queries)
    print(json.dumps({"seconds": time.perf_counter() - started, "items": queries, "sum": total}))


if __name__ == "__main__":
    main()
