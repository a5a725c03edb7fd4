"""Sets of 64-bit elements: sorting them, removing repeats, and intersecting them."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.hashing import LARGEST, U, absorb, as_element, finish, mix
from lookalike.kernels.machine import multiply_high
from lookalike.kernels.sorting import insertion_sort, sort_stretch

JACCARD, DICE, COSINE, CONTAINMENT, OVERLAP = 0, 1, 2, 3, 4
"""The codes of set measures in kernels."""
ANGLE, EUCLIDEAN, HAMMING = 5, 6, 7
"""The codes of measures of vectors (ANGLE: the cosine) and bit strings."""


@inlined
def _power_of_two(count):
    """The exponent of the smallest power of two that is at least `count`."""
    bits = np.int64(0)
    while (np.int64(1) << bits) < count:
        bits += 1
    return bits


@kernel("int64 -> int64")
def sorting_capacity(count):
    """The length of the work array that `sort_distinct` and `number_repeats` need for `count` elements."""
    return 4 * (np.int64(1) << _power_of_two(count)) + 2


@part
def _spread_by_top_bits(elements, count, bits, spread, ends):
    """Copy elements[:count] to `spread`, grouped by their top `bits` bits; return the size of the largest group."""
    shift = U(64 - bits)
    buckets = np.int64(1) << bits
    for b in range(buckets + 1):
        ends[b] = U(0)
    for i in range(count):
        ends[np.int64(elements[i] >> shift) + 1] += U(1)
    largest = U(0)
    for b in range(buckets):
        largest = max(largest, ends[b + 1])
        ends[b + 1] += ends[b]
    for i in range(count):
        b = np.int64(elements[i] >> shift)
        spread[np.int64(ends[b])] = elements[i]
        ends[b] += U(1)
    return np.int64(largest)


@kernel("uint64[], int64, uint64[] -> int64")
def sort_distinct(elements, count, work):
    """Sort elements[:count] and drop repeats, in place; return how many remain.

    Elements are evenly distributed hashes, so their top bits give their approximate positions: one counting pass moves
    them there, and a short insertion sort finishes the job. Large groups (frequently repeated elements) are first
    sorted separately, so that no input takes quadratic time. `work` is uint64[sorting_capacity(count)].
    """
    if count > 1:
        bits = max(np.int64(1), _power_of_two(count))
        spread, ends = work[:count], work[count:]
        if _spread_by_top_bits(elements, count, bits, spread, ends) > 32:
            start = np.int64(0)
            for b in range(np.int64(1) << bits):
                end = np.int64(ends[b])
                if end - start > 32:
                    sort_stretch(spread, start, end)
                start = end
        insertion_sort(spread, 0, count)
        kept = 1
        elements[0] = spread[0]
        for i in range(1, count):
            elements[kept] = spread[i]
            kept += spread[i] != spread[i - 1]
        return kept
    return count


@part
def _permute_by_top_bits(values, start, end, bits, ends):
    """Group values[start:end] by their top `bits` bits, in place: ends[b] is where group b ends."""
    shift = U(64 - bits)
    groups = np.int64(1) << bits
    heads = np.zeros(groups, np.int64)
    for i in range(start, end):
        heads[np.int64(values[i] >> shift)] += 1
    total = start
    for b in range(groups):
        total, heads[b] = total + heads[b], total
        ends[b] = total
    for b in range(groups):
        while heads[b] < ends[b]:
            value = values[heads[b]]
            home = np.int64(value >> shift)
            while home != b:  # move each value to its group, and continue with the one it displaces
                values[heads[home]], value = value, values[heads[home]]
                heads[home] += 1
                home = np.int64(value >> shift)
            values[heads[b]] = value
            heads[b] += 1


@kernel("uint64[], int64, int64, uint64[], uint64[] -> int64")
def sort_distinct_stretch(values, start, end, group, work):
    """Sort values[start:end] and drop repeats, in place, with memory for a small group only; return the new end.

    `group` is uint64[...] and `work` uint64[sorting_capacity(group.size)]. Values are evenly distributed hashes:
    grouped by their top bits, each group fits into `group`. One that does not (which is very unlikely) is sorted
    separately.
    """
    bits = max(np.int64(1), _power_of_two(end - start) - max(np.int64(0), _power_of_two(group.size) - 3))
    ends = np.empty(np.int64(1) << bits, np.int64)
    _permute_by_top_bits(values, start, end, bits, ends)
    first, kept = start, start
    for b in range(ends.size):
        count = ends[b] - first
        if count > group.size:
            sort_stretch(values, first, ends[b])
            for i in range(first, ends[b]):
                values[kept] = values[i]
                kept += i + 1 == ends[b] or values[i + 1] != values[i]
        else:
            for i in range(count):
                group[i] = values[first + i]
            count = sort_distinct(group, count, work)
            for i in range(count):
                values[kept + i] = group[i]
            kept += count
        first = ends[b]
    return kept


@kernel("uint64[], int64, uint64[]")
def number_repeats(elements, count, work):
    """Turn a bag into a set: the j-th occurrence of an element becomes the element (element, j). Unordered.

    `work` is uint64[sorting_capacity(count)]: an open-addressing table, first the keys and then their counts.
    """
    slots = np.int64(2) << _power_of_two(count)
    keys, counts = work[:slots], work[slots:]
    for i in range(slots):
        keys[i] = LARGEST
        counts[i] = U(0)
    for i in range(count):
        at = np.int64(elements[i] & U(slots - 1))
        while keys[at] != LARGEST and keys[at] != elements[i]:
            at = (at + 1) & (slots - 1)
        keys[at] = elements[i]
        occurrence = counts[at]
        counts[at] += U(1)
        if occurrence > U(0):
            elements[i] = as_element(mix(elements[i] + mix(occurrence)))


@kernel("int64[], uint64[] -> uint64[,]")
def fingerprint_sets(indptr, elements):
    """Compute two independent 64-bit sums over each set of distinct elements, as uint64[2, sets].

    Equal sets have equal sums; different sets do with a probability of 2^-128.
    """
    prints = np.empty((2, indptr.size - 1), np.uint64)
    for row in range(indptr.size - 1):
        first, second = U(indptr[row + 1] - indptr[row]), U(0)
        for k in range(indptr[row], indptr[row + 1]):
            first += mix(elements[k] ^ U(0x9E3779B97F4A7C15))
            second += mix(elements[k] + U(0xC2B2AE3D27D4EB4F))
        prints[0, row], prints[1, row] = first, second
    return prints


@inlined
def _longest_row(indptr):
    longest = np.int64(1)
    for row in range(indptr.size - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return longest


@kernel("int64[], uint64[] -> (int64[], uint64[])")
def distinct_rows(indptr, elements):
    """Sort rows of evenly distributed elements and drop repeats: returns (indptr, elements) of sets."""
    longest = _longest_row(indptr)
    work = np.empty(sorting_capacity(longest), np.uint64)
    row_elements = np.empty(longest, np.uint64)
    new_indptr = np.zeros(indptr.size, np.int64)
    new_elements = np.empty(elements.size, np.uint64)
    for row in range(indptr.size - 1):
        length = indptr[row + 1] - indptr[row]
        for k in range(length):
            row_elements[k] = elements[indptr[row] + k]
        count = sort_distinct(row_elements, length, work)
        for k in range(count):
            new_elements[new_indptr[row] + k] = row_elements[k]
        new_indptr[row + 1] = new_indptr[row] + count
    return new_indptr, new_elements[: new_indptr[indptr.size - 1]].copy()


@kernel("int64[], uint64[]")
def number_row_repeats(indptr, elements):
    """Apply `number_repeats` to every row, in place."""
    work = np.empty(sorting_capacity(_longest_row(indptr)), np.uint64)
    for row in range(indptr.size - 1):
        number_repeats(elements[indptr[row] : indptr[row + 1]], indptr[row + 1] - indptr[row], work)


@kernel("uint64[] -> uint64[]")
def hash_integers(values):
    """Hash integers (uint64) to elements of sets: evenly distributed, and one-to-one except for one value."""
    elements = np.empty(values.size, np.uint64)
    for i in range(values.size):
        elements[i] = as_element(mix(values[i] + U(0x9E3779B97F4A7C15)))
    return elements


@kernel("uint8[], int64[] -> uint64[]")
def hash_strings(data, offsets):
    """Hash the strings data[offsets[i]:offsets[i + 1]], byte for byte, to elements of sets."""
    elements = np.empty(offsets.size - 1, np.uint64)
    for i in range(offsets.size - 1):
        state, word, length = U(0), U(0), np.int64(0)
        for k in range(offsets[i], offsets[i + 1]):
            if length & 7 == 0 and length > 0:
                state = absorb(state, word)
                word = U(0)
            word |= U(data[k]) << (U(8) * U(length & 7))
            length += 1
        elements[i] = as_element(finish(state, word, max(length, 1)) + U(length))
    return elements


@inlined
def _ceil_divide(numerator, denominator):
    return (numerator + denominator - 1) // denominator


@inlined
def cosine_holds(overlap, num, den, left_size, right_size):
    """(overlap den)^2 >= (num left_size) (num right_size), in 128 bits."""
    a = U(overlap) * U(den)
    b, c = U(num) * U(left_size), U(num) * U(right_size)
    left_high, right_high = multiply_high(a, a), multiply_high(b, c)
    return left_high > right_high or (left_high == right_high and a * a >= b * c)


@kernel("int64, int64, int64, int64, int64 -> int64")
def needed_overlap(measure, num, den, left_size, right_size):
    """The smallest overlap at which the measure of two sets reaches num/den, in integers.

    If sizes, num and den are below 2^31, no product exceeds 64 (for cosine: 128) bits.
    """
    if measure == JACCARD:
        return max(1, _ceil_divide(num * (left_size + right_size), num + den))
    if measure == DICE:
        return max(1, _ceil_divide(num * (left_size + right_size), 2 * den))
    if measure == CONTAINMENT:
        return max(1, _ceil_divide(num * left_size, den))
    if measure == OVERLAP:
        return max(1, _ceil_divide(num, den))
    guess = np.int64(np.sqrt(np.float64(left_size) * np.float64(right_size)) * num / den)
    while guess > 0 and cosine_holds(guess - 1, num, den, left_size, right_size):
        guess -= 1
    while not cosine_holds(guess, num, den, left_size, right_size):
        guess += 1
    return max(1, guess)


@inlined
def common_at_least(left, i, i_end, right, j, j_end, needed):
    """|A & B| of the sorted sets left[i:i_end] and right[j:j_end], or -1 as soon as it is below `needed`."""
    spare_i, spare_j = i_end - i - needed, j_end - j - needed  # how many elements each side may leave unmatched
    if spare_i < 0 or spare_j < 0:
        return np.int64(-1)
    overlap = np.int64(0)
    start_i, start_j = i, j
    while i < i_end and j < j_end:
        # 32 steps between checks of the bounds: the steps themselves contain no branch to predict
        stop = min(np.int64(32), i_end - i, j_end - j)
        for _ in range(stop):
            a, b = left[i], right[j]
            overlap += a == b
            i += a <= b
            j += b <= a
        if i - start_i - overlap > spare_i or j - start_j - overlap > spare_j:
            return np.int64(-1)
    return overlap if overlap >= needed else np.int64(-1)


@kernel("U[], int64, int64, int64, int64, int64 -> int64", U=("uint32", "uint64"))
def overlap_at_least(elements, i, i_end, j, j_end, needed):
    """|A & B| of the sorted sets elements[i:i_end] and elements[j:j_end], or -1 as soon as it is below `needed`."""
    return common_at_least(elements, i, i_end, elements, j, j_end, needed)
