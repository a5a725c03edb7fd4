"""The Python functions: thin entry points to the jobs, for data in memory and for paths.

Each module holds a few of them. None of the modules has the name of a function (docs/decisions/0006).
"""

from lookalike.api.duplicates import dedup, dedup_again
from lookalike.api.linking import link
from lookalike.api.lookups import faces, fingerprints
from lookalike.api.persistent import Index
from lookalike.api.remote import RemoteIndex, connect
from lookalike.api.sets import hamming_lsh, jaccard, sketch, transpose
from lookalike.api.similar import kernel, neighbors, pairs
from lookalike.families.minhash import MinHash
from lookalike.features.plain import shingles
from lookalike.jobs.dedup import DedupResult
from lookalike.linkage.fields.spec import Field
from lookalike.linkage.job import LinkResult
from lookalike.tuning.plan import Plan, tune

__all__ = [
    "DedupResult",
    "Field",
    "Index",
    "LinkResult",
    "MinHash",
    "Plan",
    "RemoteIndex",
    "connect",
    "dedup",
    "dedup_again",
    "faces",
    "fingerprints",
    "hamming_lsh",
    "jaccard",
    "kernel",
    "link",
    "neighbors",
    "pairs",
    "shingles",
    "sketch",
    "transpose",
    "tune",
]
