from __future__ import annotations

import random
from typing import Any

import pytest

from lookalike.engine.block_order import interleave, map_blocks
from lookalike.engine.workers import Workers


class Block:
    """As much of a block as its order depends on."""

    def __init__(self, group: int | None, exclusive: bool = False) -> None:
        self.group = group
        self.exclusive = exclusive


def blocks_of(sizes: list[int]) -> list[tuple[Any, ...]]:
    return [(Block(group), number) for group, size in enumerate(sizes) for number in range(size)]


@pytest.mark.parametrize("lanes", [1, 2, 5])
@pytest.mark.parametrize("most", [0, 3, 10, 1000])
def test_every_job_comes_once_and_not_too_early(lanes: int, most: int) -> None:
    draw = random.Random(lanes * most)
    jobs = blocks_of([draw.randint(1, 9) for _ in range(20)])
    order = [number for number, *_ in interleave(jobs, lanes, most)]
    assert sorted(order) == list(range(len(jobs)))
    done: set[int] = set()
    for number in order:
        unfinished = min(set(range(len(jobs))) - done)
        assert number - unfinished <= max(0, most)
        done.add(number)
    if lanes > 1 and most > 20:
        assert order != sorted(order)


def test_row_groups_take_turns() -> None:
    groups = [job[1].group for job in interleave(blocks_of([3, 3, 3]), 2, 100)]
    assert groups == [0, 1, 0, 1, 0, 1, 2, 2, 2]


def test_blocks_without_a_row_group_and_large_ones_stay_in_place() -> None:
    jobs: list[tuple[Any, ...]] = [*blocks_of([2, 2]), (Block(None),), *blocks_of([2]), (Block(9, exclusive=True),)]
    order = [number for number, *_ in interleave([*jobs, *blocks_of([2, 2])], 4, 100)]
    assert order == [0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11]


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_in_the_order_of_the_jobs(threads: int) -> None:
    jobs = blocks_of([4, 1, 7, 2, 2])
    with Workers(threads) as workers:
        found = list(map_blocks(workers, lambda job: (job[0].group, job[1]), jobs, 4, 100))
    assert found == [(block.group, number) for block, number in jobs]
