"""Similarity of two strings of character numbers, by matching characters, common subsequences and edits.

A string is a range chars[start:stop]. When a pattern (the first of the two) is compared with many others, `positions`
(uint64[alphabet]) has, for each character, a bit for each of its positions in the pattern: see `note_positions`. That
works for patterns of up to 64 characters; longer ones take several passes, or a simple loop.
"""

from lookalike.kernels.compile import bare
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import count_ones


@bare
def note_positions(chars, start, stop, positions):
    """Record the positions of each character in a pattern of at most 64 characters."""
    for i in range(start, stop):
        positions[chars[i]] |= U(1) << U(i - start)


@bare
def forget_positions(chars, start, stop, positions):
    """Undo `note_positions`."""
    for i in range(start, stop):
        positions[chars[i]] = U(0)


@bare
def are_equal(chars, i, i_stop, j, j_stop):
    """Whether two strings are equal."""
    if i_stop - i != j_stop - j:
        return False
    while i < i_stop and chars[i] == chars[j]:
        i += 1
        j += 1
    return i == i_stop


@bare
def comes_before(chars, i, i_stop, j, j_stop):
    """Whether the first of two strings sorts before the second, by character numbers."""
    while i < i_stop and j < j_stop and chars[i] == chars[j]:
        i += 1
        j += 1
    return j < j_stop and (i == i_stop or chars[i] < chars[j])


@bare
def common_subsequence(chars, j, j_stop, positions):
    """The length of the longest common subsequence of a string and a pattern of at most 64 characters.

    A bit of `left_open` is 0 if the subsequence grew at that position of the pattern. Each character of the string
    closes the lowest open position after the last closed one, for all lengths at once, with one addition.
    """
    left_open = ~U(0)
    for k in range(j, j_stop):
        fitting = left_open & positions[chars[k]]
        left_open = (left_open + fitting) | (left_open - fitting)
    return count_ones(~left_open)


@bare
def _close(left_open, fitting, carry):
    """One step of `common_subsequence` for 64 of many positions, and the carry to the next 64."""
    total = left_open + fitting
    over = U(total < left_open)
    total += carry
    return total | (left_open - fitting), over | U(total < carry)


@bare
def _count_closed(left_open, size):
    """The number of closed positions among the first `size`, which may be negative or above 64."""
    if size <= 0:
        return 0
    return count_ones(~left_open if size >= 64 else ~left_open & ((U(1) << U(size)) - U(1)))


@bare
def long_common_subsequence(chars, i, i_stop, j, j_stop, positions, carries, least):
    """Like `common_subsequence`, for strings of any length, 256 pattern characters at a time; 0 if below `least`.

    Four words of 64 positions take little longer than one: each waits only for its own previous step and for a carry.
    `positions` (uint64[4 * alphabet]) must be empty, and is left empty; `carries` (uint8) must be at least as long as
    the string.
    """
    for k in range(j_stop - j):
        carries[k] = 0
    length = 0
    for start in range(i, i_stop, 256):
        stop = min(start + 256, i_stop)
        for k in range(start, stop):
            positions[U(4) * U(chars[k]) + U((k - start) >> 6)] |= U(1) << U((k - start) & 63)
        first = second = third = fourth = ~U(0)
        for k in range(j_stop - j):
            at = U(4) * U(chars[j + k])
            first, carry = _close(first, first & positions[at], U(carries[k]))
            second, carry = _close(second, second & positions[at + U(1)], carry)
            third, carry = _close(third, third & positions[at + U(2)], carry)
            fourth, carry = _close(fourth, fourth & positions[at + U(3)], carry)
            carries[k] = carry
        for k in range(start, stop):
            positions[U(4) * U(chars[k]) + U((k - start) >> 6)] = U(0)
        size = stop - start
        length += _count_closed(first, size) + _count_closed(second, size - 64)
        length += _count_closed(third, size - 128) + _count_closed(fourth, size - 192)
        if length + i_stop - stop < least:
            return 0
    return length


@bare
def jaro(chars, i, i_stop, j, j_stop, positions, least):
    """Jaro similarity of a pattern and a string of at most 64 characters each; 0 if Winkler's cannot reach `least`."""
    m, n = i_stop - i, j_stop - j
    reach = max(0, max(m, n) // 2 - 1)
    taken, matched = U(0), U(0)
    for k in range(n):
        # The bits of the window: from k - reach up to k + reach.
        near = ~U(0) if k + reach >= 63 else (U(1) << U(k + reach + 1)) - U(1)
        if k > reach:
            near &= ~U(0) << U(k - reach) if k - reach < 64 else U(0)
        free = positions[chars[j + k]] & near & ~taken
        taken |= free & (~free + U(1))
        matched |= U(free != U(0)) << U(k)
    count = count_ones(taken)
    if count == 0:
        return 0.0
    best = (count / m + count / n + 1) / 3
    if best + 0.4 * (1 - best) < least:
        return 0.0
    out_of_order = 0
    while matched != U(0):
        first, other = taken & (~taken + U(1)), matched & (~matched + U(1))
        place = count_ones(other - U(1))
        out_of_order += positions[chars[j + place]] & first == U(0)
        taken ^= first
        matched ^= other
    return (count / m + count / n + (count - out_of_order // 2) / count) / 3


@bare
def long_jaro(chars, i, i_stop, j, j_stop, marks):
    """Jaro similarity of two strings of any length; `marks` (uint8) must be at least as long as both together."""
    m, n = i_stop - i, j_stop - j
    reach = max(0, max(m, n) // 2 - 1)
    for k in range(m + n):
        marks[k] = 0
    count = 0
    for k in range(n):
        for place in range(max(0, k - reach), min(m, k + reach + 1)):
            if marks[place] == 0 and chars[i + place] == chars[j + k]:
                marks[place] = marks[m + k] = 1
                count += 1
                break
    if count == 0:
        return 0.0
    out_of_order, place = 0, 0
    for k in range(n):
        if marks[m + k] == 1:
            while marks[place] == 0:
                place += 1
            out_of_order += chars[i + place] != chars[j + k]
            place += 1
    return (count / m + count / n + (count - out_of_order // 2) / count) / 3


@bare
def winkler(chars, i, i_stop, j, j_stop, similarity):
    """Raise a Jaro similarity above 0.7 according to the number of equal characters at the start, up to four."""
    if similarity <= 0.7:
        return similarity
    same = 0
    while same < 4 and i + same < i_stop and j + same < j_stop and chars[i + same] == chars[j + same]:
        same += 1
    return similarity + same * 0.1 * (1 - similarity)


@bare
def within_one_edit(chars, i, i_stop, j, j_stop):
    """The number of edits between two strings: 0, 1, or 2 for more; a swap of neighbouring characters is one edit."""
    while i < i_stop and j < j_stop and chars[i] == chars[j]:
        i += 1
        j += 1
    while i < i_stop and j < j_stop and chars[i_stop - 1] == chars[j_stop - 1]:
        i_stop -= 1
        j_stop -= 1
    m, n = i_stop - i, j_stop - j
    if m <= 1 and n <= 1:
        return max(m, n)
    swapped = m == 2 and n == 2 and chars[i] == chars[j + 1] and chars[i + 1] == chars[j]
    return 1 if swapped else 2


@bare
def within_two_edits(chars, i, i_stop, j, j_stop):
    """The number of edits between two strings, editing no part twice: 0, 1, 2, or 3 for more.

    There must be an edit at the first difference: each kind is tried, and the rest may contain one more.
    """
    if abs((i_stop - i) - (j_stop - j)) > 2:
        return 3
    while i < i_stop and j < j_stop and chars[i] == chars[j]:
        i += 1
        j += 1
    if i == i_stop or j == j_stop:
        return (i_stop - i) + (j_stop - j)
    best = min(within_one_edit(chars, i + 1, i_stop, j + 1, j_stop), within_one_edit(chars, i + 1, i_stop, j, j_stop))
    best = min(best, within_one_edit(chars, i, i_stop, j + 1, j_stop))
    if i + 1 < i_stop and j + 1 < j_stop and chars[i] == chars[j + 1] and chars[i + 1] == chars[j]:
        best = min(best, within_one_edit(chars, i + 2, i_stop, j + 2, j_stop))
    return best + 1


@bare
def next_space(chars, start, stop):
    """The end of the word that begins at `start`."""
    while start < stop and chars[start] != 32:
        start += 1
    return start


@bare
def one_begins_other(chars, i, i_stop, j, j_stop):
    """Whether one of two strings is a prefix of the other."""
    while i < i_stop and j < j_stop and chars[i] == chars[j]:
        i += 1
        j += 1
    return i == i_stop or j == j_stop


@bare
def is_abbreviated(chars, i, i_stop, j, j_stop, spare):
    """Whether all words of the first string occur in the second, in order, each possibly truncated in either.

    `spare` is at least the number of additional words in the second string.
    """
    while i < i_stop and j < j_stop and spare >= 0:
        i_end, j_end = next_space(chars, i, i_stop), next_space(chars, j, j_stop)
        if one_begins_other(chars, i, i_end, j, j_end):  # the first that fits leaves the most for the rest
            i = i_end + 1
        else:
            spare -= 1
        j = j_end + 1
    return i >= i_stop
