"""From a linking run to the facts that its report shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lookalike.jobs.link import Linked
from lookalike.jobs.link_facts import (
    MODEL_ALONE,
    Bin,
    FieldFact,
    HashFact,
    LevelWeight,
    LinkReport,
    PairExample,
    PairField,
)
from lookalike.tuning.points import Points
from lookalike.types import Int64

BINS = 60
"""Stretches that the scores are cut into."""
SHOWN = 8
"""Links whose score is explained, and pairs on each side of the cut."""


def story_of(
    found: Linked,
    names: Sequence[str],
    values: list[pa.ChunkedArray],
    ids: pa.Array,
    clusters: int,
    seconds: dict[str, float],
) -> LinkReport:
    """All that the report shows. `values` are the fields of all records as they were given, by field."""
    points = isinstance(found.scoring, Points)
    tables = [(names[0], found.split)]
    if found.two_tables:
        tables.append((names[1], found.records - found.split))
    examples = _Examples(found, values, ids)
    links = np.flatnonzero(found.chosen)
    spread = links[np.argsort(-found.score[links], kind="stable")]
    chosen = spread[np.unique(np.linspace(0, len(spread) - 1, SHOWN).astype(np.int64))] if len(spread) else spread
    precision = found.precision
    return LinkReport(
        title=" and ".join(names),
        tables=tables,
        fields=[_field(found, number) for number in range(len(found.columns))],
        hashes=[
            HashFact(one.name, one.records, one.blocks, one.largest, one.pairs, one.only, one.note)
            for one in found.blocked.report
        ],
        recall=found.recall,
        weights=_weights(found),
        converged=None if points else found.scoring.converged,  # type: ignore[union-attr]
        iterations=None if points else found.scoring.iterations,  # type: ignore[union-attr]
        bins=_bins(found),
        cut=found.cut if np.isfinite(found.cut) else None,
        cut_reason=found.cut_reason,
        source_of_precision=f"validated by '{found.settings.validate}'" if found.validation else MODEL_ALONE,
        links=len(links),
        clusters=clusters,
        chosen=[examples.of(int(place)) for place in chosen],
        around=[examples.of(int(place)) for place in _around(found)],
        notes=found.notes,
        seconds=seconds,
        precision=None if precision is None else (precision[0], precision[1], precision[2]),
        points=points,
    )


def _field(found: Linked, number: int) -> FieldFact:
    column = found.columns[number]
    why = next((one.why for one in found.settings.fields if one.name == column.name), "")
    missing = int(np.count_nonzero(column.codes < 0)) / max(1, len(column.codes))
    return FieldFact(column.name, column.kind, why, missing, len(column.values))


def _weights(found: Linked) -> list[LevelWeight]:
    rows = []
    for number, column in enumerate(found.columns):
        names = found.level_names[number]
        counts = np.bincount(found.levels[:, number], minlength=len(names) + 1)
        for level, name in enumerate(names, 1):
            facts = found.level_facts(number, level)
            rows.append(LevelWeight(column.name, name, *facts, int(counts[level])))
    return rows


def _bins(found: Linked) -> list[Bin]:
    """Scores in stretches of equal width, of which the cut is an edge; with their precision where it is known."""
    if not len(found.score):
        return []
    low, high = float(found.score.min()), float(found.score.max())
    edges = np.linspace(low, max(high, low + 1e-9), BINS + 1)
    if low < found.cut < high:
        edges = np.unique(np.append(edges, found.cut))
    edges[-1] = np.nextafter(edges[-1], np.inf)
    counts = np.histogram(found.score, edges)[0]
    sums = np.histogram(found.score, edges, weights=found.probability)[0] if found.probability is not None else None
    bins = []
    for number, (start, end) in enumerate(pairwise(edges.tolist())):
        known: tuple[float | None, ...] = (None, None, None)
        if found.validation is not None:
            known = found.fraction_at(start)
        elif sums is not None and counts[number]:
            known = (float(sums[number] / counts[number]), None, None)
        bins.append(Bin(float(start), float(end), int(counts[number]), *known))
    return bins


def _around(found: Linked) -> Int64:
    """Pairs next to the cut, on both sides."""
    order = np.argsort(found.score, kind="stable")
    at = int(np.searchsorted(found.score[order], found.cut))
    return order[max(0, at - SHOWN) : at + SHOWN]


class _Examples:
    """Pairs with all that led to their score."""

    def __init__(self, found: Linked, values: list[pa.ChunkedArray], ids: pa.Array) -> None:
        self._found, self._values, self._ids = found, values, ids

    def of(self, place: int) -> PairExample:
        """One candidate pair."""
        found = self._found
        left, right = int(found.blocked.left[place]), int(found.blocked.right[place])
        [plain], [whole] = found.parts_of(np.array([place]))
        fields = []
        for number, column in enumerate(found.columns):
            name = found.agreements(np.array([place]), number)[0].as_py()
            given = self._values[number]
            pair = given[left].as_py(), given[right].as_py()
            fields.append(
                PairField(column.name, *pair, name, float(plain[number]), float(whole[number] - plain[number]))
            )
        probability = None if found.probability is None else float(found.probability[place])
        names = self._ids[left].as_py(), self._ids[right].as_py()
        return PairExample(*names, float(found.score[place]), probability, fields, found.prior)
