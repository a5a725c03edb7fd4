"""The results of a linking run: links with their reasons, clusters, and the run record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.engine.usage import peak_memory_bytes
from lookalike.linkage.alarms import find_alarms
from lookalike.linkage.linked import Linked, first_records
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.tables import RecordTable
from lookalike.read import join_column
from lookalike.read.columns import one_array
from lookalike.report.linkage.facts import CALIBRATED, MODEL_ALONE
from lookalike.types import Int64, strings_to_arrow, to_arrow
from lookalike.types import compute as pc
from lookalike.version import __version__

TABLE_ROWS = 1 << 20


def links_of(found: Linked, left: RecordTable, right: RecordTable | None) -> Iterator[pa.Table]:
    """The links in input order, as one or more tables."""
    places = np.flatnonzero(found.chosen)
    places = places[np.lexsort((found.candidates.right[places], found.candidates.left[places]))]
    ids = joined_ids(left, right)
    for first in range(0, max(1, len(places)), TABLE_ROWS):
        yield _links(found, places[first : first + TABLE_ROWS], ids)


def joined_ids(left: RecordTable, right: RecordTable | None) -> pa.Array:
    """The ids of all records, those of the left table first."""
    if right is None:
        return left.ids
    return one_array(join_column([left.ids, right.ids]))


def _links(found: Linked, places: Int64, ids: pa.Array) -> pa.Table:
    columns: dict[str, pa.Array] = {
        "left": pc.take(ids, to_arrow(found.candidates.left[places])),
        "right": pc.take(ids, to_arrow(found.candidates.right[places])),
        "score": to_arrow(found.score[places]),
    }
    if found.probability is not None:
        columns["probability"] = to_arrow(found.probability[places])
    else:
        columns["probability"] = pa.nulls(len(places), pa.float64())
    _, weights = found.parts_of(places)
    for number, column in enumerate(found.columns):
        level = found.agreements(places, number)
        name = column.name
        while name in columns:  # a field may be named "score"
            name += "_"
        columns[name] = pa.StructArray.from_arrays(
            [level, to_arrow(np.ascontiguousarray(weights[:, number]))], ["agreement", "weight"]
        )
    return pa.table(columns)


def number_records(found: Linked) -> Int64:
    """The cluster of each record, numbered by their first records; -1 for a record without a link."""
    first = first_records(found)
    linked = np.flatnonzero(first >= 0)
    numbers = np.full(len(first), -1, np.int64)
    numbers[linked] = np.unique(first[linked], return_inverse=True)[1]
    return numbers


def clusters_of(numbers: Int64, left: RecordTable, right: RecordTable | None) -> pa.Table:
    """The records that are in a cluster (`numbers` are not negative), by cluster, in input order."""
    members = np.flatnonzero(numbers >= 0)
    cluster = numbers[members]
    order = np.lexsort((members, cluster))
    members, cluster = members[order], cluster[order]
    sizes = np.bincount(cluster)
    right_side = (members >= len(left.ids)).astype(np.int64)
    return pa.table(
        {
            "id": pc.take(joined_ids(left, right), to_arrow(members)),
            "table": pc.take(strings_to_arrow(["left", "right"]), to_arrow(right_side)),
            "cluster": to_arrow(cluster),
            "size": to_arrow(sizes[cluster].astype(np.int64)),
        }
    )


def record_of(found: Linked, clusters: pa.Table, progress: Progress) -> dict[str, Any]:
    """The contents of run.json."""
    validation = found.validation
    scoring = found.scoring
    return {
        "version": __version__,
        "options": found.settings.to_dict(),
        "counts": {
            "left": found.sizes.left,
            "right": found.sizes.right,
            "candidates": len(found.candidates),
            "links": int(found.chosen.sum()),
            "ties": found.ties,
            "refused": found.refused,
            "clusters": len(pc.unique(clusters.column("cluster"))),
        },
        "model": found.choice._asdict(),
        "cut": {"score": found.cut if np.isfinite(found.cut) else None, "why": found.cut_reason},
        "precision": _precision(found),
        "candidate_recall": None if found.recall is None else dict(zip(("estimate", "low", "high"), found.recall)),
        "hashes": [asdict(one) for one in found.candidates.report],
        "prior": found.prior,
        "weights": _weights(found),
        "converged": None if isinstance(scoring, Points) else scoring.converged,
        "iterations": None if isinstance(scoring, Points) else scoring.iterations,
        "validation": None if validation is None else [row._asdict() for row in validation.table()],
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "peak_memory_bytes": peak_memory_bytes(),
        "alarms": find_alarms(found),
        "notes": [*progress.notes, *found.notes],
        **({} if found.figures is None else {"labels": _figures(found)}),
    }


def _figures(found: Linked) -> dict[str, Any]:
    """How well links agree with the labels."""
    figures, calibration = found.figures, found.calibration
    assert figures is not None
    shares = {"precision": figures.precision, "recall": figures.recall, "f1": figures.f1}
    return {
        "pairs": figures.pairs,
        "matches": figures.matches,
        "not_candidates": figures.missed,
        "folds": figures.folds,
        **{name: None if share is None else share._asdict() for name, share in shares.items()},
        "calibration": None if calibration is None else calibration._asdict(),
    }


def _weights(found: Linked) -> list[dict[str, Any]]:
    if isinstance(found.scoring, Points):
        return []
    rows = []
    for row in found.scoring.table():
        facts = {"field": found.columns[row.field].name, "level": found.level_names[row.field][row.level - 1]}
        rows.append({**facts, "matches": row.matches, "others": row.others, "weight": row.weight})
    return rows


def _precision(found: Linked) -> dict[str, Any] | None:
    """The share of valid links, and how it was estimated."""
    if (known := found.precision) is None:
        return None
    facts = dict(zip(("estimate", "low", "high"), known))
    how = CALIBRATED if found.labelled else MODEL_ALONE
    if found.validation is not None:
        how = f"validated by {found.settings.validate}"
    return {**{name: value for name, value in facts.items() if value is not None}, "how": how}
