"""Checksums of the blocks of a file, verified when a block is first read."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel, part
from lookalike.kernels.hashing import U

BLOCK_BYTES = 1 << 14
"""The bytes of a file that share a checksum: the amount to read and check to answer a query from a cold file."""
BLOCK_WORDS = BLOCK_BYTES // 8


@inlined
def _add_word(total, word):
    """One-to-one in the word and in the sum so far, so that a change of a single word is always detected."""
    total = (total ^ word) * U(0xD6E8FEB86659FD93)
    return total ^ (total >> U(32))


@part
def _sum_of_block(words, block):
    """The checksum of a block; the last block may be shorter."""
    start = block * BLOCK_WORDS
    end = min(start + BLOCK_WORDS, words.size)
    total = U(0x9E3779B97F4A7C15) ^ U(end - start)
    for k in range(start, end):
        total = _add_word(total, words[k])
    return total


@part
def _sums_of_four(words, a, b, c, d):
    """The checksums of four complete blocks: each step waits for the one before it, so they are computed in turns."""
    a, b, c, d = a * BLOCK_WORDS, b * BLOCK_WORDS, c * BLOCK_WORDS, d * BLOCK_WORDS
    one = two = three = four = U(0x9E3779B97F4A7C15) ^ U(BLOCK_WORDS)
    for k in range(BLOCK_WORDS):
        one, two = _add_word(one, words[a + k]), _add_word(two, words[b + k])
        three, four = _add_word(three, words[c + k]), _add_word(four, words[d + k])
    return one, two, three, four


@kernel("uint64[], int64[], uint64[]")
def sum_blocks(words, blocks, sums):
    """Compute the checksums (uint64[m]) of some blocks (int64[m]) of a file (uint64[n])."""
    i, complete = 0, words.size // BLOCK_WORDS
    while i + 4 <= blocks.size and max(blocks[i], blocks[i + 1], blocks[i + 2], blocks[i + 3]) < complete:
        sums[i], sums[i + 1], sums[i + 2], sums[i + 3] = _sums_of_four(
            words, blocks[i], blocks[i + 1], blocks[i + 2], blocks[i + 3]
        )
        i += 4
    for k in range(i, blocks.size):
        sums[k] = _sum_of_block(words, blocks[k])


@inlined
def damaged_block(file, begin, size, start, end):
    """The first damaged block among values start..end of an array, or -1; each block is checked only once.

    Parameters
    ----------
    file : (uint64[n], uint64[blocks], bool[blocks])
        The words of the file, the checksums of its blocks, and which blocks are known to be good; empty if there is no
        file.
    begin, size : int64
        Where the array begins in the file, and the size of a value in bytes.
    """
    words, sums, good = file
    if good.size > 0 and end > start:
        last = (begin + end * size - 1) // BLOCK_BYTES
        for block in range((begin + start * size) // BLOCK_BYTES, last + 1):
            if not good[block]:
                if _sum_of_block(words, block) != sums[block]:
                    return block
                good[block] = True
    return np.int64(-1)


@inlined
def list_unchecked(file, begin, size, start, end, listed, count):
    """Append the unchecked blocks of values start..end of an array to listed[:count]; return the new count.

    The arguments are as for `damaged_block`. If `listed` is full, the count exceeds its size.
    """
    good = file[2]
    if good.size > 0 and end > start:
        last = (begin + end * size - 1) // BLOCK_BYTES
        for block in range((begin + start * size) // BLOCK_BYTES, last + 1):
            if not good[block]:
                if count < listed.size:
                    listed[count] = block
                count += 1
    return count


@part
def first_damaged(file, listed, count, sums):
    """Check listed[:count] together; return the first damaged block, or -1. `sums` is a work array, uint64[count]."""
    words, expected, good = file
    sum_blocks(words, listed[:count], sums[:count])
    for i in range(count):
        if sums[i] != expected[listed[i]]:
            return listed[i]
        good[listed[i]] = True
    return np.int64(-1)


@kernel("int64[], int64[], int64, int64, bool[], int64[] -> int64")
def unchecked_blocks(starts, ends, begin, size, good, found):
    """List the blocks of some ranges of an array that are not known to be good, until `found` is full.

    Parameters
    ----------
    starts, ends : int64[n]
        The ranges, counted in values.
    begin, size : int64
        Where the array begins in the file, and the size of a value in bytes.
    good : bool[blocks]
    found : int64[room]
        Receives block numbers, possibly with repeats.

    Returns
    -------
    The number of blocks found.
    """
    count = np.int64(0)
    for i in range(starts.size):
        if ends[i] <= starts[i]:
            continue
        last = (begin + ends[i] * size - 1) // BLOCK_BYTES
        for block in range((begin + starts[i] * size) // BLOCK_BYTES, last + 1):
            if not good[block]:
                if count == found.size:
                    return count
                found[count] = block
                count += 1
    return count
