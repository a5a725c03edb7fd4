"""rensa: R-MinHash sketches in a pool, then its own streaming deduplicator with LSH.

Its default for 256 hashes finds a pair at 0.8 with a chance of about a third. 32 bands (8 rows, chance
0.997) cost it next to nothing, because it checks candidates by estimate.
"""

import pyarrow.parquet as pq
from rensa import RMinHash, RMinHashDeduplicator
from shared import NUM_PERM, read_arguments, report, shingle, sketch_in_pool, write_kept

SEED = 42
BANDS = 32


def sketch(texts: list[str]) -> list[RMinHash | None]:
    """Return the sketch of each text, or None for a text without words."""
    shingles = [shingle(text) for text in texts]
    sketches = RMinHash.from_token_sets(shingles, num_perm=NUM_PERM, seed=SEED)
    return [minhash if parts else None for parts, minhash in zip(shingles, sketches)]


def main() -> None:
    """Keep an item unless the deduplicator finds an earlier kept one that is similar by estimate."""
    arguments = read_arguments()
    table = pq.read_table(arguments.source)
    index = RMinHashDeduplicator(arguments.threshold, NUM_PERM, use_lsh=True, num_bands=BANDS, seed=SEED)
    kept = [
        minhash is None or index.add(str(item), minhash) for item, minhash in enumerate(sketch_in_pool(table, sketch))
    ]
    write_kept(table, kept, arguments.target)
    report(f"num_perm {NUM_PERM}, {BANDS} bands, estimate checked by its deduplicator, process pool")


if __name__ == "__main__":
    main()
