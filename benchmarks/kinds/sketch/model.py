"""The model in trial: decide from evidence what may match, then link under that constraint."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kinds.sketch import chance
from kinds.sketch.evidence import (
    DEPTH,
    beyond_independence,
    identified,
    matched_share,
    starting_score,
    transitivity,
    views,
)
from kinds.sketch.features import BETWEEN, LEFT, RIGHT, Pairs, read_pairs
from lookalike.linkage.decide.clusters import cluster_by_majority
from lookalike.tuning.intervals import wilson_interval

CLOSED = 0.7
"""More triangles than that are closed among matches, fewer among look-alikes."""
TWINS = 0.75
"""The share of repeated records whose nearest neighbour has the same partner."""
MECHANISMS = ("learning", "lead", "moved decoys", "repeats", "groups", "large groups", "independence")
"""What can be left out."""


def link(left: Any, right: Any, fields: str, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The links as pairs of rows (of one table: of the same table), and what was chosen and is stated."""
    if right is not None and not (len(left) and len(right)):
        return {"links": np.empty((0, 2), np.int64), "choice": "once", "precision": None}
    pairs = read_pairs(left, right, fields)
    return (_one_table if pairs.alone else _two_tables)(pairs, len(left), without)


def _clusters(pairs: Pairs, chosen: np.ndarray, likely: np.ndarray) -> np.ndarray:
    """The number of each record's cluster, by average linkage."""
    some = likely >= 0.5
    odds = np.maximum(0, np.log2(likely[some]) - np.log2(np.maximum(1 - likely[some], 1e-9)))
    ends = pairs.left[chosen[some]].astype(np.int32), pairs.right[chosen[some]].astype(np.int32)
    return cluster_by_majority(*ends, odds, pairs.records)


def _rows(pairs: Pairs, labels: np.ndarray, lefts: int) -> np.ndarray:
    """All pairs of rows in one cluster; of two tables, those between them."""
    groups: dict[int, list[int]] = {}
    for record, label in enumerate(labels.tolist()):
        groups.setdefault(label, []).extend(pairs.members[record])
    found = []
    for rows in groups.values():
        every = np.sort(np.array(rows))
        if pairs.alone:
            one, other = np.triu_indices(len(every), 1)
            found.append(np.stack([every[one], every[other]], 1))
        else:
            ours, theirs = every[every < lefts], every[every >= lefts] - lefts
            found.append(np.stack([np.repeat(ours, len(theirs)), np.tile(theirs, len(ours))], 1))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def _pair_rows(pairs: Pairs, chosen: np.ndarray, lefts: int, every: tuple[bool, bool]) -> np.ndarray:
    """Rows of linked records; of equal records in a table that lists entities once, the first."""
    found = []
    for one, other in zip(pairs.left[chosen].tolist(), pairs.right[chosen].tolist()):
        sides = [pairs.members[r] if keep else pairs.members[r][:1] for r, keep in zip((one, other), every)]
        found += [(min(a, b), max(a, b) - lefts) for a in sides[0] for b in sides[1]]
    return np.array(found, np.int64).reshape(-1, 2)


def _stated(likely: np.ndarray, doubled: np.ndarray) -> dict[str, float] | None:
    """The precision of links with these probabilities, and with those if partners by chance are twice as frequent.

    Nothing in the tables says that they are rarer than decoys, or how much, so the interval ends at 1.
    """
    if not len(likely):
        return None
    low = wilson_interval(float(doubled.sum()), len(doubled))[0]
    return {"estimate": float(likely.mean()), "low": min(low, float(likely.mean())), "high": 1.0}


def _one_table(pairs: Pairs, rows: int, without: frozenset[str]) -> dict[str, Any]:
    scaled, start, score = starting_score(pairs)
    between = np.flatnonzero(pairs.what == BETWEEN)
    independent = beyond_independence(pairs, between, pairs.all_pairs)
    gaps = views(pairs, score)["alone"]
    closed, degree = transitivity(pairs, between, independent)
    are_entities = closed >= CLOSED and identified(pairs, between, independent) >= 0.5
    groups = are_entities and (degree >= 2 or (degree >= 1.5 and gaps.some <= 0))
    if groups and "groups" not in without:
        labels = _clusters(pairs, between, independent)
        return {"links": _rows(pairs, labels, rows), "choice": "groups", "precision": None}
    if not are_entities and gaps.some <= 0 and "large groups" not in without:
        labels = large_groups(pairs)
        if labels is not None:
            return {"links": _rows(pairs, labels, rows), "choice": "large", "precision": None}
    known = None

    def judge(pairs: Pairs, score: np.ndarray):
        nonlocal known
        found = chance.judge_pairs_alone(pairs, score, known)
        known = np.zeros(pairs.records)
        for side in (pairs.left, pairs.right):
            np.maximum.at(known, side[found[0]], found[2])
        return found

    target, statistic, likely, _ = chance.learn(pairs, judge, scaled, start, 0 if "learning" in without else 3)
    if "independence" not in without and pairs.known.shape[1] > 1:  # one field alone cannot show independence
        likely = np.minimum(likely, independent[np.searchsorted(between, target)])
    kept = chance.cut(statistic, likely)
    labels = np.arange(pairs.records)
    labels[pairs.right[target[kept]]] = pairs.left[target[kept]]
    return {"links": _rows(pairs, labels, rows), "choice": "pairs", "precision": None}


def _two_tables(pairs: Pairs, lefts: int, without: frozenset[str]) -> dict[str, Any]:
    scaled, start, score = starting_score(pairs)
    side = np.arange(pairs.records) < pairs.split
    smaller = min(side.sum(), (~side).sum())
    rounds = 0 if "learning" in without else chance.ROUNDS

    judge = partial(chance.judge_once, lead="lead" not in without, moved="moved decoys" not in without)
    target, statistic, likely, learned = chance.learn(pairs, judge, scaled, start, rounds)
    kept = chance.cut(statistic, likely)
    gaps = views(pairs, score)
    if "groups" not in without and len(kept) <= smaller / 3 and _both_repeat(pairs, gaps, side):
        union = pairs.united()
        every = np.flatnonzero(union.what == BETWEEN)
        independent = beyond_independence(union, every, union.all_pairs)
        labels = _clusters(union, every, independent)
        return {"links": _rows(pairs, labels, lefts), "choice": "groups", "precision": None}
    if "repeats" not in without:
        repeated = {one: _repeats(pairs, one, score, scaled, start, rounds, len(kept)) for one in (LEFT, RIGHT)}
        if (repeated[LEFT] is None) != (repeated[RIGHT] is None):
            single = LEFT if repeated[LEFT] is not None else RIGHT
            chosen, *sure = repeated[single]
            links = _pair_rows(pairs, chosen, lefts, (single == RIGHT, single == LEFT))
            return {"links": links, "choice": "right repeats" if single == LEFT else "left repeats",
                    "precision": _stated(*sure)}  # fmt: skip
    nothing = max(gaps["left to right"].some, gaps["right to left"].some) <= 0 and len(kept) <= smaller / 2
    if nothing and "large groups" not in without:
        labels = large_groups(pairs, twice=2)
        if labels is not None:
            return {"links": _rows(pairs, labels, lefts), "choice": "large", "precision": None}
    links = _pair_rows(pairs, target[kept], lefts, (False, False))
    stated = _stated(likely[kept], judge(pairs, learned, often=2.0)[2][kept])
    return {"links": links, "choice": "once", "precision": stated}


def _both_repeat(pairs: Pairs, gaps: dict[str, Any], side: np.ndarray) -> bool:
    """Whether records match within both tables as well as between them, in what identifies them."""
    rights = pairs.records - pairs.split
    totals = {BETWEEN: pairs.all_pairs, LEFT: pairs.split * (pairs.split - 1) / 2, RIGHT: rights * (rights - 1) / 2}
    chosen = {what: np.flatnonzero(pairs.what == what) for what in totals}
    likely = {what: beyond_independence(pairs, chosen[what], max(totals[what], 3)) for what in totals}
    across = [matched_share(pairs, chosen[BETWEEN], likely[BETWEEN], one) for one in (side, ~side)]
    inside = [matched_share(pairs, chosen[w], likely[w], one) for w, one in ((LEFT, side), (RIGHT, ~side))]
    strength = {name: max(one.once, one.more, 0) for name, one in gaps.items()}
    between = max(strength["left to right"], strength["right to left"])
    within = min(strength["within left"], strength["within right"])
    same = min(identified(pairs, chosen[w], likely[w]) for w in (LEFT, RIGHT))
    return min(inside) > max(across) / 2 > 0.01 and within > between / 2 > 0.005 and same > 0.5


def _repeats(pairs: Pairs, single: int, score, scaled, start, rounds, once: int):
    """Pairs and probabilities if the other table repeats entities of the `single` one; None if it does not.

    If a table repeats, the same records of the other one are linked as without repeats, with more partners each; if it
    has look-alikes, further records are. Repeated records are each other's nearest neighbours.
    """
    plain = np.array(pairs.names) != "information"
    kept_start = np.where(plain, start, 0)
    judge = partial(chance.judge_repeated, single=single)
    target, statistic, likely, learned = chance.learn(pairs, judge, scaled * plain, kept_start, rounds)
    kept = chance.cut(statistic, likely)
    if len(kept) < 10:
        return None
    is_single = (np.arange(pairs.records) < pairs.split) == (single == LEFT)
    ends = pairs.left[target[kept]], pairs.right[target[kept]]
    mate = np.where(is_single[ends[0]], *ends)
    record = np.where(is_single[ends[0]], *ends[::-1])
    distinct, often = len(np.unique(mate)), np.bincount(mate, minlength=pairs.records)[mate]
    place, _ = chance.best_of(pairs, score, RIGHT if single == LEFT else LEFT)
    known = np.flatnonzero(place >= 0)
    nearest, partner = np.full(pairs.records, -1), np.full(pairs.records, -1)
    nearest[known] = pairs.left[place[known]] + pairs.right[place[known]] - known
    partner[record] = mate
    repeated = record[often > 1]
    if not len(repeated) or (partner[nearest[repeated]] == partner[repeated]).mean() <= TWINS:
        return None
    same_records = (often > 1).mean() > 0.5 and distinct <= 1.25 * once
    if not same_records and len(kept) <= 5 * distinct:
        return None
    return target[kept], likely[kept], judge(pairs, learned, often=2.0)[2][kept]


def large_groups(pairs: Pairs, twice: int = 1, most: int = 6000, least: float = 0.35) -> np.ndarray | None:
    """Groups that are larger than lists of partners: average linkage of all pairs, by each field and by all.

    The level is that of the greatest mean silhouette. None if there are no such groups.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from sklearn.feature_extraction.text import TfidfVectorizer

    best, labels = least, None
    fields = pairs.texts if len(pairs.texts) == 1 else [[" ".join(row) for row in zip(*pairs.texts)], *pairs.texts]
    for texts in fields:
        values, which = np.unique(np.array(texts), return_inverse=True)
        if not 10 < len(values) <= most or np.mean([len(value) for value in values]) < 6:
            continue
        rows = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, dtype=np.float32)
        shared = rows.fit_transform(values)
        distance = np.clip(1 - (shared @ shared.T).toarray(), 0, 1)
        np.fill_diagonal(distance, 0)
        distance = (distance + distance.T) / 2
        tree = linkage(squareform(distance, checks=False), "average")
        for level in np.arange(0.2, 0.85, 0.1):
            group = fcluster(tree, 1 - level, "distance") - 1
            score = _silhouette(distance, group)
            if score > best:
                best, labels = score, group[which]
    if labels is None:
        return None
    counts = np.bincount(labels)
    if (counts**2).sum() / len(labels) <= twice * DEPTH:
        return None
    if not pairs.alone:  # large groups of two tables are mixed
        one, other = (np.bincount(part, minlength=len(counts)).astype(float)
                      for part in (labels[: pairs.split], labels[pairs.split :]))  # fmt: skip
        if one @ other < 0.5 * np.sqrt((one @ (one - 1)) * (other @ (other - 1))):
            return None
    return labels


def _silhouette(distance: np.ndarray, group: np.ndarray) -> float:
    """The mean silhouette; a value alone counts 0."""
    size, rows = np.bincount(group), np.arange(len(group))
    member = np.zeros((len(group), len(size)), np.float32)
    member[rows, group] = 1
    sums = distance @ member
    own = sums[rows, group] / np.maximum(size[group] - 1, 1)
    mean = sums / size
    mean[rows, group] = 9
    other = mean.min(1)
    return float(np.where(size[group] > 1, (other - own) / np.maximum(np.maximum(other, own), 1e-9), 0).mean())
