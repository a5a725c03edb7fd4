"""The words of values, for comparisons that ignore their order: hashed, or sorted alphabetically.

Strings are stored as in strings.py: value v is chars[offsets[v]:offsets[v + 1]].
"""

import numpy as np

from lookalike.kernels.compile import kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sorting import sort_stretch, twice_as_long
from lookalike.kernels.strings import comes_before, next_space


@kernel("C[], int64[], int64[], uint64[]", C=("uint8", "uint32"))
def hash_words(chars, offsets, indptr, words):
    """Hash the distinct words of each value, ascending; the lowest bit of a hash is 1 if the word contains a digit.

    Parameters
    ----------
    indptr : int64[values + 1]
        indptr[v] receives where the words of value v begin.
    words : uint64
        Must be large enough for all words.
    """
    at = 0
    for value in range(offsets.size - 1):
        indptr[value] = at
        start, stop = offsets[value], offsets[value + 1]
        first = at
        while start < stop:
            end = next_space(chars, start, stop)
            state, digit = U(0), U(0)
            for i in range(start, end):
                state = mix(state * U(0x9E3779B97F4A7C15) + U(chars[i]) + U(1))
                digit |= U(48 <= chars[i] <= 57)
            words[at] = (state & ~U(1)) | digit
            at += 1
            start = end + 1
        sort_stretch(words, first, at)
        stop, at = at, first
        for i in range(first, stop):
            if at == first or words[at - 1] != words[i]:
                words[at] = words[i]
                at += 1
    indptr[offsets.size - 1] = at


@kernel("C[], int64[], C[]", C=("uint8", "uint32"))
def order_words(chars, offsets, ordered):
    """Sort the words of each value alphabetically; they stay separated by single spaces."""
    starts, stops = np.empty(64, np.int64), np.empty(64, np.int64)
    for value in range(offsets.size - 1):
        start, stop = offsets[value], offsets[value + 1]
        count = 0
        while start < stop:
            if count == starts.size:
                starts, stops = twice_as_long(starts), twice_as_long(stops)
            end = next_space(chars, start, stop)
            place = count
            while place > 0 and comes_before(chars, start, end, starts[place - 1], stops[place - 1]):
                starts[place], stops[place] = starts[place - 1], stops[place - 1]
                place -= 1
            starts[place], stops[place] = start, end
            count += 1
            start = end + 1
        at = offsets[value]
        for word in range(count):
            for i in range(starts[word], stops[word]):
                ordered[at] = chars[i]
                at += 1
            if at < stop:
                ordered[at] = 32
                at += 1
