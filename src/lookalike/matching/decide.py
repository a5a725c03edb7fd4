"""Decide which sets are removed, part by part, and which kept set each of them resembles."""

from __future__ import annotations

import numpy as np

from lookalike.cluster.components import Components, connect
from lookalike.cluster.keepers import DecidedSoFar, Decisions, decide
from lookalike.engine.run import Run, open_run
from lookalike.engine.settings import MatchSettings, Settings
from lookalike.engine.stores.keeper_log import KeeperLog
from lookalike.errors import ResourceError
from lookalike.kernels import join
from lookalike.matching.batches import Candidates, piece_prefix
from lookalike.matching.comparable import Comparable
from lookalike.matching.compare import compare_batch
from lookalike.matching.decisions import CollectedDecisions, PartDecisions
from lookalike.matching.join import narrow_buckets
from lookalike.matching.pair_graph import PairGraph
from lookalike.types import Bool, Float64, Int32, Int64, Mapper


def solve_part(found: Comparable, settings: Settings, references: int = 0, *, connected: bool = False) -> PartDecisions:
    """Decide one connected part of the candidates: refine its buckets, compare its sets and choose the keepers.

    A pure function: arrays in, arrays out, no open files. It can run in another process.

    Parameters
    ----------
    found
        Distinct sets, by priority; see `Comparable.from_keys`.
    references
        The number of sets at the front that are reference items, which are always kept.
    connected
        Whether to keep only the first set of each connected cluster.

    Examples
    --------
    >>> from lookalike.types import Sets
    >>> sets = Sets(np.array([0, 4, 8]), np.array([1, 2, 3, 4, 1, 2, 3, 5], np.uint64))
    >>> found = Comparable.from_keys(sets, np.zeros((1, 2), np.uint64))
    >>> decided = solve_part(found, Settings.parse(threshold=0.6, method="lsh", threads=1))
    >>> decided.removed.tolist(), decided.keeper.tolist(), decided.similarity.tolist()
    ([1], [0], [0.6])
    """
    with open_run(settings) as run:
        narrow_buckets(run, found)
        return decide_part(found, settings.matching, references, connected=connected, each=run.workers.map,
                           threads=run.workers.threads)  # fmt: skip


def decide_part(
    found: Comparable,
    matching: MatchSettings,
    references: int,
    sought: Bool | None = None,
    *,
    connected: bool = False,
    threads: int = 1,
    each: Mapper = map,
    so_far: DecidedSoFar | None = None,
) -> PartDecisions:
    """Compare the sets that share a bucket, in order of priority, and find the keeper of each.

    Parameters
    ----------
    sought : bool[sets], optional
        The sets for which a keeper is sought; by default all but the reference items.
    """
    measure, ratio = matching.measure.arguments, matching.length_ratio.as_integer_ratio()
    direct = decide(
        found.buckets, found.sets, measure, references, found.earlier, sought, threads, each, ratio, so_far=so_far
    )
    if not connected:
        removed = np.flatnonzero(direct.keeper >= 0)
        keeper, similarity = _values(found, matching, removed, direct.keeper, direct.overlaps[removed])
        return PartDecisions(removed, keeper, similarity, keeper, similarity, direct.candidates, direct.pairs)
    return _decide_clusters(found, matching, direct, connect(found.buckets, found.sets, measure, direct, ratio))


def _decide_clusters(
    found: Comparable, matching: MatchSettings, direct: Decisions, clusters: Components
) -> PartDecisions:
    removed = np.flatnonzero(clusters.partner >= 0)
    overlaps = np.zeros(len(removed), np.int32)
    if not found.kind:
        join.overlaps_of(removed, clusters.root[removed], *found.sets, overlaps)
    keeper, similarity = _values(found, matching, removed, clusters.root, overlaps)
    shared = clusters.overlaps[removed]
    partner, partner_similarity = _values(found, matching, removed, clusters.partner, shared)
    if matching.measure.name == "containment":  # the larger of the two directions counts
        back = found.values(matching.measure, partner, removed, shared.astype(np.int64))
        partner_similarity = np.maximum(partner_similarity, back)
    compared, pairs = direct.candidates + clusters.candidates, direct.pairs + clusters.pairs
    return PartDecisions(removed, keeper, similarity, partner, partner_similarity, compared, pairs)


def _values(
    found: Comparable, matching: MatchSettings, removed: Int64, other_of: Int32, overlaps: Int32
) -> tuple[Int64, Float64]:
    """The set that each removed set resembles, and their similarity."""
    other = other_of[removed].astype(np.int64)
    return other, found.values(matching.measure, removed, other, overlaps.astype(np.int64))


def decide_candidates(
    run: Run[Settings], candidates: Candidates, policy: str, graph: PairGraph | None = None
) -> CollectedDecisions:
    """Decide all candidates, batch by batch. `graph` collects the pairs that a later run can reuse."""
    collected = CollectedDecisions(run, candidates, connected=policy == "connected")
    batches = range(len(candidates.packing.batches))
    pending = [batch for batch in batches if not ((graph is None or graph.has(batch)) and collected.reuse(batch))]
    if pending:
        candidates.fetch(run)
    for batch in pending:
        for found in compare_batch(run, candidates, batch, collected.removed):
            with run.progress.stage("refining"):
                refined = narrow_buckets(run, found)
            with run.progress.stage("verifying"):
                collected.add(found, _decide(run, candidates, collected, found), refined)
                if graph is not None:
                    graph.add(run, candidates, found, None if collected.connected else collected.removed)
        del found  # closing the batch needs its memory
        if graph is not None:
            graph.close(batch, candidates)
        collected.close(batch)
        if run.work is not None:
            run.work.drop_all(piece_prefix(run, batch))
    candidates.sets.clear()
    return collected


def _decide(
    run: Run[Settings], candidates: Candidates, collected: CollectedDecisions, found: Comparable
) -> PartDecisions:
    collected.note_equal(found)
    reference = found.places < candidates.references
    # reference items are kept, but their keepers are needed for their copies
    sought = (~reference | collected.copied[found.places]) & ~collected.removed[found.places]
    if collected.connected and found.cut is not None:
        raise ResourceError(
            "--policy connected: one cluster of candidates does not fit in --memory; increase it, or use "
            "--policy direct"
        )
    return decide_part(
        found,
        run.settings.matching,
        int(np.count_nonzero(reference)),
        sought,
        connected=collected.connected,
        threads=run.workers.threads,
        each=run.workers.map,
        so_far=KeeperLog(run.work, f"{found.name}-keepers") if run.work is not None else None,
    )
