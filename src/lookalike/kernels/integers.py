"""Parse lines of integers, separated by spaces, from raw bytes."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel


@inlined
def _is_space(byte):
    return byte == 32 or (9 <= byte <= 13)


@kernel("uint8[], int64[], int64[], int64[], int64[] -> int64")
def parse_integers(data, ends, values, offsets, bad):
    """Parse each row of `data` as integers; return the total number written.

    Parameters
    ----------
    data : uint8[bytes]
    ends : int64[rows]
        Row i is data[ends[i - 1]:ends[i]], including the end of the line.
    values : int64[...]
        Receives the numbers; half the number of bytes plus one is always long enough.
    offsets : int64[rows + 1]
        Receives where the numbers of each row begin; an invalid row has none.
    bad : int64[rows]
        Receives 0, or the position (from 1) of the invalid byte in the row.
    """
    written = np.int64(0)
    start = np.int64(0)
    offsets[0] = 0
    for row in range(ends.size):
        bad[row] = 0
        i = start
        while i < ends[row] and bad[row] == 0:
            if _is_space(data[i]):
                i += 1
                continue
            first = i
            negative = data[i] == 45
            i += negative
            value = np.uint64(0)
            digits = i
            while i < ends[row] and 48 <= data[i] <= 57:
                if i - digits >= 18 and value > np.uint64(922337203685477580):
                    break
                value = value * np.uint64(10) + np.uint64(data[i] - 48)
                i += 1
            most = np.uint64(0x8000000000000000) if negative else np.uint64(0x7FFFFFFFFFFFFFFF)
            if i == digits or value > most or (i < ends[row] and not _is_space(data[i])):
                bad[row] = (first if value > most else i) - start + 1
                break
            values[written] = np.int64(np.uint64(0) - value) if negative else np.int64(value)
            written += 1
        if bad[row] != 0:
            written = offsets[row]
        start = ends[row]
        offsets[row + 1] = written
    return written
