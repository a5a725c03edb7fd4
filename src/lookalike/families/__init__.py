"""Locality-sensitive families of hash functions, one per file."""

from lookalike.families.base import Family, Hashed, Sensitivity
from lookalike.families.minhash import MinHash

__all__ = ["Family", "Hashed", "MinHash", "Sensitivity"]
