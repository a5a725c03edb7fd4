"""The steps of a job that an engine carries out. The recipe of a job is the same for all engines.

`LOCAL` is this process with its threads; `lookalike.spark` has those of a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from lookalike.engine.corpus import Corpus, ReadSettings, read_corpus
from lookalike.engine.kept import write_kept
from lookalike.engine.memory import ITEM_BYTES
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pairs import PairStore
from lookalike.matching.batches import Candidates, FindOptions
from lookalike.matching.decide import decide_candidates
from lookalike.matching.decisions import CollectedDecisions
from lookalike.matching.find import find_candidates
from lookalike.matching.join import JoinOptions
from lookalike.matching.list_pairs import Listing, ListLimits, list_similar
from lookalike.matching.pair_graph import PairGraph
from lookalike.types import Bool, Int32, Source


class Stages(Protocol):
    """An engine that does the work of a job. All engines give the same results."""

    name: str
    saves_graph: bool
    """Whether the pair graph of a run can be saved for `dedup --from`."""
    item_bytes: int
    """The memory that each item takes in this process."""

    def read(self, run: Run[Settings], sources: list[Source], settings: ReadSettings) -> Corpus:
        """Read and digest all items; see `engine.corpus.read_corpus`."""
        ...

    def find(self, run: Run[Settings], corpus: Corpus, order: Int32, options: FindOptions) -> Candidates:
        """Find the items that share a bucket; see `matching.find.find_candidates`."""
        ...

    def decide(
        self, run: Run[Settings], candidates: Candidates, policy: str, graph: PairGraph | None
    ) -> CollectedDecisions:
        """Decide which sets are removed; see `matching.decide.decide_candidates`."""
        ...

    def list_pairs(
        self, run: Run[Settings], candidates: Candidates, store: PairStore, options: JoinOptions, limits: ListLimits
    ) -> Listing:
        """List all similar pairs; see `matching.list_pairs.list_similar`."""
        ...

    def write_kept(self, run: Run[Settings], corpus: Corpus, keep: Bool, first_source: int, folder: Path) -> None:
        """Write the kept rows; see `engine.kept.write_kept`."""
        ...

    def describe(self) -> dict[str, Any] | None:
        """The entry of run.json about the engine; None for no entry."""
        ...


class LocalStages:
    """The threads of this process."""

    name = "local"
    saves_graph = True
    item_bytes = ITEM_BYTES
    read = staticmethod(read_corpus)
    find = staticmethod(find_candidates)
    decide = staticmethod(decide_candidates)
    list_pairs = staticmethod(list_similar)
    write_kept = staticmethod(write_kept)

    def describe(self) -> dict[str, Any] | None:
        """Nothing."""
        return None


LOCAL: Stages = LocalStages()
