"""Which segments to merge: often enough to keep their number small, but so rarely that items are not copied often."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 4
"""A tier holds segments of up to this many times the size of the tier below, and fewer than this many of them."""


def merge_groups(sizes: Sequence[int], everything: bool = False, most: int | None = None) -> list[list[int]]:
    """Consecutive segments that become one; order is kept, since it breaks ties between equally similar items.

    An item is copied once per tier, and there are fewer than WIDTH segments in each: both grow with the logarithm.
    Segments stay as they are when they are so large that WIDTH of them would have more than `most` items.

    Examples
    --------
    >>> merge_groups([1000, 10, 10, 10])
    [[0], [1], [2], [3]]
    >>> merge_groups([1000, 10, 10, 10, 10])
    [[0], [1, 2, 3, 4]]
    >>> merge_groups([1000, 10, 10, 10, 10], most=30)
    [[0], [1], [2], [3], [4]]
    >>> merge_groups([5, 9], everything=True)
    [[0, 1]]
    """
    if everything:
        return [list(range(len(sizes)))] if sizes else []
    large = [place for place, size in enumerate(sizes) if most is not None and WIDTH * size > most]
    start = large[-1] + 1 if large else 0
    groups = [([place], size) for place, size in enumerate(sizes)]
    before, groups = groups[:start], groups[start:]
    while (first := _crowded(groups)) is not None:
        tail = groups[first:]
        groups[first:] = [([place for group, _ in tail for place in group], sum(size for _, size in tail))]
    return [group for group, _ in before + groups]


def _crowded(groups: list[tuple[list[int], int]]) -> int | None:
    """Where the last WIDTH segments of one tier, and smaller ones after them, start; for the lowest such tier."""
    for tier in range(64):
        start, count = len(groups), 0
        while start and (found := _tier(groups[start - 1][1])) <= tier:
            start -= 1
            count += found == tier
        if count >= WIDTH:
            return start
    return None


def _tier(size: int) -> int:
    """How many times the size can be divided by WIDTH."""
    tier = 0
    while size >= WIDTH:
        size //= WIDTH
        tier += 1
    return tier
