"""The cut: the smallest score of a link."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lookalike.linkage.fields.reader import Note
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.score import Scores
from lookalike.linkage.scoring.validation import Validation
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import DEFAULT_PROBABILITY, LinkSettings
from lookalike.report.linkage.summary import ENOUGH_LABELS, LABEL_PAIRS
from lookalike.types import Bool, Float64

LEAST_LIKELY = 0.01
"""Pairs with a lower probability are never links."""


LEAST_RIGHT = 1 / 3
"""By default, nothing is linked if a smaller share is expected to be correct: chance is not known more precisely."""
LEAST_RIGHT_ALONE = 1 / 2
"""The same in one table, or if records may have several partners: chance is known less precisely there."""


STANDS_OUT = 2.0
"""Between two tables, nothing is linked if fewer links are expected to be correct than this multiple of the standard
error of the number of the others: chance alone may have produced them."""


class Cut(NamedTuple):
    """The smallest score of a link (infinite if nothing is linked), and the reason."""

    score: float
    why: str


def choose_cut(scores: Scores, validation: Validation | None, settings: LinkSettings, note: Note) -> Cut:
    """The cut that reaches the requested precision; without one, the default probability or share of points."""
    wanted = settings.precision
    if validation is not None and wanted is not None:
        return _validated_cut(validation, wanted, settings, note)
    if isinstance(scores.scoring, Points):
        return _points_cut(scores.score, scores.scoring.total, note)
    assert scores.probability is not None
    if wanted is not None:
        return _model_cut(scores, wanted)
    if isinstance(scores.scoring, WordWeights) and _is_default(settings):
        return _balanced_cut(scores, note)
    reached = scores.score[scores.probability >= settings.probability]
    lowest = float(reached.min()) if len(reached) else math.inf
    # Otherwise, another note says that there is no match.
    if not len(reached) and (scores.scoring.expected >= 1 or scores.labelled):
        note(f"no pair has a probability of {settings.probability:g} or more, so nothing is linked; add fields")
    return Cut(lowest, f"a probability of at least {settings.probability:g}, {_whose(scores)}")


def keep_cut(model: Model, scores: Scores, settings: LinkSettings, note: Note) -> Cut:
    """The cut of a finished run: the same probability or share of points, or the same score if all pairs decided."""
    if settings.precision is not None or (isinstance(scores.scoring, WordWeights) and _is_default(settings)):
        return Cut(model.cut, model.cut_reason)
    return choose_cut(scores, None, settings, note)


def _points_cut(score: Float64, total: float, note: Note) -> Cut:
    cut, why = 0.75 * total, f"three quarters of {total:g} points"
    if len(score) and (most := float(score.max())) < cut:
        note(
            f"no pair reaches {why} (the best has {most:g}), so nothing is linked; use other fields, or --scoring "
            "weights, which learns from the tables what a match looks like"
        )
    return Cut(cut, why)


def _is_default(settings: LinkSettings) -> bool:
    return settings.probability == DEFAULT_PROBABILITY


def _validated_cut(validation: Validation, wanted: float, settings: LinkSettings, note: Note) -> Cut:
    found = validation.cut_for(wanted)
    if found is not None:
        return Cut(
            found.cut,
            f"chosen so that {wanted:.1%} of the pairs at or above it are correct; judging by {settings.validate}, "
            f"{found.precision:.1%} are ({found.low:.1%} to {found.high:.1%})",
        )
    note(f"no score reaches a precision of {wanted:.1%} according to {settings.validate}; nothing is linked")
    return Cut(math.inf, f"no score reaches a precision of {wanted:.1%}")


def _balanced_cut(scores: Scores, note: Note) -> Cut:
    """The score at which the expected F1 of the links is greatest.

    If texts cannot distinguish a match from other products of its series, few pairs reach a probability of one half. A
    pair increases the expected F1 if its probability is more than half of the F1. That probability is the cut, not the
    lowest one of a link, so that a later run also links pairs in between.
    """
    assert scores.probability is not None
    assert isinstance(scores.scoring, WordWeights)
    order = np.argsort(-scores.score, kind="stable")
    order = order[scores.probability[order] >= LEAST_LIKELY]
    least_right = LEAST_RIGHT_ALONE if scores.scoring.single in ("alone", "groups", "none") else LEAST_RIGHT
    if not len(order) or scores.scoring.expected < 1:
        if scores.labelled:  # otherwise, another note says that there is no match
            note(f"according to the labels, no pair is likely to be a match, so nothing is linked; {_advise(scores)}")
        return Cut(math.inf, "no pair is likely to be a match")
    matches = np.cumsum(scores.probability[order])
    links = np.arange(1, len(order) + 1)
    f1 = 2 * matches / (links + matches[-1])
    f1[(matches < least_right * links) | ~_are_last(scores.score[order])] = 0.0
    if not f1.any():
        by = "according to the labels, " if scores.labelled else ""
        few = f"{by}less than {least_right:.0%} of any links would be right"
        note(f"{few}, so nothing is linked{_explain(scores.scoring)}; {_advise(scores)}")
        return Cut(math.inf, f"less than {least_right:.0%} of the pairs at or above any score are expected to match")
    last = int(np.argmax(f1))
    if scores.scoring.single != "alone" and matches[last] < STANDS_OUT * math.sqrt(
        max(0.0, links[last] - matches[last])
    ):
        nothing = f"so nothing is linked{_explain(scores.scoring)}; {_advise(scores)}"
        note(f"no more pairs are similar than chance can explain, {nothing}")
        return Cut(math.inf, "the pairs at or above any score can be explained by chance")
    reached = [float(one) for one in scores.score[order[last : last + 2]]]
    cut = _between(scores.score_of(float(f1[last]) / 2), *reached)
    least = float(scores.probability_of(np.array([cut]))[0])
    return Cut(cut, f"a probability of at least {least:.2f}, where the expected F1 is highest")


def _between(cut: float, lowest: float, next_lower: float = -math.inf) -> float:
    """The cut if it is above the next lower score and includes the `lowest` link; otherwise the score of that link.

    Examples
    --------
    >>> _between(1.0, 3.0), _between(1.0, 3.0, 0.5), _between(1.0, 3.0, 1.0), _between(4.0, 3.0)
    (1.0, 1.0, 3.0, 3.0)
    """
    return cut if next_lower < cut <= lowest else lowest


def _are_last(score: Float64) -> Bool:
    """Which of these falling scores are the last of their value: pairs with the same score are linked all or none.

    Examples
    --------
    >>> _are_last(np.array([3.0, 2.0, 2.0, 1.0])).tolist()
    [True, False, True, True]
    """
    return np.append(np.diff(score) != 0, True)


def _explain(scoring: WordWeights) -> str:
    """What may hide matches between two tables: their own records show how similar different entities can be."""
    if scoring.single in ("alone", "groups"):
        return ""
    return " (if a table has several records of an entity, they look like chance: link that table by itself first)"


def _advise(scores: Scores) -> str:
    """What to do if nothing is linked: labels help, unless there are enough."""
    if scores.labelled >= ENOUGH_LABELS:
        return "add fields"
    return f"add fields, or {'label more pairs (--review)' if scores.labelled else LABEL_PAIRS}"


def _whose(scores: Scores) -> str:
    return "calibrated on the labels" if scores.labelled else "according to the model"


def _model_cut(scores: Scores, wanted: float) -> Cut:
    """The lowest score at which its pairs and all higher ones have the requested mean probability."""
    assert scores.probability is not None
    order = np.argsort(-scores.score, kind="stable")
    mean = np.cumsum(scores.probability[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero((mean >= wanted) & _are_last(scores.score[order]))
    if not len(enough):
        return Cut(math.inf, f"no score reaches a precision of {wanted:.1%} according to the model")
    why = f"chosen so that {wanted:.1%} of the pairs at or above it are correct, {_whose(scores)}"
    return Cut(float(scores.score[order[enough[-1]]]), why)
