"""The normal form of field texts: folded, words separated by single spaces, common words abbreviated.

Both kernels write to `out` only as far as it reaches, and return the total number of bytes, so that a caller whose
array was too short can call again. Texts seldom become longer: only if a character folds to several.
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel, inlined, kernel
from lookalike.kernels.folding import GAP, code_at, entry_of, size_at
from lookalike.kernels.words import encode, piece_of, pieces_of

SPACE = 32
LETTER_BITS = 5
"""Bits per letter in the key of a word; a is 1, so that the key also determines the length of the word."""
LONGEST_WORD = 12
"""The largest number of letters in a word that has a key of 64 bits."""


@inlined
def _is_apostrophe(code):
    """Whether this is an apostrophe: O'Brien is also written OBrien, and the mark has many forms."""
    return (code == 0x27) | (code == 0x60) | (code == 0xB4) | (code == 0x2BC) | (code == 0x2019)


@inlined
def _put(out, at, code):
    """Write a character if there is space; return the position after it."""
    packed, count = encode(code)
    if at + count <= out.size:
        for k in range(count):
            out[at + k] = np.uint8((packed >> np.uint64(8 * k)) & np.uint64(0xFF))
    return at + count


@kernel("uint8[], int64[], uint16[], uint32[,], uint32[], uint8[], int64[] -> int64")
def fold_words(data, offsets, pages, entries, pool, out, ends):
    """Fold texts, with single spaces between words and none around them; apostrophes are dropped.

    Parameters
    ----------
    data : uint8[bytes]
        UTF-8. Broken sequences count as gaps.
    offsets : int64[texts + 1]
    pages, entries, pool
        The folding table, see kernels/folding.py.
    out : uint8
        Receives the folded texts, one after the other.
    ends : int64[texts + 1]
        Receives where each of them starts and ends.
    """
    at, room = np.int64(0), out.size
    ends[0] = 0
    for text in range(offsets.size - 1):
        i, end = offsets[text], offsets[text + 1]
        begin = at
        gap = False  # whether there is a gap after the last word
        while i < end:
            byte = np.int64(data[i])
            if byte < 0x80:
                lower = byte | 0x20 if byte >= 0x40 else byte
                i += 1
                if 97 <= lower <= 122 or 48 <= byte <= 57:
                    # not a function, since Numba would count a reference for each array passed: five times as slow
                    if gap and at > begin:
                        if at < room:
                            out[at] = SPACE
                        at += 1
                    gap = False
                    if at < room:
                        out[at] = lower
                    at += 1
                elif not _is_apostrophe(byte):
                    gap = True
                continue
            size = size_at(data, i, end)
            code = code_at(data, i, size)
            i += max(size, 1)
            if _is_apostrophe(code):
                continue
            entry = entry_of(pages, entries, code)
            for k in range(pieces_of(entry)):
                folded, kind = piece_of(entry, code, pool, k)
                if kind == GAP:
                    gap = True
                    continue
                if gap and at > begin:
                    at = _put(out, at, np.int64(SPACE))
                gap = False
                at = _put(out, at, folded)
        ends[text + 1] = at
    return at


@bare
def _find(keys, key):
    """The index of a key in ascending `keys`; -1 if it is not there."""
    low, high = np.int64(0), np.int64(keys.size)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.size and keys[low] == key else np.int64(-1)


@bare
def _copy(data, start, end, out, at):
    """Write bytes if there is space; return the position after them."""
    if at + end - start <= out.size:
        for k in range(end - start):
            out[at + k] = data[start + k]
    return at + end - start


@bare_kernel("uint8[], int64[], int64[], uint8[], int64[], uint8[], int64[] -> int64")
def replace_words(data, offsets, keys, by, by_offsets, out, ends):
    """Write texts with some of their words replaced.

    Parameters
    ----------
    data : uint8[bytes]
        UTF-8, words between single spaces.
    offsets : int64[texts + 1]
    keys : int64[words], ascending
        The words, each of at most LONGEST_WORD letters a to z: LETTER_BITS per letter, the first one highest.
    by, by_offsets : uint8[bytes], int64[words + 1]
        The replacement of each word.
    out, ends
        As in fold_words.
    """
    at = np.int64(0)
    ends[0] = 0
    for text in range(offsets.size - 1):
        i, end = offsets[text], offsets[text + 1]
        while i < end:
            start, key, plain = i, np.int64(0), True
            while i < end and data[i] != SPACE:
                letter = np.int64(data[i]) - 96
                plain &= 0 < letter < 27
                key = (key << LETTER_BITS) | (letter & 31)
                i += 1
            place = _find(keys, key) if plain and i - start <= LONGEST_WORD else np.int64(-1)
            if place >= 0:
                at = _copy(by, by_offsets[place], by_offsets[place + 1], out, at)
            else:
                at = _copy(data, start, i, out, at)
            if i < end:
                at = _copy(data, i, i + 1, out, at)
                i += 1
        ends[text + 1] = at
    return at
