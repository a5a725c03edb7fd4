"""Decide which items of a block are new: with the result of deciding one by one, as dedup does, but in bulk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lookalike.candidates.buckets import group_prints
from lookalike.engine.digest import KeyedSets
from lookalike.features.vectors import fingerprints
from lookalike.index.batch import Batch, Content, texts_of
from lookalike.index.contract import Lookup
from lookalike.index.kind import Kind
from lookalike.index.matches import NO_MATCHES, Matches
from lookalike.index.table import Table
from lookalike.index.view import compare
from lookalike.kernels import index as kernels
from lookalike.kernels.sets import fingerprint_sets
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import refine
from lookalike.types import Bool, Float64, Int64, Sets
from lookalike.verify.pairs import all_pairs, list_pairs


class NewItems(NamedTuple):
    """For each item of a block: whether it is new, and what it resembles if not."""

    added: Bool
    number: Int64
    """The most similar item of the index; -1 if that is in the block, or there is none."""
    row: Int64
    """The most similar item of the block; -1 if that is in the index, or there is none."""
    similarity: Float64
    """NaN for new items."""


def best_known(lookup: Lookup, asked: KeyedSets) -> Matches:
    """The most similar item of the index for each item that resembles any."""
    return lookup.search(asked, lookup.kind.measure, 1).best_first(lookup.kind.measure, k=1)[0]


def find_new(lookup: Lookup, asked: KeyedSets, known: Matches | None = None) -> NewItems:
    """Decide, in order, which items resemble nothing in the index and nothing new before them in the block.

    `known`, if it has been computed before, is that of `best_known`.
    """
    kind, count = lookup.kind, len(asked.sets)
    known = best_known(lookup, asked) if known is None else known
    unknown = np.ones(count, np.bool_)
    unknown[known.left] = False
    if count == 1:  # there is nothing else in the block
        return _choose(known, NO_MATCHES, unknown, kind)
    first = _first_equal(asked, kind)
    pairs = _pairs_inside(asked, first, unknown, kind)
    added = unknown & (~asked.there | (first == np.arange(count)))
    earlier = (pairs.right < pairs.left) & unknown[pairs.left]  # ordered by the later one
    kernels.keep_first(pairs.right[earlier], pairs.left[earlier], added)
    inside = _expand(pairs, first, added & asked.there, asked.there & ~added, kind.measure.of_equal)
    return _choose(known, inside, added, kind)


def _first_equal(asked: KeyedSets, kind: Kind) -> Int64:
    """For each item, the first item with an equal set."""
    sets = asked.sets
    if kind.settings.items.vectors:
        return group_prints(*fingerprints(sets))
    return group_prints(*fingerprint_sets(sets.indptr, sets.elements))


def _pairs_inside(asked: KeyedSets, first: Int64, unknown: Bool, kind: Kind) -> Matches:
    """Similar pairs of any distinct set and one that may be new, ordered by left, then right."""
    mine = asked.there & (first == np.arange(len(first)))
    rows = np.flatnonzero(mine & unknown)
    if len(rows) == 0 or np.count_nonzero(mine) < 2:
        return NO_MATCHES
    pairs_of = _near_vectors if kind.settings.items.vectors else _similar_sets
    return pairs_of(asked, np.flatnonzero(mine), rows, kind)


def _similar_sets(asked: KeyedSets, mine: Int64, rows: Int64, kind: Kind) -> Matches:
    """Similar pairs of distinct sets, the right one in `rows`; large buckets are refined as in batch jobs."""
    content = Content(asked.sets.indptr, asked.sets.elements).take(mine)
    found = Comparable.from_keys(Sets(content.offsets, content.data), np.ascontiguousarray(asked.keys[:, mine]))
    refine(found, kind.settings.matching)
    listed = all_pairs(list_pairs(found.buckets, found.sets, kind.measure.arguments))
    left, right = np.concatenate([listed.left, listed.right]), np.concatenate([listed.right, listed.left])
    wanted = np.zeros(len(mine), np.bool_)
    wanted[np.searchsorted(mine, rows)] = True
    order = np.lexsort((right, left))
    order = order[wanted[right[order]]]
    left, right, overlaps = left[order], right[order], np.tile(listed.overlaps, 2)[order].astype(np.int64)
    sizes = found.ends - found.begins
    return Matches(mine[left], mine[right], kind.measure.of_overlaps(overlaps, sizes[left], sizes[right]))


def _near_vectors(asked: KeyedSets, mine: Int64, rows: Int64, kind: Kind) -> Matches:
    """The same for vectors."""
    table = Table(len(asked.keys), np.uint64)
    names = texts_of(np.zeros(len(rows) + 1, np.int64), np.empty(0, np.uint8))
    content = Content(asked.sets.indptr, asked.sets.elements).take(rows)
    keys = np.ascontiguousarray(asked.keys[:, rows])
    table.add(Batch(names, np.zeros(len(rows), np.int64), content, keys, np.ones(len(rows), np.bool_)))
    there = np.zeros(len(asked.sets), np.bool_)
    there[mine] = True
    found = []
    for left, right in table.find(asked._replace(there=there), kind.measure):
        other = left != rows[right]
        if other.any():
            some = compare(kind, asked.sets, left[other], table, right[other], kind.measure, text=False)
            found.append(some._replace(right=rows[some.right]))
    return Matches.joined(found)


def _expand(pairs: Matches, first: Int64, kept: Bool, sought: Bool, of_equal: float) -> Matches:
    """Turn pairs of distinct sets into pairs of items: every later copy with the new item that it resembles."""
    mine = kept[pairs.right]
    alone = np.flatnonzero(kept)
    left = np.concatenate([pairs.left[mine], alone])
    right = np.concatenate([pairs.right[mine], alone])
    similarity = np.concatenate([pairs.similarity[mine], np.full(len(alone), of_equal)])
    by_set = np.argsort(first, kind="stable")
    begins = np.searchsorted(first[by_set], left)
    lengths = np.searchsorted(first[by_set], left, side="right") - begins
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    copies = by_set[np.repeat(begins, lengths) + steps]
    right, similarity = np.repeat(right, lengths), np.repeat(similarity, lengths)
    good = sought[copies] & (right < copies)
    return Matches(copies[good], right[good], similarity[good])


def _choose(known: Matches, inside: Matches, added: Bool, kind: Kind) -> NewItems:
    """The better match for each item that is not new; among equals, the earlier one."""
    base = np.iinfo(np.int64).max // 2  # items of the block come after those of the index
    both = Matches.joined([known, inside._replace(right=inside.right + base)])
    best, _ = both.best_first(kind.measure, k=1)
    number, row = np.full(len(added), -1, np.int64), np.full(len(added), -1, np.int64)
    similarity = np.full(len(added), np.nan)
    here = best.right >= base
    row[best.left[here]] = best.right[here] - base
    number[best.left[~here]] = best.right[~here]
    similarity[best.left] = best.similarity
    return NewItems(added, number, row, similarity)
