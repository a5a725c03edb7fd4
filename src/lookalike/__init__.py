"""Find similar items: near-duplicate documents and similar sets, verified and fast.

>>> import lookalike as la
>>> la.pairs(["the cat sat on the mat", "the cat sat on a mat"], shingle="char:3", threshold=0.5).num_rows
1

The names below are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from lookalike.version import __version__

TYPE_CHECKING = False  # as that of typing, whose import takes longer than the rest of this module
if TYPE_CHECKING:
    from typing import Any

    from lookalike.api import (
        DedupResult,
        Field,
        Index,
        LinkResult,
        MinHash,
        Plan,
        RemoteIndex,
        connect,
        dedup,
        dedup_again,
        faces,
        fingerprints,
        hamming_lsh,
        jaccard,
        kernel,
        link,
        neighbors,
        pairs,
        shingles,
        sketch,
        transpose,
        tune,
    )
    from lookalike.errors import BadDataError, LookalikeError, ResourceError, UsageError

__all__ = [
    "BadDataError",
    "DedupResult",
    "Field",
    "Index",
    "LinkResult",
    "LookalikeError",
    "MinHash",
    "Plan",
    "RemoteIndex",
    "ResourceError",
    "UsageError",
    "__version__",
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


def __getattr__(name: str) -> Any:
    if name in __all__:
        import importlib

        home = "lookalike.errors" if name.endswith("Error") else "lookalike.api"
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'lookalike' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
