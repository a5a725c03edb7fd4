"""gaoya: its Rust tokenizer and index, filled and queried in bulk on every core."""

import re

import pyarrow.parquet as pq
from gaoya.minhash import MinHashStringIndex
from shared import NUM_PERM, SHINGLE_WORDS, read_arguments, report, write_kept


def main() -> None:
    """Keep an item unless the index returns an earlier kept one for it."""
    arguments = read_arguments()
    table = pq.read_table(arguments.source)
    texts = table["text"].to_pylist()
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=arguments.threshold,
        num_bands=None,
        band_size=None,
        num_hashes=NUM_PERM,
        analyzer="word",
        lowercase=True,
        ngram_range=(SHINGLE_WORDS, SHINGLE_WORDS),
        id_container="smallvec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    kept: list[bool] = []
    for item, similar in enumerate(index.par_bulk_query(texts)):
        kept.append(not any(other < item and kept[other] for other in similar))
    write_kept(table, kept, arguments.target)
    bands, rows = re.findall(r"(?:bands|rows_per_band) = (\d+)", str(index))
    report(f"num_perm {NUM_PERM}, {bands} bands x {rows} rows (its choice), estimate checked, Rust threads")


if __name__ == "__main__":
    main()
