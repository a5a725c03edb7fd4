"""Scores pairs of records made of words: evidence, weights learned from best partners, probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lookalike.engine.run import Run
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.spec import RECORD
from lookalike.linkage.partners import CLUSTERED, Texts, chance_pairs
from lookalike.linkage.scoring.logistic import score_rows
from lookalike.linkage.scoring.score import Agreement, Scores, comparer_of
from lookalike.linkage.scoring.weights import WeightsRow
from lookalike.linkage.scoring.words.alike import add_bits, alike_bits, are_alike
from lookalike.linkage.scoring.words.alone import REPEATED, judge_groups, stand_out
from lookalike.linkage.scoring.words.best_partners import Partners, second_leads
from lookalike.linkage.scoring.words.distinct import DistinctPairs
from lookalike.linkage.scoring.words.equal import judge_equal
from lookalike.linkage.scoring.words.evidence import AnyComparer, Evidence
from lookalike.linkage.scoring.words.leads import ChanceLeads
from lookalike.linkage.scoring.words.left_over import add_left_over, judge_left_over
from lookalike.linkage.scoring.words.partner_bits import partner_bits
from lookalike.linkage.scoring.words.several import are_doubtful, estimate_single, find_single, judge_single
from lookalike.linkage.scoring.words.weights import (
    CLEAR,
    FEW,
    GROWN,
    GROWN_ALONE,
    LEARNED,
    LEAST_WRONG,
    Estimate,
    Judge,
    WordWeights,
    estimate_two,
    judge_many,
    judge_one,
    judge_two,
    learn_weights,
    probability_of,
    scale_scores,
)
from lookalike.linkage.scoring.words.within import Chance, rescale
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Bool, Float32, Float64, Int32, Int64, Mapper

LARGE_CLUSTER = 9.0
"""If a record of one table is typically similar to more records than this, best partners are not used."""
OFTEN_LARGE = 0.75
"""If some entities have a thousand records and others few, a record is typically similar to few others. So clusters are
also large if this quantile says so, and levels of agreement confirm it."""
LIKE_OTHERS = 0.8
"""Matches by levels are products of a series if their numbers conflict at least this share as often as those of other
candidates. Observed: 0.98 to 1.00 for products of a series, 0.63 for inventors with the class of their patents."""
SERIES = "most of the best partners differ in their numbers, like products of a series: nothing is linked"
SELVES = 1_000
"""Records that are compared with themselves, to know how high a pair can score."""
DOUBTFUL = 1.0
"""With fewer expected matches than this, no pair stands out from chance."""


def score_words(
    columns: Sequence[Column],
    texts: Texts,
    pairs: CandidatePairs,
    agreement: Agreement,
    sizes: tuple[int, int | None],
    run: Run[LinkSettings],
    by_levels: Callable[[], Scores] | None = None,
    *,
    labelled: bool = False,
) -> Scores | None:
    """Learn the weights of all features; compute the score and probability of each candidate pair.

    None if the records of one table form large clusters. In case of doubt, this depends on the scores `by_levels`;
    without them, records are scored by words in any case. If they are `labelled`, it is for the labels to say whether
    records that differ in their numbers are the same.
    """
    each = run.workers.map
    evidence = Evidence(columns, texts, agreement.random, agreement.level_names, agreement.exchanged)
    every = evidence.measure(pairs.left, pairs.right, agreement.levels, each)
    one, split = sizes[1] is None, None if sizes[1] is None else sizes[0]
    if one and by_levels is not None and _is_clustered(pairs, every, evidence, len(columns[0]), by_levels):
        return None
    own = DistinctPairs.find(columns, pairs.left, pairs.right, split)
    left, right, records, measured = own.left, own.right, len(own.kept), every[own.where]
    estimate: Estimate | None = None
    common, equal = evidence.in_common(measured), 0.0
    shares: tuple[float, ...] = ()
    within: tuple[Chance, Float32, Float32] | None = None
    comparer = partial(comparer_of, settings=run.settings)
    search = partial(_measure_chance, evidence, texts, split=split or 0, comparer=comparer, each=each)
    if sizes[1] is None:
        judge, single = _judge_table(left, right, measured, evidence, common, records)
    else:
        within = search(own.kept)
        judge, estimate, single = _judges(left, right, measured, evidence, common, *within, run.settings.one_to_one)
        shares, equal = judge_equal(
            columns, pairs.left, pairs.right, (sizes[0], sizes[1]), every, evidence.features
        )  # fmt: skip
    weights, start, mutual, likely, learned = learn_weights(
        left, right, measured, evidence.features, records, judge,
        *((GROWN_ALONE, max(FEW, LEARNED * records / 2)) if one else (GROWN, FEW)),
    )  # fmt: skip
    differ = one and not labelled and _differ_in_numbers(evidence.conflicts(measured), mutual, likely)
    if differ:
        likely = np.zeros(len(likely))
    raw = score_rows(measured, weights, start)
    best, *others = [likely] if estimate is None or not mutual.any() else estimate(raw, weights, start, likely)
    if single in ("left", "right") and run.settings.one_to_one == "auto" and mutual.any() and are_doubtful(best):
        run = replace(run, settings=replace(run.settings, one_to_one="optimal"))
        return score_words(columns, texts, pairs, agreement, sizes, run, by_levels, labelled=labelled)
    judged = _judged_scores(left, right, raw, mutual, common, records, single)
    # What a pair has in common is added to its bits, so the scale is that of what stands out.
    plain = add_bits(best, -alike_bits(common[mutual])) if one else best
    factor, shift = scale_scores(judged, plain) if mutual.any() else (1.0, 0.0)
    # Not factor * raw + shift, which a later run with these weights would round in another way.
    score = score_rows(measured, factor * weights, factor * start + shift)
    notes = [SERIES] if differ else _notes(max(equal, float(likely.sum())), learned, single, run.settings)
    made = WordWeights(
        evidence, factor * weights, factor * start + shift, max(equal, float(best.sum())), learned, tuple(notes),
        single=single, doubts=tuple(scale_scores(score[mutual], one) for one in others), equal=shares,
    )  # fmt: skip
    if within is not None and single == "both" and mutual.any():
        made = replace(made, leads=_leads_by_chance(left, right, score, *within[:2], made, likely))
    bits = partner_bits(left, right, score, records, single, common, own.take(columns), shares, leads=made.leads)
    if split is not None and single == "both":
        made = replace(made, left_over=judge_left_over(
            left, right, score, bits, own.sizes(split), lambda some: search(own.kept[some]), made.weights,
            made.prior_bits,
        ))  # fmt: skip
        bits = add_left_over(left, right, score, bits, records, made.left_over)
    score = (score + bits)[own.back]
    probability = probability_of(score)
    made = replace(made, rows=tuple(_rows(made, every, agreement, probability)))
    return Scores(made, score, probability)


def _leads_by_chance(
    left: Int32, right: Int32, score: Float64, chance: Chance, inside: Float32, made: WordWeights, likely: Float64
) -> ChanceLeads:
    """The leads of best partners by chance between two tables; `inside` are the features of the pairs within them."""
    records = sum(chance.sizes)
    between = Partners.find(left, right, score, records)[1]
    inner = score_rows(inside, made.weights, made.prior_bits)
    within = chance.within(inner, second_leads(left, right, score, records))
    return ChanceLeads.fit(rescale(within, between, np.maximum(1 - likely, LEAST_WRONG)), between.next)


def _judge_table(
    left: Int32, right: Int32, measured: Float32, evidence: Evidence, common: Float64, records: int
) -> tuple[Judge, str]:
    """A judge of the pairs of one table: of pairs `alone`, or of `groups` if entities have more than two records."""
    start = score_rows(measured, np.array([one.start for one in evidence.features]))
    if judge_groups(left, right, start, are_alike(common), records).repeated > REPEATED:
        return judge_many(left, right, common, records), "groups"
    return judge_one(left, right, common, records), "alone"


def _differ_in_numbers(conflicts: Float32, best: Bool, likely: Float64) -> bool:
    """Whether the supposed matches of one table conflict in their numbers at least half as often as other candidates.

    Numbers are a validation: they rarely conflict in matches, so more than half of the supposed matches are wrong, such
    as products of a series. This is known only if most of them have numbers.

    Examples
    --------
    >>> best, likely = np.array([True, True, False, False]), np.array([0.9, 0.8])
    >>> [_differ_in_numbers(np.array([*some, 1, 0.9]), best, likely) for some in ([1, 1], [0, 1], [0, 0], [np.nan, 1])]
    [True, False, False, False]
    """
    known = ~np.isnan(conflicts)
    mine, others = known[best], conflicts[known & ~best]
    if likely[mine].sum() <= likely.sum() / 2 or not len(others):
        return False
    return float(np.average(conflicts[best][mine], weights=likely[mine])) > float(others.mean()) / 2


def _judged_scores(
    left: Int32, right: Int32, score: Float64, mutual: Bool, common: Float64, records: int, single: str
) -> Float64:
    """For each pair that was judged, the score by which it was: in one table, the score and the lead."""
    if single == "groups":
        return judge_groups(left, right, score, are_alike(common), records).stands_out
    return (stand_out(left, right, score, records) if single == "alone" else score)[mutual]


def _measure_chance(
    evidence: Evidence,
    texts: Texts,
    records: Int64,
    *,
    split: int,
    comparer: Callable[[Column], AnyComparer],
    each: Mapper,
) -> tuple[Chance, Float32, Float32]:
    """The pairs within each of the two tables, their features, and those of some records compared with themselves.

    Only these `records` are looked up, each among the others of its table; those below `split` belong to the left one.
    """
    texts = texts if len(records) == len(evidence.columns[0]) else texts.take(records)
    sizes = int((records < split).sum()), int((records >= split).sum())
    chance = Chance(*chance_pairs(texts, sizes[0], len(records), each), sizes)
    some = np.unique(np.linspace(0, len(records) - 1, SELVES).astype(np.int64))
    own = records.astype(np.int32)
    ends = (own[chance.left], own[chance.right]), (own[some], own[some])
    pairs, selves = (evidence.measure(*both, evidence.levels_of(*both, comparer, each), each) for both in ends)
    return chance, pairs, selves


def _judges(
    left: Int32, right: Int32, measured: Float32, evidence: Evidence, common: Float64, chance: Chance, inside: Float32,
    selves: Float32, one_to_one: str,
) -> tuple[Judge, Estimate, str]:  # fmt: skip
    """A judge of the pairs by the pairs within the tables, and estimates that are based on it.

    Also returns which records have at most one match.
    """
    given = left, right, chance, inside
    judge, single = judge_two(*given), one_to_one if one_to_one in ("left", "right") else "both"
    if one_to_one == "auto":
        weights = np.array([one.start for one in evidence.features])
        single = find_single(*given, score_rows(measured, weights), weights, are_alike(common))
    if single == "both":
        return judge, estimate_two(*given, selves), "none" if one_to_one == "no" else single
    return judge_single(*given, single), estimate_single(*given, single), single


def _is_clustered(
    pairs: CandidatePairs, measured: Float32, evidence: Evidence, records: int, by_levels: Callable[[], Scores]
) -> bool:
    """Whether the records of one table form clusters so large that best partners say little."""
    usual, often = np.quantile(_drops(pairs, measured, evidence, records), (0.5, OFTEN_LARGE))
    if usual > LARGE_CLUSTER or often <= LARGE_CLUSTER:
        return bool(usual > LARGE_CLUSTER)
    likely = by_levels().probability
    assert likely is not None
    return form_large_clusters(likely >= CLEAR, pairs.left, pairs.right, evidence.conflicts(measured), records)


def _drops(pairs: CandidatePairs, measured: Float32, evidence: Evidence, records: int) -> Int64:
    """By record, the number of partners after which the similarity to it drops most; 0 for a table without pairs.

    If most entities have many records, this is the number of other records of the entity.
    """
    plain = np.diff([one.field for one in evidence.features], prepend=-1) > 0  # the first feature of each field
    score = score_rows(measured, plain.astype(np.float64))
    ends, scores = np.concatenate([pairs.left, pairs.right]), np.concatenate([score, score])
    order = np.lexsort((-scores, ends))
    ends, scores = ends[order], scores[order]
    first = np.searchsorted(ends, np.arange(records))
    rank = np.arange(len(ends)) - first[ends]
    inside = np.flatnonzero((ends[1:] == ends[:-1]) & (rank[1:] <= CLUSTERED))
    if not len(inside):
        return np.zeros(1, np.int64)
    drops = scores[inside] - scores[inside + 1]
    steepest = np.lexsort((-drops, ends[inside]))
    steepest = steepest[np.flatnonzero(np.diff(ends[inside][steepest], prepend=-1))]
    return np.asarray(rank[inside[steepest]] + 1)


def form_large_clusters(match: Bool, left: Int32, right: Int32, conflicts: Float32, records: int) -> bool:
    """Whether most records have more than `LARGE_CLUSTER` matches, which are not just products of a series.

    `conflicts` is the share of numbers that conflict in each pair (`Evidence.conflicts`).

    Examples
    --------
    >>> left, right = np.triu_indices(12, 1)
    >>> numbers, differ = np.full(66, np.nan, np.float32), np.ones(66, np.float32)
    >>> form_large_clusters(np.ones(66, np.bool_), left, right, numbers, 12)
    True
    >>> [form_large_clusters(np.arange(66) < 65, left, right, some, 12) for some in (numbers, differ)]
    [True, False]
    """
    number = np.bincount(np.concatenate([left[match], right[match]]), minlength=records)
    if float(np.median(number)) <= LARGE_CLUSTER:
        return False
    return not are_series(match, conflicts)


def are_series(match: Bool, conflicts: Float32) -> bool:
    """Whether the matches conflict in their numbers nearly as often as other pairs do, like products of a series."""
    mine, others = (conflicts[some & ~np.isnan(conflicts)] for some in (match, ~match))
    return bool(len(mine) and len(others) and float(mine.mean()) >= LIKE_OTHERS * float(others.mean()))


def _notes(expected: float, learned: bool, single: str, settings: LinkSettings) -> list[str]:
    whole = [one.name for one in settings.fields] == [RECORD]
    instead = ". Columns that both tables have are compared one by one with --fields all" if whole else ""
    if expected < DOUBTFUL:
        return [f"no pair stands out from what different records have in common: there seem to be no matches{instead}"]
    if single in ("left", "right") and settings.one_to_one == "auto":
        return []  # a note names the table, once it is known which one the user calls left
    if single == "groups":
        return ["many entities seem to have more than two records: groups of up to ten similar records are linked"]
    if not learned:
        few = f"too few clear matches to learn weights from (of about {expected:.0f}), so similarities are summed"
        return [few + instead]
    return []


def _rows(made: WordWeights, measured: Float32, agreement: Agreement, probability: Float64) -> list[WeightsRow]:
    """The frequency of each level of each field among matches and among random pairs, and its mean weight."""
    rows, parts = [], made.by_field(measured)
    for field, names in enumerate(agreement.level_names):
        levels, size = agreement.levels[:, field], len(names) + 1
        seen = np.bincount(levels, probability, minlength=size)
        heavy = np.bincount(levels, probability * parts[:, field], minlength=size)
        others = np.bincount(agreement.random[:, field], minlength=size)
        for level in range(1, size):
            weight = float(heavy[level] / seen[level]) if seen[level] > 0 else 0.0
            often, seldom = (float(one[level] / max(1e-9, one[1:].sum())) for one in (seen, others))
            rows.append(WeightsRow(field, level, often, seldom, weight, -1, weight))
    return rows
