"""How much input is processed at a time. Memory and speed depend on it; results do not."""

from __future__ import annotations

from lookalike.types.frozen import frozen


@frozen
class ReadLimits:
    """The sizes of the blocks that sources are cut into, and the size from which a value is treated as long.

    Examples
    --------
    >>> ReadLimits(block_rows=3).block_files
    256
    """

    block_bytes: int = 4 << 20
    """Decompressed text per block: several blocks must fit in little memory, and hide fixed costs."""
    block_files: int = 256
    """Files per block, if each file is an item."""
    block_rows: int = 1 << 15
    """Rows per block of a Parquet file: repeated numbers are stored once, so the footer may understate their size."""
    parquet_bytes: int = 4 << 20
    """Bytes per block of a Parquet file, over all columns, as stated in the footer (decompressed, still encoded), and
    more if texts are repeated."""
    vector_bytes: int = 4 << 20
    """Bytes per block of a file of vectors; what is computed from them is several times as large."""
    few_rows: int = 64
    """Rows that fail to parse are bisected; a run as short as this is parsed row by row."""
    sampled_rows: int = 32
    """Rows of a JSONL block that are sampled to infer the column types."""
    long_value_bytes: int = 1 << 16
    """Values from this size on are taken out of a long row before it is parsed."""
    long_page_bytes: int = 64 << 20
    """A Parquet page of this size holds a long value: writers end a page at about one mebibyte."""
    large_page_bytes: int = 16 << 20
    """A Parquet page of this size matters in a small budget: Arrow ends a page only after 1,024 rows."""


READ_LIMITS = ReadLimits()
"""The defaults."""
