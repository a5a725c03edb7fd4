"""How well pairs of records agree in one field: one kernel per kind, with the levels of linkage/compare/levels.py.

Each kernel takes codes (int32[records]: the number of each record's value, -1 if missing), left and right (the records
of each pair), and the first and last pair. It fills out (int8[pairs]): 0 if a value is missing, 1 if both are equal.
Strings are stored as in strings.py: value v is chars[offsets[v]:offsets[v + 1]].
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import fetch
from lookalike.kernels.strings import (
    are_equal,
    common_subsequence,
    forget_positions,
    is_abbreviated,
    jaro,
    long_common_subsequence,
    long_jaro,
    note_positions,
    one_begins_other,
    winkler,
    within_one_edit,
    within_two_edits,
)

AT = ord("@")
LONG_TEXTS = 2000
"""Two texts with more characters than this in total are compared by their words."""
LAST_DIGITS = 7
"""The number of digits in a phone number without its area code."""


@bare
def look_ahead(codes, right, k, last, chars, offsets):
    """Prefetch the data of upcoming pairs, one step per pair; without it, most of the time is spent waiting."""
    if k + 12 < last:
        fetch(codes, right[k + 12])
        fetch(offsets, codes[right[k + 8]])
        value = codes[right[k + 4]]
        if value >= 0:
            fetch(chars, offsets[value])
            fetch(chars, offsets[value + 1] - 1)


@bare
def _plain_level(a, b):
    """0 if a value is missing, 1 if both are equal, -1 if they have to be compared."""
    if a < 0 or b < 0:
        return 0
    return 1 if a == b else -1


@bare
def _turn_to(value, noted, chars, offsets, positions):
    """Replace the recorded character positions of the previous pattern (`noted`) by those of a new one.

    Returns the pattern that is now recorded, or -1 if it is too long to be.
    """
    if noted >= 0:
        forget_positions(chars, offsets[noted], offsets[noted + 1], positions)
    if offsets[value + 1] - offsets[value] > 64:
        return -1
    note_positions(chars, offsets[value], offsets[value + 1], positions)
    return value


@bare
def _jaro_winkler(chars, i, i_stop, j, j_stop, positions, noted, marks, least):
    """Jaro-Winkler similarity in single precision, like its cutoffs; close to 0 if it is below `least`."""
    if noted and j_stop - j <= 64:
        similarity = jaro(chars, i, i_stop, j, j_stop, positions, least)
    else:
        similarity = long_jaro(chars, i, i_stop, j, j_stop, marks)
    return np.float32(winkler(chars, i, i_stop, j, j_stop, similarity))


@bare
def _is_shorter_inside(chars, i, i_stop, j, j_stop):
    """Whether the value with fewer words abbreviates the other."""
    spaces = 0
    for k in range(i, i_stop):
        spaces += chars[k] == 32
    for k in range(j, j_stop):
        spaces -= chars[k] == 32
    # A truncated text may end with a space and no word after it, so allow for one extra.
    if spaces > 0:
        return is_abbreviated(chars, j, j_stop, i, i_stop, 1 + spaces)
    return is_abbreviated(chars, i, i_stop, j, j_stop, 1 - spaces)


@bare
def _count_shared(indptr, words, a, b):
    """Distinct words: how many two values share, and the smaller of their numbers; the same for words with digits."""
    i, i_stop, j, j_stop = indptr[a], indptr[a + 1], indptr[b], indptr[b + 1]
    fewer = min(i_stop - i, j_stop - j)
    shared, numerals, of_a, of_b = 0, U(0), U(0), U(0)
    while i < i_stop and j < j_stop:
        one, other = words[i], words[j]
        if one == other:
            shared += 1
            numerals += one & U(1)
        if one <= other:
            of_a += one & U(1)
            i += 1
        if other <= one:
            of_b += other & U(1)
            j += 1
    for k in range(i, i_stop):
        of_a += words[k] & U(1)
    for k in range(j, j_stop):
        of_b += words[k] & U(1)
    return shared, fewer, numerals, min(of_a, of_b)


@bare_kernel(
    "int32[], int32[], int32[], int64, int64, int8[], C[], int64[], int64[], uint64[], uint64[], uint8[]",
    C=("uint8", "uint32"),
)
def person_levels(codes, left, right, first, last, out, chars, offsets, indptr, words, positions, marks):
    """Names: by Jaro-Winkler, contained words and abbreviations. `marks` must be large enough for two values."""
    noted, current = -1, -1
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        look_ahead(codes, right, k, last, words, indptr)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            if a != current:
                noted = _turn_to(a, noted, chars, offsets, positions)
                current = a
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            close = _jaro_winkler(chars, i, i_stop, j, j_stop, positions, noted >= 0, marks, 0.79)
            if close >= np.float32(0.8):
                level = 2 if close >= np.float32(0.95) else 3 if close >= np.float32(0.88) else 4
            else:
                shared, fewer, _, _ = _count_shared(indptr, words, a, b)
                level = 5 if shared == fewer else 6 if _is_shorter_inside(chars, i, i_stop, j, j_stop) else 7
        out[k] = level
    if noted >= 0:
        forget_positions(chars, offsets[noted], offsets[noted + 1], positions)


@bare
def _subsequence(chars, offsets, a, b, positions, noted, marks, least):
    i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
    if noted:
        return common_subsequence(chars, j, j_stop, positions)
    return long_common_subsequence(chars, i, i_stop, j, j_stop, positions, marks, least)


@bare
def _alike(chars, ordered, offsets, a, b, positions, others, noted, marks, indptr, words, least, enough):
    """The longest common subsequence of two values, as they are or with their words sorted, whichever is longer.

    The length is multiplied by 200, so that dividing it by the sum of both lengths gives a similarity in percent. It is
    close to 0 if it is below `least`, and need not be exact above `enough`. For long texts the result is the share of
    common words instead, because finding the subsequence takes time proportional to the product of the lengths.
    """
    m, n = offsets[a + 1] - offsets[a], offsets[b + 1] - offsets[b]
    of_a, of_b = indptr[a + 1] - indptr[a], indptr[b + 1] - indptr[b]
    if m + n > LONG_TEXTS:
        shared, _, _, _ = _count_shared(indptr, words, a, b)
        return 200 * shared * (m + n) // (of_a + of_b)
    if 200 * min(m, n) < least * (m + n):
        return 0
    one_word = of_a == 1 and of_b == 1
    needed = (least * (m + n) + 199) // 200
    plain = 200 * _subsequence(chars, offsets, a, b, positions, noted, marks, needed)
    if one_word or plain >= enough * (m + n):
        return plain
    return max(plain, 200 * _subsequence(ordered, offsets, a, b, others, noted, marks, needed))


@bare_kernel(
    "int32[], int32[], int32[], int64, int64, int8[], C[], int64[], int64[], uint64[], C[], uint64[], "
    "uint64[], uint8[], bool",
    C=("uint8", "uint32"),
)
def text_levels(
    codes, left, right, first, last, out, chars, offsets, indptr, words, ordered, positions, others, marks, by_numbers
):
    """Texts: by edit similarity and shared or abbreviated words; addresses (`by_numbers`) by words with digits first.

    `positions` is for values as they are, `others` for values with sorted words; `marks` must be large enough for two
    values.
    """
    noted, current = -1, -1
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        look_ahead(codes, right, k, last, words, indptr)
        look_ahead(codes, right, k, last, ordered, offsets)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            if a != current:
                _turn_to(a, noted, ordered, offsets, others)
                noted = _turn_to(a, noted, chars, offsets, positions)
                current = a
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            both = i_stop - i + j_stop - j
            shared, fewer, numerals, fewer_numerals = _count_shared(indptr, words, a, b)
            contradicted = by_numbers and numerals != fewer_numerals
            if by_numbers:
                least, enough = 85 if contradicted else 60, 85
            else:  # the words decide between the levels below
                least, enough = 90 if shared == fewer else 75 if 2 * shared >= fewer else 55, 90
            alike = _alike(
                chars, ordered, offsets, a, b, positions, others, noted >= 0, marks, indptr, words, least, enough
            )
            if contradicted:
                level = 4 if alike >= 85 * both else 5
            elif by_numbers:
                if alike >= 85 * both or shared == fewer:
                    level = 2
                else:
                    near = alike >= 60 * both or _is_shorter_inside(chars, i, i_stop, j, j_stop)
                    level = 3 if near else 5
            elif alike >= 90 * both:
                level = 2
            elif alike >= 75 * both or shared == fewer:
                level = 3
            elif 2 * shared >= fewer or _is_shorter_inside(chars, i, i_stop, j, j_stop):
                level = 4
            else:
                level = 5 if alike >= 55 * both else 6
        out[k] = level
    if noted >= 0:
        forget_positions(chars, offsets[noted], offsets[noted + 1], positions)
        forget_positions(ordered, offsets[noted], offsets[noted + 1], others)


@bare_kernel("int32[], int32[], int32[], int64, int64, int8[], C[], int64[]", C=("uint8", "uint32"))
def code_levels(codes, left, right, first, last, out, chars, offsets):
    """Codes: by number of edits, and by whether one is a prefix of the other."""
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            longer, shorter = max(i_stop - i, j_stop - j), min(i_stop - i, j_stop - j)
            edits = within_two_edits(chars, i, i_stop, j, j_stop)
            if edits == 1 and longer >= 3:
                level = 2
            else:
                begins = shorter >= 4 and one_begins_other(chars, i, i_stop, j, j_stop)
                level = 3 if (edits == 2 and longer >= 6) or begins else 4
        out[k] = level


@bare_kernel("int32[], int32[], int32[], int64, int64, int8[], C[], int64[]", C=("uint8", "uint32"))
def phone_levels(codes, left, right, first, last, out, chars, offsets):
    """Phone numbers: by their last digits, and by a single edit."""
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            i_last, j_last = i_stop - LAST_DIGITS, j_stop - LAST_DIGITS
            if i <= i_last and j <= j_last and are_equal(chars, i_last, i_stop, j_last, j_stop):
                level = 2
            else:
                level = 3 if within_one_edit(chars, i, i_stop, j, j_stop) == 1 else 4
        out[k] = level


@bare
def _name_end(chars, start, stop):
    while start < stop and chars[start] != AT:
        start += 1
    return start


@bare_kernel("int32[], int32[], int32[], int64, int64, int8[], C[], int64[], uint64[], uint8[]", C=("uint8", "uint32"))
def email_levels(codes, left, right, first, last, out, chars, offsets, positions, marks):
    """E-mail addresses: by the name before the @, and by number of edits."""
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            i_end, j_end = _name_end(chars, i, i_stop), _name_end(chars, j, j_stop)
            if are_equal(chars, i, i_end, j, j_end):
                level = 2
            elif within_two_edits(chars, i, i_stop, j, j_stop) <= 2:
                level = 3
            elif i == i_end or j == j_end:
                level = 5
            else:
                short = i_end - i <= 64
                if short:
                    note_positions(chars, i, i_end, positions)
                close = _jaro_winkler(chars, i, i_end, j, j_end, positions, short, marks, 0.89)
                if short:
                    forget_positions(chars, i, i_end, positions)
                level = 4 if close >= np.float32(0.9) else 5
        out[k] = level


@bare_kernel(
    "int32[], int32[], int32[], int64, int64, int8[], C[], int64[], int32[], int32[], int32[], float64[]",
    C=("uint8", "uint32"),
)
def date_levels(codes, left, right, first, last, out, chars, offsets, years, months, days, numbers):
    """Dates: by edits of their digits (`chars`), by parts (0 if unknown), and by days between them (`numbers`)."""
    for k in range(first, last):
        look_ahead(codes, right, k, last, chars, offsets)
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            i, i_stop, j, j_stop = offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]
            y, m, d, y2, m2, d2 = years[a], months[a], days[a], years[b], months[b], days[b]
            whole = i_stop - i > 4 and j_stop - j > 4  # a neighbouring year is not a typing error
            if (y == y2 and d > 0 and d2 > 0 and d == m2 and m == d2) or (
                whole and within_one_edit(chars, i, i_stop, j, j_stop) == 1
            ):
                level = 2
            elif (y == y2 and y > 0) + (m == m2 and m > 0) + (d == d2 and d > 0) >= 2:
                level = 3
            elif y == 0 or y2 == 0:
                level = 5
            elif m > 0 and m2 > 0:
                level = 4 if abs(numbers[a] - numbers[b]) <= 31 else 5
            else:
                level = 4 if abs(y - y2) <= (0 if m > 0 or m2 > 0 else 1) else 5
        out[k] = level


@bare_kernel("int32[], int32[], int32[], int64, int64, int8[], float64[]")
def number_levels(codes, left, right, first, last, out, numbers):
    """Numbers: by their difference relative to the larger one."""
    for k in range(first, last):
        a, b = codes[left[k]], codes[right[k]]
        level = _plain_level(a, b)
        if level < 0:
            one, other = numbers[a], numbers[b]
            apart = abs(one - other) / max(abs(one), abs(other))
            # If a number is NaN or infinite, this is NaN, which is neither above nor below any cutoff.
            level = 2 if apart <= 0.01 else 3 if apart <= 0.05 else 4 if apart <= 0.2 else 5
        out[k] = level
