"""Signatures of sets: Fast Similarity Sketching, universal hashing, and the keys of their bands."""

import numba as nb
import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import LARGEST, U, mix
from lookalike.kernels.machine import multiply_high
from lookalike.kernels.sets import fingerprint_sets
from lookalike.kernels.shingles import list_shingles, work_space

MERSENNE = np.uint64((1 << 61) - 1)
"""The prime of universal hashing."""


@inlined
def _hash_in_round(element, salt):
    h = (element ^ salt) * U(0xD6E8FEB86659FD93)
    h ^= h >> U(32)
    h *= U(0xFF51AFD7ED558CCD)
    return h ^ (h >> U(29))


@kernel
def fast_similarity_sketch(elements, count, seed, slots, sketch):
    """Fill sketch[:slots] with the smallest (round, value) of each slot.

    Round i sends every element to one slot; from round `slots` on, to slot i - slots, so that all are filled
    after 2 * slots rounds at most. The first round that leaves no slot empty is the last.
    """
    for b in range(slots):
        sketch[b] = LARGEST
    if count == 0 or slots == 0:
        return
    size = U(slots)
    salt = mix(seed)
    for k in range(count):  # round 0, the only one for most long texts
        h = _hash_in_round(elements[k], salt)
        b = nb.int64(multiply_high(h, size))
        sketch[b] = min(sketch[b], h & U(0xFFFFFFFF))
    empty = 0
    for b in range(slots):
        empty += sketch[b] == LARGEST
    i = 1
    while empty > 0:
        salt = mix(seed + U(i) * U(0x9E3779B97F4A7C15))
        for k in range(count):
            h = _hash_in_round(elements[k], salt)
            b = nb.int64(multiply_high(h, size)) if i < slots else i - slots
            value = (U(i) << U(32)) | (h & U(0xFFFFFFFF))
            if value < sketch[b]:
                empty -= sketch[b] == LARGEST
                sketch[b] = value
        i += 1


@kernel
def sketch_sets(indptr, elements, seed, values):
    """Fast Similarity Sketches of sets: values (uint32[sets, slots]) get the low half of each slot.

    The low half is the winner's own hash value: equal where the same element won, otherwise by a chance of
    about 2^-32. An empty set gets the largest number everywhere.
    """
    slots = values.shape[1]
    sketch = np.empty(slots, np.uint64)
    for row in range(indptr.size - 1):
        start = indptr[row]
        fast_similarity_sketch(elements[start : indptr[row + 1]], indptr[row + 1] - start, seed, slots, sketch)
        for b in range(slots):
            values[row, b] = np.uint32(sketch[b] & U(0xFFFFFFFF))


@inlined
def _hash_universal(a, b, x):
    """(a x + b) mod 2^61 - 1 for a, b, x below it."""
    prime = U(0x1FFFFFFFFFFFFFFF)
    low, high = a * x, multiply_high(a, x)
    total = (low & prime) + ((low >> U(61)) | (high << U(3)))
    total = (total & prime) + (total >> U(61)) + b
    total = (total & prime) + (total >> U(61))
    return total if total < prime else total - prime


@kernel
def universal_sets(indptr, elements, multipliers, offsets, values):
    """Minhash by the lecture's universal hashing: the smallest (a x + b) mod p over the set, per (a, b)."""
    hashes = values.shape[1]
    smallest = np.empty(hashes, np.uint64)
    for row in range(indptr.size - 1):
        smallest[:] = LARGEST
        for k in range(indptr[row], indptr[row + 1]):
            x = mix(elements[k]) % MERSENNE
            for j in range(hashes):
                smallest[j] = min(smallest[j], _hash_universal(multipliers[j], offsets[j], x))
        for j in range(hashes):
            values[row, j] = np.uint32(smallest[j] & U(0xFFFFFFFF))


@inlined
def _band_key(sketch, first, rows, band):
    """One 64-bit bucket key of the rows sketch[first : first + rows]."""
    key = U(band)
    for j in range(first, first + rows):
        key = mix(key * U(0x9E3779B97F4A7C15) + (sketch[j] & U(0xFFFFFFFF)))
    return key


@kernel
def band_keys(values, bands, rows):
    """The bucket keys of signatures: uint64[bands, items]."""
    keys = np.empty((bands, values.shape[0]), np.uint64)
    sketch = np.empty(values.shape[1], np.uint64)
    for item in range(values.shape[0]):
        for j in range(bands * rows):
            sketch[j] = U(values[item, j])
        for band in range(bands):
            keys[band, item] = _band_key(sketch, band * rows, rows, band)
    return keys


@kernel
def sketch_texts(data, offsets, kind, width, bag, folding, stop_words, seed, values):
    """Signatures of texts in one pass: values (uint32[texts, slots]) as sketch_sets gives them."""
    edge, tokens, elements, work = work_space(data, offsets, kind)
    slots = values.shape[1]
    sketch = np.empty(slots, np.uint64)
    for i in range(offsets.size - 1):
        listed, _ = list_shingles(
            data,
            offsets[i],
            offsets[i + 1],
            kind,
            width,
            bag,
            folding,
            stop_words,
            edge,
            tokens,
            elements,
            work,
        )
        fast_similarity_sketch(elements, listed, seed, slots, sketch)
        for b in range(slots):
            values[i, b] = np.uint32(sketch[b] & U(0xFFFFFFFF))


@inlined
def _sequence_print(tokens, count):
    """Two 64-bit polynomials of a sequence of hashes: equal sequences agree, others but for one in 2^128."""
    first, second = U(count), U(count)
    for i in range(count):
        first = first * U(0x9E3779B97F4A7C15) + tokens[i]
        second = (second ^ tokens[i]) * U(0xFF51AFD7ED558CCD)
        second ^= second >> U(32)
    return first, second


@kernel
def digest_texts(data, offsets, kind, width, bag, folding, stop_words, seed, bands, rows):
    """All that a job keeps of each text: bucket keys, number of shingles, fingerprint, in one pass.

    Returns
    -------
    keys : uint64[bands, texts]
    counts : int64[texts]
        Shingles, repeats included; 0 for an empty item.
    prints : uint64[2, texts]
        Equal for texts with the same sequence of tokens, whose sets are therefore equal.
    """
    texts = offsets.size - 1
    edge, tokens, elements, work = work_space(data, offsets, kind)
    sketch = np.empty(bands * rows, np.uint64)
    keys = np.empty((bands, texts), np.uint64)
    counts = np.empty(texts, np.int64)
    prints = np.empty((2, texts), np.uint64)
    for i in range(texts):
        counts[i], length = list_shingles(
            data,
            offsets[i],
            offsets[i + 1],
            kind,
            width,
            bag,
            folding,
            stop_words,
            edge,
            tokens,
            elements,
            work,
        )
        prints[0, i], prints[1, i] = _sequence_print(tokens, length)
        fast_similarity_sketch(elements, counts[i], seed, bands * rows, sketch)
        for band in range(bands):
            keys[band, i] = _band_key(sketch, band * rows, rows, band)
    return keys, counts, prints


@kernel
def digest_sets(indptr, elements, seed, bands, rows):
    """digest_texts for sets that exist already: (keys, counts, prints), with prints of the sets themselves."""
    sets = indptr.size - 1
    sketch = np.empty(bands * rows, np.uint64)
    keys = np.empty((bands, sets), np.uint64)
    counts = np.empty(sets, np.int64)
    for i in range(sets):
        start, counts[i] = indptr[i], indptr[i + 1] - indptr[i]
        fast_similarity_sketch(elements[start : indptr[i + 1]], counts[i], seed, bands * rows, sketch)
        for band in range(bands):
            keys[band, i] = _band_key(sketch, band * rows, rows, band)
    return keys, counts, fingerprint_sets(indptr, elements)
