"""Vectors and bit strings: the similarity or distance of two, and the bucket keys of many.

A vector is elements[begin:begin + size] (float32 or float64); a bit string is an array of 64-bit words. Sums are
computed in 64 bits, in an order that depends on the size alone, so that a pair always has the same value, wherever it
is compared.
"""

import math

import numpy as np

from lookalike.kernels.compile import inlined, kernel, unchecked
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.machine import count_ones, multiply_add, sum_of_squares, sums_of_products
from lookalike.kernels.sets import EUCLIDEAN

LANES = 64
"""The number of projections that are summed in parallel."""
FARTHEST = 2.0**62
"""Beyond this, all buckets of a line are one."""


@inlined
def cosine_at(elements, left, right, size):
    """The cosine of two nonzero vectors; exactly 1 if they are equal."""
    across, one, other = sums_of_products(elements, left, right, size)
    return max(-1.0, min(1.0, across / math.sqrt(one * other)))


@inlined
def distance_at(elements, left, right, size):
    """The Euclidean distance between two vectors."""
    return math.sqrt(sum_of_squares(elements, left, right, size))


@inlined
def differing_bits(words, left, right, size):
    """The Hamming distance between two bit strings of `size` words."""
    total = np.int64(0)
    for k in range(size):
        total += np.int64(count_ones(words[left + k] ^ words[right + k]))
    return total


@kernel("int64, int64[], int64[], int64[], int64[], F[], float64[]", F=("float32", "float64"))
def values_of(measure, left, right, begins, ends, elements, values):
    """Compute the cosine or distance of each pair of vectors left[k], right[k]."""
    for k in range(left.size):
        a, b = begins[left[k]], begins[right[k]]
        size = ends[left[k]] - a
        if measure == EUCLIDEAN:
            values[k] = distance_at(elements, a, b, size)
        else:
            values[k] = cosine_at(elements, a, b, size)


@kernel("int64[], int64[], int64[], int64[], uint64[], float64[]")
def bit_distances_of(left, right, begins, ends, words, values):
    """Compute the Hamming distance of each pair of bit strings left[k], right[k]."""
    for k in range(left.size):
        a, b = begins[left[k]], begins[right[k]]
        values[k] = differing_bits(words, a, b, ends[left[k]] - a)


@kernel("int64[], uint64[] -> uint64[,]")
def fingerprint_rows(indptr, words):
    """Compute two independent 64-bit hashes of each row of words, as uint64[2, rows]; the order of words matters."""
    prints = np.empty((2, indptr.size - 1), np.uint64)
    for row in range(indptr.size - 1):
        first, second = U(indptr[row + 1] - indptr[row]), U(0)
        for k in range(indptr[row], indptr[row + 1]):
            first = mix(first ^ words[k]) + U(0x9E3779B97F4A7C15)
            second = mix(second + words[k]) ^ U(0xC2B2AE3D27D4EB4F)
        prints[0, row], prints[1, row] = first, second
    return prints


@unchecked
def _project(vectors, row, tiles, sums):
    """sums[t * LANES + j] = the dot product of a row with column j of tile t; each is summed in order."""
    for t in range(tiles.shape[0]):
        room = sums[t * LANES : (t + 1) * LANES]
        room[:] = 0
        for k in range(tiles.shape[1]):
            value = vectors[row, k]
            for j in range(LANES):
                room[j] = multiply_add(value, tiles[t, k, j], room[j])


@kernel("float32[,], float32[,,], int64, uint64[,]")
def sign_keys(vectors, tiles, rows, keys):
    """Compute bucket keys of vectors: for each band, on which side of `rows` hyperplanes a vector lies.

    Parameters
    ----------
    vectors : float32[items, dimension]
    tiles : float32[tiles, dimension, LANES], the hyperplanes, band by band
    rows : int, at most 64
    keys : uint64[bands, items], filled
    """
    sums = np.empty(tiles.shape[0] * LANES, vectors.dtype)
    for i in range(vectors.shape[0]):
        _project(vectors, i, tiles, sums)
        for band in range(keys.shape[0]):
            word = U(0)
            for r in range(rows):
                word |= U(sums[band * rows + r] >= 0) << U(r)
            keys[band, i] = mix(word + mix(U(band + 1)))


@kernel("float64[,], float64[,,], float64[], float64, int64, uint64[,]")
def line_keys(vectors, tiles, offsets, width, rows, keys):
    """Compute bucket keys of vectors: for each band, the buckets of `rows` lines that a vector falls into.

    Parameters
    ----------
    vectors : float64[items, dimension]
    tiles : float64[tiles, dimension, LANES], the lines, band by band
    offsets : float64[bands * rows], as fractions of the width
    keys : uint64[bands, items], filled
    """
    sums = np.empty(tiles.shape[0] * LANES, vectors.dtype)
    for i in range(vectors.shape[0]):
        _project(vectors, i, tiles, sums)
        for band in range(keys.shape[0]):
            key = U(band + 1)
            for r in range(band * rows, (band + 1) * rows):
                place = max(-FARTHEST, min(FARTHEST, math.floor(sums[r] / width + offsets[r])))
                key = mix(key) + U(np.int64(place))
            keys[band, i] = mix(key)


@kernel("uint64[,], int64[], int64, uint64[,]")
def bit_keys(words, positions, rows, keys):
    """Compute bucket keys of bit strings: for each band, the bits at `rows` positions.

    Parameters
    ----------
    words : uint64[items, words]
    positions : int64[bands * rows]
    rows : int, at most 64
    keys : uint64[bands, items], filled
    """
    for i in range(words.shape[0]):
        for band in range(keys.shape[0]):
            word = U(0)
            for r in range(rows):
                place = positions[band * rows + r]
                word |= ((words[i, place >> 6] >> U(place & 63)) & U(1)) << U(r)
            keys[band, i] = mix(word + mix(U(band + 1)))


@kernel("uint64[,], int64, int64, int64, int64, int64[], int64[] -> (int64, int64)")
def near_bits(words, first, last, before, most, left, right):
    """Find pairs of bit strings first..last-1 with earlier ones that differ in at most `most` bits.

    If `before` is above 0, only those below it count as earlier. Stops early if `left` might be too short for the next
    bit string; returns (next bit string, pairs written).
    """
    written = 0
    i = first
    while i < last:
        others = before if before > 0 else i
        if written + others > left.size:
            break
        for j in range(others):
            total = np.int64(0)
            for k in range(words.shape[1]):
                total += np.int64(count_ones(words[i, k] ^ words[j, k]))
            if total <= most:
                left[written], right[written] = j, i
                written += 1
        i += 1
    return i, written
