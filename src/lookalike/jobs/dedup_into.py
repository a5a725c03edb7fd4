"""`dedup --into`: add the kept items to an index, atomically with the output of the run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.destination import Destination, ItemAdditions
from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.errors import UsageError
from lookalike.jobs.dedup_result import Deduplicated
from lookalike.write import OutputFolder

RUN = "run"
"""Where the record says under which name the items of the run were added."""


class KeptItems:
    """The kept items of a run, ready to be added."""

    def __init__(self, additions: ItemAdditions, name: str, items: int) -> None:
        self._additions, self._run = additions, uuid.uuid4().hex
        self.record = {"index": name, "items": items, RUN: self._run}
        """As run.json shows it."""

    def commit(self) -> None:
        """Add them, all at once."""
        self._additions.commit(self._run)


@contextmanager
def adding_kept(
    run: Run[Settings], found: Deduplicated, into: Destination | None, *, numbered: bool = False
) -> Iterator[KeptItems | None]:
    """Read the kept items again and prepare them; `commit` adds them.

    With `numbered`, items get numbers if none of them has an id; otherwise their ids are FILE:ROW.
    """
    if into is None:
        yield None
        return
    corpus = found.corpus
    kept = np.flatnonzero(found.outcome.kept(len(corpus))[found.references :]) + found.references
    with into.adding(run.settings) as additions:
        with run.progress.stage("adding to the index", corpus.nbytes, "B"):
            ids = corpus.given_ids(kept)
            if ids is None and not numbered:
                ids = corpus.ids(kept)
            for low, high, made in corpus.fetch_features(run, kept, additions.prepare):
                additions.add(_slice(ids, low, high), made)
        yield KeptItems(additions, into.name, len(kept))


def _slice(ids: pa.Array | None, low: int, high: int) -> pa.Array | None:
    return None if ids is None else ids.slice(low, high - low)


def finish_committed(output: OutputFolder, into: Destination, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """If a run was killed between adding its items and publishing its output, publish the output; return its record.

    Starting over would compare the items with themselves.
    """
    record = output.completed()
    added = record.get("into") if record else None
    if record is None or not isinstance(added, dict) or not into.has_run(str(added.get(RUN))):
        return None
    if output.overwrite:
        return None
    if not output.resume:
        raise UsageError(
            f"{output.path}: an earlier run into it was killed after it had added its items to {into.name}; continue "
            "it with --resume"
        )
    if differing := [name for name, value in asked.items() if record["options"].get(name) != value]:
        raise UsageError(f"--resume: {', '.join(sorted(differing))} changed since the run was killed")
    output.publish_completed()
    return record
