"""The order in which blocks are processed. Results come in input order; blocks that share a decoder are kept apart.

The blocks of a Parquet row group share a decoder, which only one thread can advance at a time. So the blocks of several
row groups take turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

from lookalike.engine.workers import Workers, is_alone

Made = TypeVar("Made")
Job = tuple[Any, ...]
"""A task for a block, which is one of the elements."""


def map_blocks(
    workers: Workers, function: Callable[[Any], Made], jobs: Iterable[Job], ahead: int, most: int
) -> Iterator[Made]:
    """Apply the function to each job, and yield the results in the order of the jobs.

    Parameters
    ----------
    ahead
        The largest number of jobs in progress.
    most
        The largest number of blocks waiting for their turn.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     list(map_blocks(workers, len, [("a",), ("b", "c")], 4, 8))
    [1, 2]
    """

    def work(numbered: Job) -> tuple[int, Made]:
        return numbered[0], function(numbered[1:])

    taking_turns = interleave(jobs, workers.threads, most)
    waiting: dict[int, Made] = {}
    expected = 0
    for number, made in workers.map(work, taking_turns, ahead):
        waiting[number] = made
        del made  # so that it can be freed before the next one is waited for
        while expected in waiting:
            yield waiting.pop(expected)
            expected += 1


def interleave(jobs: Iterable[Job], lanes: int, most: int) -> Iterator[Job]:
    """Number the jobs and reorder them, so that those of up to `lanes` row groups take turns.

    No job is moved in front of another that precedes it by `most` or more in the original order. Jobs whose block
    belongs to no row group, or must be alone in memory, stay in place.

    Examples
    --------
    >>> class Block:
    ...     def __init__(self, group):
    ...         self.group = group
    >>> jobs = [(Block(name),) for name in "aaabbc"]
    >>> [(number, block.group) for number, block in interleave(jobs, 2, 10)]
    [(0, 'a'), (3, 'b'), (1, 'a'), (4, 'b'), (2, 'a'), (5, 'c')]
    """
    active: deque[deque[Job]] = deque()
    numbered = ((number, *job) for number, job in enumerate(jobs))
    for group, some in groupby(numbered, _row_group):
        if group is None:
            yield from _take_turns(active)
            yield from some
            continue
        upcoming = deque(some)
        while active and (len(active) == lanes or upcoming[-1][0] - min(lane[0][0] for lane in active) >= most):
            yield _next_turn(active)
        active.append(upcoming)
    yield from _take_turns(active)


def _row_group(job: Job) -> object:
    """The row group whose decoder a job needs; None if there is none, or if nothing may be decoded at the same time."""
    if is_alone(job):
        return None
    return next((group for part in job if (group := getattr(part, "group", None)) is not None), None)


def _take_turns(lanes: deque[deque[Job]]) -> Iterator[Job]:
    while lanes:
        yield _next_turn(lanes)


def _next_turn(lanes: deque[deque[Job]]) -> Job:
    lane = lanes.popleft()
    job = lane.popleft()
    if lane:
        lanes.append(lane)
    return job
