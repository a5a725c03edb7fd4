"""The fast join: it filters candidates by their signatures, and counts overlaps 64 tokens at a time.

There are two ways to collect candidates. For short sets, each posting holds a signature, so that most sets are never
read (probe_inline). For long sets, the sets encountered are marked, and lists contained in the list just scanned are
skipped (probe_marked). The loops never reassign an array or return a tuple: either would cost many times the work
itself. The loop over a prefix is part of each kernel and not a function: in a function of that size, Numba keeps
counting references to 14 arrays (as the assembly shows), which costs 150 ns per probing set.
"""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.exact_bounds import bound_partners
from lookalike.kernels.exact_encode import INLINE_WORDS, LARGEST_SIGNATURE, NONE, SMALLEST_SIGNATURE, u32
from lookalike.kernels.exact_index import shelf_of
from lookalike.kernels.exact_plain import FOUND, NEXT, POSTINGS, SIGNATURE, SUFFIX, WRITTEN, sets_span
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import NEAR, count_ones, near_mask, trailing_zeros
from lookalike.kernels.sorting import first_from, largest


@inlined
def _verify(i, count, candidates, starts, words, bits, class_of, needed, table, written, left, right, overlaps):
    """Compute the overlap of set i with each candidate, and write those with the overlap needed; return the new end.

    During the comparison `table` holds the words of set i, by number; before and after, it is all zeros.
    """
    for k in range(starts[i], starts[i + 1]):
        table[words[k]] = bits[k]
    for c in range(count):
        other = candidates[c]
        overlap = np.int64(0)
        for k in range(starts[other], starts[np.int64(other) + 1]):
            overlap += count_ones(table[words[k]] & bits[k])
        # always write the pair, and advance only if it is similar enough: no branch to predict
        left[written], right[written], overlaps[written] = other, i, overlap
        written += np.int64(overlap >= needed[class_of[other]])
    for k in range(starts[i], starts[i + 1]):
        table[words[k]] = U(0)
    return written


@inlined
def _verify_tokens(i, count, candidates, indptr, tokens, singles, alone, class_of, needed, table, written, out):
    """Like `_verify`, token by token, for short sets: they share few words."""
    left, right, overlaps = out
    for k in range(indptr[i] + np.int64(alone[i]), indptr[i + 1]):
        token = u32(tokens[k] - singles)
        table[token >> u32(6)] |= U(1) << U(token & u32(63))
    for c in range(count):
        other = np.int64(candidates[c])
        overlap = U(0)
        for k in range(indptr[other] + np.int64(alone[other]), indptr[other + 1]):
            token = u32(tokens[k] - singles)
            overlap += (table[token >> u32(6)] >> U(token & u32(63))) & U(1)
        left[written], right[written], overlaps[written] = other, i, overlap
        written += np.int64(np.int64(overlap) >= needed[class_of[other]])
    for k in range(indptr[i] + np.int64(alone[i]), indptr[i + 1]):
        table[u32(tokens[k] - singles) >> u32(6)] = U(0)
    return written


@inlined
def _skip_below(owners, at, least):
    """The first position from `at` on with an owner of at least `least`; every list ends with NONE."""
    while owners[at] < least:
        at = u32(at + u32(1))
    return at


@inlined
def _list_unmarked(at, end, mark, own_class, owners, limits, marks, candidates, count):
    """Append the owners from `at` on that are below `end`, new, and possible partners; return where the scan stopped.

    Uses no branch to append; `count[0]` is the number of candidates.
    """
    listed = count[0]
    other = owners[at]
    while other < end:
        candidates[listed] = other
        listed += np.int64(marks[other] != mark) & np.int64(own_class <= limits[at])
        marks[other] = mark
        at = u32(at + u32(1))
        other = owners[at]
    count[0] = listed
    return at


@inlined
def _fold(i, signature_starts, signatures, folded):
    """Fold the signature of set i to every length: the one of w words is folded[w:2 * w]."""
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
    """Keep the candidates whose signatures differ in no more bits than the sets may in elements; return their number.

    A candidate is no larger than set i, so its signature is no longer.
    """
    kept = 0
    for c in range(count):
        other = candidates[c]
        start = signature_starts[other]
        width = signature_starts[np.int64(other) + 1] - start
        differing = np.int64(alone[i]) + np.int64(alone[other])
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
        kept += np.int64(differing <= most)
    return kept


@kernel(
    "int64, int64, (int64, int64, int64), (int64[], uint32[], uint32, bool[]), (uint32[], int64[], int64[], "
    "int64[], int64[]), uint32[], (int64[], uint32[], uint64[]), (int64[], uint64[]), (uint32[], uint32[], "
    "uint32[], uint8[]), (uint32[], uint32[], uint64[]), (int32[], int32[], int32[]), int64[], int64[]"
)
def probe_marked(first, last, rule, sets, classes, alone, masks, prints, index, room, out, state, counts):
    """Find the earlier partners of sets first..last-1, for long sets; stops early if `out` could overflow.

    Parameters
    ----------
    rule, sets, classes, out, state, counts : as in exact_plain.probe_plain
    alone, masks : as in exact_encode
    prints : (starts int64[sets + 1], signatures uint64[...])
    index : (cursors uint32[lists], owners uint32[...], limits uint32[...], contained uint8[lists])
    room : (marks uint32[sets], candidates uint32[sets + 1], table uint64[words], all zeros)
    """
    measure, num, den = rule
    indptr, tokens, singles, sides = sets
    class_of, sizes, starts, lowest, probing = classes
    word_starts, words, bits = masks
    signature_starts, signatures = prints
    cursors, owners, limits, contained = index
    marks, candidates, table = room
    left, right, overlaps = out
    span = sets_span(cursors, sides)
    needed, spare = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    longest = largest(probing)
    ends, allowed = np.empty(longest, np.int64), np.empty(longest, np.int64)
    folded, count = np.zeros(2 * LARGEST_SIGNATURE, np.uint64), np.zeros(1, np.int64)
    written, postings, before, i = 0, np.int64(0), np.int64(-1), first
    while i < last:
        c = np.int64(class_of[i])
        low = starts[lowest[c]]
        if written + i - low > left.size:
            break
        count[0] = 0
        if low < i and np.int64(alone[i]) < probing[c]:  # otherwise no token of its prefix occurs in another set
            if c != before:
                before = c
                bound_partners(measure, num, den, sizes, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
            shelf, scanned = shelf_of(sides, i, True, span), NONE
            for place in range(np.int64(alone[i]), probing[c]):
                token = u32(u32(tokens[indptr[i] + place] - singles) + shelf)
                if contained[token] != 0 and u32(token - u32(1)) == scanned:
                    scanned = token  # its list is contained in the one just scanned
                    continue
                at = cursors[token]
                if at == u32(0):
                    continue
                if ends[place] <= low:
                    break
                scanned = token
                at = _skip_below(owners, at, u32(low))
                cursors[token] = at
                end = u32(min(ends[place], i))
                stop = _list_unmarked(at, end, u32(i + 1), u32(c), owners, limits, marks, candidates, count)
                postings += np.int64(stop) - np.int64(at)
        if count[0] > 0:
            counts[SUFFIX] += count[0]
            _fold(i, signature_starts, signatures, folded)
            left_over = _thin(i, count[0], candidates, class_of, alone, spare, signature_starts, signatures, folded)
            counts[SIGNATURE] += left_over
            written = _verify(
                i, left_over, candidates, word_starts, words, bits, class_of, needed, table, written,
                left, right, overlaps
            )  # fmt: skip
        i += 1
    state[NEXT], state[WRITTEN] = i, written
    counts[POSTINGS] += postings
    counts[FOUND] += written


@inlined
def _list_alike(
    at, end, most, lonely, mark, own_class, even, odd, signs, signatures, owners, limits, marks, class_of, alone, spare,
    candidates, count
):  # fmt: skip
    """Append the owners at positions `at` to `end` that pass all filters; return the new number of candidates.

    The signature is checked first, because few pass. One word of it is stored with the posting: it may differ in at
    most `most` bits, which is checked for many postings at once. Of the few left, both words are compared.
    """
    folded = even ^ odd
    for first in range(at, end, NEAR):
        near = near_mask(signatures, first, folded, most)
        if end - first < NEAR:
            near &= (U(1) << U(end - first)) - U(1)
        while near != U(0):
            k = first + trailing_zeros(near)
            near &= near - U(1)
            other = np.int64(owners[k])
            if marks[other] != mark:
                marks[other] = mark
                candidates[count] = other
                differing = lonely + np.int64(alone[other]) + count_ones(signs[INLINE_WORDS * other] ^ even)
                differing += count_ones(signs[INLINE_WORDS * other + 1] ^ odd)
                count += np.int64(own_class <= limits[k]) & np.int64(differing <= spare[class_of[other]])
    return count


@kernel(
    "int64, int64, (int64, int64, int64), (int64[], uint32[], uint32, bool[]), (uint32[], int64[], int64[], "
    "int64[], int64[]), uint32[], uint64[], (uint32[], uint32[], uint32[], uint32[], "
    "uint64[]), (uint32[], uint32[], uint64[]), (int32[], int32[], int32[]), int64[], int64[]"
)
def probe_inline(first, last, rule, sets, classes, alone, signs, index, room, out, state, counts):
    """Find the earlier partners of sets first..last-1, for short sets; stops early if `out` could overflow.

    Parameters
    ----------
    rule, sets, classes, alone, room, out, state, counts : as in probe_marked
    signs : as in exact_encode.sign_short
    index : (cursors, stops uint32[lists], owners, limits uint32[...], signatures uint64[NEAR more than postings])
        `stops` advance to the first posting that is not earlier than the probing set.
    """
    measure, num, den = rule
    indptr, tokens, singles, sides = sets
    class_of, sizes, starts, lowest, probing = classes
    cursors, stops, owners, limits, signatures = index
    marks, candidates, table = room
    span = sets_span(cursors, sides)
    needed, spare = np.empty(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    longest = largest(probing)
    ends, allowed = np.empty(longest, np.int64), np.empty(longest, np.int64)
    written, postings, before, i = 0, np.int64(0), np.int64(-1), first
    while i < last:
        c = np.int64(class_of[i])
        low = starts[lowest[c]]
        if written + i - low > out[0].size:
            break
        if low < i and np.int64(alone[i]) < probing[c]:
            if c != before:
                before = c
                bound_partners(measure, num, den, sizes, starts, c, lowest[c], probing[c], needed, spare, ends, allowed)
            even, odd = signs[INLINE_WORDS * i], signs[INLINE_WORDS * i + 1]
            shelf, lonely, count = shelf_of(sides, i, True, span), np.int64(alone[i]), 0
            for place in range(lonely, probing[c]):
                if ends[place] <= low:
                    break
                token = u32(u32(tokens[indptr[i] + place] - singles) + shelf)
                if cursors[token] == u32(0):
                    continue
                at = _skip_below(owners, cursors[token], u32(low))
                cursors[token] = at
                stop = _skip_below(owners, max(stops[token], at), u32(i))
                stops[token] = stop
                begin, end = np.int64(at), np.int64(stop)
                if ends[place] < i:
                    end = first_from(owners, begin, end, u32(ends[place]))
                postings += end - begin
                if allowed[place] >= lonely:
                    count = _list_alike(
                        begin, end, allowed[place] - lonely, lonely, u32(i + 1), u32(c), even, odd, signs, signatures,
                        owners, limits, marks, class_of, alone, spare, candidates, count
                    )  # fmt: skip
            counts[SIGNATURE] += count
            if count > 0:
                written = _verify_tokens(
                    i, count, candidates, indptr, tokens, singles, alone, class_of, needed, table, written, out
                )
        i += 1
    state[NEXT], state[WRITTEN] = i, written
    counts[POSTINGS] += postings
    counts[FOUND] += written
