"""Which records are the same entity: candidates by many hashes, a score without labels, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.engine.stores.work import WorkFolder
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError, UsageError
from lookalike.kernels.blocking import unpack_words
from lookalike.linkage.blocking.find import Blocked, find_pairs
from lookalike.linkage.compare.levels import measure_records
from lookalike.linkage.decide.clusters import cluster_by_majority
from lookalike.linkage.decide.one_to_one import one_to_one
from lookalike.linkage.fields.fields import Field, FieldReader, choose_kinds, columns_of, has_values
from lookalike.linkage.memory import check_columns
from lookalike.linkage.resume import LinkPieces
from lookalike.linkage.scoring.capture import estimate_recall
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.score import compare_pairs, frequencies, score_pairs
from lookalike.linkage.scoring.validation import Precision, Validation, validate
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.settings import LinkSettings, both_names
from lookalike.types import Bool, Column, Float64, Int32, Int64, strings_to_arrow, to_arrow

RANDOM_PAIRS = 1_000_000
"""Random pairs that tell how often two records agree by chance."""
SURE = 0.999
"""Pairs that are matches with a higher probability than this tell how much matches differ in the validating field."""
MOSTLY_ONE = 0.8
"""Where so many of the linked records of both tables have one partner only, each table seems to hold an entity once."""


class Sides(NamedTuple):
    """How many records the tables have."""

    left: int
    right: int | None
    """None where one table is compared with itself."""

    @property
    def pairs(self) -> int:
        """How many pairs there are in all.

        Examples
        --------
        >>> Sides(4, None).pairs, Sides(4, 3).pairs, Sides(4, 0).pairs
        (6, 12, 0)
        """
        return self.left * (self.left - 1) // 2 if self.right is None else self.left * self.right

    def draw_pairs(self, seed: int) -> tuple[Int32, Int32]:
        """Pairs of records drawn at random: of the two tables, or of one; none where there are none."""
        draw, count = np.random.default_rng(seed), RANDOM_PAIRS if self.pairs else 0
        # In 32 bits as candidates are: a kernel is compiled for each type that it is given.
        if self.right is not None:
            left, right = (draw.integers(0, max(size, 1), count).astype(np.int32) for size in (self.left, self.right))
            return left, right + np.int32(self.left)
        left, right = draw.integers(0, max(self.left, 1), (2, count)).astype(np.int32)
        apart = left != right
        return np.minimum(left, right)[apart], np.maximum(left, right)[apart]


@dataclass(slots=True)
class Linked:
    """Everything that a run found out."""

    settings: LinkSettings
    sides: Sides
    columns: list[Column]
    blocked: Blocked
    levels: npt.NDArray[np.int8]
    """pairs x fields."""
    level_names: list[tuple[str, ...]]
    """Of each field, from level 1."""
    scoring: Weights | Points
    score: Float64
    probability: Float64 | None
    """The model's own; None by points."""
    validation: Validation | None
    validated: Precision | None
    """Of the links, by the validating field."""
    cut: float
    cut_reason: str
    chosen: Bool
    """By candidate pair: is it a link?"""
    recall: tuple[float, float, float] | None
    """Of the candidates, among matches, as estimated by two groups of hashes, with its interval."""
    notes: list[str] = field(default_factory=list)
    refused: int = 0
    """Pairs from the cut on that are no links, since they would join clusters most of whose pairs are no matches."""

    def parts_of(self, places: Int64) -> tuple[Float64, Float64]:
        """What each field adds to the score of some candidate pairs, without and with the frequency of its value."""
        levels = self.levels[places]
        plain: Float64 = self.scoring.by_field(levels)
        if isinstance(self.scoring, Points):
            return plain, plain
        often = frequencies(self.columns, self.scoring, self.blocked.left[places])
        return plain, np.asarray(plain + self.scoring.adjust_by_frequency(levels, often))

    def agreements(self, places: Int64, field: int) -> pa.Array:
        """How well the records of some candidate pairs agree in a field, in words."""
        levels, codes = self.levels[places, field].astype(np.int64), self.columns[field].codes
        valued = (codes[self.blocked.left[places]] >= 0) & (codes[self.blocked.right[places]] >= 0)
        # Of names that changed places with another field, which says so and counts for both.
        levels[valued & (levels == 0)] = len(self.level_names[field]) + 1
        return strings_to_arrow(["missing", *self.level_names[field], "exchanged"]).take(to_arrow(levels))

    def level_facts(self, field: int, level: int) -> tuple[float | None, float | None, float]:
        """How often a level occurs among matches and others, and what it weighs."""
        if isinstance(self.scoring, Points):
            return None, None, float(self.scoring.earned[field][level])
        row = next(one for one in self.scoring.table() if (one.field, one.level) == (field, level))
        return row.matches, row.others, row.weight

    def fraction_at(self, score: float) -> tuple[float | None, float | None, float | None]:
        """The valid fraction of pairs of a score, by the field that validates; and no interval."""
        assert self.validation is not None
        number = max(0, int(np.searchsorted(self.validation.cuts, score, side="right")) - 1)
        fraction = float(self.validation.fractions[number])
        return (fraction if np.isfinite(fraction) else None), None, None

    @property
    def prior(self) -> float:
        """What the score of a pair starts from, in bits."""
        return self.scoring.prior_bits if isinstance(self.scoring, Weights) else 0.0

    @property
    def precision(self) -> tuple[float, float | None, float | None] | None:
        """The share of valid links, with its interval where a field validates it; None where nothing tells."""
        if not self.chosen.any():
            return None
        if self.validated is not None:
            return self.validated.precision, self.validated.low, self.validated.high
        return None if self.probability is None else (float(self.probability[self.chosen].mean()), None, None)

    @property
    def split(self) -> int:
        """How many records the left table has; those of the right one follow."""
        return self.sides.left

    @property
    def records(self) -> int:
        """How many records there are in all."""
        return self.sides.left + (self.sides.right or 0)

    @property
    def two_tables(self) -> bool:
        """Was one table linked with another?"""
        return self.sides.right is not None


def link_tables(
    left: pa.Table,
    right: pa.Table | None,
    settings: LinkSettings,
    progress: Progress,
    work: WorkFolder | None = None,
) -> Linked:
    """The recipe: fields, candidates, agreement of each pair, weights, validation, decision.

    `work` keeps what takes long, in case the run is killed.
    """
    pieces = LinkPieces(work)
    if settings.one_to_one in ("optimal", "greedy") and right is None:
        raise UsageError("--one-to-one is for two tables; one table has clusters")
    sides = Sides(len(left), None if right is None else len(right))
    notes: list[str] = []

    def note(sentence: str) -> None:
        notes.append(sentence)
        progress.say(f"Note: {sentence}.")

    with Workers(settings.threads) as workers:
        progress.compiling(unpack_words, "records")
        with progress.stage("reading fields"):
            reader = FieldReader(left, right, settings.fields, workers.map)
            settings = replace(settings, fields=tuple(reader.fields))
            for one in settings.fields:
                progress.say(f"Field {one.name}: {one.kind} ({one.why}).")
            columns = reader.columns(note)
            measured = _measure(left, right, settings, note)
            if settings.nicknames is not None and all(one.kind != "person" for one in columns):
                note(f"--nicknames {settings.nicknames.source}: no field is a person's name, so none is a nickname")
        table_bytes = left.nbytes + (0 if right is None else right.nbytes)
        expected = check_columns(columns, table_bytes, settings.threads, settings.memory_bytes)
        progress.say(f"Expected: {expected / 1e9:,.1f} GB of memory.")
        with progress.stage("candidates"):
            blocked = pieces.candidates(lambda: _candidates(columns, sides, workers, settings, note))
        with progress.stage("comparing"):
            pairs, drawn = (blocked.left, blocked.right), sides.draw_pairs(settings.seed)
            levels, random, names = compare_pairs(columns, pairs, drawn, workers.map, pieces, settings.nicknames)
        with progress.stage("scoring"):
            scoring, score, probability = score_pairs(
                columns, names, blocked, levels, random, sides.pairs, settings, workers
            )
    with progress.stage("deciding"):
        for sentence in scoring.notes if isinstance(scoring, Weights) and sides.pairs else ():
            note(sentence)
        sure = _sure(scoring, score, probability)
        validation = _validate(measured, blocked, score, sure, sides, settings, note)
        cut, why = _cut(score, probability, scoring, validation, settings, note)
        chosen = _one_each(blocked, score, cut, settings.one_to_one, right is not None, note)
        # A pair is a match where it is one more likely than not, also where links must be surer than that.
        even = cut if probability is None else min(cut, 0.0)
        chosen, refused = _by_majority(blocked, score, cut, even, chosen, sides, note)
        validated = None
        if validation is not None and measured is not None and chosen.any():
            validated = validation.of(_apart(measured, blocked)[chosen], sure[chosen])
    recall = estimate_recall(blocked.groups, probability) if probability is not None and len(blocked) else None
    return Linked(settings, sides, columns, blocked, levels, names, scoring, score, probability, validation, validated,
                  cut, why, chosen, recall, notes, refused)  # fmt: skip


def _candidates(columns: list[Column], sides: Sides, workers: Workers, settings: LinkSettings, note: Any) -> Blocked:
    """Pairs worth comparing; none where a table has no record to compare with."""
    if sides.pairs:
        known, names = settings.nicknames, [place for place, column in enumerate(columns) if column.kind == "person"]
        coarse = [(one, place) for place in names for one in known.coarsen(columns[place])] if known else []
        return find_pairs(columns, sides.left, coarse=coarse, each=workers.map, seed=settings.seed)
    what = "the table has fewer than two records" if sides.right is None else "a table has no records"
    note(f"{what}, so there is nothing to link")
    none = np.empty(0, np.int32)
    return Blocked(none, none, np.empty(0, np.uint8), [], ([], []))


def _measure(left: pa.Table, right: pa.Table | None, settings: LinkSettings, note: Any) -> Float64 | None:
    """The validating field of every record as a number: days, or the number itself; NaN where there is none."""
    if settings.validate is None:
        return None
    [chosen] = choose_kinds(left, right, [Field(*both_names(settings.validate))])
    if chosen.kind != "date":
        chosen = replace(chosen, kind="number")
    try:
        [column] = columns_of(left, right, [chosen], note)
    except BadDataError as error:
        if settings.precision is None and not has_values(left, right, chosen):
            note(_unvalidated("no record has a value", settings))
            return None
        raise BadDataError(f"--validate {settings.validate}: {error}") from error
    measured = measure_records(column)
    known, given = np.count_nonzero(np.isfinite(measured)), len(column) - column.missing
    if 2 * known < given:
        raise BadDataError(
            f"--validate {settings.validate}: {given - known:,} of its {given:,} values are neither dates nor numbers; "
            "name a column of dates or of numbers"
        )
    return measured


def _unvalidated(why: str, settings: LinkSettings) -> str:
    """What is said where the validating field tells nothing and no precision was asked for."""
    instead = "is by the model's own probability" if settings.scoring == "weights" else "is not known"
    return f"--validate {settings.validate}: {why}; so the precision {instead}"


def _apart(measured: Float64, blocked: Blocked) -> Float64:
    """How much the records of each pair differ in the validating field."""
    return np.abs(measured[blocked.left] - measured[blocked.right])


def _sure(scoring: Weights | Points, score: Float64, probability: Float64 | None) -> Bool:
    """Pairs taken for matches: by their probability, or those that are equal in every field."""
    if isinstance(scoring, Points):
        return np.asarray(score >= scoring.total)
    assert probability is not None
    return np.asarray(probability > SURE)


def _validate(
    measured: Float64 | None,
    blocked: Blocked,
    score: Float64,
    sure: Bool,
    sides: Sides,
    settings: LinkSettings,
    note: Any,
) -> Validation | None:
    if measured is None or not len(blocked):
        return None
    found = _apart(measured, blocked)
    left, right = sides.draw_pairs(settings.seed + 1)
    random = np.abs(measured[left] - measured[right])
    try:
        result = validate(score, found, random, sure)
    except UsageError as error:
        if settings.precision is not None:
            other = "--validate (the model then tells)" if settings.scoring == "weights" else "--precision"
            raise UsageError(f"--validate {settings.validate}: {error}, or leave out {other}") from error
        note(_unvalidated(str(error), settings))
        return None
    for sentence in result.notes:
        note(f"--validate {settings.validate}: {sentence}")
    return result


def _cut(
    score: Float64,
    probability: Float64 | None,
    scoring: Weights | Points,
    validation: Validation | None,
    settings: LinkSettings,
    note: Any,
) -> tuple[float, str]:
    """The smallest score of a link, and why it is that."""
    wanted = settings.precision
    if validation is not None and wanted is not None:
        found = validation.cut_for(wanted)
        if found is not None:
            return found.cut, (
                f"from here on {found.precision:.1%} of the pairs are valid ({found.low:.1%} to {found.high:.1%}), "
                f"by {settings.validate}; wanted: {wanted:.1%}"
            )
        note(f"no score has a precision of {wanted:.1%} by {settings.validate}; nothing is linked")
        return float("inf"), f"no score has a precision of {wanted:.1%}"
    if probability is None:
        assert isinstance(scoring, Points)
        return 0.75 * scoring.total, f"three quarters of {scoring.total:g} points"
    if wanted is not None:
        order = np.argsort(-score, kind="stable")
        mean = np.cumsum(probability[order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(mean >= wanted)
        if not len(enough):
            return float("inf"), f"the model knows no score with a precision of {wanted:.1%}"
        return float(score[order[enough[-1]]]), f"by the model's own probability {wanted:.1%} of the pairs are valid"
    assert isinstance(scoring, Weights)
    reached = score[probability >= settings.probability]
    lowest = float(reached.min()) if len(reached) else float("inf")
    return lowest, f"the model's own probability is {settings.probability:g} or more"


def _alone(records: Int32) -> float:
    """The share of the records that are there once."""
    return float(np.mean(np.unique(records, return_counts=True)[1] == 1))


def _one_each(blocked: Blocked, score: Float64, cut: float, method: str, two_tables: bool, note: Any) -> Bool:
    """Pairs from the cut on; each record in one at most, where that was asked for or the tables seem to be so."""
    chosen = np.asarray(score >= cut)
    places = np.flatnonzero(chosen)
    if method == "auto" and two_tables and len(places):
        share = min(_alone(blocked.left[places]), _alone(blocked.right[places]))
        if MOSTLY_ONE <= share < 1:
            method = "optimal"
            note(
                f"{share:.0%} of the linked records have one partner, so each table seems to hold an entity once: of "
                "several partners the best is linked (--one-to-one no links several)"
            )
    if method in ("auto", "no"):
        return chosen
    kept = np.zeros(len(chosen), np.bool_)
    found = one_to_one(blocked.left[places], blocked.right[places], score[places] - cut, method)
    kept[places[found.kept]] = True
    for sentence in found.notes:
        note(sentence)
    return kept


def _by_majority(
    blocked: Blocked, score: Float64, cut: float, even: float, chosen: Bool, sides: Sides, note: Any
) -> tuple[Bool, int]:
    """The links within clusters that have the majority of their pairs for them, and how many others there were."""
    places = np.flatnonzero(chosen)
    ends = blocked.left[places], blocked.right[places]
    if not len(places) or (sides.right is not None and min(map(_alone, ends)) == 1):
        return chosen, 0  # clusters are pairs
    matches = np.flatnonzero(score >= even)
    items, split = sides.left + (sides.right or 0), None if sides.right is None else sides.left
    pairs = blocked.left[matches], blocked.right[matches], score[matches] - even
    first = cluster_by_majority(*pairs, items, cut - even, split)
    refused = places[first[ends[0]] != first[ends[1]]]
    if len(refused):
        note(
            f"{len(refused):,} pairs from the cut on are not linked, since they would join clusters most of whose "
            "other pairs are no matches"
        )
    kept = chosen.copy()
    kept[refused] = False
    return kept, len(refused)
