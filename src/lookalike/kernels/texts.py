"""Texts as weighted words and trigrams: elements of each value, the most similar records, and how similar pairs are.

Strings are as in strings.py, with words between single spaces. An element is a word or a trigram (three neighbouring
characters of a word with a space on either side), known by the lowest bits of a hash. Rows are sorted by element: row v
is ids[indptr[v]:indptr[v + 1]].
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel, kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sorting import sort_stretch
from lookalike.kernels.strings import next_space, within_one_edit

GRAMS = 1 << 20
"""Numbers of trigrams. A language has some 30,000; a large table of their numbers would not stay in the cache."""
DIGIT = 1 << 22
"""Set in the number of a word that has a digit; below it is the word's own number."""
WORDS = 2 * DIGIT
"""Numbers of words."""
SOFT_LENGTH = 4
"""Shorter words must be equal: with one edit they would be other words."""
SOFT_SHARE = 0.8
"""What a word with one edit is worth, compared with an equal one."""
SOFT_PAIRS = 400
"""Most comparisons of words that only one text has; longer texts are compared by equal words."""
COSINE, UNION, SHORTER, CONFLICT, CODES = range(5)
"""The columns of `compare_texts`."""


@bare
def _hash(chars, start, stop):
    state = U(0)
    for i in range(start, stop):
        state = mix(state * U(0x9E3779B97F4A7C15) + U(chars[i]) + U(1))
    return state


@kernel("C[], int64[], int64[], int64[], float32[]", C=("uint8", "uint32"))
def list_grams(chars, offsets, indptr, ids, counts):
    """The distinct trigrams of each value, ascending, and how often each occurs.

    `ids` and `counts` have room for one trigram per character; `indptr` receives where those of each value begin.
    """
    at = np.int64(0)
    for value in range(offsets.size - 1):
        indptr[value] = at
        first, start, stop = at, offsets[value], offsets[value + 1]
        while start < stop:
            end = next_space(chars, start, stop)
            for i in range(start, end):
                before = U(chars[i - 1]) if i > start else U(32)
                after = U(chars[i + 1]) if i + 1 < end else U(32)
                state = mix((before << U(42)) + (U(chars[i]) << U(21)) + after + U(1))
                ids[at] = np.int64(state & U(GRAMS - 1))
                at += 1
            start = end + 1
        sort_stretch(ids, first, at)
        last, at = at, first
        for i in range(first, last):
            if at == first or ids[at - 1] != ids[i]:
                ids[at], counts[at] = ids[i], np.float32(0)
                at += 1
            counts[at - 1] += np.float32(1)
    indptr[offsets.size - 1] = at


@bare
def _word(chars, start, end):
    """The number of a word, with its digit flag."""
    digit = False
    for i in range(start, end):
        digit |= 48 <= chars[i] <= 57
    return np.int64(_hash(chars, start, end) & U(DIGIT - 1)) | (np.int64(DIGIT) if digit else np.int64(0))


@bare
def _joined(chars, start, middle, stop):
    """The number of two neighbouring words written as one."""
    state, digit = U(0), False
    for i in range(start, stop):
        if i != middle:
            state = mix(state * U(0x9E3779B97F4A7C15) + U(chars[i]) + U(1))
            digit |= 48 <= chars[i] <= 57
    return np.int64(state & U(DIGIT - 1)) | (np.int64(DIGIT) if digit else np.int64(0))


@kernel("C[], int64[], bool[], int64[], int64[], int64[]", C=("uint8", "uint32"))
def list_words(chars, offsets, known, indptr, ids, starts):
    """The distinct words of each value, ascending, and where each begins in `chars`.

    Two neighbours of which one has a digit also count as one word if `known` (bool[WORDS]) has it: a code is
    written "KX-TG67" in one place and "KXTG67" in another. `starts` is then the end of `chars`. `ids` and `starts` have
    room for two words per space, and per value two more.
    """
    at = np.int64(0)
    for value in range(offsets.size - 1):
        indptr[value] = at
        first, start, stop = at, offsets[value], offsets[value + 1]
        before = np.int64(-1)
        while start < stop:
            end = next_space(chars, start, stop)
            ids[at] = _word(chars, start, end) << 32 | (start - offsets[value])
            at += 1
            if before >= 0:
                both = _joined(chars, before, start - 1, end)
                if both & DIGIT and known[both]:
                    ids[at] = both << 32 | 0x7FFFFFFF
                    at += 1
            before, start = start, end + 1
        sort_stretch(ids, first, at)
        last, at = at, first
        for i in range(first, last):
            if at == first or ids[at - 1] != ids[i] >> 32:
                place = ids[i] & 0xFFFFFFFF
                starts[at] = offsets[value] + place if place != 0x7FFFFFFF else chars.size
                ids[at] = ids[i] >> 32
                at += 1
    indptr[offsets.size - 1] = at


@bare_kernel("int64[], E[], int64[], int64[]", E=("int32", "int64"))
def count_elements(indptr, ids, records, often):
    """Add to `often` (int64[elements]) in how many records each element occurs; `records` of each value."""
    for value in range(indptr.size - 1):
        for i in range(indptr[value], indptr[value + 1]):
            often[ids[i]] += records[value]


@bare_kernel("int64[], int32[], float32[], float32[]")
def weigh_grams(indptr, ids, rarity, weights):
    """Turn counts of trigrams (in `weights`) into weights of length 1: (1 + ln count) times the rarity of each."""
    for value in range(indptr.size - 1):
        total = 0.0
        for i in range(indptr[value], indptr[value + 1]):
            weights[i] = np.float32((1.0 + np.log(weights[i])) * rarity[ids[i]])
            total += weights[i] * weights[i]
        if total > 0:
            scale = np.float32(1 / np.sqrt(total))
            for i in range(indptr[value], indptr[value + 1]):
                weights[i] *= scale


@bare_kernel("int32[], int64, int64, int64[], int32[], float32[], int64[], int32[], float32[]")
def list_postings(codes, first, last, indptr, ids, weights, ends, records, impacts):
    """By element, the records from `first` to `last` that have it, and its weight in each.

    `ends` holds where the records of each element begin; afterwards it holds where they end.
    """
    for record in range(first, last):
        value = codes[record]
        if value >= 0:
            for i in range(indptr[value], indptr[value + 1]):
                place = ends[ids[i]]
                records[place], impacts[place] = record, weights[i]
                ends[ids[i]] = place + 1


@bare
def _affordable(indptr, ids, value, starts, budget):
    """The number of records that an element may have at most, so that all such elements cost at most the budget."""
    most = np.int64(0)
    total = np.int64(0)
    for i in range(indptr[value], indptr[value + 1]):
        count = starts[ids[i] + 1] - starts[ids[i]]
        total += count
        most = max(most, count)
    while total > budget and most > 1:
        most = most * 3 // 4
        total = np.int64(0)
        for i in range(indptr[value], indptr[value + 1]):
            count = starts[ids[i] + 1] - starts[ids[i]]
            if count <= most:
                total += count
    return most


@bare
def _insert(partners, found, filled, sums, record):
    """Put a record into its place among the best; of equal ones, the first record comes first."""
    place = filled
    if filled == partners.size:
        place -= 1
        worst = partners[place]
        if sums[record] < found[place] or (sums[record] == found[place] and record > worst):
            return filled
    else:
        filled += 1
    while place > 0 and (
        found[place - 1] < sums[record] or (found[place - 1] == sums[record] and partners[place - 1] > record)
    ):
        partners[place], found[place] = partners[place - 1], found[place - 1]
        place -= 1
    partners[place], found[place] = record, sums[record]
    return filled


@kernel("int32[], int64, int64, int64[], int32[], float32[], int64[], int32[], float32[], int64, int64, int32[,]")
def find_partners(codes, first, last, indptr, ids, weights, starts, records, impacts, size, budget, out):
    """The records most similar to each of the records from `first` to `last`, by the rare elements that they share.

    Parameters
    ----------
    starts, records, impacts
        From `list_postings`: records[starts[e]:starts[e + 1]] have element e.
    size : int
        The number of all records.
    budget : int
        Most postings that are read for one record, those of rare elements first.
    out : int32[last - first, partners]
        Receives the partners, best first; -1 for none.
    """
    sums, touched = np.zeros(size, np.float32), np.empty(size, np.int32)
    found = np.empty(out.shape[1], np.float32)
    for record in range(first, last):
        row = out[record - first]
        for k in range(row.size):
            row[k] = -1
        value = codes[record]
        if value < 0:
            continue
        most, count, filled = _affordable(indptr, ids, value, starts, budget), 0, 0
        for i in range(indptr[value], indptr[value + 1]):
            start, stop = starts[ids[i]], starts[ids[i] + 1]
            if stop - start > most:
                continue
            for place in range(start, stop):
                other = records[place]
                if sums[other] == 0:
                    touched[count] = other
                    count += 1
                sums[other] += weights[i] * impacts[place]
        for place in range(count):
            other = touched[place]
            if other != record:
                filled = _insert(row, found, filled, sums, other)
        for place in range(count):
            sums[touched[place]] = 0


@bare
def _same_but_one(chars, start, end, other, stop):
    """Are two words alike but for one edit? Then their first or their last characters are equal."""
    if abs(end - start - stop + other) > 1 or (chars[start] != chars[other] and chars[end - 1] != chars[stop - 1]):
        return False
    return within_one_edit(chars, start, end, other, stop) == 1


@bare
def _list_lone(chars, offsets, words, value, marks, mark, digits, out):
    """The words of a value without a digit that have this mark and may be misspelt; returns their number.

    `out` (int64[3, words]) receives the place of each, and where it begins and ends.
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
    """What words that only one of two values has share with one edit: the rarity of the more common of the two."""
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
    """Write the weights of a value's elements to their places."""
    for i in range(indptr[value], indptr[value + 1]):
        dense[ids[i]] = weights[i]


@bare
def _unload(indptr, ids, value, dense):
    for i in range(indptr[value], indptr[value + 1]):
        dense[ids[i]] = 0


@bare
def _dot(indptr, ids, weights, value, dense):
    """The product of a value's weights with those loaded."""
    start, stop = indptr[value], indptr[value + 1]
    one = two = three = four = np.float32(0)
    for i in range(start, stop - 3, 4):
        one += weights[i] * dense[ids[i]]
        two += weights[i + 1] * dense[ids[i + 1]]
        three += weights[i + 2] * dense[ids[i + 2]]
        four += weights[i + 3] * dense[ids[i + 3]]
    for i in range(stop - (stop - start) % 4, stop):
        one += weights[i] * dense[ids[i]]
    return (one + two) + (three + four)


@bare
def _sum_words(words, value, digits):
    """The rarity of all words of a value, of those with a digit, and the number of the others."""
    indptr, ids, _, rarity = words
    total, codes, count = 0.0, 0.0, 0
    for i in range(indptr[value], indptr[value + 1]):
        total += rarity[i]
        if ids[i] >= digits:
            codes += rarity[i]
        else:
            count += 1
    return total, codes, count


@kernel(
    "int32[], int32[], int32[], int64, int64, float32[,], C[], int64[], (int64[], int32[], float32[]), "
    "(int64[], int32[], int64[], float32[]), int64, int64, int64",
    C=("uint8", "uint32"),
)
def compare_texts(codes, left, right, first, last, out, chars, offsets, grams, words, number, size, digits):
    """How similar pairs of texts are, by the rarity of what they share; 0 if a value is missing.

    What the left record has is written to its places and looked up for each right one, so that pairs with the same left
    record should follow each other.

    Parameters
    ----------
    grams : (indptr, ids, weights)
    words : (indptr, ids, starts, rarity)
        `rarity` of each of `ids`.
    number, size, digits
        The number of grams and of words, and the first word that has a digit.
    out : float32[pairs, 5]
        Cosine of trigrams; words shared, as a share of all words and of the shorter text's words; the share of numbers
        and codes that conflict; the rarity of the codes shared.
    """
    indptr, ids, _, rarity = words
    dense, marks = np.zeros(number, np.float32), np.zeros(size, np.uint8)
    one, other = np.empty((3, SOFT_PAIRS), np.int64), np.empty((3, SOFT_PAIRS), np.int64)
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
                marks[ids[j]] += 1  # 2: both have it
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
