"""Scores pairs with the weights that a finished run has learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.engine.run import Run
from lookalike.errors import BadDataError
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import Texts
from lookalike.linkage.scoring.logistic import score_rows
from lookalike.linkage.scoring.model import KnownWords, Model
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.score import Agreement, Scores, score_by_points, score_by_weights
from lookalike.linkage.scoring.words.distinct import DistinctPairs
from lookalike.linkage.scoring.words.evidence import Evidence
from lookalike.linkage.scoring.words.partner_bits import partner_bits
from lookalike.linkage.scoring.words.weights import WordWeights
from lookalike.linkage.settings import LinkSettings


def apply_model(
    model: Model,
    columns: Sequence[Column],
    texts: Texts,
    pairs: CandidatePairs,
    agreement: Agreement,
    run: Run[LinkSettings],
    split: int | None = None,
) -> Scores:
    """The score and probability of each candidate pair, by known weights; the right table starts at record `split`.

    The frequency of values is counted again, because it depends on the records.
    """
    each, scoring = run.workers.map, model.scoring
    if isinstance(scoring, Points):
        scores = score_by_points(scoring, agreement, each)
    elif isinstance(scoring, KnownWords):
        single = scoring.single
        if single not in ("alone", "groups") and (split is None or run.settings.one_to_one == "no"):
            single = "none"
        scores = _score_words(scoring, columns, texts, pairs, agreement, run, single, split)
    else:
        scores = score_by_weights(scoring, columns, pairs, agreement, each)
    if model.calibration is None:
        return scores
    return scores._replace(probability=model.calibration.probability(scores.score), calibration=model.calibration)


def _score_words(
    known: KnownWords,
    columns: Sequence[Column],
    texts: Texts,
    pairs: CandidatePairs,
    agreement: Agreement,
    run: Run[LinkSettings],
    single: str,
    split: int | None,
) -> Scores:
    evidence = Evidence(columns, texts, agreement.random, agreement.level_names, agreement.exchanged)
    if [(columns[one.field].name, one.what) for one in evidence.features] != known.features:
        raise BadDataError(
            "the finished run compared texts in another way than this version does; link all records again"
        )
    made = WordWeights(
        evidence, known.weights, known.prior_bits, known.expected, known.learned, (), known.rows, single=single,
        doubts=known.doubts, equal=known.equal, left_over=known.left_over, leads=known.leads,
    )  # fmt: skip
    own = DistinctPairs.find(columns, pairs.left, pairs.right, split)
    measured = evidence.measure(pairs.left, pairs.right, agreement.levels, run.workers.map)[own.where]
    score = score_rows(measured, known.weights, known.prior_bits)
    ends, common, records = (own.left, own.right), evidence.in_common(measured), len(own.kept)
    left_over = known.left_over if single == "both" else ()
    score += partner_bits(*ends, score, records, single, common, own.take(columns), known.equal, left_over, known.leads)
    score = score[own.back]
    with np.errstate(over="ignore"):
        return Scores(made, score, 1 / (1 + np.exp2(-score)))
