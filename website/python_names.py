"""The reference of the Python functions, made from their docstrings."""

from __future__ import annotations

import lookalike
from lookalike import families

GROUPS = {
    "Jobs": ["dedup", "dedup_again", "pairs", "neighbors", "link", "Field"],
    "Index": ["Index"],
    "Faces and fingerprints": ["faces", "fingerprints"],
    "Sets and sketches": ["shingles", "jaccard", "sketch", "MinHash", "kernel", "transpose", "hamming_lsh"],
    "Plans": ["tune", "Plan"],
    "Results": ["DedupResult", "LinkResult"],
    "Errors": ["LookalikeError", "UsageError", "BadDataError", "ResourceError"],
}


def python_pages() -> dict[str, str]:
    """A page for the package, one for its families of hash functions."""
    names = set(lookalike.__all__) - {"__version__"}
    listed = [name for group in GROUPS.values() for name in group]
    rest = sorted(names - set(listed))
    groups = {**GROUPS, **({"More": rest} if rest else {})}
    sections = [
        f"## {title}\n\n" + "".join(_entry("lookalike", name) for name in group) for title, group in groups.items()
    ]
    start = (
        "# Python\n\n`import lookalike as la`. All options can be given by name only; tables are pyarrow tables.\n\n"
    )
    leaves = "".join(_entry("lookalike.families", name) for name in sorted(families.__all__))
    return {
        "reference/python.md": start + "\n".join(sections),
        "reference/families.md": "# Families in Python\n\n`from lookalike.families import MinHash, And, Or`. "
        "[Families](../families.md) explains what they are for.\n\n" + leaves,
    }


def _entry(module: str, name: str) -> str:
    return f"::: {module}.{name}\n    options:\n      heading_level: 3\n\n"
