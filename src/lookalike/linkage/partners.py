"""Candidate pairs of texts: for each record, the records that share the most rare trigrams with it.

Blocking keys find values that are nearly equal, but two shops describe a product in different words. Common trigrams
have long posting lists and carry little information, so the rare trigrams of each record are read first, within a
budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.linkage.blocking.budget import GROUPS, HashReport
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.blocking.keys import assign_groups
from lookalike.linkage.compare.texts import TextComparer
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.letters import space_characters
from lookalike.linkage.fields.reader import DISTINCT
from lookalike.types import (
    Bool,
    Int32,
    Int64,
    Mapper,
    Span,
    UInt8,
    distinct,
    strings_to_arrow,
    text_scalar,
    to_arrow,
    to_numpy,
)
from lookalike.types import compute as pc

PARTNERS = 10
"""Partners that each field proposes for each record, from the other table or from the same one."""
CLUSTERED = 100
"""Partners that the whole record proposes within one table, where an entity may have many records."""
NEAREST = 5
"""Partners per record that are looked up within a table to measure chance."""
LARGE = 20_000
"""In larger tables, only the partners of a sample are looked up. A search in a large table must be thorough: the lead
over the next best partner is meaningless if that partner is not found."""
SAMPLED = 2_000
"""The size of the sample; the partners of its nearest records are looked up as well."""
PROPOSED = 500_000
"""The approximate number of pairs that a field proposes for the records of one table; at least one per record."""
WORDY = ("text", "person", "place", "address")
"""Kinds of fields that consist of words."""
RARELY = 0.02
"""A field that a smaller share of the records lacks is never left out of the whole record."""
TOLD = (*WORDY, "code")
"""Kinds of fields whose values may also occur in another field, such as a model number in a title."""


def join_columns(columns: Sequence[Column], name: str = "the whole record") -> Column:
    """Join the values of several fields of each record into one text.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> title = Column("title", "text", np.array([0, -1], np.int32), strings_to_arrow(["up"]))
    >>> name = Column("name", "person", np.array([0, -1], np.int32), strings_to_arrow(["ann lee"]))
    >>> joined = join_columns([title, name])
    >>> joined.codes.tolist(), joined.values.to_pylist()
    ([0, -1], ['up ann lee'])
    """
    # Arrow's own option to skip nulls loses rows with nulls only.
    texts = [_texts_of(column) for column in columns]
    spaced = space_characters(pc.binary_join_element_wise(*texts, text_scalar(" ")))
    while pc.any(pc.match_substring(spaced, "  "), min_count=0).as_py():  # a regular expression takes ten times as long
        spaced = pc.replace_substring(spaced, "  ", " ")
    whole = pc.utf8_trim_whitespace(spaced)
    encoded = pc.dictionary_encode(pc.if_else(pc.equal(whole, ""), text_scalar(None), whole))
    return Column(name, "text", to_numpy(pc.fill_null(encoded.indices, -1)).astype(np.int32), encoded.dictionary)


def _texts_of(column: Column) -> pa.Array:
    """The value of each record; an empty text where it is missing."""
    values = pa.concat_arrays([column.values, strings_to_arrow([""])])
    return pc.take(values, to_arrow(np.where(column.codes < 0, len(column.values), column.codes)))


class Texts:
    """The words and trigrams of all fields that consist of words, and of the whole record; created on first use."""

    def __init__(
        self, columns: Sequence[Column], each: Mapper = map, made: dict[int, TextComparer] | None = None
    ) -> None:
        self._columns, self._each, self._given = columns, each, made

    def take(self, records: Int64) -> Texts:
        """The texts of some records."""
        made = dict(zip(self._made, self._each(lambda one: one.take(records), self._made.values())))
        return Texts([column.take(records) for column in self._columns], self._each, made)

    @cached_property
    def _made(self) -> dict[int, TextComparer]:
        """The comparer of each field, by its number; if there are several fields, first that of all together (-1)."""
        if self._given is not None:
            return self._given
        columns = dict(enumerate(self._columns))
        wordy = {place: column for place, column in columns.items() if column.kind in WORDY}
        told = [column for column in columns.values() if column.kind in TOLD]
        both = ({-1: join_columns(told)} if wordy and len(told) > 1 else {}) | wordy
        return dict(zip(both, self._each(TextComparer, both.values())))

    def of(self, place: int) -> TextComparer | None:
        """The comparer of a field, or of the whole record (-1); None if there is none."""
        return self._made.get(place)

    @cached_property
    def without(self) -> dict[int, TextComparer]:
        """The comparer of the whole record without a field, for each of its fields that some records lack, by number.

        If one of two records lacks a field, what the other one says in it is no evidence against a match.
        """
        lacked = find_lacked(self._columns) if -1 in self._made else {}
        return dict(zip(lacked, self._each(TextComparer, map(join_columns, lacked.values()))))

    def list_words(self) -> None:
        """List the words of all fields and whole records on all threads, before they are compared one by one."""
        list(self._each(lambda one: one.words, [*self._made.values(), *self.without.values()]))

    def sources(self) -> list[tuple[int, TextComparer]]:
        """The comparers that propose partners: the whole record, and the fields that distinguish records."""
        return [(place, one) for place, one in self._made.items() if place < 0 or is_distinct(one.column)]


def find_lacked(columns: Sequence[Column]) -> dict[int, list[Column]]:
    """The fields of the whole record that more than a few records lack, by number, and the other fields of it.

    Examples
    --------
    >>> values = strings_to_arrow(["up"])
    >>> title, maker = (Column(name, "text", np.array(codes, np.int32), values) for name, codes in
    ...                 (("title", [0, 0]), ("maker", [0, -1])))
    >>> {place: [one.name for one in others] for place, others in find_lacked([title, maker]).items()}
    {1: ['title']}
    """
    told = {place: column for place, column in enumerate(columns) if column.kind in TOLD}
    lacked = [place for place, one in told.items() if RARELY * len(one) < one.missing < len(one)]
    return {gone: [one for place, one in told.items() if place != gone] for gone in lacked if len(told) > 1}


def is_distinct(column: Column) -> bool:
    """Whether a field has enough different values to distinguish records."""
    return len(column.values) >= DISTINCT * (len(column) - column.missing)


def most_proposed(records: int, count: int, two_tables: bool) -> int:
    """The most pairs that `propose_pairs` proposes for one source, if two tables have any sizes.

    Examples
    --------
    >>> most_proposed(1_000, 10, False), most_proposed(1_000_000, 10, False), most_proposed(1_000_000, 10, True)
    (10000, 1000000, 1000000)
    """
    return min(count * records, max(PROPOSED * (1 + two_tables), records))


def propose_pairs(comparer: TextComparer, sides: Sequence[tuple[Span, Span]], count: int, each: Mapper = map) -> Int64:
    """Pairs of each record with its most similar records, as left << 32 | right, ascending and distinct.

    `sides` are pairs (askers, asked): for each record of `askers`, partners among `asked` are proposed.
    """
    found = []
    for askers, asked in sides:
        number = max(1, min(count, PROPOSED // max(1, askers[1] - askers[0])))
        found.append(_pair(np.arange(*askers), comparer.partners(askers, asked, number, each)))
    return distinct(np.concatenate(found))


def add_partners(
    pairs: CandidatePairs, columns: Sequence[Column], texts: Texts, split: int, each: Mapper = map
) -> CandidatePairs:
    """Add the pairs that texts propose to the candidate pairs; `split` as for find_pairs."""
    records, groups = len(columns[0]), assign_groups(columns)
    two = split < records
    sides = [((0, split), (split, records)), ((split, records), (0, split))] if two else [((0, records), (0, records))]
    keys, bits, reports = [_keys(pairs.left, pairs.right)], [pairs.groups], list(pairs.report)
    for place, comparer in texts.sources():
        proposed = propose_pairs(comparer, sides, PARTNERS if two or place >= 0 else CLUSTERED, each)
        group, column = 0 if place < 0 else groups[place], comparer.column
        keys.append(proposed)
        bits.append(np.full(len(proposed), group, np.uint8))
        name = f"most similar {'records' if place < 0 else column.name}"
        known = len(column) - column.missing
        reports.append(HashReport(name, GROUPS[group], known, pairs=len(proposed)))
    left, right, found = _merge(np.concatenate(keys), np.concatenate(bits))
    return replace(pairs, left=left, right=right, groups=found, report=reports)


class ChancePairs(NamedTuple):
    """The most similar records within each of two tables: they show how similar different entities can be."""

    left: Int32
    right: Int32
    sampled: Bool
    """The records that represent their table."""
    searched: Bool
    """The records whose partners were looked up."""


def chance_pairs(texts: Texts, split: int, records: int, each: Mapper = map, large: int = LARGE) -> ChancePairs:
    """Look up the most similar records within each of two tables; in tables of more than `large` records, of a sample.

    The first table has the records below `split`.
    """
    keys, tables = [np.empty(0, np.int64)], [(0, split), (split, records)]
    sources = [comparer for _, comparer in texts.sources()]
    sampled, searched = np.zeros(records, np.bool_), np.zeros(records, np.bool_)
    for start, stop in tables if sources else ():
        if stop - start <= large:
            sampled[start:stop] = searched[start:stop] = True
            keys += [propose_pairs(one, [((start, stop), (start, stop))], NEAREST, each) for one in sources]
            continue
        size = min(SAMPLED, stop - start)
        sample = np.sort(np.random.default_rng(1).choice(stop - start, size, replace=False)) + start
        sampled[sample] = True
        nearest = sources[0].partners(sample, (start, stop), NEAREST + 1, each)
        askers = distinct(np.append(sample, nearest[nearest >= 0]))
        searched[askers] = True
        keys += [_pair(askers, one.partners(askers, (start, stop), NEAREST + 1, each)) for one in sources]
    found = distinct(np.concatenate(keys))
    return ChancePairs((found >> 32).astype(np.int32), (found & 0xFFFFFFFF).astype(np.int32), sampled, searched)


def _pair(records: Int64, partners: Int32) -> Int64:
    """Pairs of each record and its partners, except -1 and the record itself, as left << 32 | right."""
    others = partners.ravel().astype(np.int64)
    each = np.repeat(records.astype(np.int64), partners.shape[1])
    low, high = np.minimum(each, others), np.maximum(each, others)
    return np.asarray((low << 32 | high)[(others >= 0) & (others != each)])


def _keys(left: Int32, right: Int32) -> Int64:
    return left.astype(np.int64) << 32 | right


def _merge(keys: Int64, bits: UInt8) -> tuple[Int32, Int32, UInt8]:
    """The distinct pairs in order, and for each the groups of everything that found it."""
    order = np.argsort(keys, kind="stable")
    keys, bits = keys[order], bits[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    found = np.bitwise_or.reduceat(bits, first) if len(first) else bits
    return (keys[first] >> 32).astype(np.int32), (keys[first] & 0xFFFFFFFF).astype(np.int32), found
