"""The stages of a job on Spark. See `lookalike.matching.stages.Stages`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.parts import Packing, pack_parts
from lookalike.engine.corpus import Corpus, make_corpus
from lookalike.engine.digest import DigestSettings
from lookalike.engine.forecast import count_items
from lookalike.engine.memory import ITEM_BYTES, LEAST_BYTES, Budget
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
from lookalike.matching.refine import Refined
from lookalike.matching.tasks import decide_by_pairs, pairs_by_later
from lookalike.spark.cluster import Cluster, count_slots
from lookalike.spark.comparing import COMPARED, COPIED, OTHER, SETS, Comparing, FetchPart, compare_sets, send_sets
from lookalike.spark.connecting import Connected, JoinedKeys, Parts, UnionFind, in_large_parts
from lookalike.spark.crowds import RARE, connect_by_rare
from lookalike.spark.keys import KEYS, LONG_RUN, Sending, join_keys
from lookalike.spark.metrics import measure_stages
from lookalike.spark.parts import InputParts
from lookalike.spark.pieces import Written
from lookalike.spark.reading import BUCKETS, Reading, read_parts
from lookalike.spark.stars import EDGE_BYTES, Stars
from lookalike.spark.writing import KeptPart, KeptSource, join_parts, write_parts
from lookalike.types import Bool, Int32, Int64, Source, Wanted, total_bytes

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
UNION_BYTES = 8
"""Memory per item of union-find on the driver: the part of each, and which are connected."""
READ = "spark-read.arrow"
JOINED_RARE = "spark-joined-rare.arrow"
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
    long_run: int = LONG_RUN
    task_sets_bytes: int | None = None
    """The most sets that a task can hold; by default what its memory allows."""
    union_bytes: int | None = None
    """The memory for union-find on the driver; by default what its memory allows."""


class SparkStages:
    """Reads, compares and writes on a cluster; what is between the stages is in the work folder, which all share."""

    name = "spark"
    saves_graph = False
    item_bytes = ITEM_BYTES - UNION_BYTES

    def __init__(self, session: SparkSession, master: str, sizes: Sizes | None = None) -> None:
        self._session, self._master, self._sizes = session, master, sizes or Sizes()
        self._input: InputParts | None = None
        self._refined = Refined()
        """What was refined before candidates were packed."""

    @cached_property
    def _slots(self) -> int:
        return count_slots(self._session)

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
            total = max(LEAST_BYTES, total // self._slots)
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
        nbytes = min(sizes.part_bytes, max(sizes.least_part_bytes, total_bytes(sources) // (2 * self._slots)))
        self._input = InputParts(sources, settings, rank_column, references, nbytes)
        if not work.has(READ):
            items, _ = count_items(sources)
            partitions = max(1, min(self._slots, -(-items * digesting.bands * KEY_BYTES // LEAST_PART_BYTES)))
            partitions = max(partitions, -(-items * digesting.bands * KEY_BYTES // self._sizes.joined_bytes))
            memory = self._task_budget(run).item_memory(settings.shingling.bag, settings.characters)
            sending = Sending(str(cluster.folder), BUCKETS, min(partitions, 1 << 16), sizes.long_run)
            reading = Reading(sending, digesting, memory)
            rows = cluster.map(cluster.tasks(self._input.parts), partial(read_parts, reading=reading), KEYS)
            rows = cluster.send(rows, "partition", sending.partitions)
            step = partial(join_keys, sending=sending, bands=digesting.bands)
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
        budget.check_items(len(corpus), self.item_bytes)
        lsh = run.settings.matching.method == "lsh"
        with run.progress.stage("connecting"):
            place_of = places_of(order, len(corpus))
            ranges = budget.joining_ranges(len(order), run.workers.threads)
            first = collapse_copies(corpus.digests, place_of, len(order), ranges, second)
            distinct = first == np.arange(len(order))
            if lsh:
                place_of[order] = first
                members, parts = self._connect(run, corpus, order, place_of)
            else:  # exact methods compare everything with everything
                members = np.flatnonzero(distinct)
                parts = np.zeros(len(members), np.int32)
            packing = self._pack(run, corpus, order, members, parts, by_band)
        reference_places = int(np.searchsorted(order >= references, True))
        nothing = BucketStore(None), members, packing, SetStore(0, "sets")
        return Candidates(corpus, order, reference_places, first, *nothing, second, by_band)

    def _connect(self, run: Run[Settings], corpus: Corpus, order: Int32, place_of: Int32) -> tuple[Int64, Int32]:
        """The places that are in some bucket, and for each of them the part that it is connected to."""
        joined = partial(JoinedKeys, self._work(run), part_starts=self._parts.starts, place_of=place_of)
        found = Connected(joined(READ, BUCKETS), len(order), self._unconnected(run, len(order)))
        if corpus.settings.vectors is None:
            nbytes = set_bytes(corpus, order[found.members], corpus.digesting.bands)
            large = in_large_parts(found.parts, nbytes, self._sizes.compared_bytes)
            if large.any() and len(crowd := found.leave_crowds(large, self._sizes.long_run)):
                self._join_rare(run, corpus, order, crowd)
                found.connect(joined(JOINED_RARE, RARE))
        self._refined = found.refined
        return found.members, found.parts

    def _unconnected(self, run: Run[Settings], places: int) -> Callable[[], Parts]:
        """How parts are found: by union-find on the driver if its memory allows that, else by the cluster."""
        limit = self._sizes.union_bytes
        fits = run.settings.execution.budget.fits(places) if limit is None else UNION_BYTES * places <= limit
        if fits:
            return partial(UnionFind, places)
        names = (f"stars{number}" for number in count())
        return lambda: Stars(self._cluster(run), next(names), max(1, self._sizes.joined_bytes // EDGE_BYTES))

    def _join_rare(self, run: Run[Settings], corpus: Corpus, order: Int32, crowd: Int64) -> None:
        """Join items of long runs by their rare elements."""
        work = self._work(run)
        if work.has(JOINED_RARE):
            return
        items = order[crowd].astype(np.int64)
        by_item, none = np.argsort(items), np.zeros(len(items), np.int32)
        parts = self._parts.fetching(corpus, items[by_item], crowd[by_item], none, none.astype(np.uint8))
        comparing = self._comparing(run, corpus)
        nbytes = int(corpus.counts[items].sum()) * KEY_BYTES
        partitions = min(1 << 16, max(1, -(-nbytes // self._sizes.joined_bytes)))
        floor = run.settings.matching.measure.jaccard_floor
        sending = Sending(comparing.folder, RARE, partitions, self._sizes.long_run)
        self._adopt(work, connect_by_rare(self._cluster(run), parts, comparing, floor, sending), JOINED_RARE)

    def _pack(
        self, run: Run[Settings], corpus: Corpus, order: Int32, members: Int64, parts: Int32, by_band: bool
    ) -> Packing:
        if not len(members):
            return Packing(np.empty(0, np.int32), [])
        bands = corpus.digesting.bands
        nbytes = set_bytes(corpus, order[members], 1 if by_band or not bands else bands)
        sizes, slots = self._sizes, self._slots
        goal = min(sizes.compared_bytes, max(sizes.least_compared_bytes, int(nbytes.sum()) // (2 * slots)))
        limit = sizes.task_sets_bytes or self._task_budget(run).sets_bytes
        return pack_parts(parts, nbytes, limit, partial(name_member, corpus, order, members), goal)

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
        collected.take(BatchDecisions(refined=self._refined))
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

        outcomes = [partial(load, name) for _, name in self._outcomes(work)]
        return take_listed(run, candidates, store, [partial(ListedPart.of_nothing, self._refined), *outcomes], limits)

    def _compare(
        self, run: Run[Settings], candidates: Candidates, copied: Bool, *, listing: bool, connected: bool = False
    ) -> frozenset[int]:
        """Send the sets of all candidates to tasks that compare them; returns the tasks that have cut parts."""
        tasks_of, cut, count = _plan_tasks(candidates.packing)
        work = self._work(run)
        if not count or work.has(DONE):
            return cut
        cluster = self._cluster(run)
        comparing = self._comparing(run, candidates.corpus)._replace(
            tasks_of=tasks_of, cut=cut, references=candidates.references, listing=listing, connected=connected,
            two_sided=candidates.second is not None, by_band=candidates.by_band,
        )  # fmt: skip
        parts = self._candidates_by_part(candidates, copied)
        with run.progress.stage("comparing", count, "tasks"):
            rows = cluster.map(cluster.tasks(parts), partial(send_sets, comparing=comparing), SETS)
            rows = cluster.send(rows, "task", count)
            step = partial(compare_sets, comparing=comparing)
            written = cluster.run(rows, step, COMPARED[:9], [1] * count)
        self._adopt(work, written, DONE)
        return cut

    def _comparing(self, run: Run[Settings], corpus: Corpus) -> Comparing:
        """What tasks that read items again need to know."""
        settings, items = self._task_settings(run), corpus.settings
        memory = settings.execution.budget.item_memory(items.shingling.bag, items.characters)
        wanted = Wanted(items.column, (), items.skip_errors)
        return Comparing(str(self._work(run).folder.resolve()), settings, wanted, memory)

    def _candidates_by_part(self, candidates: Candidates, copied: Bool) -> list[FetchPart]:
        """What each part of the input has to send."""
        items = candidates.order[candidates.members].astype(np.int64)
        by_item = np.argsort(items)
        items, places = items[by_item], candidates.members[by_item]
        flags = np.where(copied[places], COPIED, 0).astype(np.uint8)
        if candidates.second is not None:
            flags |= np.where(items >= candidates.second, OTHER, 0).astype(np.uint8)
        return self._parts.fetching(candidates.corpus, items, places, candidates.packing.block_of[by_item], flags)

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
