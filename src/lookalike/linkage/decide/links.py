"""Which candidate pairs become links: those at or above the cut, one per record or within clusters."""

from __future__ import annotations

import numpy as np

from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.decide.clusters import cluster_by_majority
from lookalike.linkage.decide.one_to_one import one_to_one
from lookalike.linkage.fields.reader import Note
from lookalike.types import Bool, Float64, Int32

MOSTLY_ONE = 0.8
"""If at least this share of the linked records of both tables has a single partner, entities seem to be unique."""


def choose_assignment(pairs: CandidatePairs, score: Float64, cut: float, method: str, note: Note) -> str:
    """How links between two tables are assigned: `auto` becomes what the tables suggest, if there are any links."""
    places = np.flatnonzero(score >= cut)
    if method != "auto" or not len(places):
        return method
    share = min(_share_with_one(pairs.left[places]), _share_with_one(pairs.right[places]))
    if MOSTLY_ONE <= share < 1:
        note(
            f"{share:.0%} of the linked records have only one match, so each table seems to list an entity only once: "
            "each record is linked only to its best match (--one-to-one no allows several)"
        )
    return "optimal" if share >= MOSTLY_ONE else "no"


def choose_pairs(pairs: CandidatePairs, score: Float64, cut: float, method: str, note: Note) -> Bool:
    """The pairs at or above the cut; with at most one per record if requested."""
    chosen = np.asarray(score >= cut)
    places = np.flatnonzero(chosen)
    if method in ("auto", "no"):
        return chosen
    kept = np.zeros(len(chosen), np.bool_)
    found = one_to_one(pairs.left[places], pairs.right[places], score[places] - cut, method)
    kept[places[found.kept]] = True
    for sentence in found.notes:
        note(sentence)
    return kept


def refuse_minority(
    pairs: CandidatePairs, score: Float64, cut: float, even: float, chosen: Bool, split: int | None, records: int
) -> tuple[Bool, int]:
    """The chosen pairs that lie within clusters joined by majority, and the number of those refused.

    Parameters
    ----------
    even
        The score from which a pair is a match: more likely the same entity than not.
    split
        The number of records in the left table; None for a single table.
    """
    places = np.flatnonzero(chosen)
    ends = pairs.left[places], pairs.right[places]
    if not len(places) or (split is not None and min(map(_share_with_one, ends)) == 1):
        return chosen, 0  # every cluster is a pair
    matches = np.flatnonzero(score >= even)
    given = pairs.left[matches], pairs.right[matches], score[matches] - even
    first = cluster_by_majority(*given, records, cut - even, split)
    refused = places[first[ends[0]] != first[ends[1]]]
    kept = chosen.copy()
    kept[refused] = False
    return kept, len(refused)


def _share_with_one(records: Int32) -> float:
    """The share of the records that occur once."""
    return float(np.mean(np.unique(records, return_counts=True)[1] == 1))
