"""Links measured on labelled pairs: how well they agree, and what to do if the labels say too little."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.linked import Linked, first_records
from lookalike.linkage.notes import Notes
from lookalike.linkage.scoring.labels import LabelFigures, Labels, divide, judge_links, measure_links
from lookalike.linkage.scoring.refine import ENOUGH, FEWEST, can_calibrate, can_move
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.types import Bool, Float64
from lookalike.types.wording import count

CONTRADICTED = 2 / 3
"""The labels contradict the scores if a labelled match scores lower than another labelled pair in this share of
cases, and in more than half of them beyond chance."""
ERRORS = 3.0
"""Standard errors beyond chance."""


def measure_by_labels(
    labels: Labels,
    pairs: CandidatePairs,
    plain: Float64,
    attempt: Callable[[Labels | None, Notes], Linked],
    found: Linked,
) -> LabelFigures:
    """How well links agree with held-out labels. `plain` are the scores without labels, `found` the links with all."""
    places, seed = labels.places(pairs.left, pairs.right), found.settings.seed
    known, notes = places >= 0, found.notes
    _note_kinds(labels, labels.match[known], can_calibrate(labels, places), found)
    lower = share_lower(plain[places[known]], labels.match[known])
    if lower is not None:
        notes.add(
            f"--labels: the labels contradict the data: labelled matches score lower than other labelled pairs in "
            f"{lower:.0%} of the cases. Check the column match: 1 is for the same entity, 0 for different ones"
        )
    linked = judge_links(labels, lambda some: first_records(attempt(some, Notes(Progress()))), seed)
    missed = int((labels.match & ~known).sum())
    return measure_links(labels, linked, missed, int(divide(labels, seed).max(initial=-1)) + 1)


def _note_kinds(labels: Labels, match: Bool, calibrated: bool, found: Linked) -> None:
    """Say what cannot be learned from the labels, since they are too few or all of one kind."""
    kinds = f"{count(int(match.sum()), 'match', 'matches')} and {count(int((~match).sum()), 'other pair')}"
    if len(match) < FEWEST:
        found.notes.add(
            f"--labels: too few candidates are labelled to refine probabilities from ({kinds}; at least {FEWEST} are "
            "needed): label more (--review)"
        )
    elif calibrated and not can_move(match) and isinstance(found.scoring, WordWeights):
        found.notes.add(
            f"--labels: probabilities are calibrated, but too few candidates are labelled to refine weights from "
            f"({kinds}; at least {ENOUGH} of each are needed)"
        )
    if labels.match.all():
        found.notes.add(
            "--labels: every labelled pair is a match, so the measured precision is 100% however many links are wrong; "
            "label other pairs as well (--review)"
        )


def share_lower(score: Float64, match: Bool) -> float | None:
    """How often a labelled match scores lower than another labelled pair, if the labels contradict the scores.

    Ties count as one half. The standard error is that of the Mann-Whitney statistic if labels were drawn by lot.

    Examples
    --------
    >>> score, match = np.arange(40.0), np.arange(40) < 20
    >>> share_lower(score, match), share_lower(score, ~match), share_lower(score[18:22], match[18:22])
    (1.0, None, None)
    """
    ours, others = int(match.sum()), int((~match).sum())
    if not ours or not others:
        return None
    order = np.sort(score)
    rank = (np.searchsorted(order, score[match], "left") + np.searchsorted(order, score[match], "right") + 1) / 2
    higher = (float(rank.sum()) - ours * (ours + 1) / 2) / (ours * others)
    error = float(np.sqrt((ours + others + 1) / (12 * ours * others)))
    return 1 - higher if 1 - higher >= max(CONTRADICTED, 0.5 + ERRORS * error) else None
