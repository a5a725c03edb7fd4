"""The nearest vectors of many vectors, and the pairs that are near enough, from matrix products.

The score of two vectors is their product minus half of each one's square (or just the product, for the cosine): the
higher, the nearer. Products are rounded. The score lies between product - high - high and product - low - low, where
`low` and `high` of each vector account for all errors; only vectors that may matter by these bounds are measured
exactly.
"""

import math

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.machine import count_ones, sums_of_products, trailing_zeros
from lookalike.kernels.reach import LANES, reach_mask
from lookalike.kernels.sets import EUCLIDEAN
from lookalike.kernels.vectors import cosine_at, distance_at

SMALLEST_SQUARE, LARGEST_SQUARE = 1e-290, 1e290
"""Vectors with a square outside this range have no reliable direction: they are always measured."""


@kernel("int64, int64[], F[], float64[], float64, L[], float64[]", F=("float32", "float64"), L=("float32", "float64"))
def scale_rows(measure, begins, elements, centre, scale, scaled, squares):
    """Prepare vectors for matrix products: scaled to length 1 for the cosine, otherwise (vector - centre) * scale.

    Parameters
    ----------
    begins, elements : int64[vectors], float[]
    centre : float64[dimension]
    scaled, squares : float[vectors * dimension], float64[vectors], filled
        A vector without a direction becomes NaN.
    """
    size = centre.size
    for i in range(begins.size):
        begin, to = begins[i], i * size
        if measure == EUCLIDEAN:
            for k in range(size):
                scaled[to + k] = (np.float64(elements[begin + k]) - centre[k]) * scale
            squares[i] = sums_of_products(scaled, to, to, size)[0]
            continue
        square = sums_of_products(elements, begin, begin, size)[0]
        inverse = 1 / math.sqrt(square) if SMALLEST_SQUARE < square < LARGEST_SQUARE else np.nan
        for k in range(size):
            scaled[to + k] = elements[begin + k] * inverse
        squares[i] = square


@kernel("L[], L[], L[], bool, int32[], int32[] -> int64", L=("float32", "float64"))
def list_likely(products, row_lows, column_lows, same, rows, columns):
    """List the positions of products whose pairs may be near enough; return how many there are.

    Parameters
    ----------
    products : float[rows * columns]
    row_lows, column_lows : float[rows], float[columns]
        The `low` of each vector; `row_lows` also includes the lowest score that counts.
    same : bool
        Whether rows and columns are the same vectors, so that only positions below the diagonal count.
    rows, columns : int32[room], filled as far as they reach
    """
    count, room = 0, rows.size
    for i in range(row_lows.size):
        end = i if same else column_lows.size
        start, need = i * column_lows.size, row_lows[i]
        whole = end - end % LANES
        for j in range(0, whole, LANES):
            mask = reach_mask(products, start + j, column_lows, column_lows, j, need, need)
            while mask:
                if count < room:
                    rows[count], columns[count] = i, j + trailing_zeros(mask)
                count += 1
                mask &= mask - np.uint64(1)
        for j in range(whole, end):
            if not products[start + j] < column_lows[j] + need:
                if count < room:
                    rows[count], columns[count] = i, j
                count += 1
    return count


@inlined
def _push(far, number, k, values, numbers, counts, row):
    """Insert a vector into the k nearest; equally near vectors are in input order."""
    at = counts[row]
    if at == k:
        if far > values[row, k - 1] or (far == values[row, k - 1] and number > numbers[row, k - 1]):
            return
        at -= 1
    else:
        counts[row] += 1
    while at > 0 and (values[row, at - 1] > far or (values[row, at - 1] == far and numbers[row, at - 1] > number)):
        values[row, at], numbers[row, at] = values[row, at - 1], numbers[row, at - 1]
        at -= 1
    values[row, at], numbers[row, at] = far, number


@inlined
def _settle(measure, limit, vectors, own, state, row):
    """Measure the vectors noted for a row that may still be among its nearest, and drop the others."""
    begins, elements, size = vectors
    scores, numbers, uppers, noted, values, nearest, counts = state
    k = values.shape[1]
    for c in range(noted[row]):
        if uppers[row, c] < scores[row, 0]:
            continue
        number = np.int64(numbers[row, c])
        if measure == EUCLIDEAN:
            far = distance_at(elements, begins[own], begins[number], size)
        else:
            far = -cosine_at(elements, begins[own], begins[number], size)
        if far <= limit:
            _push(far, number, k, values, nearest, counts, row)
    noted[row] = 0


@inlined
def _raise(scores, row, score):
    """Replace the lowest of a row's scores, which are in ascending order."""
    at = 0
    while at + 1 < scores.shape[1] and scores[row, at + 1] < score:
        scores[row, at] = scores[row, at + 1]
        at += 1
    scores[row, at] = score


@part
def _note(measure, limit, vectors, own, number, upper, lower, state, row):
    """Note a vector that may be among the nearest of `own`."""
    scores, numbers, uppers, noted, _, _, _ = state
    if math.isfinite(lower) and lower > scores[row, 0]:
        _raise(scores, row, lower)
    room = uppers.shape[1]
    if noted[row] == room:
        kept = 0
        for c in range(room):
            if not uppers[row, c] < scores[row, 0]:
                numbers[row, kept], uppers[row, kept] = numbers[row, c], uppers[row, c]
                kept += 1
        noted[row] = kept
        if 2 * kept > room:
            _settle(measure, limit, vectors, own, state, row)
    numbers[row, noted[row]], uppers[row, noted[row]] = number, upper
    noted[row] += 1


@kernel(
    "int64, float64, (int64[], F[], int64), L[], (int64, L[], L[]), (int64, L[], L[]), L[], bool, bool, "
    "(L[,], int32[,], L[,], int64[], float64[,], int64[,], int64[]), "
    "(L[,], int32[,], L[,], int64[], float64[,], int64[,], int64[])",
    L=("float32", "float64"),
    F=("float32", "float64"),
)
def note_nearest(measure, limit, vectors, products, rows, columns, needs, both, same, of_rows, of_columns):
    """Note which vectors of one block may be among the nearest of which vectors of another.

    Parameters
    ----------
    limit : float
        More distant vectors do not count: minus the cosine, or the distance.
    vectors : (int64[], float[], int64)
        Where each vector begins, all values, and the number of values per vector.
    products : float[rows * columns]
    rows, columns : (int64, float[rows], float[rows])
        The number of the first vector, and `low` and `high` of each.
    needs : float[columns]
        A work array.
    both, same : bool
        Whether rows are also noted for the columns; whether rows and columns are the same vectors.
    of_rows, of_columns : for each vector
        scores float[vectors, k]: the highest lower bounds of scores so far, in ascending order;
        numbers, uppers int32, float[vectors, room]: the vectors noted, and upper bounds of their scores;
        noted int64[vectors]: how many were noted;
        values, nearest float64, int64[vectors, k]: the nearest of those measured; counts int64[vectors].
    """
    first_row, row_lows, row_highs = rows
    first_column, column_lows, column_highs = columns
    row_scores, column_scores = of_rows[0], of_columns[0]
    for j in range(needs.size):
        needs[j] = column_lows[j] + column_scores[j, 0] if both else np.inf
    for i in range(row_lows.size):
        end = i if same else needs.size
        start, low = i * needs.size, row_lows[i]
        for j in range(0, end, LANES):
            need = low + row_scores[i, 0]
            if j + LANES <= end:
                mask = reach_mask(products, start + j, column_lows, needs, j, need, low)
            else:
                mask = (np.uint64(1) << np.uint64(end - j)) - np.uint64(1)
            while mask:
                c = j + trailing_zeros(mask)
                mask &= mask - np.uint64(1)
                product = products[start + c]
                upper, lower = product - low - column_lows[c], product - row_highs[i] - column_highs[c]
                if not product < column_lows[c] + need:
                    _note(measure, limit, vectors, first_row + i, first_column + c, upper, lower, of_rows, i)
                    need = low + row_scores[i, 0]
                if both and not product < needs[c] + low:
                    _note(measure, limit, vectors, first_column + c, first_row + i, upper, lower, of_columns, c)
                    needs[c] = column_lows[c] + column_scores[c, 0]


@kernel(
    "int64, float64, (int64[], F[], int64), int64, (L[,], int32[,], L[,], int64[], float64[,], int64[,], int64[])",
    L=("float32", "float64"),
    F=("float32", "float64"),
)
def settle_nearest(measure, limit, vectors, first, state):
    """Measure the vectors noted for vectors first, first + 1, ...: this determines their nearest."""
    for row in range(state[3].size):
        _settle(measure, limit, vectors, first + row, state, row)


@kernel("uint64[,], int64, int64, int64, int64, float64, float64[,], int64[,], int64[]")
def push_nearest_bits(strings, first, last, other, end, limit, values, numbers, counts):
    """Add those of bit strings other..end-1 that are among the nearest of first..last-1.

    Parameters
    ----------
    limit : float
        Bit strings that differ in more bits do not count.
    values, numbers, counts : float64[asked, k], int64[asked, k], int64[asked]
        The nearest found so far, nearest first; counts[i] of them.
    """
    k = values.shape[1]
    for i in range(first, last):
        for j in range(other, end):
            if i == j:
                continue
            total = np.int64(0)
            for w in range(strings.shape[1]):
                total += np.int64(count_ones(strings[i, w] ^ strings[j, w]))
            if total <= limit:
                _push(np.float64(total), j, k, values, numbers, counts, i - first)
