"""Ask a finished dedup run again, at a higher threshold or with another keep rule, without reading the text again.

The similar pairs come from the saved pair graph (matching/pair_graph.py). Only items of large parts, and the rows that
are written, are read again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookalike.cluster.priority import order_by_column, order_by_rule
from lookalike.engine.corpus import Corpus, lay_out
from lookalike.engine.progress import Progress
from lookalike.engine.run_record import describe_run, read_run
from lookalike.engine.settings import Settings, check_policy, parse_keep, settings_of_run
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import BlockRecord, Digests
from lookalike.engine.workers import Workers
from lookalike.errors import UsageError
from lookalike.jobs.dedup_result import Deduplicated, write_result
from lookalike.kernels.graph import settle_pairs
from lookalike.matching.batches import Candidates, put_up
from lookalike.matching.decide import verify
from lookalike.matching.decisions import Links
from lookalike.matching.find import places_of
from lookalike.matching.pair_graph import BUCKET, FOLDER, ITEMS, LINKS, PAIR, SIZE, SOURCES
from lookalike.read import LINE_FILES, identity_of, line_files, open_inputs
from lookalike.types import Buckets, Int32, Int64, Source, to_arrow, to_numpy
from lookalike.write import OutputFolder, write_json


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a run has left of its candidates; items by number."""

    items: pa.Table
    """item (ascending), first, length, id."""
    links: pa.Table
    """kind, left, right, value: see matching/pair_graph.py."""
    known: dict[str, Any]

    @classmethod
    def load(cls, out: Path) -> Remembered:
        """Read it from an output folder."""
        folder = out / FOLDER
        if not (folder / SOURCES).is_file():
            raise UsageError(f"--from {out}: nothing is remembered there ({FOLDER}/ is missing); ask an earlier run")
        known = json.loads((folder / SOURCES).read_text("utf-8"))
        return cls(pq.read_table(folder / ITEMS), pq.read_table(folder / LINKS), known)

    def rows(self, kind: int) -> tuple[Int32, Int32, Int32]:
        """left, right and value of the rows of a kind."""
        chosen = self.links.filter(pc.equal(self.links.column("kind"), kind))
        left, right, value = (to_numpy(chosen.column(name)) for name in ("left", "right", "value"))
        return left, right, value

    def column(self, name: str) -> Int64:
        """A column of numbers of the items."""
        return to_numpy(self.items.column(name))

    def ids(self, items: Int64) -> pa.Array:
        """The ids of some items."""
        taken = self.items.column("id").take(to_arrow(np.searchsorted(self.column("item"), items)))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def sizes(self, items: int) -> Int32:
        """By item: how many elements its set has, as far as that matters; otherwise 0."""
        sizes = np.zeros(items, np.int32)
        left, right, _ = self.rows(SIZE)
        sizes[left] = right
        numbers = self.column("item")
        sizes[numbers] = sizes[self.column("first")]
        return sizes


def dedup_again(
    earlier: str | Path,
    out: str | Path,
    *,
    threshold: float | str | None = None,
    keep: str | None = None,
    policy: str | None = None,
    threads: int | None = None,
    memory: str | int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Deduplicate once more into another folder, from what the run into `earlier` remembers; returns its record."""
    progress = progress or Progress()
    options = read_run(earlier)["options"]
    keep, policy = keep or options["keep"], policy or options["policy"]
    settings = again_settings(earlier, options, threshold, threads, memory)
    parse_keep(keep)
    check_policy(policy)
    with OutputFolder(out, overwrite) as folder:
        remembered = Remembered.load(Path(earlier))
        corpus, references = _corpus(earlier, out, options, settings, remembered)
        found = _decide(corpus, references, remembered, keep, policy, progress)
        write_result(found, folder, progress)
        asked = {"from": str(earlier), "inputs": options["inputs"], "keep": keep, "policy": policy}
        asked["reference"] = options["reference"]
        run = describe_run(settings, asked, found.counts, found.alarms, progress)
        run["reused"] = [f"{FOLDER}/{name}" for name in (ITEMS, LINKS, SOURCES)]
        run[LINE_FILES] = line_files(corpus.sources[references:])
        write_json(folder / "run.json", run)
    return run


def again_settings(
    earlier: str | Path,
    options: dict[str, Any],
    threshold: float | str | None,
    threads: int | None = None,
    memory: str | int | None = None,
) -> Settings:
    """The settings of the earlier run with another threshold, which must not be lower."""
    before = settings_of_run(options)
    settings = settings_of_run(options, threshold=options["threshold"] if threshold is None else threshold,
                               threads=threads, memory=memory)  # fmt: skip
    if settings.matching.measure.threshold < before.matching.measure.threshold:
        raise UsageError(
            f"--threshold {threshold}: {earlier} was run at {options['threshold']}, and less similar pairs are not "
            "remembered; run dedup on the input again"
        )
    return settings.with_matching(plan=before.matching.plan)  # by which the candidates were found


def _corpus(
    earlier: str | Path, out: str | Path, options: dict[str, Any], settings: Settings, remembered: Remembered
) -> tuple[Corpus, int]:
    """The same sources as then, each block where it was; how many of them are references."""
    if "-" in options["inputs"]:
        raise UsageError(f"--from {earlier}: its input came on standard input and cannot be read again")
    limits = settings.execution.limits
    opened = partial(open_inputs, encoding=settings.items.encoding, output=Path(out), limits=limits)
    references = opened(options["reference"]) if options["reference"] else []
    sources: list[Source] = references + opened(options["inputs"])
    if json.loads(json.dumps(identity_of(sources))) != remembered.known["files"]:
        raise UsageError(f"--from {earlier}: its input has changed since; run dedup on it again")
    digests = Digests(0)
    digests.blocks = [BlockRecord(*record) for record in remembered.known["blocks"]]
    for record in digests.blocks:
        sources[record.source].rejected_rows[record.block] = np.array(record.set_aside, np.int64)
    starts, block_starts = lay_out(len(sources), digests.blocks)
    counts = remembered.sizes(int(starts[-1]))
    return Corpus(sources, settings, digests, starts, block_starts, counts, {}), len(references)


def _decide(
    corpus: Corpus, references: int, remembered: Remembered, keep: str, policy: str, progress: Progress
) -> Deduplicated:
    """Put the items in their new order and settle them."""
    fixed = int(remembered.known["references"])
    with Workers(corpus.settings.execution.threads) as workers:
        order = _order(corpus, remembered, keep, fixed, workers, progress)
        first = _first(remembered, places_of(order, len(corpus)), len(order))
        first_of = np.zeros(len(corpus), np.int32)  # by item: the place of the first with an equal set
        first_of[order] = first
        pairs = remembered.rows(PAIR)
        connected = policy == "connected"
        # for whole clusters similarities are needed that nobody looked at: pairs become buckets of two
        buckets = _buckets(remembered, pairs if connected else None, first_of)
        bands = BucketStore(None)
        bands.add(buckets)
        candidates = put_up(corpus, order, fixed, first, bands, np.unique(buckets.members).astype(np.int64))
        settling = verify(candidates, policy, workers, progress)
        if not connected:
            settling.take(_settle(candidates, first_of, pairs), len(pairs[0]))
        outcome = settling.finish(fixed)
    empty = remembered.known["empty"]
    return Deduplicated(corpus, settling, outcome, remembered.ids, empty, fixed, references, connected)


def _order(
    corpus: Corpus, remembered: Remembered, keep: str, fixed: int, workers: Workers, progress: Progress
) -> Int32:
    """The remembered items by priority; all others stay in any case."""
    rule, column = parse_keep(keep)
    items, lengths = remembered.column("item"), remembered.column("length")
    if column is None:
        return order_by_rule(items.astype(np.int32), fixed, rule, lambda some: lengths[np.searchsorted(items, some)])
    total = sum(source.nbytes for source in corpus.sources)
    with progress.stage(f"reading {column}", total, "B"):
        values = corpus.fetch_column(items[items >= fixed], column, workers, progress)
    return order_by_column(items.astype(np.int32), fixed, rule, values, column)


def _first(remembered: Remembered, place_of: Int32, places: int) -> Int32:
    """For each place the first place with an equal set, in the new order."""
    members, groups = place_of[remembered.column("item")], remembered.column("first")
    by_place = np.argsort(members)
    heads = np.full(len(place_of), -1, np.int32)  # by the item that was first then
    heads[groups[by_place][::-1]] = members[by_place][::-1]  # of several, the last that is written stays: the first
    first = np.empty(places, np.int32)
    first[members] = heads[groups]
    return first


def _buckets(remembered: Remembered, pairs: tuple[Int32, Int32, Int32] | None, first_of: Int32) -> Buckets:
    """The buckets of large parts, and pairs as buckets of two; members are places, `first_of` each item."""
    members, heads, _ = remembered.rows(BUCKET)
    if pairs is not None:
        members = np.concatenate([members, np.stack(pairs[:2], 1).ravel()])
        heads = np.concatenate([heads, np.tile([1, 0], len(pairs[0]))])
    places = first_of[members]
    places = places[np.lexsort((places, np.cumsum(heads)))]
    return Buckets(np.append(np.flatnonzero(heads), len(heads)), places)


def _settle(candidates: Candidates, first_of: Int32, pairs: tuple[Int32, Int32, Int32]) -> Links:
    """The links that the remembered pairs make."""
    measure, order = candidates.corpus.settings.matching.measure, candidates.order
    left, right = first_of[pairs[0]], first_of[pairs[1]]
    earlier, later = np.minimum(left, right), np.maximum(left, right)
    by_later = np.lexsort((earlier, later))
    starts = np.searchsorted(later[by_later], np.arange(len(order) + 1))
    sizes = candidates.corpus.counts[order].astype(np.int64)
    asked = (np.arange(len(order)) >= candidates.fixed) | candidates.copied
    keeper, shared = np.full(len(order), -1, np.int32), np.zeros(len(order), np.int32)
    graph = (starts, earlier[by_later], pairs[2][by_later], sizes)
    settle_pairs(*graph, *measure.arguments, candidates.fixed, asked, keeper, shared)
    gone = np.flatnonzero(keeper >= 0)
    similarity = measure.of_overlaps(shared[gone].astype(np.int64), sizes[gone], sizes[keeper[gone]])
    return Links(gone, keeper[gone].astype(np.int64), similarity)
