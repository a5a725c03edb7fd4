"""What can be said of pairs without labels: by gaps in the lists of partners, and by agreement beyond independence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from kinds.sketch.features import BETWEEN, RANDOM, Pairs
from lookalike.tuning.monotone import rising

DEPTH, MOST = 12, 6
"""Gaps looked at per record, and the most matches told apart by them."""
SHAPE = 4.0
"""How much alike the densities of strangers of two records are: the shape of an inverse gamma distribution."""
BLUR = 1.0
"""Nats of noise, so that ties thin out like other scores."""
DEPENDENT = 0.5
"""Records of a family are no independent witnesses: each counts half."""
LEVELS = 24
"""Levels of agreement of a field, a nat each."""


def best_partners(
    left: np.ndarray, right: np.ndarray, score: np.ndarray, records: int, deep: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each record's best scores, and the rank of each pair at both ends.

    The scores are float64[records, deep]; short lists are padded.
    """
    ends, scores = np.concatenate([left, right]), np.concatenate([score, score])
    order = np.lexsort((-scores, ends))
    first = np.searchsorted(ends[order], np.arange(records + 1))
    rank = np.empty(len(ends), np.int64)
    rank[order] = np.arange(len(ends)) - first[ends[order]]
    count = np.diff(first)
    place = first[:-1, None] + np.minimum(np.arange(deep), np.maximum(count - 1, 0)[:, None])
    least = np.quantile(score, 0.01) if len(score) else 0.0
    best = np.where(count[:, None] > 0, scores[order][np.minimum(place, len(scores) - 1)], least)
    return best, rank[: len(left)], rank[len(left) :]


@dataclass
class Gaps:
    """Evidence of the gaps between the scores of successive partners, in nats per record."""

    records: int = 0
    once: float = 0.0
    """What 'at most one match' gains over 'none'."""
    two: float = 0.0
    more: float = 0.0
    """What 'up to MOST matches' gains over 'at most one'."""

    @property
    def some(self) -> float:
        """Nats by which matches are more likely than none; one more parameter costs half the logarithm, and two do."""
        return DEPENDENT * self.records * self.once - np.log(max(self.records, 2))


def gaps_of(pairs: Pairs, score: np.ndarray, chosen: np.ndarray, records: np.ndarray) -> Gaps:
    """The evidence of some pairs about some records."""
    noisy = (score + np.random.default_rng(0).exponential(BLUR, len(score)))[chosen]
    left, right = pairs.left[chosen], pairs.right[chosen]
    if not len(left):
        return Gaps()
    best, _, _ = best_partners(left, right, noisy, pairs.records, DEPTH + 1)
    count = np.bincount(np.concatenate([left, right]), minlength=pairs.records)
    gaps = best[:, :-1] - best[:, 1:]
    gaps[np.arange(DEPTH)[None] + 1 >= count[:, None]] = np.nan
    gaps = gaps[records & (count > 1)]
    if len(gaps) < 5:
        return Gaps()
    none, one, two, many = (_likelihood(gaps, most).mean() for most in (0, 1, 2, MOST))
    return Gaps(len(gaps), one - none, two - one, many - one)


def _likelihood(gaps: np.ndarray, most: int, rounds: int = 40) -> np.ndarray:
    """The log-likelihood of each record's gaps if it has up to so many matches.

    Scores of strangers thin out exponentially, so that rank times gap is exponential, with a density of the record's
    own; so is the drop after the last match, and the gaps among matches.
    """
    records, depth = gaps.shape
    have, gaps, k = ~np.isnan(gaps), np.nan_to_num(gaps), np.arange(1, gaps.shape[1] + 1)
    share = np.full(most + 1, 1 / (most + 1))
    base = max(1e-3, (gaps * k)[:, depth // 2 :].sum() / max(1, have[:, depth // 2 :].sum()))
    drop, among = 5 * base, base
    for _ in range(rounds):
        logs, sums, counts = (np.zeros((records, most + 1)) for _ in range(3))
        prior = base * (SHAPE - 1)
        for m in range(most + 1):
            rank, here = np.arange(m + 1, depth + 1) - m, have[:, m:]
            sums[:, m], counts[:, m] = (gaps[:, m:] * rank).sum(1), here.sum(1)
            total = SHAPE + counts[:, m]
            logs[:, m] = (here * np.log(rank)).sum(1) + gammaln(total) - gammaln(SHAPE)
            logs[:, m] += SHAPE * np.log(prior) - total * np.log(prior + sums[:, m])
            if m:
                logs[:, m] += np.where(have[:, m - 1], -np.log(drop) - gaps[:, m - 1] / drop, -50)
            if m > 1:
                ranks = np.arange(1, m)
                logs[:, m] += np.log(ranks / among).sum() - (gaps[:, : m - 1] * ranks).sum(1) / among
        logs += np.log(share + 1e-12)
        total = logsumexp(logs, axis=1)
        weights = np.exp(logs - total[:, None])
        share = weights.mean(0)
        after = sum((weights[:, m] * gaps[:, m - 1]).sum() for m in range(1, most + 1))
        drop = max(after / max(1e-9, weights[:, 1:].sum()), 1.5 * base)
        if most > 1:
            inner = [(weights[:, m] * (gaps[:, : m - 1] * np.arange(1, m)).sum(1)).sum() for m in range(2, most + 1)]
            number = sum((weights[:, m] * (m - 1)).sum() for m in range(2, most + 1))
            among = max(0.1 * base, sum(inner) / max(1e-9, number))
        base = max(1e-3, (weights * sums).sum() / max(1, (weights * counts).sum()))
    return total


def beyond_independence(pairs: Pairs, chosen: np.ndarray, total: float) -> np.ndarray:
    """The probability of some pairs by Fellegi and Sunter, a level for each nat of each field's best surprise.

    `total` is the number of all pairs among which these are. Of a single field, the rarity of what is shared counts
    without a limit, since no other field can add to it.
    """
    drawn = np.flatnonzero(pairs.what == RANDOM)
    rows, count = np.concatenate([chosen, drawn]), len(chosen)
    if count < 3:
        return np.zeros(count)
    stands = np.concatenate([np.ones(count), np.full(len(drawn), max(1, total - count) / max(1, len(drawn)))])
    levels, score = [], np.full(len(rows), -np.log(total))
    for field in range(pairs.known.shape[1]):
        values = pairs.features[np.ix_(rows, helping(pairs, field, unlimited=pairs.known.shape[1] == 1))].max(1)
        known = pairs.known[rows, field]
        levels.append(np.where(known, np.minimum(values, LEVELS - 1).astype(np.int64), -1))
        score += values * known
    for _ in range(15):
        likely = expit(score)
        likely[count:] = 0
        score = np.full(len(rows), np.log(max(likely.sum(), 1) / total))
        for level in levels:
            known = level >= 0
            match, other = (np.bincount(level[known], w[known], LEVELS) + 0.1 for w in (likely, stands * (1 - likely)))
            weight = rising(np.log(match / match.sum()) - np.log(other / other.sum()), match + other)
            score += np.where(known, weight[np.maximum(level, 0)], 0)
    return expit(score[:count])


def helping(pairs: Pairs, field: int, *, unlimited: bool) -> np.ndarray:
    """The features of a field that speak for a match, in nats."""
    names = np.array(pairs.names)
    found = (pairs.fields == field) & (pairs.signs > 0) & (names != "codes")
    return np.flatnonzero(found if unlimited else found & (names != "information"))


def transitivity(pairs: Pairs, chosen: np.ndarray, likely: np.ndarray) -> tuple[float, float]:
    """The share of triangles that are closed among sure matches, and their mean number per matched record."""
    import scipy.sparse as sp

    sure = chosen[likely > 0.9]
    size = (pairs.records, pairs.records)
    graph = sp.csr_matrix((np.ones(len(sure)), (pairs.left[sure], pairs.right[sure])), shape=size)
    graph = graph + graph.T
    degree = np.asarray(graph.sum(1)).ravel()
    wedges = degree @ (degree - 1)
    closed = float((graph @ graph).multiply(graph).sum() / max(1, wedges))
    return closed, float(degree[degree > 0].mean()) if len(sure) else 0.0


def identified(pairs: Pairs, chosen: np.ndarray, likely: np.ndarray) -> float:
    """The share of sure matches that agree in the field that says most about a record; families do not."""
    sure = chosen[likely > 0.9]
    field = int(np.argmax(pairs.entropy))
    sure = sure[pairs.known[sure, field]]
    places = helping(pairs, field, unlimited=False)
    best = pairs.features[:, places].max()
    return float((pairs.features[np.ix_(sure, places)].max(1) >= best / 2).mean()) if len(sure) else 0.0


def matched_share(pairs: Pairs, chosen: np.ndarray, likely: np.ndarray, records: np.ndarray) -> float:
    """The share of some records that have a sure match."""
    hit = np.zeros(pairs.records, np.bool_)
    sure = chosen[likely > 0.9]
    hit[pairs.left[sure]] = hit[pairs.right[sure]] = True
    return float(hit[records].mean()) if records.any() else 0.0


def starting_score(pairs: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features on the scale of weights, the weights before anything is learned, and the score by these."""
    helps = (pairs.signs > 0) & (np.array(pairs.names) != "information")
    counts = np.array([(helps & (pairs.fields == field)).sum() for field in pairs.fields])
    start = np.where(helps, 10 / np.maximum(counts, 1), 0.0)
    scaled = pairs.features / np.where(pairs.signs > 0, 10, 1)
    return scaled, start, scaled @ start


def views(pairs: Pairs, score: np.ndarray) -> dict[str, Gaps]:
    """The evidence of the gaps between two tables, in both directions, and within each; or of one table."""
    left = np.arange(pairs.records) < pairs.split
    between = np.flatnonzero(pairs.what == BETWEEN)
    if pairs.alone:
        return {"alone": gaps_of(pairs, score, between, np.ones(pairs.records, np.bool_))}
    within = np.flatnonzero((pairs.what > BETWEEN) & (pairs.what < RANDOM))
    return {
        "left to right": gaps_of(pairs, score, between, left), "right to left": gaps_of(pairs, score, between, ~left),
        "within left": gaps_of(pairs, score, within, left), "within right": gaps_of(pairs, score, within, ~left),
    }  # fmt: skip
