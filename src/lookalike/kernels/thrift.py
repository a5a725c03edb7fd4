"""List fields of a struct in Thrift's compact encoding, without trusting a byte of it.

`types.thrift` reads whole structs as Python objects, which takes seconds for the footer of a Parquet file with 100,000
columns; this takes milliseconds.
"""

import numpy as np

from lookalike.kernels.compile import bare, bare_kernel

TRUE, FALSE, BYTE, SHORT, INTEGER, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""How values are encoded. A map is in no footer, and is not read."""
NUMBER_BITS, LEVELS = 6, 10
"""Bits of a path per level, and the levels of the longest path."""
DEEPEST = 32
"""Levels of structs and lists; a footer has eight."""
DAMAGED, OTHER_KIND = -1, -2
"""The bytes are not a struct; a requested field is of another kind."""
_LONG_LIST = 15
_MOST_NUMBER = 0x7FFF


@bare
def _varint(data, at, end):
    """The value of a variable-length integer, and the place after it; -1 as the place if it does not end."""
    value, shift = np.uint64(0), np.uint64(0)
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        if shift < 64:
            value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += np.uint64(7)
    return value, np.int64(-1)


@bare
def _signed(value):
    """The integer that a variable-length integer stands for: the lowest bit is the sign."""
    return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))


@bare
def _place_of(wanted, path):
    """The row of a path among the requested ones, which are in ascending order; -1 if it is not requested."""
    low, high = np.int64(0), np.int64(wanted.shape[0])
    while low < high:
        middle = (low + high) >> 1
        if wanted[middle, 0] < path:
            low = middle + 1
        else:
            high = middle
    return low if low < wanted.shape[0] and wanted[low, 0] == path else np.int64(-1)


@bare
def _fits(kind, value):
    """Whether an integer is in the range of its kind."""
    most = np.int64(0x7FFFFFFF) if kind == INTEGER else np.int64(0x7FFF)
    return kind == LONG or -most - 1 <= value <= most


@bare
def _read_list(data, at, end):
    """The number of elements of a list, their kind, and the place of the first; -1 as the place if there is no list."""
    if at >= end:
        return np.int64(0), np.int64(0), np.int64(-1)
    within, elements = np.int64(data[at] & 15), np.int64(data[at] >> 4)
    at += 1
    if elements == _LONG_LIST:
        raw, at = _varint(data, at, end)
        if at < 0 or raw > np.uint64(end - at):  # an element takes at least a byte
            return np.int64(0), np.int64(0), np.int64(-1)
        elements = np.int64(raw)
    return elements, within, at


@bare
def _read_plain(data, at, end, kind, in_list):
    """A value that is neither a struct nor a list: value, size, and the place after it, -1 if it is damaged."""
    value, size = np.int64(0), np.int64(0)
    if kind in (TRUE, FALSE):
        value, at = np.int64(kind == TRUE), at + np.int64(in_list)  # as a field, it takes no byte of its own
    elif kind == BYTE:
        at += 1
    elif kind == DOUBLE:
        at += 8
    elif SHORT <= kind <= LONG:
        raw, at = _varint(data, at, end)
        value = _signed(raw)
        at = at if _fits(kind, value) else np.int64(-1)
    elif kind == BINARY:
        raw, at = _varint(data, at, end)
        if at >= 0 and raw <= np.uint64(end - at):
            value, size, at = at, np.int64(raw), at + np.int64(raw)
        else:
            at = np.int64(-1)
    else:
        at = np.int64(-1)
    return value, size, (at if at <= end else np.int64(-1))


@bare_kernel("uint8[], int64[,], int64[,], int64[,] -> int64")
def list_fields(data, wanted, stack, found):
    """List the requested fields of the struct that `data` starts with, in the order in which they are stored.

    Parameters
    ----------
    data : uint8[bytes]
    wanted : int64[fields, 2]
        Path and kind of each requested field, by ascending path. A path has six bits per level: the numbers of the
        fields from the outermost struct on, 0 for the elements of a list. A request for TRUE also finds FALSE.
    stack : int64[DEEPEST, 5]
        Working space: for each open struct or list its path (-1 if it is too long), its last field, how many of its
        elements follow (-1 for a struct), their kind, and where the innermost enclosing element begins.
    found : int64[fields found, 4]
        Result, as far as there is space: the row in `wanted`, the byte at which the innermost enclosing element of a
        list begins (0 if there is none), the value, and a size. The value of bytes and of a struct is where they begin,
        that of a list is the number of its elements.

    Returns
    -------
    int64
        How many were found, or a code for what is wrong.
    """
    count, at, depth, end = np.int64(0), np.int64(0), np.int64(0), np.int64(data.size)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, 0, -1, 0, 0
    while depth >= 0:
        left, within = stack[depth, 2], np.int64(0)
        if left == 0:  # the end of a list
            depth -= 1
            continue
        inner = stack[depth, 4]
        owner, number, kind = inner, np.int64(0), stack[depth, 3]
        if left > 0:
            stack[depth, 2], owner = left - 1, at
        else:
            if at >= end:
                return np.int64(DAMAGED)
            kind, step = np.int64(data[at] & 15), np.int64(data[at] >> 4)
            at += 1
            if kind == 0:  # the end of a struct
                depth -= 1
                continue
            number = stack[depth, 1] + step
            if step == 0:
                raw, at = _varint(data, at, end)
                number = _signed(raw)
            if at < 0 or number < 1 or number > _MOST_NUMBER:
                return np.int64(DAMAGED)
            stack[depth, 1] = number
        value, size, elements = at, np.int64(0), np.int64(-1)
        if kind in (LIST, SET):
            elements, within, at = _read_list(data, at, end)
            value = elements
        elif kind != STRUCT:
            value, size, at = _read_plain(data, at, end, kind, left > 0)
        if at < 0:
            return np.int64(DAMAGED)
        known = stack[depth, 0] >= 0 and depth < LEVELS and number < 1 << NUMBER_BITS
        path = stack[depth, 0] << NUMBER_BITS | number if known else np.int64(-1)
        row = _place_of(wanted, path)
        if row >= 0:
            if kind != wanted[row, 1] and not (kind == FALSE and wanted[row, 1] == TRUE):
                return np.int64(OTHER_KIND)
            if count < found.shape[0]:
                found[count, 0], found[count, 1], found[count, 2], found[count, 3] = row, inner, value, size
            count += 1
        if kind == STRUCT or elements >= 0:
            depth += 1
            if depth == DEEPEST:
                return np.int64(DAMAGED)
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = path, 0, elements, within
            stack[depth, 4] = owner
    return count
