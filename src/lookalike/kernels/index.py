"""The loops of the persistent index: filters, key lookups, and comparisons between two stores."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import U, mix
from lookalike.kernels.machine import multiply_high
from lookalike.kernels.sets import common_at_least, needed_overlap
from lookalike.kernels.sorting import first_from


@inlined
def filter_place(key, band, size):
    """The word of the filter that belongs to a key, and the bits that the key sets there."""
    spread = mix(key + U(band + 1) * U(0x9E3779B97F4A7C15))
    bits = U(1) << (spread & U(63))
    bits |= U(1) << ((spread >> U(6)) & U(63))
    bits |= U(1) << ((spread >> U(12)) & U(63))
    bits |= U(1) << ((spread >> U(18)) & U(63))
    return np.int64(multiply_high(spread, U(size))), bits


@kernel("uint64[], int64, uint64[]")
def fill_filter(keys, band, words):
    """Add the keys of a band to a Bloom filter that keeps all bits of a key in one word."""
    for i in range(keys.size):
        place, bits = filter_place(keys[i], band, words.size)
        words[place] |= bits


@inlined
def _first_above(values, low, high, key):
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def stretch_of(key, band, words, fences, step, count):
    """The range of a band that may contain a key, by filter and fences alone: (start, end), or (0, 0) if it cannot."""
    place, bits = filter_place(key, band, words.size)
    if words[place] & bits != bits:
        return np.int64(0), np.int64(0)
    last = _first_above(fences, 0, fences.size, key)
    if last == 0:
        return np.int64(0), np.int64(0)
    first = first_from(fences, 0, last, key)
    return max(first - 1, 0) * step, min(last * step, count)


@inlined
def _run_end(values, at, high, key):
    """The end of the run of a key that starts at `at`, if it is there; most runs are short."""
    step = 1
    while at + step <= high and values[at + step - 1] == key:
        at += step
        step *= 2
    return _first_above(values, at, min(at + step, high), key)


@inlined
def run_of(key, keys, start, end):
    """The run of a key within a range of the sorted keys of its band: (start, end), equal if the key is absent."""
    start = first_from(keys, start, end, key)
    return start, _run_end(keys, start, end, key)


@inlined
def guess_of(key, start, end, fences, step):
    """The expected position of a key in a range of its band that is not empty: keys are evenly distributed hashes."""
    least, after = fences[start // step], (end + step - 1) // step
    most = fences[after] if after < fences.size else U(0xFFFFFFFFFFFFFFFF)
    share = np.float64(key - least) / np.float64(most - least) if least < key < most else 0.0
    return min(start + np.int64(share * np.float64(end - start)), end - 1)


@inlined
def guessed_run_of(key, keys, start, end, fences, step):
    """Like `run_of`, starting at the expected position of the key.

    In a range of 2,048 keys the guess is off by about 20 keys, so that two or three cache lines are read, not eight.
    """
    if end <= start:
        return start, start
    at = guess_of(key, start, end, fences, step)
    reach = np.int64(16)
    if keys[at] < key:
        low, high = at + 1, at + reach
        while high < end and keys[high] < key:
            low, reach = high + 1, 2 * reach
            high += reach
        high = min(high, end)
    else:
        low, high = at - reach, at
        while low > start and keys[low] >= key:
            high, reach = low, 2 * reach
            low -= reach
        low = max(low, start)
    first = first_from(keys, low, high, key)
    return first, _run_end(keys, first, end, key)


@kernel("uint64[,], bool[], int64, uint64[], uint64[,], int64, int64, int64[,], int64[,]")
def locate_keys(asked, there, first_band, words, fences, step, count, starts, ends):
    """Find the ranges of the bands that may contain the keys, judging by the filter and the fences alone.

    Parameters
    ----------
    asked : uint64[bands, n]
    there : bool[n]
        Items for which this is False are in no bucket.
    first_band : int64
        The number of the first of these bands within the filter.
    words : uint64[w]
        The filter.
    fences : uint64[bands, f]
        Every `step`-th key of each band, starting with the first.
    count : int64
        The number of keys per band.
    starts, ends : int64[bands, n]
        Receive the range of the band to search, which is empty for a key that is not there.
    """
    for band in range(asked.shape[0]):
        row = fences[band]
        for i in range(asked.shape[1]):
            starts[band, i] = 0
            ends[band, i] = 0
            if not there[i]:
                continue
            starts[band, i], ends[band, i] = stretch_of(asked[band, i], first_band + band, words, row, step, count)


@kernel("uint64[,], uint64[,], int64, int64[,], int64[,] -> int64")
def narrow_runs(asked, keys, limit, starts, ends):
    """Narrow the ranges that may contain a key down to the run of that key.

    Parameters
    ----------
    asked : uint64[bands, n]
    keys : uint64[bands, count]
        Sorted within each band.
    starts, ends : int64[bands, n]
        From `locate_keys`; receive the run of each key. `ends` is 0 for a key that is not there.

    Returns
    -------
    The number of runs longer than `limit`.
    """
    large = np.int64(0)
    for band in range(asked.shape[0]):
        row = keys[band]
        for i in range(asked.shape[1]):
            if ends[band, i] == 0:
                continue
            start, end = run_of(asked[band, i], row, starts[band, i], ends[band, i])
            starts[band, i] = start
            ends[band, i] = end if end > start else 0
            large += end - start > limit
    return large


@kernel("int64, int64[,], int64[,], int32[,], int64, int64[], int64[] -> (int64, int64)")
def collect_found(first, starts, ends, numbers, limit, left, right):
    """List the items of a segment that share a key with the queried ones, from item `first` on, until there is no room.

    Parameters
    ----------
    starts, ends : int64[bands, n]
        From `narrow_runs`.
    numbers : int32[bands, count]
        The item of each key.
    limit : int64
        Longer runs are skipped.
    left, right : int64[room]
        Receive the queried item and the item found; a pair is listed once for every key that it shares.

    Returns
    -------
    (stopped, filled) : the first item that is not finished, and the number of pairs
    """
    filled = np.int64(0)
    for i in range(first, starts.shape[1]):
        begun = filled
        for band in range(starts.shape[0]):
            start, end = starts[band, i], ends[band, i]
            if end - start > limit:
                continue
            if filled + end - start > left.size:
                return i, begun
            for at in range(start, end):
                left[filled] = i
                right[filled] = numbers[band, at]
                filled += 1
    return np.int64(starts.shape[1]), filled


@inlined
def slot_of(key, band, slots):
    """The slot of a key in a hash table of all bands."""
    return np.int64(mix(key + U(band + 1) * U(0x9E3779B97F4A7C15)) & U(slots - 1))


@kernel("uint64[,], bool[,], int64, int64, int32[], int32[]")
def insert_keys(keys, there, first, last, heads, nexts):
    """Put the keys of items first..last into a chained hash table.

    Parameters
    ----------
    keys : uint64[items, bands]
    there : bool[items, bands]
        Keys for which this is False are skipped.
    heads : int32[slots]
        The length is a power of two; the latest entry of each slot, item * bands + band, or -1.
    nexts : int32[items * bands]
        The previous entry of the same slot.
    """
    bands = keys.shape[1]
    for item in range(first, last):
        for band in range(bands):
            if there[item, band]:
                slot = slot_of(keys[item, band], band, heads.size)
                entry = item * bands + band
                nexts[entry] = heads[slot]
                heads[slot] = entry


@kernel("uint64[,], bool[], int64, int64, uint64[,], int32[], int32[], int64[], int64[] -> (int64, int64)")
def collect_entries(asked, there, first_band, first, keys, heads, nexts, left, right):
    """List the items of a hash table that share a key with the queried ones; otherwise like `collect_found`."""
    bands = keys.shape[1]
    filled = np.int64(0)
    for i in range(first, asked.shape[1]):
        begun = filled
        if not there[i]:
            continue
        for b in range(asked.shape[0]):
            band = first_band + b
            key = asked[b, i]
            entry = np.int64(heads[slot_of(key, band, heads.size)])
            while entry >= 0:
                item = entry // bands
                if entry - item * bands == band and keys[item, band] == key:
                    if filled == left.size:
                        return i, begun
                    left[filled] = i
                    right[filled] = item
                    filled += 1
                entry = np.int64(nexts[entry])
    return np.int64(asked.shape[1]), filled


@kernel("int64[], int64[], int64[], uint64[], int64[], uint64[], int64, int64, int64, int64[]")
def overlaps_across(left, right, left_indptr, left_elements, right_indptr, right_elements, measure, num, den, overlaps):
    """Compute the overlaps of pairs of sets from two collections; -1 for a pair below the threshold num/den."""
    for pair in range(left.size):
        i, i_end = left_indptr[left[pair]], left_indptr[left[pair] + 1]
        j, j_end = right_indptr[right[pair]], right_indptr[right[pair] + 1]
        needed = needed_overlap(measure, num, den, i_end - i, j_end - j)
        overlaps[pair] = common_at_least(left_elements, i, i_end, right_elements, j, j_end, needed)


@kernel("int64[], int64[], bool[]")
def keep_first(earlier, later, kept):
    """Keep, in order, the items that are similar to none kept before; pairs are sorted by `later`."""
    for pair in range(earlier.size):
        if kept[earlier[pair]]:
            kept[later[pair]] = False
