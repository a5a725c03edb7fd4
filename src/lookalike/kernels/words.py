"""From UTF-8 bytes to token hashes, and to folded characters.

ASCII takes the fast path: 64 bytes at a time become a mask of word bytes, and tokens start and end at the edges of the
mask. A *run* is a sequence of ASCII letters, digits and non-ASCII bytes; only runs with non-ASCII bytes go through the
folding table, so text with a few accents remains fast. ASCII punctuation and space always end a token, so a run never
depends on its neighbours.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.folding import DROPPED, GAP, MAPPED, OWN, WORD, code_at, entry_of, size_at
from lookalike.kernels.hashing import U, absorb, as_element, finish, hash_ascii, hash_ascii_at_end
from lookalike.kernels.machine import BLOCK, high_mask, run_mask, trailing_zeros

NOTHING, BETWEEN, INSIDE = 0, 1, 2
"""The state of `fold_characters`: before the first token, between two tokens, inside a token."""


@inlined
def encode(code):
    """The UTF-8 bytes of a code point, the first one lowest, and how many there are."""
    if code < 0x80:
        return U(code), np.int64(1)
    if code < 0x800:
        return U(0xC0 | (code >> 6)) | (U(0x80 | (code & 0x3F)) << U(8)), np.int64(2)
    last = U(0x80 | (code & 0x3F))
    middle = U(0x80 | ((code >> 6) & 0x3F))
    if code < 0x10000:
        return U(0xE0 | (code >> 12)) | (middle << U(8)) | (last << U(16)), np.int64(3)
    first = U(0xF0 | (code >> 18)) | (U(0x80 | ((code >> 12) & 0x3F)) << U(8))
    return first | (middle << U(16)) | (last << U(24)), np.int64(4)


@inlined
def _append(code, state, word, length):
    """Add the UTF-8 bytes of a folded code point to a token's hash (state, pending word, length).

    The pending word holds the last one to eight bytes: a full word is added only when another byte follows, since the
    last word is left to `finish`.
    """
    packed, count = encode(code)
    used = ((length - 1) & 7) + 1 if length > 0 else np.int64(0)
    length += count
    if used + count <= 8:
        return state, word | (packed << U(8 * used)), length
    if used < 8:
        word |= packed << U(8 * used)
    return absorb(state, word), packed >> U(8 * (8 - used)), length


@inlined
def piece_of(entry, code, pool, k):
    """The k-th folded code point of a character and its kind (GAP, WORD, OWN)."""
    if entry & 7 != MAPPED:
        return code, entry & 7
    piece = np.int64(pool[(entry >> 8) + k])
    return piece >> 2, piece & 3


@inlined
def pieces_of(entry):
    """The number of folded code points of a character."""
    if entry & 7 == MAPPED:
        return (entry >> 3) & 31
    return np.int64(0) if entry & 7 == DROPPED else np.int64(1)


@inlined
def hash_run(data, start, end, pages, entries, pool, tokens, count):
    """Fold data[start:end] with the table; append the hashes of its tokens to `tokens`, and return the new count."""
    state, word, length = U(0), U(0), np.int64(0)
    i = start
    while i < end:
        size = size_at(data, i, end)
        code = code_at(data, i, size)
        i += max(size, 1)
        entry = entry_of(pages, entries, code)
        if entry == WORD:  # most characters are already folded
            state, word, length = _append(code, state, word, length)
            continue
        for k in range(pieces_of(entry)):
            folded, kind = piece_of(entry, code, pool, k)
            if kind != WORD and length > 0:
                tokens[count] = finish(state, word, length)
                count += 1
                state, word, length = U(0), U(0), np.int64(0)
            if kind != GAP:
                state, word, length = _append(folded, state, word, length)
            if kind == OWN:
                tokens[count] = finish(state, word, length)
                count += 1
                state, word, length = U(0), U(0), np.int64(0)
    if length > 0:
        tokens[count] = finish(state, word, length)
        count += 1
    return count


@part
def _masks_at_end(data, i, end, edge):
    """run_mask and high_mask of data[i:end], if fewer than 64 bytes are left in the array."""
    for k in range(BLOCK):
        edge[k] = data[i + k] if i + k < end else np.uint8(0)
    return run_mask(edge, 0), high_mask(edge, 0)


@part
def _hash_block(data, i, runs, high, open_at, beyond, safe, pages, entries, pool, tokens, count):
    """`hash_tokens` for a block with non-ASCII bytes, or with a run that has some, or at the end of the array."""
    edges = runs ^ ((runs << U(1)) | (U(1) if open_at >= 0 else U(0)))
    seen = np.int64(0)  # bits of `high` below this belong to earlier runs
    while edges != U(0):
        bit = trailing_zeros(edges)
        edges &= edges - U(1)
        if open_at < 0:
            open_at, seen = i + bit, bit
            continue
        beyond |= ((high & ((U(1) << U(bit)) - U(1))) >> U(seen)) != U(0)
        if beyond:
            count = hash_run(data, open_at, i + bit, pages, entries, pool, tokens, count)
        else:
            tokens[count] = hash_ascii(data, open_at, i + bit) if safe else hash_ascii_at_end(data, open_at, i + bit)
            count += 1
        open_at, beyond = np.int64(-1), False
    if open_at >= 0:
        beyond |= (high >> U(max(open_at - i, 0))) != U(0)
    return open_at, beyond, count


@kernel("uint8[], int64, int64, uint16[], uint32[,], uint32[], uint8[], uint64[] -> int64")
def hash_tokens(data, start, end, pages, entries, pool, edge, tokens):
    """Write the hash of every token of data[start:end]; return their number.

    Parameters
    ----------
    data : uint8[bytes]
        UTF-8. Broken sequences count as gaps; nothing outside data[start:end] is used.
    pages, entries, pool
        The folding table, see kernels/folding.py. Passed individually: unpacking a tuple counts a reference for each
        array, which costs more than hashing a word.
    edge : uint8[64]
        Work array.
    tokens : uint64[token_capacity(end - start, ...)]
        Receives the hashes.
    """
    count = 0
    open_at = np.int64(-1)  # where the current run started, -1 between runs
    beyond = False  # whether the current run has non-ASCII bytes
    for i in range(start, end + 1, BLOCK):
        runs, high = U(0), U(0)
        safe = i + BLOCK + 8 <= data.size  # whether whole words and blocks can be loaded
        if safe:
            runs, high = run_mask(data, i), high_mask(data, i)
        elif i < end:
            runs, high = _masks_at_end(data, i, end, edge)
        if end - i < BLOCK:
            inside = (U(1) << U(end - i)) - U(1)
            runs &= inside
            high &= inside
        if high != U(0) or beyond or not safe:
            open_at, beyond, count = _hash_block(
                data, i, runs, high, open_at, beyond, safe, pages, entries, pool, tokens, count
            )
            continue
        edges = runs ^ ((runs << U(1)) | (U(1) if open_at >= 0 else U(0)))
        while edges != U(0):
            at = i + trailing_zeros(edges)
            edges &= edges - U(1)
            if open_at < 0:
                open_at = at
            else:
                tokens[count] = hash_ascii(data, open_at, at)
                count += 1
                open_at = np.int64(-1)
    return count


@kernel("uint8[], int64, int64, uint16[], uint32[,], uint32[], uint64[], int64 -> (int64, int64)")
def fold_characters(data, start, end, pages, entries, pool, characters, place):
    """Write the characters of the tokens of data[start:end], joined by single spaces, each hashed separately.

    `characters` is uint64[character_capacity(end - start, ...)]. `place` is NOTHING at the start of a text, and
    otherwise the place returned for the previous part. Returns (number of characters, place).
    """
    count = 0
    space = as_element(U(0x20) * U(0x9E3779B97F4A7C15))
    i = start
    while i < end:
        size = size_at(data, i, end)
        code = code_at(data, i, size)
        i += max(size, 1)
        entry = entry_of(pages, entries, code)
        for k in range(pieces_of(entry)):
            folded, kind = piece_of(entry, code, pool, k)
            if kind == GAP:
                place = min(place, BETWEEN)
                continue
            if place != NOTHING and (kind == OWN or place != INSIDE):
                characters[count] = space
                count += 1
            characters[count] = as_element(U(folded) * U(0x9E3779B97F4A7C15))
            count += 1
            place = INSIDE if kind == WORD else BETWEEN
    return count, place


@inlined
def token_capacity(length, high):
    """The largest number of tokens in `length` bytes, of which `high` are non-ASCII.

    A run of ASCII gives at most one token per two bytes; a non-ASCII code point gives at most two per byte.
    """
    return length // 2 + 2 * high + 2


@inlined
def character_capacity(length, high):
    """The largest number of characters, including spaces, from `length` bytes: eleven per non-ASCII byte."""
    return 2 * length + 11 * high + 2
