"""The stages of a job on Spark. See `lookalike.matching.stages.Stages`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.parts import Packing, connected_parts, pack_parts
from lookalike.engine.corpus import Corpus, make_corpus
from lookalike.engine.digest import DigestSettings
from lookalike.engine.forecast import count_items
from lookalike.engine.memory import LEAST_BYTES, Budget
from lookalike.engine.run import Run
from lookalike.engine.settings import ItemSettings, Settings
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import Digests
from lookalike.engine.stores.pairs import PairStore
from lookalike.engine.stores.sets import SetStore
from lookalike.engine.stores.work import WorkFolder
from lookalike.errors import ResourceError, UsageError
from lookalike.matching.batches import Candidates, name_member, set_bytes
from lookalike.matching.decisions import BatchDecisions, CollectedDecisions, Links
from lookalike.matching.find import collapse_copies, places_of
from lookalike.matching.join import JoinOptions
from lookalike.matching.list_pairs import ListedPart, Listing, ListLimits, take_listed
from lookalike.matching.pair_graph import PairGraph
from lookalike.matching.tasks import decide_by_pairs, pairs_by_later
from lookalike.spark.cluster import Cluster
from lookalike.spark.comparing import COMPARED, COPIED, OTHER, SETS, Comparing, FetchPart, compare_sets, send_sets
from lookalike.spark.metrics import measure_stages
from lookalike.spark.parts import InputParts
from lookalike.spark.pieces import Written
from lookalike.spark.reading import BUCKETS, KEYS, Reading, join_keys, load_buckets, read_parts
from lookalike.spark.writing import KeptPart, KeptSource, join_parts, write_parts
from lookalike.types import Bool, Buckets, Int32, Int64, Source, Wanted, total_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART_BYTES = 32 << 20
"""The size of a part of the input: a task takes about a second for it."""
LEAST_PART_BYTES = 2 << 20
"""Smaller parts cost more to start than to read."""
JOINED_BYTES = 64 << 20
"""Keys that one task joins."""
KEY_BYTES = 12
"""A key and its row."""
COMPARED_BYTES = 64 << 20
"""Sets that are packed together for one task; a connected part with more is a task of its own."""
LEAST_COMPARED_BYTES = 4 << 20
READ = "spark-read.arrow"
DONE = "spark-compared.arrow"
"""Pieces that say that all pieces of a stage are there."""


@dataclass(frozen=True)
class Sizes:
    """How work is cut into tasks; tests make smaller ones. No result depends on them."""

    part_bytes: int = PART_BYTES
    least_part_bytes: int = LEAST_PART_BYTES
    joined_bytes: int = JOINED_BYTES
    compared_bytes: int = COMPARED_BYTES
    least_compared_bytes: int = LEAST_COMPARED_BYTES
    task_sets_bytes: int | None = None
    """The most sets that a task can hold; by default what its memory allows."""


class SparkStages:
    """Reads, compares and writes on a cluster; what is between the stages is in the work folder, which all share."""

    name = "spark"
    saves_graph = False

    def __init__(self, session: SparkSession, master: str, sizes: Sizes | None = None) -> None:
        self._session, self._master, self._sizes = session, master, sizes or Sizes()
        self._input: InputParts | None = None

    @property
    def _parts(self) -> InputParts:
        assert self._input is not None
        return self._input

    def _cluster(self, run: Run[Settings]) -> Cluster:
        return Cluster(self._session, self._work(run).folder.resolve(), run.progress)

    @staticmethod
    def _work(run: Run[Settings]) -> WorkFolder:
        assert run.work is not None
        return run.work

    def _task_budget(self, run: Run[Settings]) -> Budget:
        """The memory of one task: that of the run, shared by the tasks of this machine if they all run on it."""
        total = run.settings.execution.budget.total_bytes
        if self._master.startswith("local"):
            total = max(LEAST_BYTES, total // Cluster(self._session, Path(), run.progress).slots)
        return Budget.split(total)

    def _task_settings(self, run: Run[Settings]) -> Settings:
        execution = replace(run.settings.execution, threads=1, budget=self._task_budget(run))
        return replace(run.settings, execution=execution)

    def read(
        self,
        run: Run[Settings],
        sources: list[Source],
        settings: ItemSettings,
        digesting: DigestSettings,
        *,
        rank_column: str | None = None,
        references: int = 0,
    ) -> Corpus:
        """Read and digest all items, and join their keys."""
        cluster, work = self._cluster(run), self._work(run)
        sizes = self._sizes
        nbytes = min(sizes.part_bytes, max(sizes.least_part_bytes, total_bytes(sources) // (2 * cluster.slots)))
        self._input = InputParts(sources, settings, rank_column, references, nbytes)
        if not work.has(READ):
            items, _ = count_items(sources)
            partitions = max(1, min(cluster.slots, -(-items * digesting.bands * KEY_BYTES // LEAST_PART_BYTES)))
            partitions = max(partitions, -(-items * digesting.bands * KEY_BYTES // self._sizes.joined_bytes))
            memory = self._task_budget(run).item_memory(settings.shingling.bag, settings.characters)
            reading = Reading(str(cluster.folder), digesting, min(partitions, 1 << 16), memory)
            rows = cluster.map(cluster.tasks(self._input.parts), partial(read_parts, reading=reading), KEYS)
            rows = cluster.send(rows, "partition", reading.partitions)
            step = partial(join_keys, folder=reading.folder, bands=digesting.bands)
            written = cluster.run(rows, step, "digests-", [part.source.nbytes for part in self._input.parts])
            self._adopt(work, written, READ)
        digests = Digests(0, work)
        self._input.take_digests(work, digests)
        return make_corpus(sources, settings, digesting, digests)

    def _adopt(self, work: WorkFolder, written: list[Written], name: str) -> None:
        """All pieces of a stage are there: record them, and that they are all."""
        for one in sorted(written):
            work.adopt(*one)
        work.save(name, pa.table({"name": pa.array([one.name for one in written], pa.string())}))

    def find(
        self,
        run: Run[Settings],
        corpus: Corpus,
        order: Int32,
        *,
        references: int = 0,
        second: int | None = None,
        by_band: bool = False,
    ) -> Candidates:
        """Collapse copies, connect what shares a bucket, and pack it into tasks."""
        budget = run.settings.execution.budget
        budget.check_items(len(corpus))
        work, lsh = self._work(run), run.settings.matching.method == "lsh"
        with run.progress.stage("connecting"):
            place_of = places_of(order, len(corpus))
            ranges = budget.joining_ranges(len(order), run.workers.threads)
            first = collapse_copies(corpus.digests, place_of, len(order), ranges, second)
            distinct = first == np.arange(len(order))
            place_of[order[~distinct]] = -1
            if lsh:
                members, part_of = self._connect(work, place_of, len(order))
            else:  # exact methods compare everything with everything
                members, part_of = np.flatnonzero(distinct), np.zeros(len(order), np.int32)
            packing = self._pack(run, corpus, order, members, part_of, by_band)
        reference_places = int(np.searchsorted(order >= references, True))
        nothing = BucketStore(None), members, packing, SetStore(0, "sets")
        return Candidates(corpus, order, reference_places, first, *nothing, second, by_band)

    def _connect(self, work: WorkFolder, place_of: Int32, places: int) -> tuple[Int64, Int32]:
        """The places that are in some bucket; and for each place the part that it is connected to."""
        starts = self._parts.starts
        inside = np.zeros(places, np.bool_)

        def buckets() -> Iterator[Buckets]:
            for name in work.load(READ).column("name").to_pylist():
                if name.startswith(BUCKETS[:8]):
                    found = load_buckets(work.load(name), starts, place_of)
                    inside[found.members] = True
                    yield found

        part_of = connected_parts(buckets(), places)
        return np.flatnonzero(inside), part_of

    def _pack(
        self, run: Run[Settings], corpus: Corpus, order: Int32, members: Int64, part_of: Int32, by_band: bool
    ) -> Packing:
        if not len(members):
            return Packing(np.empty(0, np.int32), [])
        bands = corpus.digesting.bands
        nbytes = set_bytes(corpus, order[members], 1 if by_band or not bands else bands)
        sizes, slots = self._sizes, Cluster(self._session, Path(), run.progress).slots
        goal = min(sizes.compared_bytes, max(sizes.least_compared_bytes, int(nbytes.sum()) // (2 * slots)))
        limit = sizes.task_sets_bytes or self._task_budget(run).sets_bytes
        return pack_parts(part_of[members], nbytes, limit, partial(name_member, corpus, order, members), goal)

    def decide(
        self,
        run: Run[Settings],
        candidates: Candidates,
        policy: str,
        graph: PairGraph | None,  # noqa: ARG002
    ) -> CollectedDecisions:
        """Decide all candidates, part by part; large parts by their verified pairs, in one pass."""
        connected = policy == "connected"
        collected = CollectedDecisions(run, candidates, connected=connected)
        if connected and any(len(blocks) > 1 for blocks in candidates.packing.batches):
            raise ResourceError(
                "--policy connected: one cluster of candidates does not fit in the memory of a task; give more "
                "--memory, or use --policy direct"
            )
        cut = self._compare(run, candidates, collected.copied, listing=False, connected=connected)
        work, measure = self._work(run), run.settings.matching.measure
        pairs = PairStore(len(candidates.order), run.settings.execution.budget.sets_bytes, work.folder)
        compared = 0
        for task, name in self._outcomes(work):
            table = work.load(name)
            if task not in cut:
                collected.take(BatchDecisions.from_table(table))
                continue
            listed = ListedPart.from_table(table)
            pairs.add(pairs_by_later(listed.similar, measure))
            own = [Links(*listed.own)] if measure.name == "overlap" else []
            collected.take(BatchDecisions(own=own, refined=listed.refined))
            compared += listed.compared + len(listed.similar.left)
        if cut:
            links = decide_by_pairs(pairs, len(candidates.order), candidates.references)
            collected.add_links(links, compared)
        return collected

    @staticmethod
    def _outcomes(work: WorkFolder) -> list[tuple[int, str]]:
        names = sorted(work.load(DONE).column("name").to_pylist()) if work.has(DONE) else []
        return [(int(name[len("compared-") : -len(".arrow")]), name) for name in names]

    def list_pairs(
        self,
        run: Run[Settings],
        candidates: Candidates,
        store: PairStore,
        options: JoinOptions,
        limits: ListLimits | None,
    ) -> Listing:
        """List all similar pairs."""
        if options.index != "best" or options.common is not None or run.settings.matching.method == "merge":
            raise UsageError("--engine spark: --method merge, --index and --common are for --engine local")
        copied = np.zeros(len(candidates.order), np.bool_)
        self._compare(run, candidates, copied, listing=True)
        work = self._work(run)

        def load(name: str) -> ListedPart:
            return ListedPart.from_table(work.load(name))

        return take_listed(run, candidates, store, [partial(load, name) for _, name in self._outcomes(work)], limits)

    def _compare(
        self, run: Run[Settings], candidates: Candidates, copied: Bool, *, listing: bool, connected: bool = False
    ) -> frozenset[int]:
        """Send the sets of all candidates to tasks that compare them; returns the tasks that have cut parts."""
        tasks_of, cut, count = _plan_tasks(candidates.packing)
        work = self._work(run)
        if not count or work.has(DONE):
            return cut
        cluster, items = self._cluster(run), candidates.corpus.settings
        settings = self._task_settings(run)
        comparing = Comparing(
            str(cluster.folder), settings, Wanted(items.column, (), items.skip_errors),
            settings.execution.budget.item_memory(items.shingling.bag, items.characters), tasks_of, cut,
            candidates.references, listing, connected, candidates.second is not None, candidates.by_band,
        )  # fmt: skip
        parts = self._candidates_by_part(candidates, copied)
        with run.progress.stage("comparing", count, "tasks"):
            rows = cluster.map(cluster.tasks(parts), partial(send_sets, comparing=comparing), SETS)
            rows = cluster.send(rows, "task", count)
            step = partial(compare_sets, comparing=comparing)
            written = cluster.run(rows, step, COMPARED[:9], [1] * count)
        self._adopt(work, written, DONE)
        return cut

    def _candidates_by_part(self, candidates: Candidates, copied: Bool) -> list[FetchPart]:
        """What each part of the input has to send; parts without candidates are left out."""
        items = candidates.order[candidates.members].astype(np.int64)
        by_item = np.argsort(items)
        items, places = items[by_item], candidates.members[by_item]
        blocks = candidates.packing.block_of[by_item]
        flags = np.where(copied[places], COPIED, 0).astype(np.uint8)
        if candidates.second is not None:
            flags |= np.where(items >= candidates.second, OTHER, 0).astype(np.uint8)
        found: list[FetchPart] = []
        for part, cuts in zip(self._parts.parts, self._parts.block_starts):
            low, high = np.searchsorted(items, [cuts[0], cuts[-1]])
            if low < high:
                some = slice(int(low), int(high))
                rows = (items[some] - cuts[0]).astype(np.int32)
                source = self._parts.sendable(part, candidates.corpus)
                where = rows, places[some].astype(np.int32), blocks[some], flags[some]
                found.append(FetchPart(len(found), source, cuts - cuts[0], *where))
        return found

    def write_kept(self, run: Run[Settings], corpus: Corpus, keep: Bool, first_source: int, folder: Path) -> None:
        """Write the kept rows of every source."""
        cluster, by_source = self._cluster(run), self._parts.by_source(first_source)
        given = []
        for part in (part for parts in by_source.values() for part in parts):
            cuts = self._parts.block_starts[part.number]
            bits = np.packbits(keep[int(cuts[0]) : int(cuts[-1])])
            whole = len(by_source[part.source_number]) == 1
            given.append(KeptPart(part.number, self._parts.sendable(part, corpus), cuts - cuts[0], bits, whole))
        if not given:
            return
        work, out = str(cluster.folder), str(folder.resolve())
        sizes = [part.source.nbytes for part in given]
        cluster.run(cluster.tasks(given), partial(write_parts, folder=work, out=out), "kept-", sizes)
        made_of_parts = [
            KeptSource(corpus.sources[number], range(parts[0].number, parts[-1].number + 1))
            for number, parts in by_source.items()
            if len(parts) > 1 and corpus.sources[number].layout().kind != "files"
        ]
        if made_of_parts:
            cluster.run(cluster.tasks(made_of_parts), partial(join_parts, folder=work, out=out), "joined-", [])

    def describe(self) -> dict[str, Any]:
        """The engine, and what its tasks have used."""
        return {"name": self.name, "master": self._master, **measure_stages(self._session)}


def _plan_tasks(packing: Packing) -> tuple[list[list[tuple[int, bool]]], frozenset[int], int]:
    """For each block the tasks that need it; the tasks that compare blocks of a large part; and how many there are."""
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
