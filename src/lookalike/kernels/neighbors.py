"""The exact k nearest sets of each set: posting lists are scanned from rare to common, pruned by the best so far.

Sets are those of `types.Numbered`: ordered by size (sets of one size in input order), with tokens by ascending
frequency. A posting list holds the sets that contain a token, ordered by size, then by the token's position in the set,
then by input order. If a set is first met at position p of the n tokens of the probing set, where the token has
position q among the set's own m tokens, the two share at most min(n - p, m - q) tokens. So for each size it is enough
to read the head of the list, and the scan ends when n - p tokens are too few.

Tokens below `singles` occur in a single set and have no list.
"""

import numpy as np

from lookalike.kernels.best import compare, entry_bar, put_in, take_out
from lookalike.kernels.compile import bare, bare_kernel, kernel
from lookalike.kernels.hashing import U
from lookalike.kernels.machine import count_ones
from lookalike.kernels.sets import needed_overlap
from lookalike.kernels.sorting import first_from

SIGN_WORDS = 2
"""The number of 64-bit words in a signature: bit t mod 128 is the parity of the number of tokens t in the set."""
VERIFY_COST = 8
"""The cost of comparing two sets, in steps of counting; with signatures, most are never compared."""


@kernel("int64[], uint32[], int64 -> (int64[], uint32[], uint64[])")
def encode_sets(indptr, tokens, singles):
    """Encode sets as 64-bit masks of consecutive tokens, so that an overlap takes a few bit counts.

    Returns
    -------
    starts : int64[sets + 1]
    words : uint32[...]
        The number token // 64 of each mask.
    masks : uint64[...]
    """
    starts = np.zeros(indptr.size, np.int64)
    for i in range(indptr.size - 1):
        last, count = np.int64(-1), starts[i]
        for k in range(indptr[i], indptr[i + 1]):
            word = np.int64(tokens[k]) >> 6
            count += (tokens[k] >= singles) & (word != last)
            last = word if tokens[k] >= singles else last
        starts[i + 1] = count
    words, masks = np.empty(starts[-1], np.uint32), np.zeros(starts[-1], np.uint64)
    for i in range(indptr.size - 1):
        at, last = starts[i] - 1, np.int64(-1)
        for k in range(indptr[i], indptr[i + 1]):
            if tokens[k] < singles:
                continue
            word = np.int64(tokens[k]) >> 6
            at += word != last
            last = word
            words[at] = word
            masks[at] |= U(1) << U(tokens[k] & 63)
    return starts, words, masks


@kernel("int64[], uint32[] -> uint64[,]")
def sign_sets(indptr, tokens):
    """Sign each set, uint64[sets, SIGN_WORDS]: signatures differ in no more bits than the sets differ in tokens."""
    signs = np.zeros((indptr.size - 1, SIGN_WORDS), np.uint64)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            signs[i, (tokens[k] >> 6) & (SIGN_WORDS - 1)] ^= U(1) << U(tokens[k] & 63)
    return signs


@kernel("int64[], uint32[], int64, int64, bool[], int64[] -> (int64[], uint32[], uint32[])")
def list_postings(indptr, tokens, distinct, singles, indexed, first_of_size):
    """Build the posting lists of the sets that are `indexed`.

    Parameters
    ----------
    indexed : bool[sets]
    first_of_size : int64[largest + 2]
        The first set with at least that many tokens.

    Returns
    -------
    starts : int64[distinct + 1]
    numbers : uint32[...]
        The sets.
    positions : uint32[...]
        The position of the token in the set.
    """
    starts = np.zeros(distinct + 1, np.int64)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            starts[np.int64(tokens[k]) + 1] += indexed[i] & (tokens[k] >= singles)
    for token in range(distinct):
        starts[token + 1] += starts[token]
    cursor = starts[:-1].copy()
    numbers, positions = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.uint32)
    for m in range(1, first_of_size.size - 1):
        for q in range(m if first_of_size[m] < first_of_size[m + 1] else 0):
            for i in range(first_of_size[m], first_of_size[m + 1]):
                token = tokens[indptr[i] + q]
                if indexed[i] and token >= singles:
                    numbers[cursor[token]], positions[cursor[token]] = i, q
                    cursor[token] += 1
    return starts, numbers, positions


@bare
def _group_end(numbers, low, high, border):
    """Where the sets below `border` end, searching upwards from `low`."""
    step = np.int64(1)
    while low + step < high and numbers[low + step] < border:
        low += step
        step *= 2
    return first_from(numbers, low, min(high, low + step), border)


@bare
def _group_begin(numbers, low, high, border):
    """Where the sets from `border` on begin, searching downwards from `high`."""
    step = np.int64(1)
    while high - step > low and numbers[high - step] >= border:
        high -= step
        step *= 2
    return first_from(numbers, max(low, high - step), high, border)


@bare
def _next_position(positions, low, high):
    """The first entry of a group after those with the same position as entry `low`."""
    position, step = positions[low], np.int64(1)
    while low + step < high and positions[low + step] == position:
        low += step
        step *= 2
    return first_from(positions, low, min(high, low + step), position + 1)


@bare
def _count_masks(other, sets, table):
    """The number of tokens of another set that are in the table, from its masks."""
    word_starts, words, masks = sets[2], sets[3], sets[4]
    overlap = np.int64(0)
    for k in range(word_starts[other], word_starts[other + 1]):
        overlap += count_ones(table[words[U(k)]] & masks[U(k)])
    return overlap


@bare
def _count_tokens(other, sets, table):
    """Like `_count_masks`, token by token: for a small set, that reads one cache line instead of two or three."""
    indptr, tokens = sets[0], sets[1]
    overlap = U(0)
    for k in range(indptr[other], indptr[other + 1]):
        overlap += (table[tokens[U(k)] >> 6] >> U(tokens[U(k)] & 63)) & U(1)
    return np.int64(overlap)


@bare
def _scan_group(at, end, n, m, left, stamp, own, sets, index, rule, work, filled):
    """Scan the sets of one size m in a list; `left` tokens of the probing set remain."""
    numbers, positions, signs, ranks = index[1], index[2], index[3], sets[5]
    mark, table, heap = work[0], work[3], work[4]
    signed = signs.size > 0
    needed, tied = entry_bar(rule, n, m, heap, filled)
    spread = n + m - 2 * needed  # the largest number of elements in which the sets may differ
    while at < end and left >= needed and m - np.int64(positions[U(at)]) >= needed:
        if signed and count_ones(own[0] ^ signs[U(2 * at)]) + count_ones(own[1] ^ signs[U(2 * at + 1)]) > spread:
            at += 1
            continue
        other = np.int64(numbers[at])
        if tied and min(left, m - np.int64(positions[at])) == needed and ranks[other] >= heap[0, 2]:
            at = _next_position(positions, at, end)  # the others come later in the input
            continue
        at += 1
        if mark[other] == stamp:
            continue
        mark[other] = stamp
        overlap = _count_tokens(other, sets, table) if signed else _count_masks(other, sets, table)
        if overlap < needed or (tied and overlap == needed and ranks[other] >= heap[0, 2]):
            continue
        filled = put_in(rule[0], n, heap, filled, overlap, m, ranks[other], other)
        needed, tied = entry_bar(rule, n, m, heap, filled)
        spread = n + m - 2 * needed
    return filled


@bare
def _walk_list(token, n, left, stamp, own, sets, index, rule, work, filled):
    """Scan a list from the size of the probing set upwards, then downwards: sets of similar size come first."""
    indptr, first_of_size, starts, numbers, heap = sets[0], sets[6], index[0], index[1], work[4]
    low, high = starts[token], starts[np.int64(token) + 1]
    middle = first_from(numbers, low, high, first_of_size[n])
    at, upwards = middle, True
    while at > low or upwards:
        if upwards and at >= high:
            at, upwards = middle, False
            continue
        some = np.int64(numbers[at if upwards else at - 1])
        m = indptr[some + 1] - indptr[some]
        needed = entry_bar(rule, n, m, heap, filled)[0]
        if upwards and needed > left:
            at = high  # larger sets need at least as large an overlap
            continue
        if not upwards and needed > m:
            break  # smaller sets have even fewer tokens
        begin = at if upwards else _group_begin(numbers, low, at, first_of_size[m])
        end = _group_end(numbers, at, high, first_of_size[m + 1]) if upwards else at
        filled = _scan_group(begin, end, n, m, left, stamp, own, sets, index, rule, work, filled)
        at = end if upwards else begin
    return filled


@bare
def _count_lists(first, last, n, stamp, sets, index, rule, work, filled):
    """Count the tokens that each unseen set shares with tokens[first:last], and offer all of these sets to the heap.

    For sets skipped before, the count is too low; but even their true overlap would not get them into the heap.
    """
    indptr, tokens, ranks, starts, numbers = sets[0], sets[1], sets[5], index[0], index[1]
    mark, counts, touched, _, heap = work
    found = np.int64(0)
    for k in range(first, last):
        for at in range(starts[tokens[k]], starts[np.int64(tokens[k]) + 1]):
            other = numbers[U(at)]
            touched[U(found)] = other
            found += counts[other] == 0
            counts[other] += np.uint32(1)
    for place in range(found):
        other = np.int64(touched[place])
        overlap, m = np.int64(counts[other]), indptr[other + 1] - indptr[other]
        counts[other] = 0
        if mark[other] != stamp and _gets_in(rule, n, overlap, m, ranks[other], heap, filled):
            filled = put_in(rule[0], n, heap, filled, overlap, m, ranks[other], other)
    return filled


@bare
def _gets_in(rule, n, overlap, m, rank, heap, filled):
    measure, num, den = rule
    if filled == heap.shape[0]:
        order = compare(measure, n, overlap, m, heap[0, 0], heap[0, 1])
        if order < 0 or (order == 0 and rank > heap[0, 2]):
            return False
    return num == 0 or overlap >= needed_overlap(measure, num, den, n, m)


@bare
def _postings(token, starts):
    return starts[np.int64(token) + 1] - starts[token]


@bare
def _search(first, n, stamp, own, sets, index, rule, work):
    """Fill the heap with the nearest sets of the set tokens[first:first + n]; return their number."""
    tokens, starts, heap = sets[1], index[0], work[4]
    rest = np.int64(0)  # postings from here up to the last token
    for k in range(first, first + n):
        rest += _postings(tokens[k], starts)
    cost = 1 if index[3].size > 0 else VERIFY_COST
    walk, last, filled, position = rest, n, np.int64(0), np.int64(0)
    while True:
        # a set that shares only the tokens from here on is most similar if it contains no others
        while last > position and entry_bar(rule, n, n - last + 1, heap, filled)[0] > n - last + 1:
            last -= 1
            walk -= _postings(tokens[first + last], starts)
        if position >= last:
            return filled
        if filled == heap.shape[0] and walk * cost > rest:
            return _count_lists(first + position, first + n, n, stamp, sets, index, rule, work, filled)
        token = tokens[first + position]
        postings = _postings(token, starts)
        if postings > 0:
            filled = _walk_list(token, n, n - position, stamp, own, sets, index, rule, work, filled)
        walk, rest, position = walk - postings, rest - postings, position + 1


@bare
def _set_table(first, n, tokens, table, on):
    for k in range(first, first + n):
        word = table[tokens[k] >> 6] | (U(1) << U(tokens[k] & 63))
        table[tokens[k] >> 6] = word if on else U(0)


@bare_kernel(
    "int64, int64[], (int64[], uint32[], int64[], uint32[], uint64[], int64[], int64[], uint64[,]), (int64[], "
    "uint32[], uint32[], uint64[]), (int64, int64, int64), (uint32[], uint32[], uint32[], uint64[], "
    "int64[,]), int64[], uint32[], uint32[] -> (int64, int64)"
)
def find_nearest(at, probes, sets, index, rule, work, found, neighbours, overlaps):
    """Find the nearest sets of probes[at:], until `neighbours` might overflow.

    Parameters
    ----------
    probes : int64[...]
    sets : (indptr, tokens, word_starts, words, masks, ranks, first_of_size, set_signs)
        The masks are needed only without signatures. ranks : int64[sets], positions in the input; set_signs :
        uint64[sets, SIGN_WORDS], or empty.
    index : (starts, numbers, positions, signs)
        As list_postings returns them; signs : uint64[SIGN_WORDS * entries], the signature of each entry, or empty.
    rule : (measure, num, den); num = 0 means no threshold
    work : (mark, counts, touched, table, heap)
        mark : uint32[sets], without any probe's number + 1; counts : uint32[sets], zero; touched : uint32[sets + 1];
        table : uint64[distinct // 64 + 1], zero; heap : int64[k, 4]
    found : int64[probes]
        Receives the number of neighbours of each probe.
    neighbours, overlaps : uint32[k or more]
        Receive the neighbours, best first.

    Returns
    -------
    (at, written) : the next probe, and the number of neighbours written
    """
    indptr, tokens, set_signs, mark, table, heap = sets[0], sets[1], sets[7], work[0], work[3], work[4]
    written = np.int64(0)
    own = (U(0), U(0))
    while at < probes.size and written + heap.shape[0] <= neighbours.size:
        probe = probes[at]
        n = indptr[probe + 1] - indptr[probe]
        mark[probe] = np.uint32(probe + 1)
        if set_signs.shape[0] > 0:
            own = set_signs[probe, 0], set_signs[probe, 1]
        _set_table(indptr[probe], n, tokens, table, True)
        filled = _search(indptr[probe], n, np.uint32(probe + 1), own, sets, index, rule, work)
        _set_table(indptr[probe], n, tokens, table, False)
        take_out(rule[0], n, heap, filled, neighbours, overlaps, written)
        found[at] = filled
        written += filled
        at += 1
    return at, written
