"""The parts of the input, each read by one task, and where their items are in the corpus."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from lookalike.engine.corpus import Corpus, ReadSettings
from lookalike.engine.stores.digests import Digests, piece_name, records_in
from lookalike.engine.stores.work import WorkFolder
from lookalike.spark.comparing import FetchPart
from lookalike.spark.reading import LINES, Part, split_parts
from lookalike.types import Int32, Int64, Source, UInt8


class InputParts:
    """All parts, in input order. The starts of their blocks are known once they have been read."""

    def __init__(self, sources: list[Source], settings: ReadSettings, part_bytes: int) -> None:
        self._sources = sources
        self.parts = split_parts(sources, settings.wanted(sources), part_bytes)
        self.block_starts: list[Int64] = []
        """For each part, the first item of each of its blocks, followed by that after its last."""

    def take_digests(self, work: WorkFolder, digests: Digests) -> None:
        """Learn from the digests of all parts where blocks start, and which rows are not items."""
        at = start = 0
        for _, parts in groupby(self.parts, lambda part: part.source_number):
            lines = 0
            for part in parts:
                table = work.load(piece_name(part.number))
                records = digests.blocks[at : at + len(records_in(table))]
                cuts = start + np.cumsum([0, *(record.items for record in records)], dtype=np.int64)
                self.block_starts.append(cuts)
                at, start = at + len(records), int(cuts[-1])
                rejected = self._sources[part.source_number].rejected_rows
                for record in records:
                    rejected[record.block] = np.array(record.set_aside, np.int64)
                    for bad in record.rejected:  # lines are counted from the start of the part
                        bad["line"] += lines
                lines += int(table.schema.metadata[LINES])

    @property
    def starts(self) -> Int64:
        """The first item of each part."""
        return np.array([cuts[0] for cuts in self.block_starts] or [0], np.int64)

    def sendable(self, part: Part, corpus: Corpus) -> Source:
        """The source of a part, with the rows that are not items."""
        whole = corpus.sources[part.source_number]
        if part.source is not whole:
            part.source.rejected_rows = whole.rejected_rows
        return part.source

    def by_source(self, first_source: int) -> dict[int, list[Part]]:
        """The parts of each source from `first_source` on."""
        grouped = groupby(self.parts, lambda part: part.source_number)
        return {number: list(parts) for number, parts in grouped if number >= first_source}

    def fetching(self, corpus: Corpus, items: Int64, places: Int64, blocks: Int32, flags: UInt8) -> list[FetchPart]:
        """What must be read again from each part; items are ascending, and parts without any are omitted."""
        found: list[FetchPart] = []
        for part, cuts in zip(self.parts, self.block_starts):
            low, high = np.searchsorted(items, [cuts[0], cuts[-1]])
            if low < high:
                some = slice(int(low), int(high))
                rows = (items[some] - cuts[0]).astype(np.int32)
                where = rows, places[some].astype(np.int32), blocks[some], flags[some]
                found.append(FetchPart(part.number, self.sendable(part, corpus), cuts - cuts[0], *where))
        return found
