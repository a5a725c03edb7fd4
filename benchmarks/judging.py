"""Evaluate links against known matches: precision, recall and F1 of pairs, as links and as clusters, at any threshold.

A cut is what is found from a probability on: how many pairs, and how many of them are correct. Knows nothing about the
tools whose links it evaluates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

Pair = tuple[Hashable, Hashable]
Scored = tuple[Hashable, Hashable, float]
"""Two records of one table, and the probability that they are the same."""


@dataclass(frozen=True)
class Cut:
    """What is found from a probability on."""

    probability: float
    found: int
    right: int

    def judge(self, true: int) -> dict[str, float]:
        """Return precision, recall and F1, where `true` pairs are to be found."""
        return {
            "links": self.found,
            "precision": self.right / max(1, self.found),
            "recall": self.right / max(1, true),
            "f1": 2 * self.right / max(1, self.found + true),
        }


def count_within(groups: Iterable[Hashable]) -> int:
    """Return how many pairs of records have the same group, given the group of each record."""
    return sum(size * (size - 1) // 2 for size in Counter(groups).values())


def judge_pairs(found: set[Pair], truth: set[Pair]) -> dict[str, float]:
    """Return precision, recall and F1 of pairs; in both sets, the left record comes first."""
    return Cut(0.0, len(found), len(found & truth)).judge(len(truth))


def judge_clusters(clusters: Mapping[Hashable, Hashable], entity: Mapping[Hashable, Hashable]) -> dict[str, float]:
    """Return precision, recall and F1 of the pairs within clusters; both map a record to its cluster.

    A record that is not in `clusters` is alone.
    """
    found = count_within(clusters.values())
    right = count_within((cluster, entity[record]) for record, cluster in clusters.items())
    return Cut(0.0, found, right).judge(count_within(entity.values()))


def cut_links(scored: Iterable[Scored], entity: Mapping[Hashable, Hashable]) -> list[Cut]:
    """Return the cut at every probability that occurs, from the largest on, judging the links themselves."""
    cuts, found, right = [], 0, 0
    for probability, links in _from_the_largest(scored):
        found += len(links)
        right += sum(entity[left] == entity[other] for left, other in links)
        cuts.append(Cut(probability, found, right))
    return cuts


def cut_clusters(scored: Iterable[Scored], entity: Mapping[Hashable, Hashable]) -> list[Cut]:
    """Return the same, judging all pairs of the clusters that the links join."""
    members: dict[Hashable, Counter[Hashable]] = {record: Counter([of]) for record, of in entity.items()}
    cluster = {record: record for record in entity}
    inside: dict[Hashable, list[Hashable]] = {record: [record] for record in entity}
    cuts, found, right = [], 0, 0
    for probability, links in _from_the_largest(scored):
        for one, other in links:
            small, large = sorted((cluster[one], cluster[other]), key=lambda name: len(inside[name]))
            if small == large:
                continue
            found += len(inside[small]) * len(inside[large])
            right += sum(count * members[large][of] for of, count in members[small].items())
            cluster.update(dict.fromkeys(inside[small], large))
            inside[large] += inside.pop(small)
            members[large] += members.pop(small)
        cuts.append(Cut(probability, found, right))
    return cuts


def _from_the_largest(scored: Iterable[Scored]) -> Iterable[tuple[float, list[Pair]]]:
    """Yield each probability with its links, without repeats of a link in either order."""
    seen: set[frozenset[Hashable]] = set()
    for probability, links in groupby(sorted(scored, key=lambda link: -link[2]), key=lambda link: link[2]):
        new = []
        for one, other, _ in links:
            if (pair := frozenset((one, other))) not in seen:
                seen.add(pair)
                new.append((one, other))
        yield probability, new


def cut_at(cuts: Sequence[Cut], threshold: float) -> Cut:
    """Return the cut at a threshold: what has at least this probability."""
    return max((cut for cut in cuts if cut.probability >= threshold), key=lambda cut: cut.found, default=Cut(1, 0, 0))


def best_cut(cuts: Sequence[Cut], true: int) -> Cut:
    """Return the cut with the largest F1."""
    return max(cuts, key=lambda cut: cut.judge(true)["f1"], default=Cut(1, 0, 0))
