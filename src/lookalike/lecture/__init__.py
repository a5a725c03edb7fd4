"""Methods of "Mining of Massive Datasets", chapter 3, as runnable examples that no job uses.

permutations
    Minhash signatures by permutations and by universal hashing, every value shown. Section 3.3.
indexes
    Prefix, position and suffix-length indexes for sets of high similarity. Section 3.9.
halving
    Hamming LSH: OR-ing rows of a 0/1 matrix until its columns are dense enough to hash. From the course slides that
    accompany the chapter; a relative of bit sampling for Hamming distance, section 3.7.
"""

from lookalike.lecture.halving import Halving, chance_to_meet, hamming_candidates, pyramid, shuffle_rows
from lookalike.lecture.indexes import buckets_of, buckets_to_probe, last_position, partner_lengths, prefix_length
from lookalike.lecture.permutations import permutation_signatures, universal_signatures
from lookalike.types import Sets

__all__ = [
    "Halving",
    "Sets",
    "buckets_of",
    "buckets_to_probe",
    "chance_to_meet",
    "hamming_candidates",
    "last_position",
    "partner_lengths",
    "permutation_signatures",
    "prefix_length",
    "pyramid",
    "shuffle_rows",
    "universal_signatures",
]
