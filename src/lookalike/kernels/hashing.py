"""64-bit hashing: a mixing step, and the hash of a token, which is the same on both text paths.

A token's bytes are taken eight at a time; the last word is shifted to the top, and the length is mixed in. That way the
fast path (words loaded from the text) and the table path (bytes appended one by one) give the same number.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.machine import load_u64

U = np.uint64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLY_1 = np.uint64(0xD6E8FEB86659FD93)
MULTIPLY_2 = np.uint64(0xFF51AFD7ED558CCD)
LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Marks empty slots in tables of elements, and is therefore never an element."""


@inlined
def mix(x):
    """Spread every bit of `x` over the word; one-to-one."""
    x ^= x >> U(32)
    x *= U(0xD6E8FEB86659FD93)
    x ^= x >> U(32)
    x *= U(0xD6E8FEB86659FD93)
    return x ^ (x >> U(32))


@inlined
def spread(x):
    """A cheaper `mix` for sums and products of hashes; one-to-one."""
    x ^= x >> U(32)
    x *= U(0xD6E8FEB86659FD93)
    return x ^ (x >> U(32))


@inlined
def as_element(x):
    """Turn the hash `x` into an element of a set, avoiding the largest number, which is reserved."""
    mixed = spread(x)
    return mixed if mixed != U(0xFFFFFFFFFFFFFFFF) else U(0)


@inlined
def absorb(state, word):
    """Add eight bytes of a token to its hash."""
    state = (state ^ word) * U(0xFF51AFD7ED558CCD)
    return state ^ (state >> U(32))


@inlined
def finish(state, word, length):
    """Add the last one to eight bytes (at the low end of `word`) of a token of `length` bytes."""
    word <<= U(56) - (U(length - 1) & U(7)) * U(8)
    return absorb(state ^ (U(length) * U(0x9E3779B97F4A7C15)), word)


@inlined
def hash_ascii(data, start, end):
    """The hash of the ASCII letters and digits data[start:end], folded to lower case (bit 0x20 set).

    Requires end + 7 <= data.size, since whole words are loaded.
    """
    fold = U(0x2020202020202020)
    state = U(0)
    i = start
    while end - i > 8:
        state = absorb(state, load_u64(data, i) | fold)
        i += 8
    return finish(state, load_u64(data, i) | fold, end - start)


@kernel("uint8[], int64, int64 -> uint64")
def hash_ascii_at_end(data, start, end):
    """Like `hash_ascii`, for a token near the end of the array: does not read any byte from `end` on."""
    state, word = U(0), U(0)
    for i in range(start, end):
        if (i - start) & 7 == 0 and i > start:
            state = absorb(state, word)
            word = U(0)
        word |= U(data[i] | np.uint8(0x20)) << (U(8) * U((i - start) & 7))
    return finish(state, word, end - start)
