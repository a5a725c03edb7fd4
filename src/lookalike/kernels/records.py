"""Pairs of values of a field, word by word: how many words two share, and whether one abbreviates the other."""

from lookalike.kernels.compile import inlined, kernel

SPACE = 32


@kernel
def count_shared(indptr, words, left, right, out):
    """How many words two values share.

    Parameters
    ----------
    indptr : int64[values + 1]
    words : int32
        Numbers of words, ascending and distinct within a value: words[indptr[v]:indptr[v + 1]].
    left, right : int32[pairs]
    out : int32[pairs]
    """
    for k in range(left.size):
        i, i_end = indptr[left[k]], indptr[left[k] + 1]
        j, j_end = indptr[right[k]], indptr[right[k] + 1]
        shared = 0
        while i < i_end and j < j_end:
            a, b = words[i], words[j]
            shared += a == b
            i += a <= b
            j += b <= a
        out[k] = shared


@inlined
def _word_end(data, start, end):
    while start < end and data[start] != SPACE:
        start += 1
    return start


@inlined
def _one_begins_other(data, i, i_end, j, j_end):
    while i < i_end and j < j_end and data[i] == data[j]:
        i += 1
        j += 1
    return i == i_end or j == j_end


@kernel
def find_abbreviated(data, offsets, counts, left, right, out):
    """Does the value with fewer words have them in the other, in that order, each whole or cut short in either?

    Parameters
    ----------
    data : uint8[bytes]
        UTF-8, words between single spaces.
    offsets : int64[values + 1]
    counts : int32[values]
        How many words each value has.
    left, right : int32[pairs]
    out : bool[pairs]
    """
    for k in range(left.size):
        fewer, more = left[k], right[k]
        if counts[fewer] > counts[more]:
            fewer, more = more, fewer
        i, i_end = offsets[fewer], offsets[fewer + 1]
        j, j_end = offsets[more], offsets[more + 1]
        while i < i_end and j < j_end:
            i_stop, j_stop = _word_end(data, i, i_end), _word_end(data, j, j_end)
            if _one_begins_other(data, i, i_stop, j, j_stop):  # the first that fits leaves most for those to come
                i = i_stop + 1
            j = j_stop + 1
        out[k] = i >= i_end
