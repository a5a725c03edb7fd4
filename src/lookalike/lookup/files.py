"""Lookup in files: read both sides, look up, and put ids in place of row numbers; for faces and fingerprints alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.engine.usage import peak_memory_bytes
from lookalike.lookup.matches import Matches
from lookalike.version import __version__

Paths = Sequence[str | Path]


class Identified(Protocol):
    """A collection of items with ids."""

    @property
    def ids(self) -> pa.Array:
        """One id per item."""


Side = TypeVar("Side", bound=Identified)


def match_files(
    inputs: Paths,
    against: Paths,
    read: Callable[[Paths, Side | None, Progress], Side],
    find: Callable[[Side, Side | None, Progress], Matches[Any]],
    options: dict[str, Any],
    progress: Progress,
) -> tuple[pa.Table, dict[str, Any]]:
    """Look the items of some files up in others, or without others, each among the rest.

    Parameters
    ----------
    inputs, against
        Files of the probes, and of the gallery (may be empty).
    read
        Reads one side, and reports to the progress; for the gallery it is given the probes.
    find
        Looks probes up in a gallery or among themselves.
    options
        What the user asked for, for the run record.

    Returns
    -------
    The matches (left, right, score, rank) and the run record.
    """
    with progress.stage("reading"):
        probes = read(inputs, None, progress)
        gallery = read(against, probes, progress) if against else None
    found = find(probes, gallery, progress)
    run = {
        "version": __version__,
        "options": {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against], **options},
        "plan": found.plan.to_dict(),
        "counts": found.counts,
        "share": found.share,
        "seconds": {name: round(seconds, 3) for name, seconds in progress.seconds.items()},
        "peak_memory_bytes": peak_memory_bytes(),
    }
    return found.table(probes.ids, (probes if gallery is None else gallery).ids), run
