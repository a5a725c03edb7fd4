"""Locality-sensitive families of hash functions, one per file."""

from lookalike.families.base import Family, Hashed, Sensitivity
from lookalike.families.bits import BitSampling
from lookalike.families.hyperplanes import Hyperplanes
from lookalike.families.lines import Lines
from lookalike.families.minhash import MinHash

__all__ = ["BitSampling", "Family", "Hashed", "Hyperplanes", "Lines", "MinHash", "Sensitivity"]
