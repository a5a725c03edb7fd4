"""gaoya: its Rust tokenizer and index, filled and queried in bulk on every core."""

import re

import pyarrow.parquet as pq
from files_gaoya import NUM_PERM, keep_first
from shared import read_arguments, report, write_kept


def main() -> None:
    """Keep an item unless the index returns an earlier kept one for it."""
    arguments = read_arguments()
    table = pq.read_table(arguments.source)
    kept, index = keep_first(table["text"].to_pylist(), arguments.threshold)
    write_kept(table, kept, arguments.target)
    bands, rows = re.findall(r"(?:bands|rows_per_band) = (\d+)", str(index))
    report(f"num_perm {NUM_PERM}, {bands} bands x {rows} rows (its choice), estimate checked, Rust threads")


if __name__ == "__main__":
    main()
