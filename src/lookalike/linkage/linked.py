"""The outcome of linking tables: candidate pairs, their scores, and which of them are links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.decide.clusters import connect_pairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.notes import Notes
from lookalike.linkage.record_order import OTHER_SIDE, RecordOrder
from lookalike.linkage.scoring.calibration import Calibration
from lookalike.linkage.scoring.choice import ModelChoice
from lookalike.linkage.scoring.labels import LabelFigures
from lookalike.linkage.scoring.model import Model, keep_scoring
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.score import RANDOM_PAIRS, Pairs, frequencies
from lookalike.linkage.scoring.validation import Precision, Validation
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.scoring.words.equal import least_likely
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings
from lookalike.tuning.intervals import wilson_interval
from lookalike.types import Bool, Float64, Int32, Int64, distinct, strings_to_arrow, to_arrow
from lookalike.types import compute as pc


class TableSizes(NamedTuple):
    """The number of records in each table."""

    left: int
    right: int | None
    """None if one table is compared with itself."""

    @property
    def pairs(self) -> int:
        """The number of all pairs.

        Examples
        --------
        >>> TableSizes(4, None).pairs, TableSizes(4, 3).pairs, TableSizes(4, 0).pairs
        (6, 12, 0)
        """
        return self.left * (self.left - 1) // 2 if self.right is None else self.left * self.right

    @property
    def split(self) -> int | None:
        """The number of the first record of the right table; None if there is none."""
        return None if self.right is None else self.left

    @property
    def records(self) -> int:
        """The number of all records."""
        return self.left + (self.right or 0)

    def swap(self) -> TableSizes:
        """The sizes if the right table comes first; those of one table stay."""
        return self if self.right is None else TableSizes(self.right, self.left)

    def draw_pairs(self, seed: int, count: int = RANDOM_PAIRS) -> Pairs:
        """Random pairs of records, between two tables or within one; all of them if there are no more than `count`.

        Examples
        --------
        >>> [side.tolist() for side in TableSizes(3, None).draw_pairs(1)]
        [[0, 0, 1], [1, 2, 2]]
        """
        if self.pairs <= count:
            return self._all_pairs()
        draw = np.random.default_rng(seed)
        # 32 bits like candidates, because a kernel is compiled for each type that it is given.
        if self.right is not None:
            left, right = (draw.integers(0, size, count).astype(np.int32) for size in (self.left, self.right))
            return left, right + np.int32(self.left)
        left, right = draw.integers(0, self.left, (2, count)).astype(np.int32)
        apart = left != right
        return np.minimum(left, right)[apart], np.maximum(left, right)[apart]

    def _all_pairs(self) -> Pairs:
        if self.right is None:
            left, right = np.triu_indices(self.left, 1)
        else:
            left, right = np.indices((self.left, self.right)).reshape(2, -1)
            right += self.left
        return left.astype(np.int32), right.astype(np.int32)


CONTRADICTORY = 0.1
"""The share of contradictory matches between two tables from which levels have failed. People with several records in
each table have 0.003 to 0.04, airports by name and city 0.18."""
CONTRADICTORY_ALONE = 0.5
"""The same in one table. People with up to eight records have 0.02 to 0.2, towns with similar names 0.6 to 0.8."""
CONVINCING = 0.5
"""Levels that contradict each other, but have a field that identifies records, yield to words with this precision."""
OFTEN_CONTRADICTORY = 0.3
"""In one table, a note says so from this share on. It is 0.43 for early childhood sites by all of their columns: 14% of
these links are correct."""


@dataclass(slots=True)
class Linked:
    """The outcome of linking one table or two."""

    settings: LinkSettings
    sizes: TableSizes
    columns: list[Column]
    candidates: CandidatePairs
    """By the numbers of their rows, but in the order in which they were compared, which does not depend on rows."""
    levels: npt.NDArray[np.int8]
    """int8[pairs, fields]."""
    level_names: list[tuple[str, ...]]
    """The names of the levels of each field, from level 1."""
    scoring: Weights | Points | WordWeights
    choice: ModelChoice
    score: Float64
    probability: Float64 | None
    """According to the model; None with points."""
    validation: Validation | None
    validated: Precision | None
    """The precision of the links, according to the validating field."""
    cut: float
    cut_reason: str
    chosen: Bool
    """For each candidate pair, whether it is a link."""
    refused: int
    """Pairs at or above the cut that are not links, because they would join clusters against the majority."""
    contradictions: float
    """The share of the pairs at or above the cut that are refused in this way if a record may have several links.
    Records with a common match are the same entity, so all of their matches should be the same. They are not if levels
    take records for matches that only resemble each other."""
    recall: tuple[float, float, float] | None
    """The share of all matches that are candidates, estimated from two groups of hashes, with its interval."""
    notes: Notes
    exchanged: tuple[tuple[int, int], ...] = ()
    """Fields whose values may be exchanged."""
    assignment: str = "auto"
    """How links were assigned: as asked for, or as the tables suggested."""
    calibration: Calibration | None = None
    labelled: int = 0
    """The number of labelled pairs that probabilities were calibrated on."""
    figures: LabelFigures | None = None
    """How well links agree with labels."""
    searched: str = "levels"
    """How candidates were searched (`Model.searched`)."""
    divided: bool = False
    """Whether the only field was divided into parts of its words."""
    order: RecordOrder | None = None
    """The numbers by which records were compared and scored; None if they are those of this object."""
    ties: int = 0
    """Links that the order of the rows decides, since other records are equal to theirs in all fields."""

    def model(self) -> Model:
        """The model that this run has learned, for a later one."""
        columns = self.columns
        return Model(
            tuple(column.name for column in columns), tuple(column.kind for column in columns),
            tuple(self.level_names), self.exchanged, keep_scoring(self.scoring, columns),
            self.cut, self.cut_reason, self.assignment, self.calibration, self.searched,
            self.divided,
        )  # fmt: skip

    def parts_of(self, places: Int64) -> tuple[Float64, Float64]:
        """What each field adds to the score of some candidate pairs, without and with the frequency of its value."""
        levels = self.levels[places]
        if isinstance(self.scoring, WordWeights):
            parts = self.scoring.parts_of(*self._scored_ends(places), levels)
            return parts, parts
        plain: Float64 = self.scoring.by_field(levels)
        if isinstance(self.scoring, Points):
            return plain, plain
        often = frequencies(self.columns, self.scoring, self.candidates.left[places])
        return plain, np.asarray(plain + self.scoring.adjust_by_frequency(levels, often))

    def _scored_ends(self, places: Int64) -> Pairs:
        """The records of some candidate pairs, by the numbers with which they were scored."""
        ends = self.candidates.left[places], self.candidates.right[places]
        return ends if self.order is None else order_ends(self.order.numbers, *ends)

    def agreements(self, places: Int64, field: int) -> pa.Array:
        """The name of the level of agreement of some candidate pairs in a field."""
        levels, codes = self.levels[places, field].astype(np.int64), self.columns[field].codes
        known = (codes[self.candidates.left[places]] >= 0) & (codes[self.candidates.right[places]] >= 0)
        # No level although both values are known: swapped with another field, whose level covers both.
        levels[known & (levels == 0)] = len(self.level_names[field]) + 1
        return pc.take(strings_to_arrow(["missing", *self.level_names[field], "exchanged"]), to_arrow(levels))

    def level_facts(self, field: int, level: int) -> tuple[float | None, float | None, float]:
        """How often a level occurs among matches and among non-matches, and its weight."""
        if isinstance(self.scoring, Points):
            return None, None, float(self.scoring.earned[field][level])
        row = next(one for one in self.scoring.table() if (one.field, one.level) == (field, level))
        return row.matches, row.others, row.weight

    def fraction_at(self, score: float) -> float | None:
        """The share of valid pairs at a score, according to the validating field; None if unknown."""
        assert self.validation is not None
        number = max(0, int(np.searchsorted(self.validation.cuts, score, side="right")) - 1)
        fraction = float(self.validation.fractions[number])
        return fraction if np.isfinite(fraction) else None

    @property
    def prior(self) -> float:
        """The score of a pair before any field is compared, in bits."""
        return 0.0 if isinstance(self.scoring, Points) else self.scoring.prior_bits

    @property
    def is_contradictory(self) -> bool:
        """Whether so many matches contradict each other that levels have failed to separate them from others."""
        most = CONTRADICTORY_ALONE if self.sizes.right is None else CONTRADICTORY
        return isinstance(self.scoring, Weights) and self.contradictions >= most

    @property
    def is_often_contradictory(self) -> bool:
        """Whether so many matches contradict each other that the precision is probably overestimated."""
        return isinstance(self.scoring, Weights) and self.contradictions >= OFTEN_CONTRADICTORY

    @property
    def is_convincing(self) -> bool:
        """Whether words link some records, and most of the links are correct by their own estimate."""
        return isinstance(self.scoring, WordWeights) and self.precision is not None and self.precision[0] >= CONVINCING

    @property
    def precision(self) -> tuple[float, float | None, float | None] | None:
        """The share of valid links, with its interval if a validating field or two tables give one; None if unknown."""
        if not self.chosen.any():
            return None
        if self.validated is not None:
            return self.validated.precision, self.validated.low, self.validated.high
        if self.probability is None:
            return None
        mean, bounds = float(self.probability[self.chosen].mean()), None
        if isinstance(self.scoring, WordWeights) and self.calibration is None:
            ends = self._scored_ends(np.flatnonzero(self.chosen))
            least = least_likely(self.scoring.evidence.columns, *ends, self.scoring.equal)
            bounds = self.scoring.bounds(self.score[self.chosen], least)
        return (mean, None, None) if bounds is None else (mean, *_widen(mean, bounds, int(self.chosen.sum())))


def _widen(mean: float, bounds: tuple[float, float], links: int) -> tuple[float, float]:
    """Widen the bounds of a share by the sampling error for this number of links.

    Examples
    --------
    >>> [round(one, 2) for one in _widen(0.9, (0.8, 0.95), 100)]
    [0.71, 0.98]
    """
    low, high = min(mean, *bounds), max(mean, *bounds)
    return wilson_interval(low * links, links)[0], wilson_interval(high * links, links)[1]


def first_records(found: Linked) -> Int64:
    """The first record of each record's cluster; -1 for a record without a link."""
    places = np.flatnonzero(found.chosen)
    ends = found.candidates.left[places], found.candidates.right[places]
    first = connect_pairs(*ends, found.sizes.records)
    members, clusters = distinct(np.concatenate(ends)), np.full(found.sizes.records, -1, np.int64)
    clusters[members] = first[members]
    return clusters


def order_ends(numbers: Int32, left: Int32, right: Int32) -> Pairs:
    """Pairs of records by other numbers, the smaller one first.

    Examples
    --------
    >>> [side.tolist() for side in order_ends(np.array([7, 5, 6]), np.array([0, 1]), np.array([1, 2]))]
    [[5, 5], [7, 6]]
    """
    one, other = numbers[left], numbers[right]
    return np.minimum(one, other), np.maximum(one, other)


def restore_rows(found: Linked, order: RecordOrder) -> Linked:
    """The outcome by the numbers of rows, with the tables as they were given. Candidates keep their order."""
    pairs, settings, scoring = found.candidates, found.settings, found.scoring
    left, right = order_ends(order.rows, pairs.left, pairs.right)
    if isinstance(scoring, WordWeights):
        scoring = replace(scoring, single=order.side(scoring.single))
    return replace(
        found,
        settings=replace(settings, one_to_one=order.side(settings.one_to_one)),
        sizes=found.sizes.swap() if order.swapped else found.sizes,
        columns=[order.restore(column) for column in found.columns],
        candidates=replace(pairs, left=left, right=right),
        scoring=scoring,
        assignment=order.side(found.assignment),
        order=order,
        ties=order.count_ties(pairs.left[found.chosen], pairs.right[found.chosen]),
    )


def note_several(found: Linked, order: RecordOrder) -> None:
    """Say so if one of two tables was seen to have several records of an entity."""
    scoring = found.scoring
    if not isinstance(scoring, WordWeights) or scoring.notes or found.settings.one_to_one != "auto":
        return
    if scoring.single in OTHER_SIDE:
        found.notes.add(
            f"the {order.side(scoring.single)} table seems to have several records of an entity: each of its records "
            "is linked with its best partner, which may have others (--one-to-one optimal links each record once)"
        )
