"""A session, and how the work of a run is cut into tasks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.engine.corpus import Corpus
from lookalike.engine.memory import LEAST_BYTES, Budget
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.work import WorkFolder
from lookalike.spark.cluster import Cluster, count_slots
from lookalike.spark.comparing import Comparing
from lookalike.spark.keys import LONG_RUN
from lookalike.spark.pieces import Written
from lookalike.types import Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART_BYTES = 32 << 20
"""The size of a part of the input: about a second of work for a task."""
LEAST_PART_BYTES = 2 << 20
"""Smaller parts cost more to start than to read."""
JOINED_BYTES = 64 << 20
"""Keys that one task joins."""
KEY_BYTES = 12
"""A key and its row."""
COMPARED_BYTES = 64 << 20
"""Sets that are packed together for one task; a connected part with more is a task of its own."""
LEAST_COMPARED_BYTES = 4 << 20


@dataclass(frozen=True)
class Sizes:
    """The sizes of tasks; tests use smaller ones. No result depends on them."""

    part_bytes: int = PART_BYTES
    least_part_bytes: int = LEAST_PART_BYTES
    joined_bytes: int = JOINED_BYTES
    compared_bytes: int = COMPARED_BYTES
    least_compared_bytes: int = LEAST_COMPARED_BYTES
    long_run: int = LONG_RUN
    task_sets_bytes: int | None = None
    """The most sets that a task can hold; by default what its memory allows."""
    union_bytes: int | None = None
    """The memory for union-find on the driver; by default what its memory allows."""

    def input_bytes(self, total_bytes: int, slots: int) -> int:
        """The size of a part of the input: small enough for two tasks in each slot."""
        return min(self.part_bytes, max(self.least_part_bytes, total_bytes // (2 * slots)))

    def sets_bytes(self, total_bytes: int, slots: int) -> int:
        """The same for sets that are compared."""
        return min(self.compared_bytes, max(self.least_compared_bytes, total_bytes // (2 * slots)))

    def key_partitions(self, keys: int, slots: int = 1) -> int:
        """How many tasks join this many keys: one per slot if that is worthwhile, more if a task would get too many."""
        nbytes = keys * KEY_BYTES
        return min(1 << 16, max(1, min(slots, -(-nbytes // LEAST_PART_BYTES)), -(-nbytes // self.joined_bytes)))


class Setup:
    """A session on a master; stages exchange data through the work folder of the run, which all machines share."""

    def __init__(self, session: SparkSession, master: str, sizes: Sizes) -> None:
        self.session, self.master, self.sizes = session, master, sizes
        self.tags: list[str] = []
        """Of the jobs of this run."""

    @cached_property
    def slots(self) -> int:
        """About how many tasks run at the same time."""
        return count_slots(self.session)

    def cluster(self, run: Run[Settings]) -> Cluster:
        """A cluster that runs tasks and reports their progress to the run."""
        return Cluster(self.session, work_of(run).folder.resolve(), run.progress, self.tags)

    def task_budget(self, run: Run[Settings]) -> Budget:
        """The memory of one task: that of the run, shared by the tasks of this machine if they all run on it."""
        total = run.settings.execution.budget.total_bytes
        if self.master.startswith("local"):
            total = max(LEAST_BYTES, total // self.slots)
        return Budget.split(total)

    def comparing(self, run: Run[Settings], corpus: Corpus) -> Comparing:
        """What the tasks that read items again need."""
        execution = replace(run.settings.execution, threads=1, budget=self.task_budget(run))
        items = corpus.settings
        memory = execution.budget.item_memory(items.shingling.bag, items.characters)
        settings = replace(run.settings, execution=execution)
        wanted = Wanted(items.column, (), items.skip_errors)
        return Comparing(str(work_of(run).folder.resolve()), settings, wanted, memory)


def work_of(run: Run[Settings]) -> WorkFolder:
    """The work folder of a run, which it must have."""
    assert run.work is not None
    return run.work


def adopt(work: WorkFolder, written: list[Written], name: str) -> None:
    """Record the pieces of a complete stage, and that they are complete in a piece of this name."""
    for one in sorted(written):
        work.adopt(*one)
    work.save(name, pa.table({"name": pa.array([one.name for one in written], pa.string())}))
