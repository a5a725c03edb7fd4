"""From texts to shingles: k consecutive tokens (or characters), each hashed to one 64-bit element."""

import numpy as np

from lookalike.kernels.chunks import CHUNK_BYTES, carry_over, chunk_capacity, cut_between_characters, cut_between_tokens
from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import LARGEST, U, as_element
from lookalike.kernels.sets import number_repeats, sort_distinct, sort_distinct_stretch, sorting_capacity
from lookalike.kernels.words import NOTHING, fold_characters, hash_tokens

WORD_SHINGLES, CHAR_SHINGLES, STOPWORD_SHINGLES = 0, 1, 2
"""The codes of the kinds of shingles in kernels."""


@inlined
def _windows(tokens, count, width, whole, out):
    """Hash every `width` consecutive tokens with a polynomial; fewer form one shingle if they are the `whole` text."""
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
    if whole and written == 0 and count > 0:
        out[0] = as_element(rolling)
        written = 1
    return written


@inlined
def is_member(table, token):
    """Whether the token is in the open-addressing `table` (its length is a power of two, LARGEST means empty)."""
    at = np.int64(token & U(table.size - 1))
    while table[at] != LARGEST:
        if table[at] == token:
            return True
        at = (at + 1) & (table.size - 1)
    return False


@inlined
def _stopword_windows(tokens, count, width, stop_words, out):
    """Hash each stop word together with the width - 1 tokens after it."""
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


@kernel(
    "uint8[], int64, int64, int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], uint8[], uint64[], "
    "int64, int64, bool, uint64[], uint64[] -> (int64, int64, int64)"
)
def list_shingles(
    data, start, end, kind, width, bag, folding, stop_words, edge, tokens, carried, place, whole, elements, work
):
    """Write the shingles of a text, or of a chunk of it, to `elements`, in order and including repeats.

    Parameters
    ----------
    carried
        The number of tokens from the previous chunk at the front of `tokens` (for CHAR_SHINGLES, characters).
    place
        What `fold_characters` returned for the previous chunk; NOTHING at the start of a text.
    whole
        Whether these are all the tokens of the text, so that fewer than `width` form one shingle.

    Returns
    -------
    (number of shingles, number of tokens including those carried over, place)
    """
    if kind == CHAR_SHINGLES:
        count, place = fold_characters(data, start, end, *folding, tokens[carried:], place)
    else:
        count = hash_tokens(data, start, end, *folding, edge, tokens[carried:])
    count += carried
    if kind == STOPWORD_SHINGLES:
        written = _stopword_windows(tokens, count, width, stop_words, elements)
    else:
        written = _windows(tokens, count, width, whole, elements)
    if bag:
        number_repeats(elements, written, work)
    return written, count, place


@kernel("bool, int64 -> int64")
def chunk_size(bag, chunk):
    """The size of a chunk in bytes; a bag numbers repeats across the whole text, which is then a single chunk."""
    return np.int64(1) << 62 if bag else np.int64(chunk)


@kernel("uint8[], int64, int64, int64, int64, (uint16[], uint32[,], uint32[]) -> int64")
def cut_chunk(data, start, end, kind, chunk, folding):
    """The end of the chunk that begins at `start`, in a text that is longer than a chunk."""
    if kind == CHAR_SHINGLES:
        return cut_between_characters(data, start, end, start + chunk)
    return cut_between_tokens(data, start, end, start + chunk, *folding)


@kernel("uint8[], int64[], int64, int64, int64 -> (uint8[], uint64[], uint64[], uint64[])")
def work_space(data, offsets, kind, width, chunk):
    """The work arrays of `list_shingles`, large enough for every chunk of the texts."""
    capacity = chunk_capacity(data, offsets, width, chunk, kind == CHAR_SHINGLES)
    return (
        np.empty(64, np.uint8),
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.uint64),
        np.empty(sorting_capacity(capacity), np.uint64),
    )


@inlined
def _with_room(found, used, more):
    """The array, or a larger one with the same first `used` values, with space for `more` values."""
    if used + more <= found.size:
        return found
    larger = np.empty(2 * found.size + more, np.uint64)
    for e in range(used):
        larger[e] = found[e]
    return larger


@kernel(
    "uint8[], int64[], int64[], int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], int64 "
    "-> (int64[], uint64[])"
)
def shingle_texts(data, offsets, rows, kind, width, bag, folding, stop_words, chunk=CHUNK_BYTES):
    """Compute the sets of the texts data[offsets[i]:offsets[i + 1]] for i in `rows`.

    A long text is processed in chunks of `chunk` bytes, so that it needs little memory beyond that of its set.

    Returns
    -------
    indptr : int64[rows + 1]
    elements : uint64[all shingles], sorted and distinct within each set
    """
    chunk = chunk_size(bag, chunk)
    edge, tokens, elements, work = work_space(data, offsets, kind, width, chunk)
    indptr = np.zeros(rows.size + 1, np.int64)
    expected = np.int64(1024)
    for k in range(rows.size):
        length = offsets[rows[k] + 1] - offsets[rows[k]]
        expected += length + 2 if kind == CHAR_SHINGLES else length // 2 + 2
    found = np.empty(expected, np.uint64)  # enough for ASCII; memory that is never written costs nothing
    for k in range(rows.size):
        at, end = offsets[rows[k]], offsets[rows[k] + 1]
        used, carried, place, chunks = indptr[k], np.int64(0), np.int64(NOTHING), np.int64(0)
        while at < end:
            cut = end if end - at <= chunk else cut_chunk(data, at, end, kind, chunk, folding)
            whole = cut == end and used == indptr[k]
            listed, held, place = list_shingles(
                data,
                at,
                cut,
                kind,
                width,
                bag,
                folding,
                stop_words,
                edge,
                tokens,
                carried,
                place,
                whole,
                elements,
                work,
            )
            count = sort_distinct(elements, listed, work)
            found = _with_room(found, used, count)
            for e in range(count):
                found[used + e] = elements[e]
            used += count
            carried = carry_over(tokens, held, width)
            at, chunks = cut, chunks + 1
        indptr[k + 1] = sort_distinct_stretch(found, indptr[k], used, elements, work) if chunks > 1 else used
    return indptr, found[: indptr[rows.size]]


@kernel("uint8[], int64[], (uint16[], uint32[,], uint32[]) -> uint64[]")
def hash_words(data, offsets, folding):
    """Hash the first token of each text; LARGEST for a text without tokens. Used for lists of stop words."""
    edge, tokens, _, _ = work_space(data, offsets, WORD_SHINGLES, 1, 1 << 62)
    hashes = np.empty(offsets.size - 1, np.uint64)
    for i in range(offsets.size - 1):
        hashes[i] = LARGEST
        if hash_tokens(data, offsets[i], offsets[i + 1], *folding, edge, tokens) > 0:
            hashes[i] = tokens[0]
    return hashes
