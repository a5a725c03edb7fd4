"""Compare the candidates on a cluster; from the results of the tasks, decide which items are removed, or list pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lookalike.candidates.parts import Packing
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pairs import PairStore
from lookalike.errors import ResourceError
from lookalike.matching.batches import Candidates
from lookalike.matching.decisions import BatchDecisions, CollectedDecisions, Links
from lookalike.matching.list_pairs import ListedPart, Listing, ListLimits, take_listed
from lookalike.matching.refine import Refined
from lookalike.matching.tasks import decide_by_pairs, pairs_by_later
from lookalike.spark.comparing import COMPARED, COPIED, OTHER, SETS, FetchPart, compare_sets, send_sets
from lookalike.spark.finding import SplitRuns
from lookalike.spark.parts import InputParts
from lookalike.spark.setup import Setup, adopt, work_of
from lookalike.types import Bool, distinct

DONE = "spark-compared.arrow"
"""A piece that marks all outcomes as complete."""


class Comparison:
    """The candidates of a run, compared by tasks."""

    def __init__(
        self, setup: Setup, run: Run[Settings], parts: InputParts, candidates: Candidates, taken_apart: SplitRuns
    ) -> None:
        self._setup, self._run, self._parts, self._candidates = setup, run, parts, candidates
        self._refined, self._work = taken_apart.refined, work_of(run)
        self._tasks_of, self._cut, self._count = plan_tasks(candidates.packing)
        apart = np.isin(candidates.members, taken_apart.places)
        blocks = distinct(candidates.packing.block_of[apart])
        self._reported = {task for block in blocks.tolist() for task, _ in self._tasks_of[block]}
        """Tasks whose large buckets are the remains of long runs, which have already been reported."""

    def decide(self, *, connected: bool) -> CollectedDecisions:
        """Decide all candidates, part by part; large parts by their verified pairs, in one pass."""
        run, candidates = self._run, self._candidates
        collected = CollectedDecisions(run, candidates, connected=connected)
        collected.take(BatchDecisions(refined=self._refined))
        if connected and any(len(blocks) > 1 for blocks in candidates.packing.batches):
            raise ResourceError(
                "--policy connected: one cluster of candidates does not fit in the memory of a task; increase "
                "--memory, or use --policy direct"
            )
        self._compare(collected.copied, listing=False, connected=connected)
        measure = run.settings.matching.measure
        pairs = PairStore(len(candidates.order), run.settings.execution.budget.sets_bytes, self._work.folder)
        compared = 0
        for task, name in self._outcomes():
            table = self._work.load(name)
            if task not in self._cut:
                decided = BatchDecisions.from_table(table)
                decided.refined = self._report(task, decided.refined)
                collected.take(decided)
                continue
            listed = ListedPart.from_table(table)
            pairs.add(pairs_by_later(listed.similar, measure))
            own = [Links(*listed.own)] if measure.name == "overlap" else []
            collected.take(BatchDecisions(own=own, refined=listed.refined))
            compared += listed.compared + len(listed.similar.left)
        if self._cut:
            links = decide_by_pairs(pairs, len(candidates.order), candidates.references)
            collected.add_links(links, compared)
        return collected

    def list_pairs(self, store: PairStore, limits: ListLimits) -> Listing:
        """List all similar pairs."""
        self._compare(np.zeros(len(self._candidates.order), np.bool_), listing=True)

        def load(task: int, name: str) -> ListedPart:
            listed = ListedPart.from_table(self._work.load(name))
            return listed._replace(refined=self._report(task, listed.refined))

        before = partial(ListedPart.of_nothing, self._refined)
        outcomes = [partial(load, *outcome) for outcome in self._outcomes()]
        return take_listed(self._run, self._candidates, store, [before, *outcomes], limits)

    def _report(self, task: int, refined: Refined) -> Refined:
        return Refined() if task in self._reported else refined

    def _outcomes(self) -> Iterator[tuple[int, str]]:
        """The number of each task that had sets, and the name of its outcome."""
        names = self._work.load(DONE).column("name").to_pylist() if self._work.has(DONE) else []
        for name in sorted(names):
            yield int(name[len(COMPARED[:9]) : -len(".arrow")]), name

    def _compare(self, copied: Bool, *, listing: bool, connected: bool = False) -> None:
        """Send the sets of all candidates to tasks that compare them."""
        run, candidates, count = self._run, self._candidates, self._count
        if not count or self._work.has(DONE):
            return
        cluster = self._setup.cluster(run)
        comparing = self._setup.comparing(run, candidates.corpus)._replace(
            tasks_of=self._tasks_of, cut=self._cut, references=candidates.references, listing=listing,
            connected=connected, two_sided=candidates.second is not None, by_band=candidates.by_band,
        )  # fmt: skip
        with run.progress.stage("comparing", count, "tasks"):
            rows = cluster.map(cluster.tasks(self._by_part(copied)), partial(send_sets, comparing=comparing), SETS)
            rows = cluster.send(rows, "task", count)
            step = partial(compare_sets, comparing=comparing)
            written = cluster.run(rows, step, [1] * count, measured=2)
        adopt(self._work, written, DONE)

    def _by_part(self, copied: Bool) -> list[FetchPart]:
        """The sets that each part of the input has to send."""
        candidates = self._candidates
        items = candidates.order[candidates.members].astype(np.int64)
        by_item = np.argsort(items)
        items, places = items[by_item], candidates.members[by_item]
        flags = np.where(copied[places], COPIED, 0).astype(np.uint8)
        if candidates.second is not None:
            flags |= np.where(items >= candidates.second, OTHER, 0).astype(np.uint8)
        return self._parts.fetching(candidates.corpus, items, places, candidates.packing.block_of[by_item], flags)


def plan_tasks(packing: Packing) -> tuple[list[list[tuple[int, bool]]], frozenset[int], int]:
    """For each block, the tasks that need it; the tasks that compare blocks of a large part; and their total."""
    tasks_of: list[list[tuple[int, bool]]] = [[] for _ in range(packing.blocks)]
    cut: set[int] = set()
    count = 0
    for blocks in packing.batches:
        for later in blocks:
            for earlier in range(blocks.start, later + 1):
                tasks_of[later].append((count, False))
                if earlier < later:
                    tasks_of[earlier].append((count, True))
                if len(blocks) > 1:
                    cut.add(count)
                count += 1
    return tasks_of, frozenset(cut), count
