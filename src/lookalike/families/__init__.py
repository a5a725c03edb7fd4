"""Locality-sensitive families of hash functions, one per file."""

from lookalike.families.minhash import MinHash

__all__ = ["MinHash"]
