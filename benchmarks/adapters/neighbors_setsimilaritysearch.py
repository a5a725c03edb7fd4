"""SetSimilaritySearch: its search index, asked for each set at a threshold, then the k best of the answer.

It has no k: 0.3 is a threshold at which nearly every basket has ten neighbours; those below it are missed.
"""

import json
import sys
import time

from neighbors_scipy import read_sets
from SetSimilaritySearch import SearchIndex

THRESHOLD = 0.3


def main() -> None:
    """Time it; the interface is that of neighbors_scipy."""
    path, k, queries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sets = read_sets(path)
    queries = min(queries, len(sets)) or len(sets)
    started = time.perf_counter()
    index = SearchIndex(sets, similarity_func_name="jaccard", similarity_threshold=THRESHOLD)
    total = 0.0
    for number in range(queries):
        found = [similarity for other, similarity in index.query(sets[number]) if other != number]
        total += sum(sorted(found)[-k:])
    print(json.dumps({"seconds": time.perf_counter() - started, "items": queries, "sum": total}))


if __name__ == "__main__":
    main()
