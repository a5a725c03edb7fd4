"""Find all similar pairs between a small sample of sets and any number of other sets, in one pass over the latter."""

import numpy as np

from lookalike.kernels.compile import inlined, kernel
from lookalike.kernels.hashing import LARGEST, U
from lookalike.kernels.sets import needed_overlap


@inlined
def _home(keys, element):
    """The slot of an element in the table of keys, or the empty slot where it would go."""
    at = np.int64(element & U(keys.size - 1))
    while keys[at] != LARGEST and keys[at] != element:
        at = (at + 1) & (keys.size - 1)
    return at


@kernel("int64[], uint64[] -> (uint64[], int64[], int32[])")
def index_sample(indptr, elements):
    """Build an index from elements to the sampled sets that contain them: (keys, starts, owners).

    keys : uint64[slots]
        An open-addressing table; LARGEST marks an empty slot.
    starts : int64[slots + 1]
        Element keys[s] is in the sets owners[starts[s]:starts[s + 1]].
    owners : int32[all elements]
    """
    slots = np.int64(8)
    while slots < 2 * elements.size:
        slots *= 2
    keys = np.empty(slots, np.uint64)
    for s in range(slots):
        keys[s] = LARGEST
    starts = np.zeros(slots + 1, np.int64)
    for e in range(elements.size):
        at = _home(keys, elements[e])
        keys[at] = elements[e]
        starts[at + 1] += 1
    for s in range(slots):
        starts[s + 1] += starts[s]
    owners = np.empty(elements.size, np.int32)
    cursor = starts[:-1].copy()
    for row in range(indptr.size - 1):
        for e in range(indptr[row], indptr[row + 1]):
            at = _home(keys, elements[e])
            owners[cursor[at]] = row
            cursor[at] += 1
    return keys, starts, owners


@inlined
def _longer(values):
    longer = np.empty(2 * values.size, values.dtype)
    for i in range(values.size):
        longer[i] = values[i]
    return longer


@kernel("uint64[], int64[], int32[], int64[], int64[], uint64[], int64, int64, int64 -> (int32[], int64[], int64[])")
def find_similar(keys, starts, owners, sample_sizes, indptr, elements, measure, num, den):
    """Find the similar pairs (sampled set, row) between all sampled sets and the rows of a batch.

    For containment, either may be contained in the other.

    Returns
    -------
    (samples, rows, shared) : int32[pairs], int64[pairs], int64[pairs]
        `shared` is the overlap of each pair.
    """
    overlaps = np.zeros(sample_sizes.size, np.int64)
    touched = np.empty(sample_sizes.size, np.int32)
    samples, rows, shared = np.empty(1024, np.int32), np.empty(1024, np.int64), np.empty(1024, np.int64)
    found = 0
    for row in range(indptr.size - 1):
        size = indptr[row + 1] - indptr[row]
        count = 0
        for e in range(indptr[row], indptr[row + 1]):
            at = _home(keys, elements[e])
            for k in range(starts[at], starts[at + 1]):
                owner = owners[k]
                if overlaps[owner] == 0:
                    touched[count] = owner
                    count += 1
                overlaps[owner] += 1
        for k in range(count):
            owner = touched[k]
            other = sample_sizes[owner]
            needed = min(needed_overlap(measure, num, den, size, other), needed_overlap(measure, num, den, other, size))
            if overlaps[owner] >= needed:
                if found == samples.size:
                    samples, rows, shared = _longer(samples), _longer(rows), _longer(shared)
                samples[found], rows[found], shared[found] = owner, row, overlaps[owner]
                found += 1
            overlaps[owner] = 0
    return samples[:found].copy(), rows[:found].copy(), shared[:found].copy()
