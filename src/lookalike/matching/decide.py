"""Compare the candidates and decide, batch by batch."""

from __future__ import annotations

import numpy as np

from lookalike.cluster.components import connect
from lookalike.cluster.keepers import decide
from lookalike.engine.progress import Progress
from lookalike.engine.workers import Workers
from lookalike.errors import ResourceError
from lookalike.kernels.join import connect_buckets
from lookalike.matching.batches import Candidates
from lookalike.matching.comparable import Comparable
from lookalike.matching.decisions import Settling
from lookalike.matching.join import bring_together
from lookalike.matching.pair_graph import Graph


def verify(
    candidates: Candidates, policy: str, workers: Workers, progress: Progress, graph: Graph | None = None
) -> Settling:
    """What became of every batch; the graph gets what is needed to ask again."""
    settings = candidates.corpus.settings
    settling = Settling(candidates, settings.matching.measure, policy == "connected")
    batches = range(len(candidates.packing.batches))
    pending = [batch for batch in batches if not ((graph is None or graph.has(batch)) and settling.recall(batch))]
    if pending:
        candidates.fetch(pending, workers, progress)
    for batch in pending:
        for found in candidates.compare(batch, progress):
            with progress.stage("refining"):
                bring_together(found, settings, candidates.refined, workers, progress)
            with progress.stage("verifying"):
                _decide(found, candidates, settling, policy, workers, progress)
                if graph is not None:
                    graph.add(found, settings, workers)
        if graph is not None:
            graph.add_large(candidates, batch)
            graph.close(batch)
        settling.close(batch)
        candidates.drop(batch)
    return settling


def _decide(
    found: Comparable, candidates: Candidates, settling: Settling, policy: str, workers: Workers, progress: Progress
) -> None:
    settings = candidates.corpus.settings
    measure, ratio = settings.matching.measure.arguments, settings.matching.length_ratio.as_integer_ratio()
    reference = found.places < candidates.fixed
    # a reference item stays, but what it resembles is asked for the sake of its copies
    sought = ~reference | candidates.copied[found.places]
    asked = sought & ~candidates.linked[found.places]
    fixed = int(np.count_nonzero(reference))
    direct = decide(
        found.buckets, found.sets, measure, fixed, found.earlier, asked, workers.threads, workers.map, ratio
    )
    components = None
    if policy == "connected":
        if found.cut:
            raise ResourceError(
                "--policy connected: one cluster of candidates does not fit in --memory; give more, or use "
                "--policy direct"
            )
        progress.compiling(connect_buckets, "connected clusters")
        components = connect(found.buckets, found.sets, measure, direct, ratio)
    settling.add(found, direct, components)
