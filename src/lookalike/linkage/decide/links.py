"""Which candidate pairs become links: those at or above the cut, one per record or within clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.decide.clusters import cluster_by_majority
from lookalike.linkage.decide.one_to_one import one_to_one
from lookalike.linkage.fields.reader import Note
from lookalike.types import Bool, Float64, Int32, Int64

MOSTLY_ONE = 0.8
"""If at least this share of the linked records of a table has one partner, the other seems to list an entity once."""
MOSTLY_WORSE = 5 / 6
"""Above this share, second partners seem to be other entities. It is the share for four scores that are drawn alike.
People with several records in each table have 0.62 to 0.75, airports by name and city 0.87 to 0.94."""
SPREAD = 0.25
"""The standard error of that share is about this, divided by the root of the number of records with two partners."""
ERRORS = 2
"""The share is reduced by this many standard errors."""
FEWEST = 30
"""With fewer records that have two partners, that share is too uncertain."""


def choose_assignment(pairs: CandidatePairs, score: Float64, cut: float, method: str, note: Note) -> str:
    """How links between two tables are assigned: `auto` becomes what the tables suggest, if there are any links.

    Each table seems to list an entity only once if most linked records have a single partner, or if further partners
    score clearly less than best ones, as those of different entities do.
    """
    places = np.flatnonzero(score >= cut)
    if method != "auto" or not len(places):
        return method
    sides = pairs.left[places], pairs.right[places]
    shares = [share_with_one(side) for side in sides]
    if not all(
        share >= MOSTLY_ONE or share_worse(side, score[places]) > MOSTLY_WORSE for share, side in zip(shares, sides)
    ):
        return "no"
    if min(shares) < 1:
        seen = (
            f"{min(shares):.0%} of the linked records have only one match"
            if min(shares) >= MOSTLY_ONE
            else "second matches score clearly less than best ones"
        )
        note(
            f"{seen}, so each table seems to list an entity only once: "
            "each record is linked only to its best match (--one-to-one no allows several)"
        )
    return "optimal"


def share_worse(records: Int32, score: Float64) -> float:
    """How often the second of two partners scores less than the best partner of another record, at least.

    0 if few records have two.

    If all are the same entity, their scores are drawn alike: the lower of two is below the higher of two others with a
    probability of at most 5/6. If the second is another entity, it nearly always is.

    Examples
    --------
    >>> records = np.repeat(np.arange(30, dtype=np.int32), 2)
    >>> share_worse(records, np.tile([9.0, 1.0], 30)), share_worse(records, np.tile([9.0, 9.0], 30))
    (0.908..., 0.0)
    """
    order = np.lexsort((-score, records))
    starts = np.flatnonzero(np.diff(records[order], prepend=-1))
    two = starts[np.diff(starts, append=len(order)) == 2]
    if len(two) < FEWEST:
        return 0.0
    best, second = np.sort(score[order][two]), score[order][two + 1]
    share = 1 - np.searchsorted(best, second, side="right").mean() / len(best)
    return max(0.0, float(share - ERRORS * SPREAD / len(two) ** 0.5))


class Decision(NamedTuple):
    """Which pairs are links, and what contradicts them."""

    chosen: Bool
    """For each pair, whether it is a link."""
    refused: int
    """Pairs at or above the cut that are not links, because they would join clusters against the majority."""
    contradictions: float
    """The share of the pairs at or above the cut that are refused in this way, if a record may have several links."""


def decide_links(
    pairs: CandidatePairs, score: Float64, cut: float, even: float, method: str, split: int | None, apart: Bool,
    note: Note,
) -> Decision:  # fmt: skip
    """The pairs at or above the cut; with at most one per record, or without those that the majority contradicts.

    Parameters
    ----------
    even
        The score from which a pair is a match: more likely the same entity than not.
    method
        `optimal` or `greedy` for one link per record, `left` or `right` for one per record of that table, `no` or
        `auto` for several.
    split
        The number of records in the left table; None for a single table.
    apart
        For each record, whether it is a copy of another one that stands for it.
    """
    above = np.asarray(score >= cut)
    several = method in ("auto", "no")
    places = np.flatnonzero(above)
    chosen, refused = above, 0
    if several or min(share_with_one(side[places]) for side in (pairs.left, pairs.right)) < MOSTLY_ONE:
        chosen, refused = refuse_minority(pairs, score, cut, even, above, split, apart)
    contradictions = refused / max(1, len(places))
    if several:
        return Decision(chosen, refused, contradictions)
    ends = pairs.left[places], pairs.right[places]
    if method in ("left", "right"):
        kept = best_of_each(*(ends if method == "left" else ends[::-1]), score[places])
    else:
        kept, sentences = one_to_one(*ends, score[places] - cut, method)
        for sentence in sentences:
            note(sentence)
    chosen = np.zeros(len(above), np.bool_)
    chosen[places[kept]] = True
    return Decision(chosen, 0, contradictions)


def best_of_each(records: Int32, partners: Int32, score: Float64) -> Int64:
    """The place of the best pair of each record; of equal ones, that of the first partner.

    Examples
    --------
    >>> records, partners = np.array([0, 0, 0, 1], np.int32), np.array([5, 7, 6, 6], np.int32)
    >>> best_of_each(records, partners, np.array([1.0, 2.0, 2.0, 1.0])).tolist()
    [2, 3]
    """
    order = np.lexsort((partners, -score, records))
    return order[np.flatnonzero(np.diff(records[order], prepend=-1))]


def refuse_minority(
    pairs: CandidatePairs, score: Float64, cut: float, even: float, chosen: Bool, split: int | None, apart: Bool
) -> tuple[Bool, int]:
    """The chosen pairs that lie within clusters joined by majority, and how many are refused; see `decide_links`."""
    counted = ~apart[pairs.right]  # copies have no other pair, and follow the one that stands for them
    places = np.flatnonzero(chosen & counted)
    ends = pairs.left[places], pairs.right[places]
    if not len(places) or (split is not None and min(map(share_with_one, ends)) == 1):
        return chosen, 0  # every cluster is a pair
    matches = np.flatnonzero((score >= even) & counted)
    given = pairs.left[matches], pairs.right[matches], score[matches] - even
    first = cluster_by_majority(*given, len(apart), cut - even, split)
    refused = places[first[ends[0]] != first[ends[1]]]
    kept = chosen.copy()
    kept[refused] = False
    return kept, len(refused)


def share_with_one(records: Int32) -> float:
    """The share of the records that occur once; 1 without any."""
    return float(np.mean(np.unique(records, return_counts=True)[1] == 1)) if len(records) else 1.0
