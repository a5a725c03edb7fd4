"""The model that a finished run has learned, in a form that can be saved: weights, levels, the cut.

A later run scores its pairs with it, so that the same agreement always has the same weight. Knows nothing about files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lookalike.errors import BadDataError
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.calibration import Calibration
from lookalike.linkage.scoring.dependence import Tree
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.weights import Weights, WeightsRow
from lookalike.linkage.scoring.words.leads import NO_LEADS, ChanceLeads
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.types import Float64
from lookalike.types.frozen import frozen


class KnownWords(NamedTuple):
    """The weights of records made of words, without the texts that they were learned from."""

    features: list[tuple[str, str]]
    """For each feature, its field and what is measured."""
    weights: Float64
    prior_bits: float
    expected: float
    learned: bool
    rows: tuple[WeightsRow, ...]
    single: str = "both"
    """Which records have at most one match, or how the records of one table are grouped (`WordWeights.single`)."""
    doubts: tuple[tuple[float, float], ...] = ()
    """Other estimates of chance (`WordWeights.doubts`)."""
    equal: tuple[float, ...] = ()
    """The least probabilities of pairs of equal records (`WordWeights.equal`)."""
    left_over: tuple[tuple[float, float], ...] = ()
    """The scales of the scores of records that are left (`WordWeights.left_over`)."""
    leads: ChanceLeads = NO_LEADS
    """The leads of partners by chance (`WordWeights.leads`)."""


@frozen
class Model:
    """The model that a run has learned."""

    names: tuple[str, ...]
    """The fields that were compared."""
    kinds: tuple[str, ...]
    level_names: tuple[tuple[str, ...], ...]
    exchanged: tuple[tuple[int, int], ...]
    """Fields whose values may be exchanged: the field that has the level, and the other."""
    scoring: Weights | Points | KnownWords
    cut: float
    cut_reason: str
    assignment: str
    """How links are assigned: as requested, or as the tables suggested."""
    calibration: Calibration | None = None
    searched: str = "levels"
    """How candidates were searched, as for scoring by `words` or by `levels`. A run may score them in the other way."""

    divided: bool = False
    """Whether the only field was divided into parts of its words (`divide_text`)."""

    def check(self, columns: Sequence[Column], level_names: Sequence[tuple[str, ...]]) -> None:
        """Refuse fields other than those that the model was learned from."""
        missing = [name for name in self.names if name not in {column.name for column in columns}]
        if missing:
            raise BadDataError(f"{missing[0]}: no record has a value any more; link all records again")
        if tuple(level_names) != self.level_names:
            raise BadDataError(
                "the finished run compared its fields in another way than this version does; link all records again"
            )

    def rename_sides(self, side: Callable[[str], str]) -> Model:
        """The same model if the tables have other names: `side` turns `left` into `right` and vice versa."""
        scoring = self.scoring
        if isinstance(scoring, KnownWords):
            scoring = scoring._replace(single=side(scoring.single))
        return replace(self, scoring=scoring, assignment=side(self.assignment))

    def to_dict(self) -> dict[str, Any]:
        """As JSON; numbers are exact."""
        return {
            "fields": [
                {"name": name, "kind": kind, "levels": list(levels)}
                for name, kind, levels in zip(self.names, self.kinds, self.level_names)
            ],
            "exchanged": [list(both) for both in self.exchanged],
            "scoring": _write_scoring(self.scoring),
            "cut": {"score": self.cut if math.isfinite(self.cut) else None, "why": self.cut_reason},
            "assignment": self.assignment,
            "searched": self.searched,
            "divided": self.divided,
            "calibration": None if self.calibration is None else list(self.calibration),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Model:
        """The model that `to_dict` described."""
        fields, cut, calibration = saved["fields"], saved["cut"], saved["calibration"]
        return cls(
            tuple(one["name"] for one in fields),
            tuple(one["kind"] for one in fields),
            tuple(tuple(one["levels"]) for one in fields),
            tuple((one, other) for one, other in saved["exchanged"]),
            _read_scoring(saved["scoring"]),
            math.inf if cut["score"] is None else cut["score"],
            cut["why"],
            saved["assignment"],
            None if calibration is None else Calibration(*calibration),
            saved.get("searched", "words" if saved["scoring"]["kind"] == "words" else "levels"),
            saved.get("divided", False),
        )


def keep_scoring(scoring: Weights | Points | WordWeights, columns: Sequence[Column]) -> Weights | Points | KnownWords:
    """The part of the weights that is saved: everything except what depends on the records alone."""
    if not isinstance(scoring, WordWeights):
        return scoring
    features = [(columns[one.field].name, one.what) for one in scoring.features]
    return KnownWords(
        features, scoring.weights, scoring.prior_bits, scoring.expected, scoring.learned, scoring.rows, scoring.single,
        scoring.doubts, scoring.equal, scoring.left_over, scoring.leads,
    )  # fmt: skip


def _write_scoring(scoring: Weights | Points | KnownWords) -> dict[str, Any]:
    if isinstance(scoring, Points):
        return {"kind": "points", "earned": [table.tolist() for table in scoring.earned]}
    if isinstance(scoring, KnownWords):
        saved = scoring._asdict() | {"weights": scoring.weights.tolist(), "rows": [list(row) for row in scoring.rows]}
        return {"kind": "words", **saved}
    return {
        "kind": "weights",
        "matches": [table.tolist() for table in scoring.matches],
        "parents": list(scoring.others.parent),
        "others": [table.tolist() for table in scoring.others.chances],
        "pairs": scoring.pairs,
        "expected": scoring.expected,
        "candidates": scoring.candidates,
        "iterations": scoring.iterations,
        "converged": scoring.converged,
    }


def _read_scoring(saved: dict[str, Any]) -> Weights | Points | KnownWords:
    kind = saved["kind"]
    if kind == "points":
        return Points(tuple(np.array(table, np.float64) for table in saved["earned"]))
    if kind == "words":
        return KnownWords(
            [(field, what) for field, what in saved["features"]],
            np.array(saved["weights"], np.float64),
            saved["prior_bits"],
            saved["expected"],
            saved["learned"],
            tuple(WeightsRow(*row) for row in saved["rows"]),
            saved.get("single", "both"),
            tuple((factor, shift) for factor, shift in saved.get("doubts", ())),
            tuple(saved.get("equal", ())),
            tuple((factor, shift) for factor, shift in saved.get("left_over", ())),
            ChanceLeads(*map(tuple, saved.get("leads", ()))),
        )
    others = Tree(tuple(saved["parents"]), tuple(np.array(table, np.float64) for table in saved["others"]))
    matches = tuple(np.array(table, np.float64) for table in saved["matches"])
    facts = (saved[name] for name in ("pairs", "expected", "candidates", "iterations", "converged"))
    return Weights(matches, others, *facts)
