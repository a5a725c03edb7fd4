"""Generated kinds of records that no real set has: catalogues, registers, mixtures, and tables with repeats."""

from __future__ import annotations

from collections.abc import Iterator

import catalogues
from kinds.tables import Case, Row, numbered
from mixtures import MIXTURES, make_mixture
from repeats import REPEATS, SIZES, make_repeats
from sources import SOURCES

RECORDS, SHARES = 600, (0.6, 0.1)


def converted(name: str, case: catalogues.Case, variant: str) -> Case:
    """A case of another module."""
    left, right = case.left.to_pylist(), None if case.right is None else case.right.to_pylist()
    ids = [row["id"] for row in left], None if right is None else [row["id"] for row in right]
    texts = [None if rows is None else [_as_texts(row) for row in rows] for rows in (left, right)]
    return Case(name, texts[0], texts[1], case.fields, numbered(sorted(case.truth), *ids), variant=variant)


def _as_texts(row: Row) -> Row:
    return {key: "" if value is None else str(value) for key, value in row.items()}


def made_cases() -> Iterator[Case]:
    """All generated kinds."""
    for name, make in catalogues.KINDS.items():
        for share in SHARES:
            yield converted(f"generated {name}", make(RECORDS, share, 1), f"share {share}")
    for name in MIXTURES:
        yield converted(f"mixture {name}", make_mixture(name, RECORDS, 0.4, 1, 2), "share 0.4")
    for number, name in enumerate(REPEATS):
        size = [*SIZES][(2 * number + 3) % len(SIZES)]
        yield converted(f"repeats {name}", make_repeats(name, SIZES[size], RECORDS, 1), size)
    for name, (make, sizes, share) in SOURCES.items():
        scale = RECORDS / max(sizes)
        small = max(60, round(sizes[0] * scale)), max(60, round(sizes[1] * scale))
        yield converted(f"sources {name}", make(small, share, 1), f"share {share}")
