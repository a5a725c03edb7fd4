"""The stages of a job on Spark. See `lookalike.matching.stages.Stages`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.engine.corpus import Corpus, ReadSettings, make_corpus
from lookalike.engine.forecast import count_items
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.digests import Digests
from lookalike.engine.stores.pairs import PairStore
from lookalike.errors import UsageError
from lookalike.matching.batches import Candidates, FindOptions
from lookalike.matching.decisions import CollectedDecisions
from lookalike.matching.join import JoinOptions
from lookalike.matching.list_pairs import Listing, ListLimits
from lookalike.matching.pair_graph import PairGraph
from lookalike.spark.deciding import Comparison
from lookalike.spark.finding import DRIVER_BYTES, READ, Finder, SplitRuns
from lookalike.spark.keys import KEYS, Sending, join_keys
from lookalike.spark.metrics import measure_stages
from lookalike.spark.parts import InputParts
from lookalike.spark.reading import BUCKETS, Reading, read_parts
from lookalike.spark.setup import Setup, Sizes, adopt, work_of
from lookalike.spark.writing import write_kept
from lookalike.types import Bool, Int32, Source, total_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkStages:
    """Reads, compares and writes on a cluster."""

    name = "spark"
    saves_graph = False
    item_bytes = DRIVER_BYTES

    def __init__(self, session: SparkSession, master: str, sizes: Sizes | None = None) -> None:
        self._setup = Setup(session, master, sizes or Sizes())
        self._input: InputParts | None = None
        self._taken_apart = SplitRuns()

    @property
    def _parts(self) -> InputParts:
        assert self._input is not None
        return self._input

    def read(self, run: Run[Settings], sources: list[Source], settings: ReadSettings) -> Corpus:
        """Read and digest all items, and join their keys."""
        part_bytes = self._setup.sizes.input_bytes(total_bytes(sources), self._setup.slots)
        self._input = InputParts(sources, settings, part_bytes)
        work = work_of(run)
        if not work.has(READ):
            self._digest(run, sources, settings)
        digests = Digests(0, work)
        self._input.take_digests(work, digests)
        return make_corpus(sources, settings, digests)

    def _digest(self, run: Run[Settings], sources: list[Source], settings: ReadSettings) -> None:
        setup, cluster, parts = self._setup, self._setup.cluster(run), self._parts.parts
        digesting, items = settings.digesting, settings.items
        partitions = setup.sizes.key_partitions(count_items(sources)[0] * digesting.bands, setup.slots)
        sending = Sending(str(cluster.folder), BUCKETS, partitions, setup.sizes.long_run)
        memory = setup.task_budget(run).item_memory(items.shingling.bag, items.characters)
        reading = Reading(sending, digesting, memory)
        rows = cluster.map(cluster.tasks(parts), partial(read_parts, reading=reading), KEYS)
        step = partial(join_keys, sending=sending, bands=digesting.bands)
        rows = cluster.send(rows, "partition", partitions)
        adopt(work_of(run), cluster.run(rows, step, [part.source.nbytes for part in parts]), READ)

    def find(self, run: Run[Settings], corpus: Corpus, order: Int32, options: FindOptions) -> Candidates:
        """Collapse copies, connect items that share a bucket, and pack them into tasks."""
        finder = Finder(self._setup, run, self._parts, corpus, order)
        candidates = finder.find(options)
        self._taken_apart = finder.taken_apart
        return candidates

    def decide(
        self,
        run: Run[Settings],
        candidates: Candidates,
        policy: str,
        graph: PairGraph | None,  # noqa: ARG002
    ) -> CollectedDecisions:
        """Decide all candidates."""
        compared = Comparison(self._setup, run, self._parts, candidates, self._taken_apart)
        return compared.decide(connected=policy == "connected")

    def list_pairs(
        self, run: Run[Settings], candidates: Candidates, store: PairStore, options: JoinOptions, limits: ListLimits
    ) -> Listing:
        """List all similar pairs."""
        if options.index != "best" or options.common is not None or run.settings.matching.method == "merge":
            raise UsageError("--engine spark: --method merge, --index and --common work only with --engine local")
        return Comparison(self._setup, run, self._parts, candidates, self._taken_apart).list_pairs(store, limits)

    def write_kept(self, run: Run[Settings], corpus: Corpus, keep: Bool, first_source: int, folder: Path) -> None:
        """Write the kept rows of every source."""
        write_kept(self._setup.cluster(run), self._parts, corpus, keep, first_source, folder)

    def describe(self) -> dict[str, Any]:
        """The engine, and what its tasks have used."""
        return {
            "name": self.name,
            "master": self._setup.master,
            **measure_stages(self._setup.session, self._setup.tags),
        }
