"""Repeat a finished dedup run at a higher threshold or with another keep rule, without comparing the text again.

The similar pairs come from the saved pair graph (matching/pair_graph.py). Only the items of large parts, and the rows
to be written, are read again.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.cluster.priority import order_by_column, order_by_rule
from lookalike.engine.corpus import Corpus, lay_out
from lookalike.engine.progress import Progress
from lookalike.engine.run import Run, open_run
from lookalike.engine.run_record import describe_run, read_run
from lookalike.engine.settings import Settings, settings_of_run
from lookalike.engine.stores.buckets import BucketStore
from lookalike.engine.stores.digests import BlockRecord, Digests
from lookalike.errors import BadDataError, UsageError
from lookalike.jobs.dedup import DedupOptions, write_report
from lookalike.jobs.dedup_result import Deduplicated, write_result
from lookalike.kernels.graph import settle_pairs
from lookalike.matching.batches import FindOptions, plan_batches
from lookalike.matching.decide import decide_candidates
from lookalike.matching.decisions import CollectedDecisions, Links
from lookalike.matching.find import places_of
from lookalike.matching.pair_graph import BUCKET, FOLDER, ITEMS, LINKS, PAIR, SIZE, SOURCES
from lookalike.read import LINE_FILES, identity_of, line_files, open_inputs, refuse_inputs_in
from lookalike.types import RUN_FILE, Buckets, Int32, Int64, ReadLimits, Source, distinct, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.types.parquet import read_table
from lookalike.verify.measures import Measure
from lookalike.write import OutputFolder, checksum, count_kept, write_json

EARLIER_LIMITS = {"block_bytes": 16 << 20, "parquet_bytes": 32 << 20}
"""The block sizes of runs of earlier versions, which do not record them."""


@frozen
class SavedGraph:
    """The pair graph that a run has saved; items by number."""

    items: pa.Table
    """item (ascending), first, length, id."""
    links: pa.Table
    """kind, left, right, value: see matching/pair_graph.py."""
    known: dict[str, Any]

    @classmethod
    def load(cls, out: Path, sums: Any) -> SavedGraph:
        """Read it from an output folder, and check its files against the checksums in run.json."""
        folder = out / FOLDER
        if not (folder / SOURCES).is_file():
            raise UsageError(
                f"--from {out}: contains no pair graph ({FOLDER}/ is missing); name the output of a dedup run "
                "on texts or sets, without an index as reference"
            )
        for name in (LINKS, ITEMS, SOURCES):  # their numbers are used as array indices
            if not isinstance(sums, dict) or not (folder / name).is_file() or checksum(folder / name) != sums.get(name):
                raise BadDataError(
                    f"--from {out}: {FOLDER}/{name} has changed since the run; run dedup on the input again"
                )
        known = json.loads((folder / SOURCES).read_text("utf-8"))
        return cls(read_table(folder / ITEMS), read_table(folder / LINKS), known)

    def rows(self, kind: int) -> tuple[Int32, Int32, Int32]:
        """left, right and value of the rows of a kind."""
        chosen = pc.filter(self.links, pc.equal(self.links.column("kind"), kind))
        left, right, value = (to_numpy(chosen.column(name)) for name in ("left", "right", "value"))
        return left, right, value

    def column(self, name: str) -> Int64:
        """A column of numbers of the items."""
        return to_numpy(pc.cast(self.items.column(name), pa.int64()))  # of no items, a column may have no type

    def ids(self, items: Int64) -> pa.Array:
        """The ids of some items."""
        taken = pc.take(self.items.column("id"), to_arrow(np.searchsorted(self.column("item"), items)))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def sizes(self, items: int) -> Int32:
        """For each item, the number of elements of its set if it is needed; otherwise 0."""
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
    report: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Deduplicate again into another folder, from the pair graph in `earlier`; return the content of run.json."""
    progress = progress or Progress()
    before = read_run(earlier)
    options = before["options"]
    keep, policy = keep or options["keep"], policy or options["policy"]
    settings = again_settings(earlier, options, threshold, threads, memory)
    chosen = DedupOptions.parse(settings.matching.method, keep, policy)
    output = OutputFolder(out, overwrite)
    refuse_inputs_in(output.places, [earlier, *options["inputs"], *options["reference"]])
    with output as folder, open_run(settings, progress) as run:
        saved = SavedGraph.load(Path(earlier), before.get(FOLDER))
        corpus, references = _corpus(earlier, out, options, settings, saved)
        found = _decide(run, corpus, references, saved, chosen)
        write_result(run, found, folder)
        asked = {"from": str(earlier), "inputs": options["inputs"], "keep": keep, "policy": policy}
        asked["reference"] = options["reference"]
        record = describe_run(
            {**settings.to_dict(), **asked}, settings.matching.plan, found.counts, found.alarms, progress
        )
        record["reused"] = [f"{FOLDER}/{name}" for name in (ITEMS, LINKS, SOURCES)]
        record[LINE_FILES] = line_files(corpus.sources[references:])
        record |= count_kept(folder)
        write_json(folder / RUN_FILE, record)
        if report:
            write_report(folder, record, found, str(out), progress)
    return record


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
            f"--threshold {threshold}: {earlier} was run at {options['threshold']}, and less similar pairs were not "
            "saved; run dedup on the input again"
        )
    return settings.with_matching(plan=before.matching.plan)  # the threshold with which the candidates were found


def _corpus(
    earlier: str | Path, out: str | Path, options: dict[str, Any], settings: Settings, saved: SavedGraph
) -> tuple[Corpus, int]:
    """The sources of the earlier run, cut into the same blocks, and how many of them are references."""
    if "-" in options["inputs"]:
        raise UsageError(f"--from {earlier}: its input came on standard input and cannot be read again")
    limits = ReadLimits(**saved.known.get("limits", EARLIER_LIMITS))
    reading = settings.items
    opened = partial(
        open_inputs, encoding=reading.encoding, outputs=[Path(out)], limits=limits, skip_errors=reading.skip_errors
    )
    references = opened(options["reference"]) if options["reference"] else []
    sources: list[Source] = references + opened(options["inputs"])
    if json.loads(json.dumps(identity_of(sources))) != saved.known["files"]:
        raise UsageError(f"--from {earlier}: its input has changed since; run dedup on it again")
    digests = Digests(0)
    digests.blocks = [BlockRecord(*record) for record in saved.known["blocks"]]
    for record in digests.blocks:
        sources[record.source].rejected_rows[record.block] = np.array(record.set_aside, np.int64)
    starts, block_starts = lay_out(len(sources), digests.blocks)
    counts = saved.sizes(int(starts[-1]))
    return Corpus(sources, settings.items, settings.digesting, digests, starts, block_starts, counts, {}), len(
        references
    )


def _decide(
    run: Run[Settings], corpus: Corpus, reference_sources: int, saved: SavedGraph, options: DedupOptions
) -> Deduplicated:
    """Put the items in their new order and decide them."""
    references = int(saved.known["references"])
    order = _order(run, corpus, saved, options, references)
    first = _first(saved, places_of(order, len(corpus)), len(order))
    first_of = np.zeros(len(corpus), np.int32)  # for each item, the place of the first item with an equal set
    first_of[order] = first
    pairs = saved.rows(PAIR)
    connected = options.policy == "connected"
    # connected clusters need similarities that were not saved: pairs become buckets of two
    buckets = _buckets(saved, pairs if connected else None, first_of)
    bands = BucketStore(None)
    bands.add(buckets)
    members = distinct(buckets.members).astype(np.int64)
    found = FindOptions(references)
    candidates = plan_batches(run, corpus, order, found, first=first, bands=bands, members=members)
    collected = decide_candidates(run, candidates, options.policy)
    if not connected:
        collected.add_links(_link_pairs(collected, first_of, pairs, run.settings.matching.measure), len(pairs[0]))
    return Deduplicated(
        corpus,
        collected,
        collected.finish(references),
        saved.ids,
        saved.known["empty"],
        references=references,
        reference_sources=reference_sources,
        value_name=run.settings.matching.measure.column,
    )


def _order(run: Run[Settings], corpus: Corpus, saved: SavedGraph, options: DedupOptions, references: int) -> Int32:
    """The saved items by priority; all others are kept in any case."""
    rule, column = options.rank
    items, lengths = saved.column("item"), saved.column("length")
    known = items.astype(np.int32)
    if column is None:
        return order_by_rule(known, references, rule, lambda some: lengths[np.searchsorted(items, some)])
    with run.progress.stage(f"reading {column}", corpus.nbytes, "B"):
        values = corpus.fetch_column(run, items[items >= references], column)
    return order_by_column(known, references, rule, values, column, corpus.some_columns)


def _first(saved: SavedGraph, place_of: Int32, places: int) -> Int32:
    """For each place, the first place with an equal set, in the new order."""
    members, groups = place_of[saved.column("item")], saved.column("first")
    by_place = np.argsort(members)
    heads = np.full(len(place_of), -1, np.int32)  # indexed by the item that was first in the earlier run
    heads[groups[by_place][::-1]] = members[by_place][::-1]  # in reverse: the first place is written last
    first = np.empty(places, np.int32)
    first[members] = heads[groups]
    return first


def _buckets(saved: SavedGraph, pairs: tuple[Int32, Int32, Int32] | None, first_of: Int32) -> Buckets:
    """The buckets of large parts, and pairs as buckets of two; members are places, `first_of` each item."""
    members, heads, _ = saved.rows(BUCKET)
    if pairs is not None:
        members = np.concatenate([members, np.stack(pairs[:2], 1).ravel()])
        heads = np.concatenate([heads, np.tile([1, 0], len(pairs[0]))])
    places = first_of[members]
    places = places[np.lexsort((places, np.cumsum(heads)))]
    return Buckets(np.append(np.flatnonzero(heads), len(heads)), places)


def _link_pairs(
    collected: CollectedDecisions, first_of: Int32, pairs: tuple[Int32, Int32, Int32], measure: Measure
) -> Links:
    """The removals implied by the saved pairs."""
    candidates = collected.candidates
    order, references = candidates.order, candidates.references
    left, right = first_of[pairs[0]], first_of[pairs[1]]
    earlier, later = np.minimum(left, right), np.maximum(left, right)
    by_later = np.lexsort((earlier, later))
    starts = np.searchsorted(later[by_later], np.arange(len(order) + 1))
    sizes = candidates.corpus.counts[order].astype(np.int64)
    sought = (np.arange(len(order)) >= references) | collected.copied
    keeper, shared = np.full(len(order), -1, np.int32), np.zeros(len(order), np.int32)
    graph = (starts, earlier[by_later], pairs[2][by_later], sizes)
    settle_pairs(*graph, *measure.arguments, references, sought, keeper, shared)
    removed = np.flatnonzero(keeper >= 0)
    similarity = measure.of_overlaps(shared[removed].astype(np.int64), sizes[removed], sizes[keeper[removed]])
    return Links(removed, keeper[removed].astype(np.int64), similarity)
