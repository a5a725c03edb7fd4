"""Signatures of sets (Fast Similarity Sketching and universal hashing), and the keys of their bands."""

import numpy as np

from lookalike.kernels.chunks import CHUNK_BYTES, carry_over
from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.hashing import LARGEST, U, mix, spread
from lookalike.kernels.machine import multiply_high
from lookalike.kernels.sets import fingerprint_sets, sort_distinct
from lookalike.kernels.shingles import chunk_size, cut_chunk, list_shingles, shingle_texts, work_space
from lookalike.kernels.words import NOTHING

MERSENNE = np.uint64((1 << 61) - 1)
"""The prime of universal hashing."""


TURNS = 4
"""The number of rounds that share one hash of an element; it is rotated by 16 bits for each."""

PATIENCE = 8
"""The number of rounds after which 2 slots distinct elements leave a slot empty in 1 of 35,000 cases: slots e^-16."""


@inlined
def _hash_in_round(element, salt):
    h = (element ^ salt) * U(0xD6E8FEB86659FD93)
    h ^= h >> U(32)
    h *= U(0xFF51AFD7ED558CCD)
    return h ^ (h >> U(29))


@inlined
def _offer(h, i, slots, sketch):
    """Offer an element's hash of round i to its slot: the upper half selects the slot, the lower half is the value."""
    b = np.int64(((h >> U(32)) * U(slots)) >> U(32))
    sketch[b] = min(sketch[b], (U(i) << U(32)) | (h & U(0xFFFFFFFF)))


@part
def _one_round(elements, count, salt, i, turn, slots, sketch):
    shift = U(16 * turn)
    back = U(64 - 16 * turn) & U(63)
    for k in range(count):
        h = _hash_in_round(elements[k], salt)
        _offer((h << shift) | (h >> back) if turn > 0 else h, i, slots, sketch)


@part
def _all_turns(elements, count, salt, i, slots, sketch):
    for k in range(count):
        h = _hash_in_round(elements[k], salt)
        _offer(h, i, slots, sketch)
        _offer((h << U(16)) | (h >> U(48)), i + 1, slots, sketch)
        _offer((h << U(32)) | (h >> U(32)), i + 2, slots, sketch)
        _offer((h << U(48)) | (h >> U(16)), i + 3, slots, sketch)


@inlined
def _count_empty(slots, sketch):
    empty = 0
    for b in range(slots):
        empty += sketch[b] == LARGEST
    return empty


@inlined
def _rounds_of_many(elements, count, seed, slots, sketch, rounds):
    """Run at most `rounds` rounds, until no slot is empty; return the number of empty slots."""
    empty = slots
    i = 0
    while empty > 0 and i < rounds:
        salt = mix(seed + U(i // TURNS) * U(0x9E3779B97F4A7C15))
        _one_round(elements, count, salt, i, i % TURNS, slots, sketch)
        i += 1
        empty = _count_empty(slots, sketch)
    return empty


@inlined
def _rounds_of_few(elements, count, seed, slots, sketch, rounds):
    """Like `_rounds_of_many`, for few elements: it runs several rounds between checks."""
    look = max(np.int64(1), 64 // count)
    empty = slots
    i = 0
    while empty > 0 and i < rounds:
        salt = mix(seed + U(i // TURNS) * U(0x9E3779B97F4A7C15))
        _all_turns(elements, count, salt, i, slots, sketch)
        i += TURNS
        if (i // TURNS) % look == 0 or i >= rounds:
            empty = _count_empty(slots, sketch)
    return empty


@kernel("uint64[], int64, uint64, int64, uint64[]")
def fast_similarity_sketch(elements, count, seed, slots, sketch):
    """Fill sketch[:slots] with the smallest (round, value) of each slot.

    Round i assigns every element to one slot, with a value; rounds continue until no slot is empty. Slots that are
    still empty after about `slots` rounds are each filled by one round of all elements. Several rounds take their slots
    and values from different bits of one hash. That is as good as new hashes: all that matters is that elements are
    treated alike, so that every element of the union is equally likely to win a slot.

    Once no slot is empty, further rounds change nothing, so it does not matter how often this is checked: after every
    round for many elements, after several rounds for few. For the same reason, the sketch of a union is the slot-wise
    minimum of the two sketches.
    """
    for b in range(slots):
        sketch[b] = LARGEST
    if count == 0 or slots == 0:
        return
    rounds = (slots + TURNS - 1) // TURNS * TURNS  # must not depend on the number of elements
    if count >= 2 * slots:
        empty = _rounds_of_many(elements, count, seed, slots, sketch, rounds)
    else:
        empty = _rounds_of_few(elements, count, seed, slots, sketch, rounds)
    if empty > 0:
        _fill_the_rest(elements, count, seed, slots, sketch)


@inlined
def sketch_listed(elements, count, seed, slots, sketch, work):
    """Compute `fast_similarity_sketch` of elements that may repeat; reorders them. `work` is as for `sort_distinct`.

    Without it, a text that repeats one word a million times would take hundreds of rounds of a million equal elements.
    Returns how many elements remain: fewer if repeats were dropped.
    """
    if count >= 2 * slots and slots > PATIENCE:
        for b in range(slots):
            sketch[b] = LARGEST
        if _rounds_of_many(elements, count, seed, slots, sketch, PATIENCE) == 0:
            return count
        count = sort_distinct(elements, count, work)
    fast_similarity_sketch(elements, count, seed, slots, sketch)
    return count


@part
def _fill_the_rest(elements, count, seed, slots, sketch):
    """Run one round of all elements for each slot that is still empty."""
    for b in range(slots):
        if sketch[b] == LARGEST:
            salt = mix(seed + U(2 * slots + b) * U(0x9E3779B97F4A7C15))
            for k in range(count):
                h = _hash_in_round(elements[k], salt)
                sketch[b] = min(sketch[b], (U(2 * slots + b) << U(32)) | (h & U(0xFFFFFFFF)))


@kernel("int64[], uint64[], uint64, uint32[,]")
def sketch_sets(indptr, elements, seed, values):
    """Compute the Fast Similarity Sketches of sets: values (uint32[sets, slots]) receives the low half of each slot.

    The low half is the winner's own hash value: it is equal if the same element won, and otherwise with a probability
    of about 2^-32. The sketch of an empty set has the largest number in every slot.
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
    """(a x + b) mod 2^61 - 1, for a, b and x below 2^61 - 1."""
    prime = U(0x1FFFFFFFFFFFFFFF)
    low, high = a * x, multiply_high(a, x)
    total = (low & prime) + ((low >> U(61)) | (high << U(3)))
    total = (total & prime) + (total >> U(61)) + b
    total = (total & prime) + (total >> U(61))
    return total if total < prime else total - prime


@kernel("int64[], uint64[], uint64[], uint64[], uint32[,]")
def universal_sets(indptr, elements, multipliers, offsets, values):
    """Minhash by universal hashing: for each (a, b), the smallest (a x + b) mod p over the set."""
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
def band_key(sketch, first, rows, band):
    """The 64-bit bucket key of the rows sketch[first : first + rows]."""
    key = U(band)
    for j in range(first, first + rows):
        key = mix(key * U(0x9E3779B97F4A7C15) + (sketch[j] & U(0xFFFFFFFF)))
    return key


@kernel("uint32[,], int64, int64 -> uint64[,]")
def band_keys(values, bands, rows):
    """Compute the bucket keys of signatures: uint64[bands, items]."""
    keys = np.empty((bands, values.shape[0]), np.uint64)
    sketch = np.empty(values.shape[1], np.uint64)
    for item in range(values.shape[0]):
        for j in range(bands * rows):
            sketch[j] = U(values[item, j])
        for band in range(bands):
            keys[band, item] = band_key(sketch, band * rows, rows, band)
    return keys


@inlined
def _print_of(tokens, place):
    """Two sums over (position, hash) of tokens, the first of which is at position `place` of the text."""
    one, other = U(0), U(0)
    for i in range(tokens.size):
        at = U(place + i) * U(0x9E3779B97F4A7C15)
        one += spread(tokens[i] + at)
        other += spread((tokens[i] ^ at) * U(0xFF51AFD7ED558CCD))
    return one, other


@inlined
def sketch_text(
    data, start, end, kind, width, bag, folding, stop_words, chunk, edge, tokens, elements, work, seed, slots, sketch,
    part, want_print, found
):  # fmt: skip
    """Sketch one text, chunk by chunk; sketch and part are uint64[slots], found is uint64[3].

    found[0] receives the number of shingles; found[1:], if `want_print`, two sums over (position, hash) of the tokens:
    equal sequences have equal sums; different ones do with a probability of 2^-128.
    """
    found[0], found[1], found[2] = U(0), U(0), U(0)
    at, carried, place, seen = start, np.int64(0), np.int64(NOTHING), np.int64(0)
    while True:
        cut = end if end - at <= chunk else cut_chunk(data, at, end, kind, chunk, folding)
        whole = cut == end and found[0] == U(0)
        listed, held, place = list_shingles(
            data, at, cut, kind, width, bag, folding, stop_words, edge, tokens, carried, place, whole, elements, work
        )
        if want_print:
            one, other = _print_of(tokens[carried:held], seen)
            found[1] += one
            found[2] += other
        if at == start:
            sketch_listed(elements, listed, seed, slots, sketch, work)
        else:
            sketch_listed(elements, listed, seed, slots, part, work)
            for b in range(slots):
                sketch[b] = min(sketch[b], part[b])
        found[0] += U(listed)
        seen += held - carried
        if cut == end:
            break
        carried = carry_over(tokens, held, width)
        at = cut
    found[1] += U(seen)
    found[2] += U(seen)


@inlined
def _sketch_each(
    data, offsets, kind, width, bag, folding, stop_words, seed, slots, rows, chunk, keys, counts, prints, values
):  # fmt: skip
    """Sketch texts one by one; of keys, counts with prints, and values, fill those that are not empty.

    The arguments are passed individually: unpacking a tuple of arrays for each text made short texts a tenth slower.
    """
    chunk = chunk_size(bag, chunk)
    edge, tokens, elements, work = work_space(data, offsets, kind, width, chunk)
    sketch, part, found = np.empty(slots, np.uint64), np.empty(slots, np.uint64), np.empty(3, np.uint64)
    for i in range(offsets.size - 1):
        sketch_text(
            data, offsets[i], offsets[i + 1], kind, width, bag, folding, stop_words, chunk, edge, tokens, elements,
            work, seed, slots, sketch, part, counts.size > 0, found
        )  # fmt: skip
        if counts.size > 0:
            counts[i] = np.int64(found[0])
            prints[0, i], prints[1, i] = found[1], found[2]
        for band in range(keys.shape[0]):
            keys[band, i] = band_key(sketch, band * rows, rows, band)
        for b in range(values.shape[1]):
            values[i, b] = np.uint32(sketch[b] & U(0xFFFFFFFF))


@kernel("uint8[], int64[], int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], uint64, uint32[,], int64")
def sketch_texts(data, offsets, kind, width, bag, folding, stop_words, seed, values, chunk=CHUNK_BYTES):
    """Compute the signatures of texts in one pass: values (uint32[texts, slots]) is as in `sketch_sets`."""
    keys, counts, prints = np.empty((0, 0), np.uint64), np.empty(0, np.int64), np.empty((2, 0), np.uint64)
    _sketch_each(
        data, offsets, kind, width, bag, folding, stop_words, seed, values.shape[1], 0, chunk, keys, counts, prints,
        values
    )  # fmt: skip


@kernel(
    "uint8[], int64[], int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], uint64, int64, int64, int64 "
    "-> (uint64[,], int64[], uint64[,])"
)
def digest_texts(data, offsets, kind, width, bag, folding, stop_words, seed, bands, rows, chunk=CHUNK_BYTES):
    """Compute what a job stores of each text in one pass: bucket keys, number of shingles, and fingerprint.

    A text longer than `chunk` bytes is processed in chunks, so that it needs no more memory than a short one.

    Returns
    -------
    keys : uint64[bands, texts]
    counts : int64[texts]
        The number of shingles, including repeats; 0 for an empty item.
    prints : uint64[2, texts]
        Equal for texts with the same sequence of tokens, and hence with equal sets.
    """
    texts = offsets.size - 1
    keys, counts, prints = (
        np.empty((bands, texts), np.uint64),
        np.empty(texts, np.int64),
        np.empty((2, texts), np.uint64),
    )
    _sketch_each(
        data, offsets, kind, width, bag, folding, stop_words, seed, bands * rows, rows, chunk, keys, counts, prints,
        np.empty((0, 0), np.uint32)
    )  # fmt: skip
    return keys, counts, prints


@kernel("int64[], uint64[], uint64, int64, int64 -> uint64[,]")
def key_sets(indptr, elements, seed, bands, rows):
    """Compute the bucket keys of sets: uint64[bands, sets]."""
    sets = indptr.size - 1
    sketch = np.empty(bands * rows, np.uint64)
    keys = np.empty((bands, sets), np.uint64)
    for i in range(sets):
        start, end = indptr[i], indptr[i + 1]
        fast_similarity_sketch(elements[start:end], end - start, seed, bands * rows, sketch)
        for band in range(bands):
            keys[band, i] = band_key(sketch, band * rows, rows, band)
    return keys


@kernel("int64[], uint64[], uint64, int64, int64 -> (uint64[,], int64[], uint64[,])")
def digest_sets(indptr, elements, seed, bands, rows):
    """Like `digest_texts`, for given sets: (keys, counts, prints), with fingerprints of the sets themselves."""
    keys = key_sets(indptr, elements, seed, bands, rows)
    return keys, indptr[1:] - indptr[:-1], fingerprint_sets(indptr, elements)


@kernel(
    "uint8[], int64[], int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], uint64, int64, int64, int64 "
    "-> (int64[], uint64[], uint64[,])"
)
def key_texts(data, offsets, kind, width, bag, folding, stop_words, seed, bands, rows, chunk=CHUNK_BYTES):
    """Compute the sets of texts and their bucket keys: (indptr, elements, keys) of `shingle_texts` and `key_sets`."""
    every = np.arange(offsets.size - 1)
    indptr, elements = shingle_texts(data, offsets, every, kind, width, bag, folding, stop_words, chunk)
    return indptr, elements, key_sets(indptr, elements, seed, bands, rows)
