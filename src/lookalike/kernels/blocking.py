"""Blocking keys of records, and the candidate pairs that they produce.

A record has at most one value per field, given by number; -1 if there is none. A pair of records and the key that found
it are packed into one word, (left | right | mark), so that a single sort brings together all keys that found the same
pair.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.hashing import LARGEST, U, mix
from lookalike.kernels.machine import fetch
from lookalike.kernels.strings import are_equal, comes_before

NO_KEY = LARGEST
"""The key of a record without a value."""
MARK_BITS = 12
"""The number of bits of a word that identify the key that found the pair."""
SEVERAL = 4
"""Marks below this are sets of groups, for pairs found by several keys; each other mark stands for one key."""
PAD = ord(" ")
HASHED = 1024
"""The number of records whose keys are computed together."""


@inlined
def _combine(key, number):
    """Combine a key and a number into one key; never returns NO_KEY, which is reserved."""
    mixed = mix(key * U(0x9E3779B97F4A7C15) + U(number))
    return mixed if mixed != U(0xFFFFFFFFFFFFFFFF) else U(0)


@kernel("int32[,], bool[], uint64[]")
def value_keys(codes, chosen, keys):
    """Combine the values of several fields into one key; NO_KEY if one is missing or the record is not chosen.

    Parameters
    ----------
    codes : int32[fields, records]
    chosen : bool[records], or of size 0 for all records
    keys : uint64[records]
    """
    for record in range(codes.shape[1]):
        key = U(0)
        if chosen.size and not chosen[record]:
            key = NO_KEY
        for field in range(codes.shape[0]):
            if key != NO_KEY:
                code = codes[field, record]
                key = _combine(key, code) if code >= 0 else NO_KEY
        keys[record] = key


@kernel("uint32[,], int64, int64, uint64[]")
def slot_keys(values, first, rows, keys):
    """Combine `rows` slots of each signature into one key, from slot `first` on, wrapping around at the end.

    Parameters
    ----------
    values : uint32[slots, signatures]
    keys : uint64[signatures]
    """
    slots = values.shape[0]
    for start in range(0, keys.size, HASHED):
        stop = min(start + HASHED, keys.size)
        for i in range(start, stop):
            keys[i] = U(first)
        for j in range(first, first + rows):
            slot = j % slots
            for i in range(start, stop):
                keys[i] = _combine(keys[i], values[slot, i])


@kernel("uint64[], int32[], bool[], uint64[]")
def spread_keys(signature_keys, codes, chosen, keys):
    """Give each record the key of its signature (by number in `codes`, -1 if none); NO_KEY if it is not chosen.

    Parameters
    ----------
    chosen : bool[records], or of size 0 for all records
    keys : uint64[records]
    """
    for record in range(codes.size):
        if codes[record] < 0 or (chosen.size and not chosen[record]):
            keys[record] = NO_KEY
        else:
            keys[record] = signature_keys[codes[record]]


@inlined
def list_shingles(data, start, end, width, padded, ends, elements, at):
    """Write the shingles of data[start:end], padded with one space on each side, to elements[at:]; return the new end.

    `padded` (uint8) and `ends` (int64) must have at least two more entries than there are bytes.
    """
    length = end - start
    padded[0] = padded[length + 1] = PAD
    for i in range(length):
        padded[i + 1] = data[start + i]
    characters = 0
    for i in range(length + 2):
        if padded[i] & 0xC0 != 0x80:  # not a continuation byte
            ends[characters] = i
            characters += 1
    ends[characters] = length + 2
    for first in range(max(1, characters - width + 1)):
        state = U(0)
        for i in range(ends[first], ends[min(first + width, characters)]):
            if i - ends[first] == 8:  # more bytes than fit in a word
                state = mix(state)
            state = state << U(8) ^ U(padded[i])
        elements[at] = np.uint32(mix(state) >> U(32))
        at += 1
    return at


@kernel("int32[], uint8[], int64[], int64, uint64, uint8[], int64[], uint32[], uint32[,]")
def lower_slots(codes, data, offsets, width, seed, padded, ends, elements, least):
    """Lower every slot of each record to the smallest hash of the shingles of its value.

    This is called once per field. Shingles of different fields are not distinguished, so that records with swapped
    names still agree. The sets are small, so one hash function per slot, computed for many slots per instruction, is
    faster than a single one that fills all slots; and recomputing shingles is faster than storing them.

    Parameters
    ----------
    codes : int32[records]
        The value of each record; -1 if there is none.
    data, offsets
        The values.
    padded, ends, elements : uint8, int64, uint32
        Each needs at least three more entries than the longest value has bytes.
    least : uint32[records, slots]
    """
    slots = least.shape[1]
    flips, factors = np.empty(slots, np.uint32), np.empty(slots, np.uint32)
    for b in range(slots):
        drawn = mix(seed * U(0x9E3779B97F4A7C15) + U(b))
        flips[b], factors[b] = np.uint32(drawn >> U(32)), np.uint32(drawn) | np.uint32(1)
    for record in range(codes.size):
        if record + 16 < codes.size:
            fetch(offsets, codes[record + 16])
            fetch(data, offsets[max(codes[record + 8], 0)])
        if codes[record] < 0:
            continue
        start, stop = offsets[codes[record]], offsets[codes[record] + 1]
        count = list_shingles(data, start, stop, width, padded, ends, elements, 0)
        for i in range(count):
            # The multiplication carries all bits of an element into the upper ones, which decide.
            element = elements[i]
            for b in range(slots):
                least[record, b] = min(least[record, b], np.uint32((element ^ flips[b]) * factors[b]))


@kernel("uint32[,], int64, uint32[,]")
def store_slots(least, first, values):
    """Copy the slots of consecutive records, starting with record `first`, to uint32[slots, records]."""
    for b in range(least.shape[1]):
        for record in range(least.shape[0]):
            values[b, first + record] = least[record, b]


@inlined
def _below(members, start, stop, split):
    """How many of the ascending members[start:stop] are below `split`."""
    count = 0
    while start + count < stop and members[start + count] < split:
        count += 1
    return count


@kernel("int64[], int32[], int64, bool, int64[]")
def count_block_pairs(starts, members, split, crossing, costs):
    """Count the pairs of each block, int64[blocks]; if `crossing`, only those of a left and a right record."""
    for b in range(starts.size - 1):
        size = starts[b + 1] - starts[b]
        if crossing:
            left = _below(members, starts[b], starts[b + 1], split)
            costs[b] = left * (size - left)
        else:
            costs[b] = size * (size - 1) // 2


@inlined
def _pack(left, right, bits, mark):
    return (((U(left) << U(bits)) | U(right)) << U(12)) | U(mark)


@kernel("int64[], int32[], int64[], int64, int64, bool, int64, int64, uint64[]")
def fill_block_pairs(starts, members, costs, most, split, crossing, bits, mark, words):
    """Write the pairs of all blocks with at most `most` pairs; `words` must have exactly the required length."""
    at = 0
    for b in range(starts.size - 1):
        if costs[b] > most:
            continue
        start, stop = starts[b], starts[b + 1]
        border = start + _below(members, start, stop, split) if crossing else stop
        for i in range(start, border):
            for j in range(border if crossing else i + 1, stop):
                words[at] = _pack(members[i], members[j], bits, mark)
                at += 1


@kernel("int32[], int64, int64, bool -> int64[]")
def count_window_pairs(order, window, split, crossing):
    """Count the pairs in `order` that are at most 1, 2, ... positions apart: int64[window]."""
    counts = np.zeros(window, np.int64)
    for i in range(order.size):
        for apart in range(1, min(window, order.size - 1 - i) + 1):
            if not crossing or (order[i] < split) != (order[i + apart] < split):
                counts[apart - 1] += 1
    for apart in range(1, window):
        counts[apart] += counts[apart - 1]
    return counts


@kernel("int32[], int64, int64, bool, int64, int64, uint64[]")
def fill_window_pairs(order, window, split, crossing, bits, mark, words):
    """Write the pairs counted by `count_window_pairs`."""
    at = 0
    for i in range(order.size):
        for apart in range(1, min(window, order.size - 1 - i) + 1):
            one, other = order[i], order[i + apart]
            if not crossing or (one < split) != (other < split):
                words[at] = _pack(min(one, other), max(one, other), bits, mark)
                at += 1


@kernel("uint64[], int64, uint64[]")
def merge_runs(words, filled, new):
    """Merge sorted words[:filled] and sorted `new` into words[:filled + new.size], in place, from the end."""
    i, j = filled - 1, new.size - 1
    for at in range(filled + new.size - 1, -1, -1):
        if j < 0:
            break  # the rest is already in place
        if i >= 0 and words[i] > new[j]:
            words[at] = words[i]
            i -= 1
        else:
            words[at] = new[j]
            j -= 1


@kernel("uint64[], uint8[] -> int64")
def merge_words(words, groups):
    """Merge the sorted words of each pair into one, in place; return the number of words left.

    Parameters
    ----------
    words : uint64[...], sorted
    groups : uint8[marks]
        The groups of each mark, as a bit set.
    """
    kept = 0
    i = 0
    while i < words.size:
        pair, first = words[i] >> U(12), words[i] & U(0xFFF)
        found, alone = groups[first], True
        i += 1
        while i < words.size and words[i] >> U(12) == pair:
            mark = words[i] & U(0xFFF)
            found |= groups[mark]
            alone &= mark == first
            i += 1
        words[kept] = (pair << U(12)) | (first if alone else U(found))
        kept += 1
    return kept


@kernel("uint64[], int64, uint8[], int32[], int32[], uint8[], int64[]")
def unpack_words(words, bits, groups, left, right, found, only):
    """Unpack words to left, right (int32) and the groups that found each pair (uint8); count the pairs of each mark."""
    mask = (U(1) << U(bits)) - U(1)
    for i in range(words.size):
        mark = words[i] & U(0xFFF)
        only[mark] += 1
        found[i] = groups[mark]
        right[i] = np.int32((words[i] >> U(12)) & mask)
        left[i] = np.int32(words[i] >> U(12 + bits))


@kernel("uint8[], int64[], int64, uint64[]")
def eight_bytes(data, offsets, skip, keys):
    """Eight bytes of each text, from position `skip` on, as a number with the same sort order: uint64[texts]."""
    for text in range(offsets.size - 1):
        key = U(0)
        for i in range(8):
            place = offsets[text] + skip + i
            key = key << U(8) | (U(data[place]) if place < offsets[text + 1] else U(0))
        keys[text] = key


@kernel("int64[], uint64[], uint8[], int64[]")
def order_ties(order, keys, data, offsets):
    """Sort texts with equal keys by their bytes, then by number, in place; `order` is already sorted by key."""
    start = 0
    while start < order.size:
        stop = start + 1
        while stop < order.size and keys[order[stop]] == keys[order[start]]:
            stop += 1
        if stop - start > 1:
            _heap_sort(order, start, stop, data, offsets)
        start = stop


@inlined
def _precedes(one, other, data, offsets):
    i, i_stop, j, j_stop = offsets[one], offsets[one + 1], offsets[other], offsets[other + 1]
    if are_equal(data, i, i_stop, j, j_stop):
        return one < other
    return comes_before(data, i, i_stop, j, j_stop)


@inlined
def _sink(order, start, hole, last, data, offsets):
    """Move the text at `hole` down the heap until no text below it sorts after it."""
    text = order[start + hole]
    child = 2 * hole + 1
    while child < last:
        if child + 1 < last and _precedes(order[start + child], order[start + child + 1], data, offsets):
            child += 1
        if not _precedes(text, order[start + child], data, offsets):
            break
        order[start + hole] = order[start + child]
        hole = child
        child = 2 * hole + 1
    order[start + hole] = text


@part
def _heap_sort(order, start, stop, data, offsets):
    count = stop - start
    for hole in range(count // 2 - 1, -1, -1):
        _sink(order, start, hole, count, data, offsets)
    for last in range(count - 1, 0, -1):
        order[start], order[start + last] = order[start + last], order[start]
        _sink(order, start, 0, last, data, offsets)
