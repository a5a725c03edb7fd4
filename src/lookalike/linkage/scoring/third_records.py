"""Adds pairs of one table that match the same third record, and scores them with the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.engine.run import Run
from lookalike.linkage.blocking.copies import Copies
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.blocking.third_records import insert_pairs, propose_by_third
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import Texts
from lookalike.linkage.scoring.apply import apply_model
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.scoring.score import Agreement, Pairs, Scores, compare_pairs, score_by_weights, score_pairs
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Float64

CERTAIN = 0.99
"""Pairs with at least this probability are matches through which further candidates are found. With 0.5 more are found,
but also more relatives of people: clusters by name and postcode get worse by 0.003, others better by 0.001
(docs/log.md)."""


def match_through_third(
    columns: Sequence[Column],
    texts: Texts,
    pairs: CandidatePairs,
    agreement: Agreement,
    scores: Scores,
    all_pairs: int,
    run: Run[LinkSettings],
    known: Model | None = None,
    copies: Copies | None = None,
) -> tuple[CandidatePairs, Agreement, Scores]:
    """Candidates, their agreement and scores, including pairs of one table that match the same third record.

    Only scoring by levels uses such pairs: best partners are found without them. Weights are learned from them, too,
    and then say which records match a third one, as they do in a later run that knows them (`known`).
    """
    if not isinstance(scores.scoring, Weights) or scores.probability is None:
        return pairs, agreement, scores
    more = _through_third(pairs, scores.probability, len(columns[0]), copies)
    if not len(more[0]):
        return pairs, agreement, scores
    nothing = np.empty(0, np.int32)

    def add(more: Pairs) -> tuple[CandidatePairs, Agreement]:
        compared = compare_pairs(columns, more, (nothing, nothing), replace(run, work=None), agreement.exchanged)
        wider, order = insert_pairs(pairs, *more)
        both = zip(agreement.levels.T, compared.levels.T)
        return wider, agreement._replace(levels=np.stack([np.concatenate(one)[order] for one in both]).T)

    wider, agreed = add(more)
    if known is not None:
        return wider, agreed, apply_model(known, columns, texts, wider, agreed, run)
    scores = score_pairs(columns, wider, agreed, all_pairs, run)
    assert isinstance(scores.scoring, Weights)
    by_these = score_by_weights(scores.scoring, columns, pairs, agreement, run.workers.map).probability
    assert by_these is not None
    again = _through_third(pairs, by_these, len(columns[0]), copies)
    if np.array_equal(again, more):
        return wider, agreed, scores
    wider, agreed = add(again)
    return wider, agreed, score_by_weights(scores.scoring, columns, wider, agreed, run.workers.map)


def _through_third(pairs: CandidatePairs, probability: Float64, records: int, copies: Copies | None) -> Pairs:
    """Pairs of records that both certainly match a third one."""
    certain = probability >= CERTAIN
    if copies is not None:
        certain &= ~copies.apart[pairs.right]  # the first stands for them here, too
    return propose_by_third(pairs, certain, records)
