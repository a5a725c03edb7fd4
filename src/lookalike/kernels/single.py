"""A query of one text: from its bytes to bucket keys, and to the similar items of a part of an index.

The same steps as for many queries (`minhash.key_texts`, `questions`), with all arrays given: for one text, allocating
them takes as long as the steps themselves. Cache misses overlap, since each step is done for all bands before the next.
"""

import numpy as np

from lookalike.kernels.checksums import first_damaged, list_unchecked
from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.index import filter_place, guess_of, guessed_run_of, slot_of, stretch_of
from lookalike.kernels.machine import fetch
from lookalike.kernels.minhash import band_key, sketch_listed
from lookalike.kernels.questions import CROWDED, DONE, FULL, each_once
from lookalike.kernels.sets import common_at_least, needed_overlap, sort_distinct
from lookalike.kernels.shingles import list_shingles
from lookalike.kernels.words import NOTHING

LISTED, DISTINCT = 0, 1
"""The positions in `counts`: elements with repeats, and distinct ones, or -1 as long as they are not sorted."""
ITEMS, OVERLAPS, SIZES = 0, 1, 2
"""The rows of `found`."""
MOST = 256
"""Items that are compared with one text; more of them take the steps of many queries."""


@kernel(
    "int64, int64, bool, (uint16[], uint32[,], uint32[]), uint64[], uint64, int64, uint8[], uint8[], uint64[], "
    "uint64[], uint64[], uint64[], uint64[], int64[], int64 -> int64"
)
def key_text(
    kind, width, bag, folding, stop_words, seed, rows, data, edge, tokens, elements, work, sketch, keys, counts, length
):  # fmt: skip
    """Compute the shingles and the bucket keys of the text data[:length]; return the number of shingles.

    Shingles are not sorted before an item has to be compared: most queried texts are new.

    Parameters
    ----------
    kind, width, bag, folding, stop_words
        As for `shingles.list_shingles`.
    data : uint8[...]
        At least 72 bytes longer than the text, so that whole blocks can be loaded.
    edge, tokens, elements, work
        From `shingles.work_space`; `elements` receives the shingles.
    sketch : uint64[bands * rows]
    keys : uint64[bands]
        Receives the keys.
    counts : int64[2]
        Receives the number of elements; they are not sorted yet.
    """
    listed, _, _ = list_shingles(
        data, 0, length, kind, width, bag, folding, stop_words, edge, tokens, 0, NOTHING, True, elements, work
    )
    counts[LISTED], counts[DISTINCT] = sketch_listed(elements, listed, seed, sketch.size, sketch, work), -1
    for band in range(keys.size):
        keys[band] = band_key(sketch, band * rows, rows, band)
    return listed


@inlined
def _check(file, blocks, unchecked, sums):
    """Check the blocks that `list_unchecked` has listed: a damaged block, FULL if there were too many, or DONE."""
    if unchecked > blocks.size:
        return np.int64(FULL)
    return first_damaged(file, blocks, unchecked, sums) if unchecked > 0 else np.int64(DONE)


@inlined
def _compare(
    filled, items, overlaps, sizes, offsets, data, file, offsets_begin, data_begin, gone, base, measure, num, den,
    elements, counts, work, blocks, sums
):  # fmt: skip
    """Keep those of items[:filled] that reach the threshold: (number kept, a damaged block, FULL or DONE)."""
    kept = np.int64(0)
    if filled > MOST:
        return kept, np.int64(FULL)
    for at in range(filled):
        if not gone[base + items[at]]:
            items[kept] = items[at]
            fetch(offsets, items[kept])
            kept += 1
    filled, kept, unchecked = kept, np.int64(0), np.int64(0)
    for at in range(filled):
        unchecked = list_unchecked(file, offsets_begin, 8, items[at], items[at] + 2, blocks, unchecked)
    why = _check(file, blocks, unchecked, sums)
    if why != DONE:
        return kept, why
    unchecked = np.int64(0)
    for at in range(filled):
        start, end = offsets[items[at]], offsets[items[at] + 1]
        fetch(data, start)
        unchecked = list_unchecked(file, data_begin, 8, start, end, blocks, unchecked)
    why = _check(file, blocks, unchecked, sums)
    if why != DONE:
        return kept, why
    if filled > 0 and counts[DISTINCT] < 0:
        counts[DISTINCT] = sort_distinct(elements, counts[LISTED], work)
    own = counts[DISTINCT]
    for at in range(filled):
        start, end = offsets[items[at]], offsets[items[at] + 1]
        needed = needed_overlap(measure, num, den, own, end - start)
        overlap = common_at_least(elements, 0, own, data, start, end, needed)
        if overlap >= 0:
            items[kept], overlaps[kept], sizes[kept] = items[at], overlap, end - start
            kept += 1
    return kept, np.int64(DONE)


@inlined
def _locate(words, fences, step, keys, asked, spans):
    """Find the range of each band that may contain its key, by filter and fences; return how many there are."""
    hits = 0
    for band in range(asked.size):
        fetch(words, filter_place(asked[band], band, words.size)[0])
    for band in range(asked.size):
        start, end = stretch_of(asked[band], band, words, fences[band], step, keys.shape[1])
        spans[0, band], spans[1, band] = start, end
        if end > start:
            fetch(keys[band], guess_of(asked[band], start, end, fences[band], step))
            hits += 1
    return hits


@inlined
def _narrow(fences, step, keys, numbers, file, keys_begin, numbers_begin, limit, asked, spans, blocks, sums):
    """Narrow the ranges down to the runs of keys, and check their blocks: a damaged block, FULL, CROWDED or DONE."""
    count, unchecked = keys.shape[1], np.int64(0)
    for band in range(asked.size):
        low, high = spans[0, band], spans[1, band]
        if high > low:
            start, end = guessed_run_of(asked[band], keys[band], low, high, fences[band], step)
            spans[0, band], spans[1, band] = start, end
            if end - start > limit:
                return np.int64(CROWDED)
            # the keys on either side prove that the run is complete
            low, high = max(start - 1, low), min(end + 1, high)
            unchecked = list_unchecked(file, keys_begin + 8 * band * count, 8, low, high, blocks, unchecked)
            unchecked = list_unchecked(file, numbers_begin + 4 * band * count, 4, start, end, blocks, unchecked)
            fetch(numbers[band], start)
    return _check(file, blocks, unchecked, sums)


@kernel(
    "uint64[], uint64[,], int64, uint64[,], int32[,], (uint64[], uint64[], bool[]), int64, int64, int64, int64[], "
    "uint64[], int64, int64, int64, int64, int64, bool[], int64, uint64[], uint64[], int64[], uint64[], int64[,], "
    "int64[,], int64[], uint64[] -> (int64, int64, int64)"
)
def ask_segment(
    words, fences, step, keys, numbers, file, keys_begin, numbers_begin, limit, offsets, data, offsets_begin,
    data_begin, measure, num, den, gone, base, asked, elements, counts, work, spans, found, blocks, sums
):  # fmt: skip
    """Find the items of a segment that are similar to one text and share a bucket with it.

    Parameters
    ----------
    words, fences, step, keys, numbers, file, keys_begin, numbers_begin, limit
        As for `questions.collect_shared`.
    offsets, data, offsets_begin, data_begin, gone, base, measure, num, den
        As for `questions.compare_found`.
    asked, elements, counts, work
        The keys and elements of the text, from `key_text`.
    spans : int64[2, bands]
        Work array.
    found : int64[3, room]
        Receives the items in ascending order, their overlaps, and the sizes of their sets. An item takes space for each
        bucket that it shares.
    blocks, sums : int64[n], uint64[n]
        Work arrays: blocks that are checked together.

    Returns
    -------
    (kept, compared, why) : the number of items found, the number compared, and a damaged block, FULL, CROWDED or DONE
    """
    none = np.int64(0)
    if _locate(words, fences, step, keys, asked, spans) == 0:
        return none, none, np.int64(DONE)
    why = _narrow(fences, step, keys, numbers, file, keys_begin, numbers_begin, limit, asked, spans, blocks, sums)
    if why != DONE:
        return none, none, why
    filled, items = np.int64(0), found[ITEMS]
    for band in range(asked.size):
        start, end = spans[0, band], spans[1, band]
        if filled + end - start > items.size:
            return none, none, np.int64(FULL)
        for at in range(start, end):
            items[filled] = numbers[band, at]
            filled += 1
    filled = each_once(items, 0, filled)
    kept, why = _compare(
        filled, items, found[OVERLAPS], found[SIZES], offsets, data, file, offsets_begin, data_begin, gone, base,
        measure, num, den, elements, counts, work, blocks, sums
    )  # fmt: skip
    return kept, filled, why


@kernel(
    "uint64[,], int32[], int32[], int64[], uint64[], (uint64[], uint64[], bool[]), int64, int64, int64, int64, bool[], "
    "int64, uint64[], uint64[], int64[], uint64[], int64[,], int64[], uint64[] -> (int64, int64)"
)
def ask_table(
    keys, heads, nexts, offsets, data, file, count, measure, num, den, gone, base, asked, elements, counts, work,
    found, blocks, sums
):  # fmt: skip
    """Find the items among the first `count` of a table in memory; otherwise like `ask_segment`.

    `keys`, `heads` and `nexts` are as for `index.insert_keys`. Returns (kept, why).
    """
    bands, filled, items = keys.shape[1], np.int64(0), found[ITEMS]
    for band in range(asked.size):
        entry = np.int64(heads[slot_of(asked[band], band, heads.size)])
        while entry >= 0:
            item = entry // bands
            if entry - item * bands == band and keys[item, band] == asked[band] and item < count:
                if filled == items.size:
                    return np.int64(0), np.int64(FULL)
                items[filled] = item
                filled += 1
            entry = np.int64(nexts[entry])
    filled = each_once(items, 0, filled)
    return _compare(
        filled, items, found[OVERLAPS], found[SIZES], offsets, data, file, 0, 0, gone, base, measure, num, den,
        elements, counts, work, blocks, sums
    )  # fmt: skip
