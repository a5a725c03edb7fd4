"""datasketch: MinHash sketches in a pool, MinHashLSH with its own bands, candidates checked by estimate.

Its documentation advises a faster hash function than the default SHA-1, lean sketches for storage, and filtering what a
query returns with `MinHash.jaccard`.
"""

import numpy as np
import pyarrow.parquet as pq
import xxhash
from datasketch import LeanMinHash, MinHash, MinHashLSH
from shared import NUM_PERM, read_arguments, report, shingle, sketch_in_pool, write_kept

Sketch = tuple[int, str, np.ndarray] | None


def sketch(texts: list[str]) -> list[Sketch]:
    """Return seed, scheme and hash values of each text, or None for a text without words."""
    shingles = [[part.encode() for part in shingle(text)] for text in texts]
    sketches = MinHash.generator(shingles, num_perm=NUM_PERM, hashfunc=xxhash.xxh32_intdigest)
    return [(m.seed, m.scheme, m.hashvalues) if parts else None for parts, m in zip(shingles, sketches)]


def main() -> None:
    """Keep an item unless an earlier kept one is estimated to be similar."""
    arguments = read_arguments()
    table = pq.read_table(arguments.source)
    index = MinHashLSH(threshold=arguments.threshold, num_perm=NUM_PERM)
    stored: dict[int, LeanMinHash] = {}
    kept = []
    for item, parts in enumerate(sketch_in_pool(table, sketch)):
        if parts is None:
            kept.append(True)
            continue
        seed, scheme, values = parts
        lean = LeanMinHash(seed=seed, scheme=scheme, hashvalues=values)
        found = any(lean.jaccard(stored[key]) >= arguments.threshold for key in index.query(lean))
        kept.append(not found)
        if not found:
            index.insert(item, lean)
            stored[item] = lean
    write_kept(table, kept, arguments.target)
    bands = f"{index.b} bands x {index.r} rows (its choice)"
    report(f"num_perm {NUM_PERM}, {bands}, xxh32, estimate checked, process pool")


if __name__ == "__main__":
    main()
