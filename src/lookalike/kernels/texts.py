"""Texts as weighted words and trigrams: the elements of each value, and the most similar records.

Strings are as in strings.py, with words separated by single spaces. An element is a word or a trigram (three adjacent
characters of a word with a space on either side), identified by the lowest bits of a hash. Row v, the elements of a
value, is ids[indptr[v]:indptr[v + 1]]. Scratch arrays are given by the caller, since bare kernels do not allocate.
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel, kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sorting import sort_stretch
from lookalike.kernels.strings import next_space

GRAMS = 1 << 20
"""The range of trigram numbers. A language has about 30,000; a large table of them would not fit in the cache."""
DIGIT = 1 << 22
"""The bit that is set in the number of a word with a digit; the lower bits identify the word."""
WORDS = 2 * DIGIT
"""The range of word numbers."""


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
