"""Write the rows that are kept, in the format of their source. Knows nothing about why they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.engine.block_order import map_blocks
from lookalike.engine.corpus import Corpus
from lookalike.engine.execution import Execution
from lookalike.engine.run import Run
from lookalike.engine.workers import Workers
from lookalike.types import Block, Bool, Items
from lookalike.write import KEPT, LARGE_BYTES, Encoders, open_kept


@contextmanager
def open_encoders(execution: Execution, several: bool) -> Iterator[Encoders | None]:
    """Threads that encode `several` row groups; None for a single one, for one thread, and for little memory."""
    nbytes = execution.budget.encoding_bytes if several and execution.threads > 1 else 0
    with Workers(execution.threads if nbytes else 1) as workers:
        yield Encoders(workers.submit, workers.threads, nbytes) if nbytes else None


def write_kept(run: Run[Any], corpus: Corpus, keep: Bool, first_source: int, folder: Path) -> None:
    """Write the kept rows of all sources from `first_source` on, each in its own format, using threads.

    Files that a killed run has completed are not written again.
    """

    def pick(job: tuple[int, int, Block, Items | None]) -> tuple[Any, int]:
        first, last, block, held = job
        return block.kept_rows(keep[first:last], held.decoded if held else None), block.nbytes

    def jobs(number: int, done: int) -> Iterator[tuple[int, int, Block, Items | None]]:
        for index, (first, last, block) in enumerate(corpus.blocks(number)):
            held = corpus.held.pop((number, index), None)
            if index >= done:
                yield first, last, block, held
            else:
                progress.advance(block.nbytes)

    work, progress, execution = run.work, run.progress, run.settings.execution
    encoding_bytes = execution.budget.encoding_bytes if run.workers.threads > 1 else 0
    ahead, waiting = execution.blocks_ahead(), 0 if corpus.held else execution.blocks_waiting()
    with Workers(run.workers.threads, beside=not encoding_bytes) as workers:
        encoders = Encoders(workers.submit, workers.threads, encoding_bytes) if encoding_bytes else None
        for number in range(first_source, len(corpus.sources)):
            source = corpus.sources[number]
            name = f"{KEPT}/{source.kept_path}"
            if work is not None and work.has(name):
                progress.advance(source.nbytes)
                continue
            saved = None if work is None else work.begun(name)
            first = saved.blocks if saved else 0
            with open_kept(folder, source, saved=saved, encoders=encoders) as writer:
                for stored, nbytes in map_blocks(workers, pick, jobs(number, first), ahead, waiting):
                    large = getattr(stored, "nbytes", 0) >= LARGE_BYTES
                    writer.write(stored)
                    stored = None  # free large rows before the next are read
                    if large:
                        pa.default_memory_pool().release_unused()  # Arrow would keep the memory otherwise
                    progress.advance(nbytes)
                    if work is not None and work.due and (reached := writer.save()):
                        work.keep_begun(name, reached)
            if work is not None and work.wanted and (folder / name).is_file():
                work.keep(name)
