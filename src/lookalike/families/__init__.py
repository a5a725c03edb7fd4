"""Locality-sensitive families of hash functions, one per file."""

from lookalike.families.base import Family, Hashed, Sensitivity
from lookalike.families.cells import Cells
from lookalike.families.minhash import MinHash
from lookalike.families.triples import Triples

__all__ = ["Cells", "Family", "Hashed", "MinHash", "Sensitivity", "Triples"]
