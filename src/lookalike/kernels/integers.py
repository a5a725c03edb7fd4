"""Whole numbers written in decimal, many to a row: bytes to 64-bit integers."""

import numba as nb

from lookalike.kernels.compile import inlined, kernel

SPACE, TAB, NEWLINE, RETURN, MINUS, ZERO = 32, 9, 10, 13, 45, 48
LARGEST = (1 << 63) - 1
"""The largest; the smallest is one further from zero."""


@inlined
def _is_gap(byte):
    return byte in (SPACE, NEWLINE, TAB, RETURN)


@kernel
def count_numbers(data):
    """How many runs of other bytes than spaces and line ends there are."""
    count, gap = nb.int64(0), True
    for i in range(data.size):
        here = _is_gap(data[i])
        count += gap & (not here)
        gap = here
    return count


@kernel
def parse_numbers(data, ends, values, offsets, bad):
    """Read the numbers of each row.

    Parameters
    ----------
    data : uint8[bytes]
    ends : int64[rows]
        Where each row ends; the first begins at 0.
    values : int64[numbers]
        Gets the numbers; those of bad rows are left out.
    offsets : int64[rows + 1]
        Gets where the numbers of each row begin and end.
    bad : bool[rows]
        Gets whether anything in the row is no whole number of 64 bits.
    """
    count, i = nb.int64(0), nb.int64(0)
    offsets[0] = 0
    for row in range(ends.size):
        first, fine = count, True
        while i < ends[row] and fine:
            if _is_gap(data[i]):
                i += 1
                continue
            i, value, fine = _parse_number(data, i, ends[row])
            values[count] = value
            count += 1
        bad[row] = not fine
        count = count if fine else first
        i = ends[row]
        offsets[row + 1] = count


@inlined
def _parse_number(data, i, end):
    """One number from data[i:end]: where it ends, its value, whether it is one."""
    negative = data[i] == MINUS
    i += negative
    first, value, fine = i, nb.uint64(0), True
    while i < end and not _is_gap(data[i]):
        digit = nb.uint64(data[i]) - nb.uint64(ZERO)  # what precedes the digits becomes huge
        # ten times more still fits into 64 bits without a sign
        fine &= (digit <= nb.uint64(9)) & (value <= nb.uint64(LARGEST // 10))
        value = value * nb.uint64(10) + digit
        i += 1
    fine &= (i > first) & (value <= nb.uint64(LARGEST) + nb.uint64(negative))
    return i, nb.int64(nb.uint64(0) - value) if negative else nb.int64(value), fine
