"""The fast join: candidates are thinned out by signatures, and overlaps counted 64 tokens at a time.

Two ways to gather candidates. For short sets a signature lies in each posting, so that most never touch the memory of
their set (probe_inline). For long ones the sets met are marked, and lists contained in the list just scanned are
skipped (probe_marked). No array is reassigned and no tuple returned inside: either costs many times the work itself.
"""

import numba as nb
import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.exact_bounds import bound_partners
from lookalike.kernels.exact_encode import INLINE_WORDS, LARGEST_SIGNATURE, NONE, SMALLEST_SIGNATURE, fold_words, u32
from lookalike.kernels.exact_index import shelf_of
from lookalike.kernels.exact_plain import FOUND, NEXT, POSTINGS, SIGNATURE, SUFFIX, WRITTEN, sets_span
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import count_ones


@inlined
def _verify(i, count, candidates, masks, class_of, needed, table, written, out):
    """Count the overlap of set i with each candidate; write those that reach what is needed, return the new end.

    `table` holds the words of set i by number while they are compared, and zeros before and after.
    """
    starts, words, bits = masks
    left, right, overlaps = out
    for k in range(starts[i], starts[i + 1]):
        table[words[k]] = bits[k]
    for c in range(count):
        other = candidates[c]
        overlap = nb.int64(0)
        for k in range(starts[other], starts[nb.int64(other) + 1]):
            overlap += count_ones(table[words[k]] & bits[k])
        # written in any case, kept if it counts: no branch to guess
        left[written], right[written], overlaps[written] = other, i, overlap
        written += nb.int64(overlap >= needed[class_of[other]])
    for k in range(starts[i], starts[i + 1]):
        table[words[k]] = U(0)
    return written


@inlined
def _gather(i, c, low, sets, classes, alone, ends, index, marks, candidates, counts):
    """List the sets that share a token with set i early enough in both; return how many."""
    indptr, tokens, singles, sides = sets
    probing = classes[4]
    cursors, owners, limits, contained = index
    lowest_set, mark, own_class = u32(low), u32(i + 1), u32(c)
    shelf = shelf_of(sides, i, True, sets_span(cursors, sides))
    count, before, start = 0, NONE, indptr[i]
    for place in range(nb.int64(alone[i]), probing[c]):
        token = u32(u32(tokens[start + place] - singles) + shelf)
        if contained[token] != 0 and u32(token - u32(1)) == before:
            before = token  # its list is contained in one just scanned
            continue
        at = cursors[token]
        if at == u32(0):
            continue
        before = token
        other = owners[at]
        if other < lowest_set:
            while other < lowest_set:
                at = u32(at + u32(1))
                other = owners[at]
            cursors[token] = at
        end = u32(min(ends[place], i))
        if end <= lowest_set:
            break
        scanned = at
        while other < end:
            candidates[count] = other
            count += nb.int64(marks[other] != mark) & nb.int64(own_class <= limits[at])
            marks[other] = mark
            at = u32(at + u32(1))
            other = owners[at]
        counts[POSTINGS] += nb.int64(at) - nb.int64(scanned)
    return count


@inlined
def _fold(i, signature_starts, signatures, folded):
    """The signature of set i at each length: that of w words is folded[w:2 * w]."""
    start = signature_starts[i]
    width = signature_starts[i + 1] - start
    for word in range(width):
        folded[width + word] = signatures[start + word]
    while width > SMALLEST_SIGNATURE:
        half = width >> 1
        for word in range(half):
            folded[half + word] = folded[width + word] ^ folded[width + half + word]
        width = half


@inlined
def _thin(i, count, candidates, class_of, alone, spare, signature_starts, signatures, folded):
    """Keep the candidates whose signatures do not differ in more bits than elements may; return how many.

    A candidate is no larger than set i, so its signature is no longer.
    """
    kept = 0
    for c in range(count):
        other = candidates[c]
        start = signature_starts[other]
        width = signature_starts[nb.int64(other) + 1] - start
        differing = nb.int64(alone[i]) + nb.int64(alone[other])
        most = spare[class_of[other]]
        if width == SMALLEST_SIGNATURE:
            for word in range(SMALLEST_SIGNATURE):
                differing += count_ones(folded[SMALLEST_SIGNATURE + word] ^ signatures[start + word])
        else:
            word = 0
            while word < width and differing <= most:
                for step in range(8):
                    differing += count_ones(folded[width + word + step] ^ signatures[start + word + step])
                word += 8
        candidates[kept] = other
        kept += nb.int64(differing <= most)
    return kept


@kernel
def probe_marked(first, last, rule, sets, classes, alone, masks, prints, index, room, out, state, counts):
    """Find the earlier partners of sets first..last-1, or of fewer where `out` could overflow; for long sets.

    Parameters
    ----------
    rule, sets, classes, out, state, counts : as in exact_plain.probe_plain
    alone, masks : as in exact_encode
    prints : (starts int64[sets + 1], signatures uint64[...])
    index : (cursors uint32[lists], owners uint32[...], limits uint32[...], contained uint8[lists])
    room : (marks uint32[sets], candidates uint32[sets + 1], table uint64[words], zeros)
    """
    measure, num, den = rule
    class_of, sizes, starts, lowest, probing = classes
    signature_starts, signatures = prints
    marks, candidates, table = room
    needed, spare = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    ends, allowed = np.empty(probing.max(), np.int64), np.empty(probing.max(), np.int64)
    folded = np.zeros(2 * LARGEST_SIGNATURE, np.uint64)
    written, before, i = 0, nb.int64(-1), first
    while i < last:
        c = nb.int64(class_of[i])
        low = starts[lowest[c]]
        if written + i - low > out[0].size:
            break
        if c != before and low < i:
            before = c
            bound_partners(measure, num, den, sizes, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
        count = 0
        if low < i:
            count = _gather(i, c, low, sets, classes, alone, ends, index, marks, candidates, counts)
        if count > 0:
            counts[SUFFIX] += count
            _fold(i, signature_starts, signatures, folded)
            count = _thin(i, count, candidates, class_of, alone, spare, signature_starts, signatures, folded)
            counts[SIGNATURE] += count
            written = _verify(i, count, candidates, masks, class_of, needed, table, written, out)
        i += 1
    state[NEXT], state[WRITTEN] = i, written
    counts[FOUND] += written


@inlined
def _first_from(owners, at, stop, least):
    """The first place from `at` to `stop` whose owner is at least `least`."""
    while at < stop:
        middle = (at + stop) >> 1
        if owners[middle] < least:
            at = middle + 1
        else:
            stop = middle
    return at


@inlined
def _gather_inline(i, c, low, sets, classes, alone, spare, ends, allowed, index, folded, marks, candidates, counts):
    """List the sets that share a token with set i early enough in both and differ in few bits; return how many."""
    indptr, tokens, singles, sides = sets
    class_of, probing = classes[0], classes[4]
    cursors, stops, owners, limits, signatures = index
    lowest_set, own, mark, own_class = u32(low), u32(i), u32(i + 1), u32(c)
    shelf = shelf_of(sides, i, True, sets_span(cursors, sides))
    start, lonely = indptr[i], nb.int64(alone[i])
    first_word, second_word = folded[0], folded[1]
    count = 0
    for place in range(lonely, probing[c]):
        if ends[place] <= low:
            break
        token = u32(u32(tokens[start + place] - singles) + shelf)
        at = cursors[token]
        if at == u32(0):
            continue
        while owners[at] < lowest_set:
            at = u32(at + u32(1))
        cursors[token] = at
        stop = max(stops[token], at)
        while owners[stop] < own:
            stop = u32(stop + u32(1))
        stops[token] = stop
        end = nb.int64(stop)
        if ends[place] < i:
            end = _first_from(owners, nb.int64(at), end, u32(ends[place]))
        most = allowed[place] - lonely
        counts[POSTINGS] += end - nb.int64(at)
        for k in range(nb.int64(at), end):
            differing = count_ones(signatures[2 * k] ^ first_word) + count_ones(signatures[2 * k + 1] ^ second_word)
            if differing <= most:
                other = owners[k]
                if marks[other] != mark:
                    marks[other] = mark
                    candidates[count] = other
                    differing += lonely + nb.int64(alone[other])
                    count += nb.int64(own_class <= limits[k]) & nb.int64(differing <= spare[class_of[other]])
    return count


@kernel
def probe_inline(first, last, rule, sets, classes, alone, masks, index, room, out, state, counts):
    """Find the earlier partners of sets first..last-1, or of fewer where `out` could overflow; for short sets.

    Parameters
    ----------
    rule, sets, classes, alone, masks, room, out, state, counts : as in probe_marked
    index : (cursors, stops uint32[lists], owners, limits uint32[...], signatures uint64[INLINE_WORDS times as many])
        Stops move on to the first posting that is not earlier than the probing set.
    """
    measure, num, den = rule
    class_of, sizes, starts, lowest, probing = classes
    marks, candidates, table = room
    needed, spare = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    ends, allowed = np.empty(probing.max(), np.int64), np.empty(probing.max(), np.int64)
    folded = np.zeros(INLINE_WORDS, np.uint64)
    written, before, i = 0, nb.int64(-1), first
    while i < last:
        c = nb.int64(class_of[i])
        low = starts[lowest[c]]
        if written + i - low > out[0].size:
            break
        if low < i:
            if c != before:
                before = c
                bound_partners(measure, num, den, sizes, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
            folded[0], folded[1] = U(0), U(0)
            fold_words(masks, i, folded, 0, INLINE_WORDS)
            count = _gather_inline(
                i, c, low, sets, classes, alone, spare, ends, allowed, index, folded, marks, candidates, counts
            )
            counts[SIGNATURE] += count
            if count > 0:
                written = _verify(i, count, candidates, masks, class_of, needed, table, written, out)
        i += 1
    state[NEXT], state[WRITTEN] = i, written
    counts[FOUND] += written
