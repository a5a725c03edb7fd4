"""Locality-sensitive families of hash functions, one per file."""

from lookalike.families.base import Family, Hashed, Sensitivity
from lookalike.families.bits import BitSampling
from lookalike.families.cells import Cells
from lookalike.families.constructions import And, Or, fixed_point, steepest
from lookalike.families.hyperplanes import Hyperplanes
from lookalike.families.lines import Lines
from lookalike.families.minhash import MinHash
from lookalike.families.triples import Triples

__all__ = [
    "And",
    "BitSampling",
    "Cells",
    "Family",
    "Hashed",
    "Hyperplanes",
    "Lines",
    "MinHash",
    "Or",
    "Sensitivity",
    "Triples",
    "fixed_point",
    "steepest",
]
