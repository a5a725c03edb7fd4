"""The changes of a later run: clusters keep their numbers, and each record whose cluster changes is listed.

The number of a cluster stays with most of its records. If several clusters merge, the number of the one with the most
records is kept (ties: the smallest number). If a cluster is split, the part with the most of its records keeps the
number (ties: the part with the first record). New clusters get numbers that were never used.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.linkage.later import LaterRecords
from lookalike.linkage.linked import Linked
from lookalike.linkage.output import joined_ids
from lookalike.types import Bool, Int64, strings_to_arrow, to_arrow
from lookalike.types import compute as pc

CHANGES = ("new", "joined", "merged", "split", "removed")
NEW, JOINED, MERGED, SPLIT, REMOVED = range(5)
UNCHANGED = -1


def number_clusters(first: Int64, before: Int64, used: int) -> tuple[Int64, int]:
    """The number of each record's cluster, and the smallest number never used.

    Parameters
    ----------
    first
        The first record of each record's cluster; -1 for a record in none.
    before
        The earlier cluster of each record, or -1.
    used
        All earlier clusters have smaller numbers.

    Examples
    --------
    Clusters 5 and 6 become one, a record joins 7, and two new records are a cluster:

    >>> first, before = np.array([0, 0, 0, 0, 0, 5, 5, 5, 8, 8]), np.array([5, 5, 6, 6, 6, 7, 7, -1, -1, -1])
    >>> number_clusters(first, before, 8)
    (array([6, 6, 6, 6, 6, 7, 7, 7, 8, 8]), 9)
    """
    numbers = np.full(len(first), -1, np.int64)
    linked = np.flatnonzero(first >= 0)
    roots, own = np.unique(first[linked], return_inverse=True)
    given = np.full(len(roots), -1, np.int64)
    kept = before[linked] >= 0
    keys = own[kept].astype(np.int64) * max(1, used) + before[linked][kept]
    pairs, counts = np.unique(keys, return_counts=True)
    news, olds = pairs // max(1, used), pairs % max(1, used)
    taken: set[int] = set()
    for place in np.lexsort((news, olds, -counts)).tolist():
        if given[news[place]] < 0 and int(olds[place]) not in taken:
            given[news[place]] = olds[place]
            taken.add(int(olds[place]))
    fresh = np.flatnonzero(given < 0)
    given[fresh] = used + np.arange(len(fresh))
    numbers[linked] = given[own]
    return numbers, used + len(fresh)


def kinds_of_change(after: Int64, before: Int64, new: Bool) -> Int64:
    """What happened to each record: an index into CHANGES, or -1 if nothing did.

    Examples
    --------
    >>> after, before = np.array([0, 0, 0, 1, 1, -1, 2, 2]), np.array([0, 0, -1, 1, 3, 4, -1, -1])
    >>> kinds_of_change(after, before, np.array([0, 0, 1, 0, 0, 0, 1, 1], bool)).tolist()
    [-1, -1, 1, -1, 2, 3, 0, 0]
    """
    kinds = np.full(len(after), UNCHANGED, np.int64)
    known = np.zeros(int(after.max(initial=-1)) + 1, np.bool_)
    known[after[(after >= 0) & ~new]] = True  # clusters with a record that was there before
    inside = after >= 0
    kinds[new] = NEW
    here = np.append(known, False)[after]  # -1 picks the last entry
    kinds[inside & here & (before < 0)] = JOINED
    moved = (before >= 0) & (after != before)
    # Records of a vanished cluster that are now in an existing one have merged with it; all other moves are splits.
    still = np.isin(before, after[before == after])
    existed = np.isin(after, before[before == after])
    kinds[moved] = np.where(inside & existed & ~still, MERGED, SPLIT)[moved]
    return kinds


def changes_of(found: Linked, records: LaterRecords, after: Int64) -> pa.Table:
    """id, table, change, cluster, before, partner, probability, reason: one row per record that changed."""
    kinds = kinds_of_change(after, records.before, records.new)
    changed = np.flatnonzero(kinds >= 0)
    order = np.lexsort((changed, kinds[changed]))
    changed = changed[order]
    ids = joined_ids(records.left, records.right)
    best = _deciding_links(found, records, kinds, after)
    partner = _partner(found, records, changed, best[changed])
    table = pa.table(
        {
            "id": pc.take(ids, to_arrow(changed)),
            "table": _sides(changed >= found.sizes.left),
            "change": pc.take(strings_to_arrow(CHANGES), to_arrow(kinds[changed])),
            "cluster": _or_null(after[changed]),
            "before": _or_null(records.before[changed]),
            "partner": pc.take(ids, _or_null(partner)),
            "probability": _probability(found, best[changed]),
            "reason": _reasons(found, records, changed, best[changed], kinds[changed], ids, partner),
        }
    )
    gone = _removed(records, table.schema)
    return pa.concat_tables([table, gone]) if len(gone) else table


def count_changes(changes: pa.Table) -> dict[str, int]:
    """How many records changed in each way."""
    seen = changes.column("change").to_pylist()
    return {name: seen.count(name) for name in CHANGES}


def _or_null(numbers: Int64) -> pa.Array:
    numbers = np.asarray(numbers, np.int64)
    return to_arrow(numbers, numbers >= 0)


def _sides(right: Bool) -> pa.Array:
    return pc.take(strings_to_arrow(["left", "right"]), to_arrow(right.astype(np.int64)))


def _deciding_links(found: Linked, records: LaterRecords, kinds: Int64, after: Int64) -> Int64:
    """The link that explains the change of each record: its position among the candidates, or -1.

    This is its best link; for a record that joined a cluster, the best one to a record that was there before. Records
    of a cluster that merged with another have the best link from their old cluster to a record outside it, among those
    that are now in the same cluster as they are.
    """
    places = np.flatnonzero(found.chosen)
    places = places[np.argsort(found.score[places], kind="stable")]
    left, right = found.candidates.left[places], found.candidates.right[places]
    # Each link twice, the best last: when several values are assigned to one position, the last one stays.
    one, other = np.stack([left, right], 1).ravel(), np.stack([right, left], 1).ravel()
    places, before = np.repeat(places, 2), records.before
    best = np.full(found.sizes.records, -1, np.int64)
    best[one] = places
    known = (kinds[one] == JOINED) & ~records.new[other]
    best[one[known]] = places[known]
    across = (before[one] >= 0) & (before[one] != before[other])
    moves = before * (int(after.max(initial=-1)) + 1) + after
    merged = np.flatnonzero(kinds == MERGED)
    known, last = np.unique(moves[one[across]][::-1], return_index=True)
    best[merged] = places[across][::-1][last[np.searchsorted(known, moves[merged])]]
    best[kinds == SPLIT] = -1
    return best


def _partner(found: Linked, records: LaterRecords, changed: Int64, best: Int64) -> Int64:
    """The other record of the link that explains a change (the one outside its old cluster); -1 for none."""
    if not len(found.candidates):
        return np.full(len(changed), -1, np.int64)
    left, right = (ends[best].astype(np.int64) for ends in (found.candidates.left, found.candidates.right))
    before = records.before
    own = (right != changed) & (before[left] == before[changed])
    return np.where(best < 0, -1, np.where(own, right, left))


def _probability(found: Linked, best: Int64) -> pa.Array:
    if found.probability is None or not len(found.probability):
        return pa.nulls(len(best), pa.float64())
    return to_arrow(found.probability[best], best >= 0)


def _reasons(
    found: Linked,
    records: LaterRecords,
    changed: Int64,
    best: Int64,
    kinds: Int64,
    ids: pa.Array,
    partner: Int64,
) -> pa.Array:
    """Why each record changed, in words."""
    gone = {int(cluster) for own in records.removed.clusters for cluster in own if cluster >= 0}
    known, texts = best >= 0, np.empty(len(changed), object)
    agree = _agreements(found, best[known])
    names = [str(ids[int(number)]) for number in partner[known]]
    for place, name, own in zip(np.flatnonzero(known), names, agree):
        whole = kinds[place] == MERGED
        texts[place] = f"{'its cluster was ' if whole else ''}linked with {name}: {own}"
    for place in np.flatnonzero(~known):
        if kinds[place] != SPLIT:
            texts[place] = "no link"
        elif int(records.before[changed[place]]) in gone:
            texts[place] = "records of its cluster were removed"
        else:
            texts[place] = "its pairs no longer connect the cluster, now that there are other records"
    return strings_to_arrow(texts.tolist())


def _agreements(found: Linked, places: Int64) -> list[str]:
    """How the fields of some pairs agree, in words; fields without evidence are omitted."""
    by_field = [found.agreements(places, number).to_pylist() for number in range(len(found.columns))]
    names = [column.name for column in found.columns]
    return [
        "; ".join(f"{name} {level}" for name, level in zip(names, levels) if level != "missing")
        for levels in zip(*by_field)
    ]


def _removed(records: LaterRecords, schema: pa.Schema) -> pa.Table:
    """One row per removed record."""
    counts = [len(ids) for ids in records.removed.ids]
    rows = sum(counts)
    kind = schema.field("id").type
    ids = [pc.cast(own, kind) if own.type != kind else own for own in records.removed.ids]
    columns = {name: pa.nulls(rows, schema.field(name).type) for name in schema.names}
    columns["id"] = pa.concat_arrays(ids)
    columns["table"] = _sides(np.repeat(np.arange(len(counts)), counts) == 1)
    columns["change"] = strings_to_arrow([CHANGES[REMOVED]] * rows)
    columns["before"] = _or_null(np.concatenate(records.removed.clusters))
    columns["reason"] = strings_to_arrow(["asked for"] * rows)
    return pa.table(columns, schema=schema)
