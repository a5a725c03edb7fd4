"""Number the elements of sets by ascending frequency, partition by partition.

Elements are distributed over *partitions* by their top bits, in input order, so that a partition's hash table fits in
the second-level cache. Within a partition, each distinct element gets an *id*: 0, 1, ... in order of first occurrence.
The input is split into *chunks* of whole sets for the threads; bounds[c, p] is where chunk c's share of partition p
begins. Since ids ascend with first occurrences, a second pass over the input with one cursor per partition can tell
first occurrences from later ones without a table.

`words` is the uint32 view of `spread`. Partition p is spread[start:end], with n elements. Once it is numbered, its ids
are words[2 start : 2 start + n], and words[2 start + n : ] is its table by id: first the frequency of each element,
then the class of that frequency, finally the element's number. No other array of that size is needed.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import U
from lookalike.kernels.sorting import insertion_sort

FEW = 48
"""Up to this many tokens, an insertion sort is faster than three counting passes."""


@kernel("uint64[], int64, int64, int64, int64[]")
def count_partitions(elements, begin, end, bits, counts):
    """Count elements[begin:end] by their top `bits` bits, in counts (int64[2**bits], initially zero)."""
    shift = U(64 - bits)
    for i in range(begin, end):
        counts[np.int64(elements[i] >> shift)] += 1


@kernel("uint64[], int64, int64, int64, int64[], uint64[]")
def spread_elements(elements, begin, end, bits, cursors, spread):
    """Copy elements[begin:end] to their partitions, at the cursors (int64[2**bits]), which advance."""
    shift = U(64 - bits)
    for i in range(begin, end):
        element = elements[i]
        p = np.int64(element >> shift)
        at = cursors[p]
        spread[at] = element
        cursors[p] = at + 1


@inlined
def _slot_bits(count):
    """The number of index bits of a hash table that `count` elements fill to at most three quarters."""
    bits = np.int64(3)
    while (np.int64(3) << bits) < 4 * count:
        bits += 1
    return bits


@kernel("int64, int64, int64, uint64[], uint32[], int64[,], int64[,], bool[]")
def number_partitions(first, last, bits, spread, words, bounds, fresh, used):
    """Assign ids to the distinct elements of partitions first..last-1, and count how often each occurs.

    Parameters
    ----------
    spread : uint64[elements]
    words : uint32[2 * elements], the same memory; receives ids and counts
    bounds : int64[chunks + 1, partitions]
    fresh : int64[chunks + 1, partitions]
        Receives the number of distinct elements in each partition before each chunk.
    used : bool[sets + 1]
        Receives True for every frequency that occurs; all threads write the same value.
    """
    chunks = bounds.shape[0] - 1
    longest = np.int64(1)
    for p in range(first, last):
        longest = max(longest, bounds[chunks, p] - bounds[0, p])
    slots = np.int64(1) << _slot_bits(longest)
    keys, ids, counts = np.empty(slots, np.uint64), np.empty(slots, np.uint32), np.empty(longest, np.uint32)
    for p in range(first, last):
        start, end = bounds[0, p], bounds[chunks, p]
        table_bits = _slot_bits(end - start)
        mask = (np.int64(1) << table_bits) - 1
        # Marks an empty slot: its top bits are those of another partition, so no element here is equal to it.
        marker = ~(U(p) << U(64 - bits))
        for slot in range(mask + 1):
            keys[slot] = marker
        distinct = np.int64(0)
        for c in range(chunks):
            fresh[c, p] = distinct
            for k in range(bounds[c, p], bounds[c + 1, p]):
                element = spread[k]
                at = np.int64((element * U(0x9E3779B97F4A7C15)) >> U(64 - table_bits))
                while keys[at] != element and keys[at] != marker:
                    at = (at + 1) & mask
                if keys[at] == marker:
                    keys[at] = element
                    ids[at] = distinct
                    counts[distinct] = 0
                    distinct += 1
                counts[ids[at]] += np.uint32(1)
                words[start + k] = ids[at]  # never overtakes the reading position: start + k <= 2 k
        fresh[chunks, p] = distinct
        for k in range(distinct):
            words[start + end + k] = counts[k]
            used[counts[k]] = True


@kernel("int64, uint32[], int64[,], int64[,], uint32[], int64[]")
def count_classes(chunk, words, bounds, fresh, class_of, histogram):
    """Replace the frequencies of the elements first seen in a chunk by their classes, and count these.

    Parameters
    ----------
    class_of : uint32[sets + 1]
        The rank of each frequency among those that occur.
    histogram : int64[classes], zeros
    """
    chunks = bounds.shape[0] - 1
    for p in range(bounds.shape[1]):
        table = bounds[0, p] + bounds[chunks, p]
        for at in range(table + fresh[chunk, p], table + fresh[chunk + 1, p]):
            frequency_class = class_of[words[at]]
            words[at] = frequency_class
            histogram[frequency_class] += 1


@kernel("uint64[], int64, int64, int64, int64, uint32[], int64[,], int64[,], int64[]")
def assign_numbers(elements, begin, end, bits, chunk, words, bounds, fresh, numbers):
    """Number the elements that first occur in elements[begin:end], a chunk, in that order within each class.

    `numbers` (int64[classes]) is the next number of each class for this chunk, and advances.
    """
    shift = U(64 - bits)
    chunks = bounds.shape[0] - 1
    cursors, tables, ids = bounds[chunk] + bounds[0], bounds[0] + bounds[chunks], fresh[chunk].copy()
    for i in range(begin, end):
        p = np.int64(elements[i] >> shift)
        k = cursors[p]
        cursors[p] = k + 1
        if np.int64(words[k]) == ids[p]:  # new ids appear in order, so this is the first occurrence
            at = tables[p] + ids[p]
            frequency_class = np.int64(words[at])
            words[at] = numbers[frequency_class]
            numbers[frequency_class] += 1
            ids[p] += 1


@kernel("int64, int64, uint32[], int64[,]")
def replace_ids(first, last, words, bounds):
    """Replace ids by numbers, in partitions first..last-1."""
    chunks = bounds.shape[0] - 1
    for p in range(first, last):
        start, end = bounds[0, p], bounds[chunks, p]
        for k in range(2 * start, start + end):
            words[k] = words[start + end + np.int64(words[k])]


@inlined
def _sort_tokens(buffer, other, count, passes, ends, tokens, at):
    """Sort buffer[:count] into tokens[at:], by counting values 8 bits at a time."""
    if count <= FEW:
        insertion_sort(buffer, 0, count)
        for k in range(count):
            tokens[at + k] = buffer[k]
        return
    ends[:] = 0
    for k in range(count):
        token = buffer[k]
        for turn in range(passes):
            ends[turn, (token >> np.uint32(8 * turn)) & np.uint32(255)] += 1
    for turn in range(passes):
        total = np.int64(0)
        for digit in range(256):
            total, ends[turn, digit] = total + ends[turn, digit], total
        source = buffer if turn % 2 == 0 else other
        goal = other if turn % 2 == 0 else buffer
        for k in range(count):
            token = source[k]
            digit = (token >> np.uint32(8 * turn)) & np.uint32(255)
            goal[ends[turn, digit]] = token
            ends[turn, digit] += 1
    source = buffer if passes % 2 == 0 else other
    for k in range(count):
        tokens[at + k] = source[k]


@kernel("int64[], uint64[], (int64, int64), int64, int64, uint32[], int64[,], int64, int64, int64[], uint32[]")
def collect_tokens(indptr, elements, rows, bits, chunk, words, bounds, singles, passes, places, tokens):
    """Write the numbers of the elements of each set of a chunk, ascending, at the set's new position.

    Parameters
    ----------
    rows : (first, last) row of the chunk
    singles : numbers below this occur once; in a set they are already ascending, since all of them first occur there
    passes : the number of bytes of the largest number
    places : int64[sets], where each set begins in `tokens`
    tokens : uint32[elements]
    """
    shift = U(64 - bits)
    cursors = bounds[chunk] + bounds[0]
    longest = np.int64(1)
    for row in range(rows[0], rows[1]):
        longest = max(longest, indptr[row + 1] - indptr[row])
    buffer, other = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    ends = np.empty((4, 256), np.int64)
    for row in range(rows[0], rows[1]):
        at = places[row]
        count = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            p = np.int64(elements[i] >> shift)
            k = cursors[p]
            cursors[p] = k + 1
            token = words[k]
            # both are written, and one of them is kept: no branch to predict
            buffer[count] = token
            tokens[at] = token
            shared = np.int64(np.int64(token) >= singles)
            count += shared
            at += 1 - shared
        _sort_tokens(buffer, other, count, passes, ends, tokens, at)
