"""Long texts in chunks: where to cut them, and what is carried over from one chunk to the next.

A text of any length can then be processed in arrays of the size of one chunk. Chunks give exactly the shingles of the
whole text: no token is cut, and the last tokens of a chunk are kept in front of those of the next.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.folding import WORD, code_at, entry_of, size_at
from lookalike.kernels.words import character_capacity, piece_of, pieces_of, token_capacity

CHUNK_BYTES = 1 << 20
"""Texts up to this length are one chunk. Of a million bytes, a sketch per chunk costs next to nothing."""
LONGEST_CHARACTER = 4
"""Bytes of UTF-8."""


@inlined
def _is_gap(byte):
    """Is it ASCII, and neither letter nor digit? Such a byte ends a token, whatever its neighbours."""
    lower = byte | 0x20
    return byte < 128 and not (ord("a") <= lower <= ord("z")) and not (ord("0") <= byte <= ord("9"))


@inlined
def _size_in_run(data, at, end):
    """size_at, where a broken sequence ends at the next gap at the latest: as hash_run sees it."""
    size = size_at(data, at, end)
    for k in range(1, size):
        if _is_gap(data[at + k]):
            return np.int64(0)
    return size


@inlined
def _goes_on(inside, entry, code, pool):
    """Is the text inside a token after this character, given whether it was before?"""
    count = pieces_of(entry)
    return piece_of(entry, code, pool, count - 1)[1] == WORD if count > 0 else inside


@part
def _cut_in_run(data, start, end, limit, pages, entries, pool):
    """The last position up to `limit` that is outside of tokens, otherwise the first one after it, otherwise `end`."""
    inside, cut, at = False, start, start
    while at < end:
        size = _size_in_run(data, at, end)
        code = code_at(data, at, size)
        at += max(size, 1)
        inside = _goes_on(inside, entry_of(pages, entries, code), code, pool)
        if not inside and (at <= limit or cut == start):
            cut = at
        if at >= limit and cut > start:
            return cut
    return end


@kernel("uint8[], int64, int64, int64, uint16[], uint32[,], uint32[] -> int64")
def cut_between_tokens(data, start, end, limit, pages, entries, pool):
    """Where to cut data[start:end] before `limit` without cutting a token; after it if a token is that long."""
    for at in range(limit, start, -1):
        if _is_gap(data[at - 1]):
            return at
    return _cut_in_run(data, start, end, limit, pages, entries, pool)


@kernel("uint8[], int64, int64, int64 -> int64")
def cut_between_characters(data, start, end, limit):
    """The end of the character with which data[start:end] reaches `limit`."""
    at = start
    while at < limit:
        at += max(size_at(data, at, end), 1)
    return at


@inlined
def carry_over(tokens, count, width):
    """Move the last tokens, which begin shingles of the next chunk, to the front; return their number."""
    kept = min(count, width - 1)
    for k in range(kept):
        tokens[k] = tokens[count - kept + k]
    return kept


@kernel("uint8[], int64[], int64, int64, bool -> int64")
def chunk_capacity(data, offsets, width, size, characters):
    """The most tokens (or characters) that a chunk of these texts can have, with those carried over."""
    largest = np.int64(0)
    for row in range(offsets.size - 1):
        length = offsets[row + 1] - offsets[row]
        # a character or a token may exceed it: it is one token, or one character and what it folds to
        length = high = min(length, size + 2 * LONGEST_CHARACTER)
        if length > 4 * CHUNK_BYTES:
            # counting pays only here: small amounts of unused space cost no memory
            high = count_high(data, offsets[row], offsets[row + 1])
        found = character_capacity(length, high) if characters else token_capacity(length, high)
        largest = max(largest, found)
    return largest + width


@kernel("uint8[], int64, int64 -> int64")
def count_high(data, start, end):
    """The number of bytes of data[start:end] beyond ASCII."""
    high = np.int64(0)
    for i in range(start, end):
        high += data[i] >= 128
    return high
