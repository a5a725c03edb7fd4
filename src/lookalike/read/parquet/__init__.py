"""Parquet files: their footers, checked before Arrow reads them, and their rows, a slice of a row group at a time."""
