"""The outcome of a dedup run, and how it is written: the kept rows, each removal with its reason, clusters."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.engine.corpus import Corpus
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError
from lookalike.jobs.dedup_alarms import InputFile, Removals, count_close, find_alarms
from lookalike.matching.decisions import CollectedDecisions, Outcome
from lookalike.matching.pair_graph import PairGraph
from lookalike.matching.stages import LOCAL, Stages
from lookalike.types import Bool, Int64, Wanted, strings_to_arrow, to_arrow
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.write import write_rejected, write_tables

Made = TypeVar("Made")
TABLE_ROWS = 1 << 20
"""Pairs that are assembled at a time."""
FEW_ITEMS = 1 << 14
"""Tables about so few items take little memory."""
REASON_ROWS = 1 << 18
"""Removed items and members of clusters that are assembled at a time."""


@frozen
class Deduplicated:
    """The outcome of a run, before anything is written."""

    corpus: Corpus
    collected: CollectedDecisions
    outcome: Outcome
    ids: Callable[[Int64], pa.Array]
    """The ids of some items."""
    empty: list[int]
    """How many items of each source are empty."""
    references: int
    """The number of items at the front that are reference items."""
    reference_sources: int
    value_name: str
    """similarity or distance."""
    audit: dict[str, Any] | None = None
    graph: PairGraph | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many items were kept, removed, empty, ..."""
        items, removed = len(self.corpus) - self.references, len(self.outcome.removed)
        return {
            "items": items,
            "empty": sum(self.empty[self.reference_sources :]),
            "kept": items - removed,
            "removed": removed,
            "candidates": self.collected.compared + self.outcome.identical,
            "pairs": self.collected.pairs + self.outcome.identical,
            "rejected": len(self.corpus.rejected),
            "identical": self.outcome.identical,
            "reference": self.references,
        }

    @property
    def alarms(self) -> list[dict[str, Any]]:
        """What a user should check."""
        starts = self.corpus.starts.tolist()
        names = [source.name for source in self.corpus.sources]
        files = [InputFile(*file) for file in zip(names, starts[:-1], starts[1:], self.empty)]
        measure, outcome = self.collected.measure, self.outcome
        close = count_close(outcome.similarity, float(measure.threshold), measure.column == "distance")
        removals = Removals(outcome.removed, outcome.keeper, close)
        alarms = find_alarms(removals, files[self.reference_sources :], self.audit, len(self.corpus.rejected))
        return alarms + self.collected.alarms()

    def removed(self) -> Iterator[pa.Table]:
        """Every removal with its reason, in input order, in batches."""
        for first in range(0, max(1, len(self.outcome.removed)), REASON_ROWS):
            yield self._removed(slice(first, first + REASON_ROWS))

    def _removed(self, some: slice) -> pa.Table:
        gone, keeper = self.outcome.removed[some], self.outcome.keeper[some]
        files, rows = self.corpus.locate(gone)
        kept_files, kept_rows = self.corpus.locate(keeper)
        value = self.value_name
        columns = {
            "id": self.ids(gone),
            "file": files,
            "row": to_arrow(rows),
            "kept_id": self.ids(keeper),
            "kept_file": kept_files,
            "kept_row": to_arrow(kept_rows),
            value: to_arrow(self.outcome.similarity[some]),
        }
        if self.collected.connected:
            columns["pair_id"] = self.ids(self.outcome.partner[some])
            columns[f"pair_{value}"] = to_arrow(self.outcome.partner_similarity[some])
        return pa.table(columns)

    def clusters(self) -> Iterator[pa.Table]:
        """The items of clusters with two or more members; a cluster is a kept item and the items removed for it."""
        order = np.argsort(self.outcome.keeper, kind="stable")  # the removed items of a cluster ascend
        members, keeper = self.outcome.removed[order], self.outcome.keeper[order]
        heads = np.flatnonzero(np.append(np.ones(min(1, len(keeper)), np.bool_), keeper[1:] != keeper[:-1]))
        before = np.add.reduceat(members < keeper, heads, dtype=np.int64)  # members of each cluster before its keeper
        sizes, rows_before = np.diff(heads, append=len(keeper)) + 1, heads + np.arange(len(heads))
        del order
        for first in range(0, max(1, len(members) + len(heads)), REASON_ROWS):
            rows = np.arange(first, min(first + REASON_ROWS, len(members) + len(heads)))
            cluster = np.searchsorted(rows_before, rows, "right") - 1
            place = rows - rows_before[cluster]
            kept = place == before[cluster]
            at = heads[cluster] + place - (place >= before[cluster])
            items = np.where(kept, keeper[heads[cluster]], members[at])
            yield pa.table(
                {
                    "id": self.ids(items),
                    "cluster": to_arrow(cluster),
                    "size": to_arrow(sizes[cluster]),
                    "kept": to_arrow(kept),
                }
            )


def write_result(run: Run[Settings], found: Deduplicated, folder: Path, stages: Stages = LOCAL) -> None:
    """Write kept/, removed.parquet, clusters.parquet, and rejected.jsonl if bad lines are skipped."""
    sources = found.corpus.sources[found.reference_sources :]
    with run.progress.stage("writing", sum(source.nbytes for source in sources), "B"):
        keep = found.outcome.kept(len(found.corpus))
        write_reasons = beside(run, found, partial(_write_reasons, found, folder))
        stages.write_kept(run, found.corpus, keep, found.reference_sources, folder)
        write_reasons()
        if run.settings.items.skip_errors:
            write_rejected(folder / "rejected.jsonl", found.corpus.rejected)


def beside(run: Run[Settings], found: Deduplicated, write: Callable[[], Made]) -> Callable[[], Made]:
    """Begin to write something small while kept rows are written; the returned function waits until it is written.

    Creating many small files is mostly waiting for the system. What a large run writes takes memory, so it comes later:
    then nothing happens before the returned function is called.
    """
    return run.workers.begin(write) if len(found.corpus) <= FEW_ITEMS else write


def _write_reasons(found: Deduplicated, folder: Path) -> None:
    write_tables(folder / "removed.parquet", found.removed())
    write_tables(folder / "clusters.parquet", found.clusters())


_NAMELESS = {".txt", ".dat", ".fvecs", ".bvecs"}
"""Formats without columns."""


def kept_table(corpus: Corpus, keep: Bool, first_source: int) -> pa.Table:
    """The rows where `keep` is true, of all sources from `first_source` on, with all their columns."""
    tables = [_of_source(corpus, number, keep) for number in range(first_source, len(corpus.sources))]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadDataError(f"the kept rows do not fit in one table ({error}); write them to files with out=") from None


def _of_source(corpus: Corpus, number: int, keep: Bool) -> pa.Table:
    source = corpus.sources[number]
    layout = source.layout()
    blocks = corpus.blocks(number)
    if layout.kind == "table":
        pieces = [block.kept_rows(keep[first:last]) for first, last, block in blocks]
        return pa.concat_tables(pieces) if pieces else layout.schema.empty_table()  # type: ignore[union-attr]
    suffixes = PurePath(source.kept_path).suffixes
    if layout.kind == "lines" and not _NAMELESS & set(suffixes):
        rows = layout.prefix + b"".join(block.kept_rows(keep[first:last]) for first, last, block in blocks)
        return _parse(rows, suffixes, corpus.settings.encoding, source.name)
    return _texts(corpus, number, keep)


def _parse(rows: bytes, suffixes: list[str], encoding: str, name: str) -> pa.Table:
    import pyarrow.csv
    import pyarrow.json

    text = io.BytesIO(rows.decode(encoding).encode().removeprefix(b"\xef\xbb\xbf"))
    try:
        if ".csv" in suffixes or ".tsv" in suffixes:
            options = pyarrow.csv.ParseOptions(delimiter="\t" if ".tsv" in suffixes else ",", newlines_in_values=True)
            return pyarrow.csv.read_csv(text, parse_options=options)
        return pyarrow.json.read_json(text) if text.getbuffer().nbytes else pa.table({})
    except pa.ArrowInvalid as error:
        raise BadDataError(
            f"{name}: the rows do not fit in one table ({error}); write them to files with out="
        ) from None


def _texts(corpus: Corpus, number: int, keep: Bool) -> pa.Table:
    """For files without columns: the file and text of each item."""
    source = corpus.sources[number]
    column = corpus.settings.column
    wanted = Wanted(column, (), corpus.settings.skip_errors)

    def pieces() -> Iterator[pa.Table]:
        start = int(corpus.starts[number])
        for first, last, block in corpus.blocks(number):
            files = [source.locate(row)[0] for row in range(first - start, last - start)]
            table = pa.table({"file": strings_to_arrow(files), column: block.items(wanted).features})
            yield pc.filter(table, to_arrow(keep[first:last]))

    found = list(pieces())
    schema = pa.schema([("file", pa.large_string()), (column, pa.large_string())])
    return pa.concat_tables(found) if found else schema.empty_table()
