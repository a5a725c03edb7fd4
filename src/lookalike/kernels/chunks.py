"""Splitting long texts into chunks: where to cut, and what to carry over from one chunk to the next.

This way, a text of any length can be processed with arrays of the size of one chunk. The chunks give exactly the
shingles of the whole text: no token is cut, and the last tokens of a chunk are kept in front of those of the next.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.folding import WORD, code_at, entry_of, size_at
from lookalike.kernels.words import character_capacity, piece_of, pieces_of, token_capacity

CHUNK_BYTES = 1 << 20
"""Texts up to this length form one chunk. At a million bytes, the cost of one sketch per chunk is negligible."""
LONGEST_CHARACTER = 4
"""The greatest length of a character, in bytes of UTF-8."""


@inlined
def _is_gap(byte):
    """Whether a byte is ASCII but neither letter nor digit; it then ends a token, regardless of its neighbours."""
    lower = byte | 0x20
    return byte < 128 and not (ord("a") <= lower <= ord("z")) and not (ord("0") <= byte <= ord("9"))


@inlined
def _size_in_run(data, at, end):
    """Like `size_at`, but a broken sequence ends at the next gap at the latest, as in `hash_run`."""
    size = size_at(data, at, end)
    for k in range(1, size):
        if _is_gap(data[at + k]):
            return np.int64(0)
    return size


@inlined
def _goes_on(inside, entry, code, pool):
    """Whether the text is inside a token after this character, given whether it was before."""
    count = pieces_of(entry)
    return piece_of(entry, code, pool, count - 1)[1] == WORD if count > 0 else inside


@part
def _cut_in_run(data, start, end, limit, pages, entries, pool):
    """The last position up to `limit` outside any token, or else the first one after it, or else `end`."""
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
    """Where to cut data[start:end] before `limit` without splitting a token; after it if a token is that long."""
    for at in range(limit, start, -1):
        if _is_gap(data[at - 1]):
            return at
    return _cut_in_run(data, start, end, limit, pages, entries, pool)


@kernel("uint8[], int64, int64, int64 -> int64")
def cut_between_characters(data, start, end, limit):
    """The end of the character that reaches `limit` in data[start:end]."""
    at = start
    while at < limit:
        at += max(size_at(data, at, end), 1)
    return at


@inlined
def carry_over(tokens, count, width):
    """Move the last tokens, which begin shingles of the next chunk, to the front; return how many there are."""
    kept = min(count, width - 1)
    for k in range(kept):
        tokens[k] = tokens[count - kept + k]
    return kept


@kernel("uint8[], int64[], int64, int64, bool -> int64")
def chunk_capacity(data, offsets, width, size, characters):
    """The largest number of tokens (or characters) in any chunk of these texts, including those carried over."""
    largest = np.int64(0)
    for row in range(offsets.size - 1):
        length = offsets[row + 1] - offsets[row]
        # a chunk may exceed `size`, but only by the rest of one token, or of one character and what it folds to
        length = high = min(length, size + 2 * LONGEST_CHARACTER)
        if length > 4 * CHUNK_BYTES:
            # counting pays off only here: small amounts of unused space cost no memory
            high = count_high(data, offsets[row], offsets[row + 1])
        found = character_capacity(length, high) if characters else token_capacity(length, high)
        largest = max(largest, found)
    return largest + width


@kernel("uint8[], int64, int64 -> int64")
def count_high(data, start, end):
    """The number of non-ASCII bytes in data[start:end]."""
    high = np.int64(0)
    for i in range(start, end):
        high += data[i] >= 128
    return high
