"""Names of people: values that differ only by a nickname, and values swapped between two fields.

Pairs and codes are as in agreement.py.
"""

import numpy as np

from lookalike.kernels.agreement import look_ahead
from lookalike.kernels.compile import bare, bare_kernel
from lookalike.kernels.hashing import U

EXCHANGED = -1
"""Marks a swapped pair until its level has a number."""


@bare
def _share_group(one, other, starts, groups):
    """Whether both words are in a common group."""
    if one >= starts.size - 1 or other >= starts.size - 1:
        return False
    i, i_stop, j, j_stop = starts[one], starts[one + 1], starts[other], starts[other + 1]
    while i < i_stop and j < j_stop:
        if groups[i] == groups[j]:
            return True
        if groups[i] < groups[j]:
            i += 1
        else:
            j += 1
    return False


@bare
def _are_nicknames(a, b, indptr, words, starts, groups):
    """Whether the values are equal word for word, if words of one group count as equal."""
    i, j = indptr[a], indptr[b]
    count = indptr[a + 1] - i
    if indptr[b + 1] - j != count:
        return False
    for k in range(count):
        one, other = words[i + k], words[j + k]
        if one != other and not _share_group(one, other, starts, groups):
            return False
    return True


@bare_kernel("int32[], int32[], int32[], int64, int64, int8[], int64[], int32[], int64[], int32[]")
def insert_nicknames(codes, left, right, first, last, out, indptr, words, starts, groups):
    """Make nicknames level 2 in out (int8[pairs], with the levels of names), and shift other levels from 2 on by one.

    Parameters
    ----------
    indptr, words, starts, groups
        As in linkage.fields.columns.WordGroups.
    """
    for k in range(first, last):
        look_ahead(codes, right, k, last, words, indptr)
        if out[k] > 1:
            if _are_nicknames(codes[left[k]], codes[right[k]], indptr, words, starts, groups):
                out[k] = 2
            else:
                out[k] += 1


@bare_kernel("int8[], int8[], int32[], int32[], uint64[], int64, int64 -> int64")
def mark_exchanged(one, other, left, right, keys, first, last):
    """Mark pairs in which the two values of one record are those of the other, swapped; return how many there are.

    Parameters
    ----------
    one, other : int8[pairs]
        The levels of both fields; a marked pair gets EXCHANGED in `one` and 0, no evidence, in `other`. Pairs that are
        equal in a field, or lack a value, are left unchanged.
    keys : uint64[records]
        Two 32-bit halves: the numbers of the two values, numbered jointly for both fields; 0 for a record that is in no
        exchange.
    """
    found = 0
    for k in range(first, last):
        if one[k] > 1 and other[k] > 1:
            key = keys[left[k]]  # neighbouring pairs have equal keys, and most are in no exchange
            if key != U(0) and keys[right[k]] == (key << U(32)) | (key >> U(32)):
                one[k] = np.int8(EXCHANGED)
                other[k] = np.int8(0)
                found += 1
    return found
