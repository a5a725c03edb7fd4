"""Patterns of agreement of candidate pairs, their scores, and adjustments by the frequency of values."""

import numpy as np

from lookalike.kernels.compile import bare_kernel, inlined, kernel, part
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.sorting import twice_as_long


@kernel("int8[,], uint64[], int32[] -> uint64[]")
def number_patterns(levels, bases, numbers):
    """Number the patterns of pairs in order of occurrence; return one key per pattern, which sorts like the pattern.

    Parameters
    ----------
    levels : int8[fields, pairs]
    bases : uint64[fields + 1]
        First, a value above the largest of `numbers`; then, for each field, a value above its largest level. Their
        product must fit in 64 bits.
    numbers : int32[pairs]
        The numbers of the pairs from the previous fields, or 0; receives the new numbers.

    Returns
    -------
    keys : uint64[patterns]
    """
    table, keys = _empty_table(1 << 12), np.empty(1 << 11, np.uint64)
    count = 0
    for pair in range(numbers.size):
        key = U(numbers[pair])
        for field in range(levels.shape[0]):
            key = key * bases[field + 1] + U(levels[field, pair])
        if 2 * count == table.size:
            table = _empty_table(2 * table.size)
            for number in range(count):
                table[_place(keys[number], table, keys)] = number
            keys = twice_as_long(keys)
        place = _place(key, table, keys)
        if table[place] < 0:
            table[place], keys[count] = count, key
            count += 1
        numbers[pair] = table[place]
    return keys[:count]


@inlined
def _empty_table(size):
    table = np.empty(size, np.int32)
    for place in range(size):
        table[place] = -1
    return table


@part
def _place(key, table, keys):
    """The position of the key in a table of numbers, or the slot where it would go."""
    mask = U(table.size - 1)
    place = mix(key) & mask
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + U(1)) & mask
    return place


@kernel("int32[], int32[], int64[], int64[]")
def renumber(numbers, new, counts, examples):
    """Replace each number by its new one (int32); record its count and its last position (int64)."""
    for i in range(numbers.size):
        number = numbers[i] = new[numbers[i]]
        counts[number] += 1
        examples[number] = i


@kernel("int32[], float64[], int64, int64, float64[]")
def look_up_scores(of_pair, table, first, last, scores):
    """Look up the score of each pair's pattern: float64[pairs]."""
    for k in range(first, last):
        scores[k] = table[of_pair[k]]


@bare_kernel("F[,], float64[], float64, float64[]", F=("float32", "float64"))
def weigh_rows(measured, weights, start, scores):
    """The weighted sum of each row plus `start`: float64[rows]."""
    for k in range(scores.size):
        row, total = measured[k], start
        for i in range(weights.size):
            total += row[i] * weights[i]
        scores[k] = total


@bare_kernel("uint32[,], int64[], uint64[]")
def number_rows(bits, rows, numbers):
    """A pseudo-random number for each of some `rows`, which depends only on its values: uint64[rows].

    `bits` are those of float32[every, columns]; -0.0 counts as 0.0.
    """
    for k in range(rows.size):
        row, state = bits[rows[k]], np.uint64(0)
        for i in range(row.size):
            value = np.uint64(row[i]) if row[i] != np.uint32(0x80000000) else np.uint64(0)
            state = (state ^ value) * np.uint64(0x9E3779B97F4A7C15)
            state ^= state >> np.uint64(29)
        numbers[k] = state


@bare_kernel("float64[,], float64[], float64[], float64[], float64[,]")
def sum_products(table, single, double, sums, products):
    """The weighted sum of the rows of a table, and of the products of their values, in the order of the rows.

    A matrix product would add them in an order that depends on the number of threads.

    Parameters
    ----------
    table : float64[rows, columns]
    single, double : float64[rows]
        The weight of each row in `sums` and in `products`.
    sums, products : float64[columns], float64[columns, columns]
        Zeros on entry; the results are added to them.
    """
    for k in range(table.shape[0]):
        row = table[k]
        for i in range(row.size):
            sums[i] += single[k] * row[i]
            weighted = double[k] * row[i]
            for j in range(row.size):
                products[i, j] += weighted * row[j]


@kernel("int8[], int8[], int32[], int32[], float64[], int64, int64, float64[]")
def add_frequencies(levels, above, codes, records, table, first, last, scores):
    """Add the weight for the frequency of a value if both records of a pair have that value.

    Parameters
    ----------
    levels : int8[pairs]
        The levels of the field; at level 1, both records have the same value.
    above : int8[pairs], or of size 0
        The levels of the field that this field depends on: if that field is equal too, nothing is added.
    codes : int32[records]
    records : int32[pairs]
        One record of each pair.
    table : float64[values]
    """
    for k in range(first, last):
        if levels[k] == 1 and not (above.size and above[k] == 1):
            scores[k] += table[codes[records[k]]]
