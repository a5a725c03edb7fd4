"""Ways to hash a record: by the values of fields, by the order of a field, by minhash bands over character shingles.

Nothing here knows how many pairs a key costs and whether they are taken: see budget.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lookalike.kernels import blocking as kernels
from lookalike.kernels.sorting import sort_bits
from lookalike.linkage.fields.columns import Column
from lookalike.types import (
    Bool,
    Float64,
    Int32,
    Int64,
    Mapper,
    UInt32,
    UInt64,
    text_arrays,
    to_arrow,
    to_numpy,
)
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

ALL: Bool = np.empty(0, np.bool_)
"""Selects every record."""
CHUNK, SKETCHED = 1 << 16, 1 << 11
"""Records that a thread sketches at a time, and those whose signatures fit its cache."""
TEXTS = ("person", "place", "text", "email", "address")
"""Kinds of fields that are shingled."""
BEGINNING, CELL = 5, 0.1
"""Characters in the start of a text; width of a cell of numbers, as a difference of natural logarithms."""
LONG = 12
"""Fields whose values have this many bytes or more on average get shingles of 3 characters, others of 2."""


@frozen
class BlockingHash:
    """A way to give records one key or (for bands) several: records that share a key are candidates."""

    name: str
    group: int
    """1 for group A, 2 for group B, 0 for neither, because it covers fields of both."""
    keys: Sequence[Callable[[], UInt64]]
    """Each makes uint64[records]; kernels.NO_KEY for a record without a key."""


@frozen
class RecordSignatures:
    """Minhash signatures of records; several records may share one."""

    name: str
    group: int
    values: UInt32
    """uint32[slots, signatures]"""
    codes: Int32
    """int32[records]: the number of each record's signature, -1 for none."""

    def bands(self, rows: int, chosen: Sequence[Bool] = (), *, taken: int | None = None) -> BlockingHash:
        """As many bands of `rows` rows as the slots allow; with `taken`, each key covers that many rows.

        `chosen` selects, for each band, the records that get a key.
        """
        taken = taken or rows
        bands = len(self.values) // rows
        makers = [
            lambda band=band: self._keys(band * rows, taken, chosen[band] if len(chosen) else ALL)
            for band in range(bands)
        ]
        return BlockingHash(f"{self.name}, {bands} bands of {taken}", self.group, makers)

    def _keys(self, first: int, rows: int, chosen: Bool) -> UInt64:
        of_signatures = np.empty(self.values.shape[1], np.uint64)
        kernels.slot_keys(self.values, first, rows, of_signatures)
        keys = np.empty(len(self.codes), np.uint64)
        kernels.spread_keys(of_signatures, self.codes, chosen, keys)
        return keys


def value_hash(columns: Sequence[Column], group: int, chosen: Bool = ALL) -> BlockingHash:
    """A hash by which records with equal values in all of these columns are candidates.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("name", "person", np.array([0, -1, 0], np.int32), strings_to_arrow(["ann"]))
    >>> keys = value_hash([column], 1).keys[0]()
    >>> bool(keys[0] == keys[2]), bool(keys[1] == kernels.NO_KEY)
    (True, True)
    """

    def make() -> UInt64:
        keys = np.empty(len(columns[0]), np.uint64)
        kernels.value_keys(np.stack([column.codes for column in columns]), chosen, keys)
        return keys

    return BlockingHash(" + ".join(column.name for column in columns), group, [make])


def coarsen(column: Column) -> list[Column]:
    """Coarse versions of a field, which ignore details: the start of a text; the approximate size of a number.

    Numbers are put into two grids, so that those less than 5% apart share a cell of one of them. A field that would not
    become coarser has no coarse version.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> price = Column("price", "number", np.arange(3, dtype=np.int32), strings_to_arrow(["99", "101", "7"]))
    >>> [(coarse.name, coarse.codes.tolist()) for coarse in coarsen(price)]
    [('price, roughly', [1, 2, 0]), ('price, roughly (2)', [1, 1, 0])]
    """
    if column.kind == "number":
        return _coarsen_numbers(column)
    if column.kind not in TEXTS:
        return []
    starts = pc.dictionary_encode(pc.utf8_slice_codeunits(column.values, 0, BEGINNING))
    if len(starts.dictionary) == len(column.values):
        return []
    return [_renumbered(column, f"start of {column.name}", starts.dictionary, to_numpy(starts.indices))]


def _coarsen_numbers(column: Column) -> list[Column]:
    try:
        sizes = to_numpy(pc.cast(column.values, pa.float64()))
    except pa.ArrowInvalid:  # not all are numbers
        return []
    # The offset keeps positive and negative numbers apart.
    cells = np.sign(sizes) * (1e4 + np.log(np.maximum(np.abs(sizes), 1e-99)) / CELL)
    made = []
    for shift, name in ((0.0, f"{column.name}, roughly"), (0.5, f"{column.name}, roughly (2)")):
        distinct, number = np.unique(np.floor(cells + shift), return_inverse=True)
        made.append(_renumbered(column, name, to_arrow(distinct), number))
    return made


def _renumbered(column: Column, name: str, values: pa.Array, number: Int64) -> Column:
    codes = np.append(number, -1)[column.codes].astype(np.int32)
    return Column(name, column.kind, codes, pc.cast(values, pa.large_string()))


def power(column: Column) -> float:
    """How selective a field is: the bits by which an equal value narrows the search, times the share of known values.

    The sum of squared shares is the probability that two random records agree; its logarithm is the collision entropy.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> power(Column("sex", "code", np.array([0, 1, 0, 1], np.int32), strings_to_arrow(["f", "m"])))
    1.0
    """
    counts = np.bincount(column.codes[column.codes >= 0]).astype(np.float64)
    known = counts.sum()
    if not known:
        return 0.0
    shares: Float64 = counts / known
    return float(-np.log2((shares**2).sum()) * known / len(column))


def assign_groups(columns: Sequence[Column]) -> list[int]:
    """The group of each field (1 or 2): the most selective first, each to the group with less power (fewer) so far.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> two = Column("sex", "code", np.array([0, 1], np.int32), strings_to_arrow(["f", "m"]))
    >>> assign_groups([two, two, two])
    [1, 2, 1]
    """
    powers = [power(column) for column in columns]
    total = {1: (0.0, 0), 2: (0.0, 0)}
    groups = [0] * len(columns)
    for place in sorted(range(len(columns)), key=lambda place: (-powers[place], place)):
        groups[place] = 1 if total[1] <= total[2] else 2
        sum_of_powers, fields = total[groups[place]]
        total[groups[place]] = sum_of_powers + powers[place], fields + 1
    return groups


def order_of(codes: Int32, ranks: UInt64, beside: tuple[Int32, UInt64] | None = None) -> Int32:
    """Records that have a value (its number is in `codes`), by its rank; ties by the rank in a second field, `beside`.

    Both ranks and the record are packed into one word, because plain words sort fastest. If they need more than 64
    bits, the second rank is made coarser.
    """
    known = np.flatnonzero(codes >= 0).astype(np.int32)
    words = ranks[codes[known]]
    record_bits = len(codes).bit_length()
    if beside is not None:
        others, places = beside
        wide = len(places).bit_length()
        bits = min(wide, 64 - record_bits - len(ranks).bit_length())
        # A missing value (-1) picks the last rank, so that those records come last.
        places = np.append(places, np.uint64(len(places))) >> np.uint64(wide - bits)
        words = words << np.uint64(bits) | places[others[known]]
    words = words << np.uint64(record_bits) | known.astype(np.uint64)
    # Records are in order already, and a stable sort keeps them so.
    highest = int(words.max(initial=0)).bit_length()
    other = np.empty_like(words)
    swapped = sort_bits(words, other, record_bits, -(-max(0, highest - record_bits) // 8))
    return ((other if swapped else words) & np.uint64((1 << record_bits) - 1)).astype(np.int32)


def rank_values(column: Column, reverse: bool = False) -> UInt64:
    """The rank of each distinct value: numbers by size, others by characters (`reverse`: read backwards).

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("name", "person", np.arange(3, dtype=np.int32), strings_to_arrow(["bob", "ann", "cyd"]))
    >>> rank_values(column).tolist(), rank_values(column, reverse=True).tolist()
    ([1, 0, 2], [0, 2, 1])
    """
    order = None
    if column.kind == "number" and not reverse:
        with contextlib.suppress(pa.ArrowInvalid):
            order = to_numpy(pc.sort_indices(pc.cast(column.values, pa.float64())))
    if order is None:
        order = _order_texts(pc.utf8_reverse(column.values) if reverse else column.values)
    ranks = np.empty(len(order), np.uint64)
    ranks[order] = np.arange(len(order), dtype=np.uint64)
    return ranks


def _order_texts(texts: pa.Array) -> Int64:
    """The numbers of texts in sorted order: by the first eight bytes, then by the next few, ties by all bytes."""
    data, offsets = text_arrays(texts)
    keys, next_keys = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    kernels.eight_bytes(data, offsets, 0, keys)
    kernels.eight_bytes(data, offsets, 8, next_keys)
    order = np.argsort(keys)
    ranks = np.empty(len(texts), np.uint64)
    ranks[order] = np.cumsum(np.append(False, np.diff(keys[order]) != 0)[: len(texts)])
    bits = len(texts).bit_length()
    keys = ranks << np.uint64(64 - bits) | next_keys >> np.uint64(bits)
    order = np.argsort(keys)
    kernels.order_ties(order, keys, data, offsets)
    return order


def sketch_columns(
    columns: Sequence[Column], name: str, group: int, slots: int, seed: int, each: Mapper
) -> RecordSignatures:
    """Signatures of the shingles of these fields together; for a single field, one per distinct value."""
    width = shingle_width(columns)
    texts = [text_arrays(column.values) for column in columns]
    if len(columns) == 1:
        own, codes = columns[0].codes, [np.arange(len(columns[0].values), dtype=np.int32)]
    else:
        codes = [column.codes for column in columns]
        some = np.any([one >= 0 for one in codes], axis=0)
        own = np.where(some, np.arange(len(some), dtype=np.int32), np.int32(-1))
    values = np.empty((slots, len(codes[0])), np.uint32)
    longest = 3 + max(int(np.diff(offsets).max(initial=0)) for _, offsets in texts)

    def sketch(first: int) -> None:
        scratch = np.empty(longest, np.uint8), np.empty(longest, np.int64), np.empty(longest, np.uint32)
        for start in range(first, min(first + CHUNK, len(codes[0])), SKETCHED):
            least = np.full((min(SKETCHED, len(codes[0]) - start), slots), 0xFFFFFFFF, np.uint32)
            for own, (data, offsets) in zip(codes, texts):
                some = own[start : start + len(least)]
                kernels.lower_slots(some, data, offsets, width, np.uint64(seed), *scratch, least)
            kernels.store_slots(least, start, values)

    list(each(sketch, range(0, len(codes[0]), CHUNK)))
    return RecordSignatures(f"{width}-character shingles of {name}", group, values, own)


def shingle_width(columns: Sequence[Column]) -> int:
    """The number of characters per shingle: 2 for a single short field, otherwise 3."""
    if len(columns) > 1:
        return 3
    _, offsets = text_arrays(columns[0].values)
    return 3 if len(offsets) > 1 and (offsets[-1] - offsets[0]) / (len(offsets) - 1) >= LONG else 2
