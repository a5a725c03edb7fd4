"""The similarity of pairs of texts, by the rarity of the words and trigrams that they share; see texts.py."""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel
from lookalike.kernels.strings import next_space, within_one_edit

SOFT_LENGTH = 4
"""Shorter words must be equal: one edit would make a different word."""
SOFT_SHARE = 0.8
"""The weight of a word with one edit, compared with an equal word."""
SOFT_PAIRS = 400
"""The most comparisons of words that occur in only one of two texts; longer texts are compared by equal words alone."""
COSINE, UNION, SHORTER, CONFLICT, CODES = range(5)
"""The columns of `compare_texts`."""


@bare
def _same_but_one(chars, start, end, other, stop):
    """Whether two words differ by exactly one edit; their first or their last characters are then equal."""
    if abs(end - start - stop + other) > 1 or (chars[start] != chars[other] and chars[end - 1] != chars[stop - 1]):
        return False
    return within_one_edit(chars, start, end, other, stop) == 1


@bare
def _list_lone(chars, offsets, words, value, marks, mark, digits, out):
    """List the words of a value that have this mark, no digit, and may be misspelt; return their number.

    `out` (int64[3, words]) receives the position, the start and the end of each word.
    """
    indptr, ids, starts, _ = words
    count = 0
    for i in range(indptr[value], indptr[value + 1]):
        if ids[i] < digits and marks[ids[i]] == mark:
            end = next_space(chars, starts[i], offsets[value + 1])
            if end - starts[i] >= SOFT_LENGTH:
                out[0, count], out[1, count], out[2, count] = i, starts[i], end
                count += 1
    return count


@bare
def _similar_words(chars, rarity, one, n, other, m):
    """The total rarity of unshared words that differ by one edit; of two such words, the more common one counts."""
    total = 0.0
    for i in range(n):
        for j in range(m):
            if other[0, j] >= 0 and _same_but_one(chars, one[1, i], one[2, i], other[1, j], other[2, j]):
                total += min(rarity[one[0, i]], rarity[other[0, j]])
                other[0, j] = -1
                break
    return total


@bare
def _load(indptr, ids, weights, value, dense):
    """Write the weights of a value's elements to a dense vector."""
    for i in range(indptr[value], indptr[value + 1]):
        dense[ids[i]] = weights[i]


@bare
def _unload(indptr, ids, value, dense):
    for i in range(indptr[value], indptr[value + 1]):
        dense[ids[i]] = 0


@bare
def _dot(indptr, ids, weights, value, dense):
    """The dot product of a value's weights and the loaded weights; as float32, it is the same in any order."""
    start, stop = indptr[value], indptr[value + 1]
    one = two = three = four = 0.0
    for i in range(start, stop - 3, 4):
        one += np.float64(weights[i]) * dense[ids[i]]
        two += np.float64(weights[i + 1]) * dense[ids[i + 1]]
        three += np.float64(weights[i + 2]) * dense[ids[i + 2]]
        four += np.float64(weights[i + 3]) * dense[ids[i + 3]]
    for i in range(stop - (stop - start) % 4, stop):
        one += np.float64(weights[i]) * dense[ids[i]]
    return np.float32((one + two) + (three + four))


@bare
def _sum_words(words, value, digits):
    """The total rarity of all words of a value and of its words with a digit, and the number of its other words."""
    indptr, ids, _, rarity = words
    total, codes, count = 0.0, 0.0, 0
    for i in range(indptr[value], indptr[value + 1]):
        total += rarity[i]
        if ids[i] >= digits:
            codes += rarity[i]
        else:
            count += 1
    return total, codes, count


@bare_kernel(
    "int32[], int32[], int32[], int64, int64, float32[,], C[], int64[], (int64[], int32[], float32[]), "
    "(int64[], int32[], int64[], float32[]), int64, float32[], uint8[], int64[,], int64[,]",
    C=("uint8", "uint32"),
)
def compare_texts(codes, left, right, first, last, out, chars, offsets, grams, words, digits, dense, marks, one, other):
    """The similarity of pairs of texts, by the rarity of the elements that they share; 0 if a value is missing.

    The elements of the left record are written to a dense vector and looked up for each right record, so pairs with the
    same left record should be adjacent.

    Parameters
    ----------
    grams : (indptr, ids, weights)
    words : (indptr, ids, starts, rarity)
        `rarity` has one entry for each of `ids`.
    digits
        The first word with a digit.
    dense, marks, one, other
        Scratch: zeros for all trigrams and for all words, and two times int64[3, SOFT_PAIRS].
    out : float32[pairs, 5]
        Cosine of trigrams; shared words, as a share of all words and of the words of the shorter text; share of numbers
        and codes that conflict; rarity of the shared codes.
    """
    indptr, ids, _, rarity = words
    loaded, sum_a, codes_a, plain_a = np.int32(-1), 0.0, 0.0, 0
    for k in range(first, last):
        row, a, b = out[k], codes[left[k]], codes[right[k]]
        for column in range(row.size):
            row[column] = 0
        if a < 0 or b < 0:
            continue
        if a != loaded:
            if loaded >= 0:
                _unload(grams[0], grams[1], loaded, dense)
                _unload(indptr, ids, loaded, marks)
            _load(grams[0], grams[1], grams[2], a, dense)
            for i in range(indptr[a], indptr[a + 1]):
                marks[ids[i]] = 1
            sum_a, codes_a, plain_a = _sum_words(words, a, digits)
            loaded = a
        shared, sum_b, codes_shared, codes_b = 0.0, 0.0, 0.0, 0.0
        n, m = plain_a, 0
        for j in range(indptr[b], indptr[b + 1]):
            weight, is_code, there = rarity[j], ids[j] >= digits, marks[ids[j]] == 1
            sum_b += weight
            codes_b += weight if is_code else 0.0
            shared += weight if there else 0.0
            codes_shared += weight if there and is_code else 0.0
            n -= there and not is_code
            m += not there and not is_code
        if n * m and n * m <= SOFT_PAIRS:
            m = _list_lone(chars, offsets, words, b, marks, 0, digits, other)
            for j in range(indptr[b], indptr[b + 1]):
                marks[ids[j]] += 1  # 2: in both texts
            n = _list_lone(chars, offsets, words, a, marks, 1, digits, one)
            for j in range(indptr[b], indptr[b + 1]):
                marks[ids[j]] -= 1
            shared += SOFT_SHARE * _similar_words(chars, rarity, one, n, other, m)
        fewer, both = min(sum_a, sum_b), sum_a + sum_b - shared
        row[COSINE] = 1.0 if a == b else _dot(grams[0], grams[1], grams[2], b, dense)
        row[UNION] = min(1.0, shared / both) if both > 0 else row[COSINE]
        row[SHORTER] = min(1.0, shared / fewer) if fewer > 0 else row[COSINE]
        fewer = min(codes_a, codes_b)
        row[CONFLICT] = 1.0 - codes_shared / fewer if fewer > 0 else 0.0
        row[CODES] = codes_shared
