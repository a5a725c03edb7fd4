"""Texts as weighted words and trigrams: the elements of each value, the most similar records, the similarity of pairs.

Strings are as in strings.py, with words separated by single spaces. An element is a word or a trigram (three adjacent
characters of a word with a space on either side), identified by the lowest bits of a hash. Row v, the elements of a
value, is ids[indptr[v]:indptr[v + 1]]. Scratch arrays are given by the caller, since bare kernels do not allocate.
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel, kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sorting import sort_stretch
from lookalike.kernels.strings import next_space, within_one_edit

GRAMS = 1 << 20
"""The range of trigram numbers. A language has about 30,000; a large table of them would not fit in the cache."""
DIGIT = 1 << 22
"""The bit that is set in the number of a word with a digit; the lower bits identify the word."""
WORDS = 2 * DIGIT
"""The range of word numbers."""
SOFT_LENGTH = 4
"""Shorter words must be equal: one edit would make a different word."""
SOFT_SHARE = 0.8
"""The weight of a word with one edit, compared with an equal word."""
SOFT_PAIRS = 400
"""The most comparisons of words that occur in only one of two texts; longer texts are compared by equal words alone."""
COSINE, UNION, SHORTER, CONFLICT, CODES = range(5)
"""The columns of `compare_texts`."""


@bare
def _hash(chars, start, stop):
    state = U(0)
    for i in range(start, stop):
        state = mix(state * U(0x9E3779B97F4A7C15) + U(chars[i]) + U(1))
    return state


@bare_kernel("C[], int64[], int32[], int64[], int64[], float32[]", C=("uint8", "uint32"))
def list_grams(chars, offsets, places, indptr, ids, counts):
    """List the distinct trigrams of each value, in the order of their first occurrence, and the count of each.

    `places` (int32[GRAMS]) is scratch with any content: a place is valid if the trigram is there. `ids` and `counts`
    need space for one trigram per character; `indptr` receives the start of each value's trigrams.
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
                gram = np.int64(state & U(GRAMS - 1))
                place = np.int64(places[gram])
                if 0 <= place < at - first and ids[first + place] == gram:
                    counts[first + place] += np.float32(1)
                else:
                    places[gram] = at - first
                    ids[at], counts[at] = gram, np.float32(1)
                    at += 1
            start = end + 1
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
    """The number of two adjacent words written as one."""
    state, digit = U(0), False
    for i in range(start, stop):
        if i != middle:
            state = mix(state * U(0x9E3779B97F4A7C15) + U(chars[i]) + U(1))
            digit |= 48 <= chars[i] <= 57
    return np.int64(state & U(DIGIT - 1)) | (np.int64(DIGIT) if digit else np.int64(0))


@bare_kernel("C[], int64[], bool[]", C=("uint8", "uint32"))
def mark_words(chars, offsets, known):
    """Set `known` (bool[WORDS]) for every word of the values."""
    for value in range(offsets.size - 1):
        start, stop = offsets[value], offsets[value + 1]
        while start < stop:
            end = next_space(chars, start, stop)
            known[_word(chars, start, end)] = True
            start = end + 1


@kernel("C[], int64[], bool[], int64[], int64[], int64[]", C=("uint8", "uint32"))
def list_words(chars, offsets, known, indptr, ids, starts):
    """List the distinct words of each value, ascending, and the start of each in `chars`.

    Two adjacent words also count as one word if either has a digit and the joined word is in `known` (bool[WORDS]): the
    same code may be written "KX-TG67" or "KXTG67". The start of a joined word is the end of `chars`. `ids` and `starts`
    need space for two words per space, plus two words per value.
    """
    at = np.int64(0)
    for value in range(offsets.size - 1):
        indptr[value] = at
        first, start, stop = at, offsets[value], offsets[value + 1]
        before, last_word = np.int64(-1), np.int64(0)
        while start < stop:
            end = next_space(chars, start, stop)
            word = _word(chars, start, end)
            ids[at] = word << 32 | (start - offsets[value])
            at += 1
            if before >= 0 and (word | last_word) & DIGIT:
                both = _joined(chars, before, start - 1, end)
                if known[both]:
                    ids[at] = both << 32 | 0x7FFFFFFF
                    at += 1
            before, last_word, start = start, word, end + 1
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
    """Add the number of records with each element to `often` (int64[elements]); `records` is the number per value."""
    for value in range(indptr.size - 1):
        for i in range(indptr[value], indptr[value + 1]):
            often[ids[i]] += records[value]


@bare_kernel("int64[], int32[], float32[], float32[], float32[]")
def weigh_grams(indptr, ids, counts, rarity, weights):
    """Convert trigram counts to weights of unit length per value: (1 + ln count) * rarity, scaled."""
    for value in range(indptr.size - 1):
        total = 0.0
        for i in range(indptr[value], indptr[value + 1]):
            weights[i] = np.float32((1.0 + np.log(counts[i])) * rarity[ids[i]])
            total += weights[i] * weights[i]
        if total > 0:
            scale = np.float32(1 / np.sqrt(total))
            for i in range(indptr[value], indptr[value + 1]):
                weights[i] *= scale


@bare_kernel("int32[], int64, int64, int64[], int32[], float32[], int64[], int32[], float32[]")
def list_postings(codes, first, last, indptr, ids, weights, ends, records, impacts):
    """List, by element, the records from `first` to `last` that contain it, and its weight in each.

    On entry, `ends` holds the start of each element's records; on return, it holds their end.
    """
    for record in range(first, last):
        value = codes[record]
        if value >= 0:
            for i in range(indptr[value], indptr[value + 1]):
                place = ends[ids[i]]
                records[place], impacts[place] = record, weights[i]
                ends[ids[i]] = place + 1


@bare
def _affordable(indptr, ids, value, starts, budget, costs):
    """The most records that an element may have so that all such elements cost at most the budget, and what they cost.

    `costs` receives the number of records with each element of the value.
    """
    first, size = indptr[value], indptr[value + 1] - indptr[value]
    most, total = np.int64(0), np.int64(0)
    for i in range(size):
        element = ids[first + i]
        costs[i] = starts[element + 1] - starts[element]
        total += costs[i]
        most = max(most, costs[i])
    while total > budget and most > 1:
        most = most * 3 // 4
        total = np.int64(0)
        for i in range(size):
            total += costs[i] if costs[i] <= most else 0
    return most, total


@bare
def _insert(partners, found, filled, sums, record):
    """Insert a record into the list of the best; ties are in the order of records. Returns the length of the list."""
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


@bare
def _add_all(indptr, ids, weights, value, starts, costs, records, impacts, most, sums):
    """Add what a value shares with each record to `sums`, by the elements that at most `most` records have."""
    first = indptr[value]
    for i in range(indptr[value + 1] - first):
        if costs[i] <= most:
            start, weight = starts[ids[first + i]], weights[first + i]
            for place in range(start, start + costs[i]):
                sums[records[place]] += weight * impacts[place]


@bare
def _add_touched(indptr, ids, weights, value, starts, costs, records, impacts, most, sums, touched):
    """The same, if few records share anything; `touched` receives these, and their number is returned."""
    first, count = indptr[value], 0
    for i in range(indptr[value + 1] - first):
        if costs[i] <= most:
            start, weight = starts[ids[first + i]], weights[first + i]
            for place in range(start, start + costs[i]):
                other = records[place]
                if sums[other] == 0:
                    touched[count] = other
                    count += 1
                sums[other] += weight * impacts[place]
    return count


@bare_kernel(
    "int32[], int64, int64, int64[], int32[], float32[], int64[], int32[], float32[], int64, "
    "int64[], float32[], int32[], float32[], int32[,]"
)
def find_partners(
    codes, first, last, indptr, ids, weights, starts, records, impacts, budget, costs, sums, touched, found, out
):
    """Find the most similar records for each record from `first` to `last`, by the rare elements that they share.

    Parameters
    ----------
    starts, records, impacts
        From `list_postings`: records[starts[e]:starts[e + 1]] contain element e.
    budget : int
        The most postings to read for one record; those of rare elements are read first.
    costs, sums, touched, found
        Scratch for the elements of one value, all records, all records, and the partners of one record; `sums` must be
        0, and is 0 on return.
    out : int32[last - first, partners]
        Receives the partners, best first; -1 for none.
    """
    for record in range(first, last):
        row, value, filled = out[record - first], codes[record], 0
        for k in range(row.size):
            row[k] = -1
        if value < 0:
            continue
        most, cost = _affordable(indptr, ids, value, starts, budget, costs)
        if cost >= sums.size:  # then looking at every record takes less time than noting which ones were touched
            _add_all(indptr, ids, weights, value, starts, costs, records, impacts, most, sums)
            for other in range(sums.size):
                if sums[other] > 0 and other != record:
                    filled = _insert(row, found, filled, sums, other)
                sums[other] = 0
            continue
        count = _add_touched(indptr, ids, weights, value, starts, costs, records, impacts, most, sums, touched)
        for place in range(count):
            if touched[place] != record:
                filled = _insert(row, found, filled, sums, touched[place])
        for place in range(count):
            sums[touched[place]] = 0


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
