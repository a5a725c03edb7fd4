"""SetSimilaritySearch: all pairs of sets (a list of them as JSON lines) at a threshold, by Jaccard similarity."""

import json
import sys
import time
from pathlib import Path

from SetSimilaritySearch import all_pairs


def main() -> None:
    """Time the join alone; sets are in memory before it begins."""
    sets = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    started = time.perf_counter()
    found = sum(1 for _ in all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=float(sys.argv[2])))
    print(json.dumps({"seconds": time.perf_counter() - started, "pairs": found}))


if __name__ == "__main__":
    main()
