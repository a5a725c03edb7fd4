"""Hashes of records, and the pairs of their blocks: what candidates for records are made with.

A record has at most one value per field, by number; -1 where there is none. A pair of records and the hash that brought
it are packed in one word, (left | right | mark), so that one sort puts all that brought a pair side by side.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import LARGEST, U, as_element, mix
from lookalike.kernels.minhash import fast_similarity_sketch

NO_KEY = LARGEST
"""The key of a record that a hash says nothing about."""
MARK_BITS = 12
"""Bits of a word that say which hash brought the pair."""
SEVERAL = 4
"""Marks below this one stand for several hashes, and are the groups that these belong to; others for one hash."""
PAD = ord(" ")


@inlined
def _combine(key, number):
    """One key of a key and a number; NO_KEY is kept free."""
    mixed = mix(key * U(0x9E3779B97F4A7C15) + U(number))
    return mixed if mixed != U(0xFFFFFFFFFFFFFFFF) else U(0)


@kernel
def value_keys(codes, chosen, keys):
    """One key of the values of several fields; NO_KEY where one is missing or the record was not chosen.

    Parameters
    ----------
    codes : int32[fields, records]
    chosen : bool[records], or of size 0: all
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


@kernel
def slot_keys(values, first, rows, codes, chosen, keys):
    """One key of `rows` slots of a signature, from slot `first` on and around the end.

    Parameters
    ----------
    values : uint32[slots, signatures]
    codes : int32[records]
        Which signature each record has, -1 for none.
    chosen : bool[records], or of size 0: all
    keys : uint64[records]
    """
    slots = values.shape[0]
    for record in range(codes.size):
        key = NO_KEY
        if codes[record] >= 0 and (not chosen.size or chosen[record]):
            key = U(first)
            for j in range(first, first + rows):
                key = _combine(key, values[j % slots, codes[record]])
        keys[record] = key


@inlined
def _list_shingles(data, start, end, width, padded, ends, elements, at):
    """Write the shingles of data[start:end], with a space before and after it, to elements[at:]; return where it ended.

    `padded` (uint8) and `ends` (int64) have room for two more than the bytes.
    """
    length = end - start
    padded[0] = padded[length + 1] = PAD
    for i in range(length):
        padded[i + 1] = data[start + i]
    characters = 0
    for i in range(length + 2):
        if padded[i] & 0xC0 != 0x80:  # not inside a character of several bytes
            ends[characters] = i
            characters += 1
    ends[characters] = length + 2
    for first in range(max(1, characters - width + 1)):
        state = U(0)
        for i in range(ends[first], ends[min(first + width, characters)]):
            state = (state ^ U(padded[i])) * U(0xFF51AFD7ED558CCD)
            state ^= state >> U(29)
        elements[at] = as_element(state)
        at += 1
    return at


@kernel
def shingle_values(data, offsets, width):
    """The hashes of the character shingles of each text, a space put before and after it.

    Returns
    -------
    indptr : int64[texts + 1]
    elements : uint64[...]
        A shingle that repeats in a text is there again.
    """
    texts = offsets.size - 1
    longest = 0
    for i in range(texts):
        longest = max(longest, offsets[i + 1] - offsets[i])
    padded, ends = np.empty(longest + 2, np.uint8), np.empty(longest + 3, np.int64)
    indptr = np.zeros(texts + 1, np.int64)
    elements = np.empty(offsets[texts] - offsets[0] + 2 * texts, np.uint64)
    for i in range(texts):
        indptr[i + 1] = _list_shingles(data, offsets[i], offsets[i + 1], width, padded, ends, elements, indptr[i])
    return indptr, elements[: indptr[texts]]


@kernel
def sketch_records(codes, starts, indptr, elements, seed, first, last, values):
    """Signatures of the records first..last-1, each the union of the shingles of its values in all fields.

    A field's shingles are not told from another's: names that changed places still agree.

    Parameters
    ----------
    codes : int32[fields, records]
    starts : int64[fields]
        Value v of field f is the text starts[f] + v of the following two.
    indptr, elements
        As shingle_values gives them.
    values : uint32[slots, records]
    """
    slots = values.shape[0]
    sketch = np.empty(slots, np.uint64)
    union = np.empty(64, np.uint64)
    for record in range(first, last):
        count = 0
        for field in range(codes.shape[0]):
            if codes[field, record] < 0:
                continue
            text = starts[field] + codes[field, record]
            size = indptr[text + 1] - indptr[text]
            if count + size > union.size:
                larger = np.empty(2 * (count + size), np.uint64)
                larger[:count] = union[:count]
                union = larger
            union[count : count + size] = elements[indptr[text] : indptr[text + 1]]
            count += size
        fast_similarity_sketch(union, count, seed, slots, sketch)
        for b in range(slots):
            values[b, record] = np.uint32(sketch[b] & U(0xFFFFFFFF))


@inlined
def _below(members, start, stop, split):
    """How many of members[start:stop], ascending, are smaller than `split`."""
    count = 0
    while start + count < stop and members[start + count] < split:
        count += 1
    return count


@kernel
def count_block_pairs(starts, members, split, crossing, costs):
    """How many pairs each block stands for: int64[blocks]; with `crossing` only those of a left and a right record."""
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


@kernel
def fill_block_pairs(starts, members, costs, most, split, crossing, bits, mark, words):
    """Write the pairs of the blocks that stand for at most `most` of them; `words` has just the room."""
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


@kernel
def count_window_pairs(order, window, split, crossing):
    """How many pairs of `order` are at most so many places apart: int64[window], for 1, 2, ... places."""
    counts = np.zeros(window, np.int64)
    for i in range(order.size):
        for apart in range(1, min(window, order.size - 1 - i) + 1):
            if not crossing or (order[i] < split) != (order[i + apart] < split):
                counts[apart - 1] += 1
    return np.cumsum(counts)


@kernel
def fill_window_pairs(order, window, split, crossing, bits, mark, words):
    """Write the pairs that count_window_pairs counts."""
    at = 0
    for i in range(order.size):
        for apart in range(1, min(window, order.size - 1 - i) + 1):
            one, other = order[i], order[i + apart]
            if not crossing or (one < split) != (other < split):
                words[at] = _pack(min(one, other), max(one, other), bits, mark)
                at += 1


@kernel
def merge_words(words, groups):
    """Make sorted words distinct by pair, in place; return how many are left.

    Parameters
    ----------
    words : uint64[...], sorted
    groups : uint8[marks]
        The groups of each mark, as bits.
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


@kernel
def unpack_words(words, bits, groups, left, right, found, only):
    """Merged words as pairs: left, right (int32), the groups that found each (uint8); count those of each mark."""
    mask = (U(1) << U(bits)) - U(1)
    for i in range(words.size):
        mark = words[i] & U(0xFFF)
        only[mark] += 1
        found[i] = groups[mark]
        right[i] = np.int32((words[i] >> U(12)) & mask)
        left[i] = np.int32(words[i] >> U(12 + bits))
