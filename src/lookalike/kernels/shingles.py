"""Texts to shingles: k consecutive tokens (or characters), hashed to one 64-bit element each."""

import numba as nb
import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import LARGEST, U, as_element
from lookalike.kernels.sets import number_repeats, sort_distinct, sorting_capacity
from lookalike.kernels.words import fold_characters, hash_tokens, text_bounds

WORD_SHINGLES, CHAR_SHINGLES, STOPWORD_SHINGLES = 0, 1, 2
"""Kinds of shingles by number, as kernels know them."""


@inlined
def _windows(tokens, count, width, out):
    """Every `width` consecutive token hashes, as a polynomial of them; fewer tokens are one shingle."""
    base = U(0x9E3779B97F4A7C15)
    leaving = U(1)
    for _ in range(width):
        leaving *= base
    written = 0
    rolling = U(0)
    for i in range(count):
        rolling = rolling * base + tokens[i]
        if i >= width:
            rolling -= tokens[i - width] * leaving
        if i >= width - 1:
            out[written] = as_element(rolling)
            written += 1
    if written == 0 and count > 0:
        out[0] = as_element(rolling)
        written = 1
    return written


@inlined
def is_member(table, token):
    """Is the token in the open-addressing `table` (a power of two long, LARGEST where empty)?"""
    at = nb.int64(token & U(table.size - 1))
    while table[at] != LARGEST:
        if table[at] == token:
            return True
        at = (at + 1) & (table.size - 1)
    return False


@inlined
def _stopword_windows(tokens, count, width, stop_words, out):
    """Each stop word with the width - 1 tokens after it."""
    base = U(0x9E3779B97F4A7C15)
    written = 0
    for i in range(count - width + 1):
        if is_member(stop_words, tokens[i]):
            rolling = U(0)
            for k in range(width):
                rolling = rolling * base + tokens[i + k]
            out[written] = as_element(rolling)
            written += 1
    return written


@kernel
def list_shingles(data, start, end, kind, width, bag, folding, stop_words, edge, tokens, elements, work):
    """Write the shingles of one text to `elements` as they come, repeats and all; return (shingles, tokens)."""
    if kind == CHAR_SHINGLES:
        count = fold_characters(data, start, end, *folding, tokens)
    else:
        count = hash_tokens(data, start, end, *folding, edge, tokens)
    if kind == STOPWORD_SHINGLES:
        written = _stopword_windows(tokens, count, width, stop_words, elements)
    else:
        written = _windows(tokens, count, width, elements)
    if bag:
        number_repeats(elements, written, work)
    return written, count


@kernel
def work_space(data, offsets, kind):
    """Arrays that list_shingles works in, large enough for every text of the batch."""
    tokens, characters = text_bounds(data, offsets)
    capacity = characters if kind == CHAR_SHINGLES else tokens
    return (
        np.empty(64, np.uint8),
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.uint64),
        np.empty(sorting_capacity(capacity), np.uint64),
    )


@kernel
def shingle_texts(data, offsets, rows, kind, width, bag, folding, stop_words):
    """The sets of the texts data[offsets[i]:offsets[i + 1]] for i in `rows`.

    Returns
    -------
    indptr : int64[rows + 1]
    elements : uint64[all shingles], sorted and distinct within each set
    """
    edge, tokens, elements, work = work_space(data, offsets, kind)
    indptr = np.zeros(rows.size + 1, np.int64)
    expected = nb.int64(1024)
    for k in range(rows.size):
        length = offsets[rows[k] + 1] - offsets[rows[k]]
        expected += length + 2 if kind == CHAR_SHINGLES else length // 2 + 2
    found = np.empty(expected, np.uint64)  # enough for ASCII; what is not written to costs no memory
    for k in range(rows.size):
        i = rows[k]
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
        count = sort_distinct(elements, listed, work)
        if indptr[k] + count > found.size:
            larger = np.empty(2 * found.size + count, np.uint64)
            for e in range(indptr[k]):
                larger[e] = found[e]
            found = larger
        for e in range(count):
            found[indptr[k] + e] = elements[e]
        indptr[k + 1] = indptr[k] + count
    return indptr, found[: indptr[rows.size]]


@kernel
def hash_words(data, offsets, folding):
    """The hash of the first token of each text; LARGEST for a text without one. For lists of stop words."""
    edge, tokens, _, _ = work_space(data, offsets, WORD_SHINGLES)
    hashes = np.empty(offsets.size - 1, np.uint64)
    for i in range(offsets.size - 1):
        hashes[i] = LARGEST
        if hash_tokens(data, offsets[i], offsets[i + 1], *folding, edge, tokens) > 0:
            hashes[i] = tokens[0]
    return hashes
