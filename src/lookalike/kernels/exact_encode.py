"""Sets as bit masks: 64 consecutive tokens share one machine word, so that an overlap takes a few bit counts.

Tokens are numbered by frequency, and those of equal frequency by first occurrence, so that neighbouring tokens of a
text tend to share words. Tokens that occur in a single set are left out and only counted: they cannot match anything.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import U

NONE = np.uint32(0xFFFFFFFF)
"""No word, or no set: larger than any valid number."""
SMALLEST_SIGNATURE, LARGEST_SIGNATURE = 4, 64
"""The number of words in a signature, a power of two. Larger signatures did not help."""
INLINE_WORDS = 2
"""The number of words in the signatures that are stored in the postings, for short sets."""
SIGNATURE_BITS = 2
"""The number of signature bits per element of the set."""
u32 = np.uint32


@inlined
def word_of(token, singles):
    """The word that contains a token."""
    return u32(u32(token - singles) >> u32(6))


@kernel("int64[], uint32[], uint32, int64, int64, uint32[], int64[]")
def count_words(indptr, tokens, singles, first, last, alone, words):
    """Count the words needed to encode sets first..last-1.

    Parameters
    ----------
    indptr : int64[sets + 1]
    tokens : uint32[...], ascending in each set
    singles : uint32; tokens below it occur in a single set
    alone : uint32[sets]
        Receives the number of such tokens in each set; they come first.
    words : int64[sets + 1]
        words[i + 1] receives the number of words of set i.
    """
    for i in range(first, last):
        k, end = indptr[i], indptr[i + 1]
        while k < end and tokens[k] < singles:
            k += 1
        alone[i] = k - indptr[i]
        before, count = NONE, 0
        while k < end:
            word = word_of(tokens[k], singles)
            count += np.int64(word != before)
            before = word
            k += 1
        words[i + 1] = count


@kernel("int64[], uint32[], uint32, int64, int64, uint32[], (int64[], uint32[], uint64[])")
def fill_words(indptr, tokens, singles, first, last, alone, masks):
    """Write the words of sets first..last-1.

    Parameters
    ----------
    masks : (starts int64[sets + 1], words uint32[...], bits uint64[...])
        Set i has words[starts[i]:starts[i + 1]], ascending; `bits` holds the tokens of each word.
    """
    starts, words, bits = masks
    for i in range(first, last):
        at, before, mask = starts[i] - 1, NONE, U(0)
        for k in range(indptr[i] + np.int64(alone[i]), indptr[i + 1]):
            token = u32(tokens[k] - singles)
            word = u32(token >> u32(6))
            if word != before:
                at += 1
                words[at] = word
                mask = U(0)
                before = word
            mask |= U(1) << U(token & u32(63))
            bits[at] = mask


@kernel("int64[], uint32[], uint32, int64, int64, uint32[], uint64[]")
def sign_short(indptr, tokens, singles, first, last, alone, signs):
    """Compute the signatures of sets first..last-1, which are too short for words of their own to pay off.

    Parameters
    ----------
    indptr, tokens, singles, alone : as in count_words
    signs : uint64[INLINE_WORDS * sets]
        Receives the signature of each set: bit t mod 128 is the parity of its tokens t, as `fold_words` would compute
        it.
    """
    for i in range(first, last):
        even, odd, lonely = U(0), U(0), 0
        for k in range(indptr[i], indptr[i + 1]):
            token = u32(tokens[k] - singles)
            shared = tokens[k] >= singles
            bit = U(shared) << U(token & u32(63))
            upper = (token & u32(64)) != u32(0)
            odd ^= bit if upper else U(0)
            even ^= U(0) if upper else bit
            lonely += np.int64(not shared)
        signs[INLINE_WORDS * i], signs[INLINE_WORDS * i + 1] = even, odd
        alone[i] = lonely


@kernel("int64[] -> int64[]")
def place_signatures(indptr):
    """Where the signature of each set starts, int64[sets + 1]: larger sets have longer signatures."""
    sets = indptr.size - 1
    starts = np.empty(sets + 1, np.int64)
    total = np.int64(0)
    for i in range(sets):
        starts[i] = total
        words = SMALLEST_SIGNATURE
        while words * 64 < (indptr[i + 1] - indptr[i]) * SIGNATURE_BITS and words < LARGEST_SIGNATURE:
            words *= 2
        total += words
    starts[sets] = total
    return starts


@inlined
def fold_words(starts, words, bits, i, folded, at, size):
    """XOR the words of set i into folded[at:at + size], which must be zero; `size` is a power of two.

    Elements that share a bit can hide a difference but never create one: two signatures differ in no more bits than
    there are elements in only one of the sets.
    """
    for k in range(starts[i], starts[i + 1]):
        folded[at + np.int64(words[k] & u32(size - 1))] ^= bits[k]


@kernel("int64, int64, (int64[], uint32[], uint64[]), int64[], uint64[]")
def fill_signatures(first, last, masks, starts, signatures):
    """Fold sets first..last-1 into signatures[starts[i]:starts[i + 1]], uint64, initially zero."""
    word_starts, words, bits = masks
    for i in range(first, last):
        fold_words(word_starts, words, bits, i, signatures, starts[i], starts[i + 1] - starts[i])
