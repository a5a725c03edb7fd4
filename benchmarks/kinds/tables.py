"""A case to link: one or two tables, the fields, and what is true. Knows nothing about where cases come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Row = dict[str, str]


@dataclass(frozen=True)
class Case:
    """Records to link, and their true matches."""

    name: str
    left: list[Row]
    right: list[Row] | None
    """None: one table, whose records are linked with each other."""
    fields: str
    truth: np.ndarray
    """int64[matches, 2]: row numbers, left and right, or two of the one table, the smaller first."""
    known: np.ndarray | None = None
    """The pairs that were labelled, if not all pairs were; others are not judged."""
    complete: bool = True
    """Whether all matches are listed; otherwise precision is measured too low, and what is stated is not judged."""
    variant: str = ""
    """What was done to it; empty for the case itself."""

    def changed(self, variant: str, **changes: object) -> Case:
        """The same case with other tables."""
        return replace(self, variant=variant, **changes)

    @property
    def columns(self) -> list[str]:
        """The columns that are compared; all of them if the record is compared as a whole."""
        names = [field.partition(":")[0] for field in self.fields.split(",")]
        every = [name for name in self.left[0] if name not in ("id", "entity")]
        return every if "record" in names and "record" not in every else names

    def entities(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of the entity of each left and of each right record, as the matches join them."""
        count, rights = len(self.left), 0 if self.right is None else len(self.right)
        offset = count if self.right is not None else 0
        ends = self.truth + np.array([0, offset])
        total = count + rights
        graph = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (total, total))
        labels = connected_components(graph, directed=False)[1]
        return labels[:count], labels[count:]


def pairs_between(left: np.ndarray, right: np.ndarray | None) -> np.ndarray:
    """All pairs of records of one entity, given the entities of records of two tables or of one."""
    other = left if right is None else right
    order = np.argsort(other, kind="stable")
    first, last = (np.searchsorted(other[order], left, side) for side in ("left", "right"))
    counts = last - first
    rows = np.repeat(np.arange(len(left)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    pairs = np.stack([rows, order[places]], 1)
    return pairs[pairs[:, 0] < pairs[:, 1]] if right is None else pairs


def pick(case: Case, variant: str, lefts: Iterable[int], rights: Iterable[int] | None) -> Case:
    """Only some records of each table, and the matches between them."""
    lefts = np.fromiter(lefts, np.int64)
    if case.right is None:
        place = np.full(len(case.left), -1)
        place[lefts] = np.arange(len(lefts))
        places = (place, place)
        right = None
    else:
        assert rights is not None
        rights = np.fromiter(rights, np.int64)
        places = (np.full(len(case.left), -1), np.full(len(case.right), -1))
        places[0][lefts], places[1][rights] = np.arange(len(lefts)), np.arange(len(rights))
        right = [case.right[n] for n in rights]

    def moved(pairs: np.ndarray | None) -> np.ndarray | None:
        if pairs is None:
            return None
        new = np.stack([places[0][pairs[:, 0]], places[1][pairs[:, 1]]], 1)
        new = new[(new >= 0).all(1)]
        return np.sort(new, 1) if right is None else new

    left = [case.left[n] for n in lefts]
    return case.changed(variant, left=left, right=right, truth=moved(case.truth), known=moved(case.known))


def numbered(pairs: Sequence[tuple[str, str]], left: list[str], right: list[str] | None) -> np.ndarray:
    """Pairs of ids as row numbers; pairs of unknown ids are left out."""
    lefts = {id: n for n, id in enumerate(left)}
    rights = lefts if right is None else {id: n for n, id in enumerate(right)}
    rows = [(lefts[a], rights[b]) for a, b in pairs if a in lefts and b in rights and (right is not None or a != b)]
    found = np.array(rows, np.int64).reshape(-1, 2)
    return np.unique(np.sort(found, 1), axis=0) if right is None else np.unique(found, axis=0)


def as_table(rows: list[Row], columns: list[str]) -> pa.Table:
    """Rows as they are linked: texts, and an `id` that is the row number."""
    found = {name: [row.get(name) or None for row in rows] for name in columns}
    return pa.table(
        {"id": pa.array(map(str, range(len(rows))))} | {k: pa.array(v, pa.string()) for k, v in found.items()}
    )
