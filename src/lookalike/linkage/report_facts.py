"""The facts that the report of a linking run shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lookalike.kernels.tally import count_levels, tally
from lookalike.linkage.alarms import find_alarms
from lookalike.linkage.linked import Linked
from lookalike.linkage.scoring.labels import describe_figures
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.words.evidence import WHOLE
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.shared_words import list_shared
from lookalike.report.linkage.facts import (
    CALIBRATED,
    MODEL_ALONE,
    Bin,
    EvidenceWeight,
    FieldFact,
    HashFact,
    LevelWeight,
    LinkReport,
    PairExample,
    PairField,
    short_names,
)
from lookalike.types import Float64, Int64, distinct

BINS = 60
"""Bins that the scores are divided into."""
SHOWN = 8
"""Links whose score is explained, and pairs shown on each side of the cut."""
STEP = 1 << 16
"""Pairs examined at a time to find those nearest to the cut."""

_KINDS_OF_EVIDENCE = {
    "trigrams": "trigrams in common",
    "words": "words in common",
    "words of the shorter": "words of the shorter text in common",
    "conflicting numbers": "conflicting numbers",
    "codes": "codes in common",
    "agreement": "agreement, rare values more",
    "both known": "both values known",
}


def facts_of(
    found: Linked,
    names: Sequence[str],
    values: list[pa.ChunkedArray],
    ids: pa.Array,
    clusters: int,
) -> LinkReport:
    """Everything that the report shows. `values` are the fields of all records as given, by field."""
    points = isinstance(found.scoring, Points)
    tables = [(names[0], found.sizes.left)]
    if found.sizes.right is not None:
        tables.append((names[1], found.sizes.right))
    links = np.flatnonzero(found.chosen)
    spread = links[np.argsort(-found.score[links], kind="stable")]
    chosen = spread[distinct(np.linspace(0, len(spread) - 1, SHOWN).astype(np.int64))] if len(spread) else spread
    examples = _examples(found, np.append(chosen, _around(found.score, found.cut)), values, ids)
    precision, figures = found.precision, found.figures
    return LinkReport(
        title=" and ".join(short_names(names)),
        tables=tables,
        fields=[_field(found, number) for number in range(len(found.columns))],
        hashes=[
            HashFact(one.name, one.records, one.blocks, one.largest, one.pairs, one.only, one.note)
            for one in found.candidates.report
        ],
        recall=found.recall,
        weights=_weights(found),
        evidence=_evidence(found),
        converged=None if points else found.scoring.converged,  # type: ignore[union-attr]
        iterations=None if points else found.scoring.iterations,  # type: ignore[union-attr]
        bins=_bins(found),
        cut=found.cut if np.isfinite(found.cut) else None,
        cut_reason=found.cut_reason,
        source_of_precision=_source(found),
        links=len(links),
        clusters=clusters,
        chosen=examples[: len(chosen)],
        around=examples[len(chosen) :],
        notes=tuple(found.notes),
        precision=None if precision is None else (precision[0], precision[1], precision[2]),
        points=points,
        model=found.choice.name,
        model_reason=found.choice.reason,
        labels="" if figures is None else describe_figures(figures),
        alarms=find_alarms(found),
        measured=figures.precision if figures is not None and figures.measures_precision else None,
    )  # fmt: skip


def _source(found: Linked) -> str:
    """What the precision is estimated from."""
    if found.validation is not None:
        return f"validated by '{found.settings.validate}'"
    return CALIBRATED if found.labelled else MODEL_ALONE


def _field(found: Linked, number: int) -> FieldFact:
    column = found.columns[number]
    why = next((one.why for one in found.settings.fields if one.name == column.name), "")
    missing = int(np.count_nonzero(column.codes < 0)) / max(1, len(column.codes))
    return FieldFact(column.name, column.kind, why, missing, len(column.values))


def _weights(found: Linked) -> list[LevelWeight]:
    if isinstance(found.scoring, WordWeights):  # not levels have weights, but words
        return []
    rows = []
    counts = np.zeros((len(found.columns), 1 + max(map(len, found.level_names))), np.int64)
    count_levels(found.levels, counts)
    for number, column in enumerate(found.columns):
        for level, name in enumerate(found.level_names[number], 1):
            facts = found.level_facts(number, level)
            rows.append(LevelWeight(column.name, name, *facts, int(counts[number, level])))
    return rows


def _evidence(found: Linked) -> list[EvidenceWeight]:
    if not isinstance(found.scoring, WordWeights):
        return []
    rows = []
    for feature, weight in zip(found.scoring.features, found.scoring.weights.tolist()):
        what = feature.what.removeprefix(WHOLE)
        where = " anywhere in the records" if what != feature.what else ""
        rows.append(EvidenceWeight(found.columns[feature.field].name, _KINDS_OF_EVIDENCE[what] + where, weight))
    return rows


def _bins(found: Linked) -> list[Bin]:
    """Scores in bins of equal width, with the cut as an edge, and with their precision if known."""
    if not len(found.score):
        return []
    low, high = float(found.score.min()), float(found.score.max())
    edges = np.linspace(low, max(high, low + 1e-9), BINS + 1)
    if low < found.cut < high:
        edges = distinct(np.append(edges, found.cut))
    edges[-1] = np.nextafter(edges[-1], np.inf)
    probability = np.empty(0) if found.probability is None else found.probability
    counts, sums = np.zeros(len(edges) - 1, np.int64), np.zeros(len(edges) - 1)
    tally(found.score, probability, edges, counts, sums)
    bins = []
    for number, (start, end) in enumerate(pairwise(edges.tolist())):
        precision = None
        if found.validation is not None:
            precision = found.fraction_at(start)
        elif found.probability is not None and counts[number]:
            precision = min(1.0, float(sums[number] / counts[number]))
        bins.append(Bin(float(start), float(end), int(counts[number]), precision, None, None))
    return bins


def _around(score: Float64, cut: float, shown: int = SHOWN, step: int = STEP) -> Int64:
    """The pairs nearest to the cut, on both sides, by score, then in input order.

    Examples
    --------
    >>> _around(np.array([2.0, 7.0, 3.0, 5.0]), 4.0).tolist()
    [0, 2, 3, 1]
    """
    near, low, high = np.empty(0, np.int64), -np.inf, np.inf
    for first in range(0, len(score), step):
        some = score[first : first + step]
        near = np.append(near, first + np.flatnonzero((some >= low) & (some <= high)))
        near = near[np.lexsort((near, score[near]))]
        at = int(np.searchsorted(score[near], cut))
        low = score[near[at - shown]] if at >= shown else low
        high = score[near[at + shown - 1]] if at + shown <= len(near) else high
        near = near[max(0, at - shown) : at + shown]
    return near


def _examples(found: Linked, places: Int64, values: list[pa.ChunkedArray], ids: pa.Array) -> list[PairExample]:
    """Some candidate pairs with everything that their scores are made of."""
    made = []
    ends = [(int(found.candidates.left[place]), int(found.candidates.right[place])) for place in places.tolist()]
    shared = {n: list_shared(column, ends) for n, column in enumerate(found.columns) if column.kind == "text"}
    for at, (place, plain, whole) in enumerate(zip(places.tolist(), *found.parts_of(places))):
        left, right = ends[at]
        fields = []
        for number, column in enumerate(found.columns):
            name = found.agreements(np.array([place]), number)[0].as_py()
            pair = values[number][left].as_py(), values[number][right].as_py()
            parts = float(plain[number]), float(whole[number] - plain[number])
            fields.append(
                PairField(column.name, *pair, name, *parts, tuple(shared[number][at]) if number in shared else ())
            )
        probability = None if found.probability is None else float(found.probability[place])
        both = ids[left].as_py(), ids[right].as_py()
        made.append(PairExample(*both, float(found.score[place]), probability, fields, found.prior))
    return made
