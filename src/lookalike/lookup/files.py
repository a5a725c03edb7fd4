"""Faces and fingerprints of files: read both sides, look up, and put the ids to the matches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.engine.progress import Progress
from lookalike.lookup.faces import find_faces
from lookalike.lookup.fingerprints import find_prints
from lookalike.lookup.matches import describe_matches
from lookalike.lookup.read_numbers import read_measurements
from lookalike.lookup.read_prints import read_prints
from lookalike.types import strings_to_arrow


def faces_of_files(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    reading: dict[str, Any],
    progress: Progress | None = None,
    **options: Any,
) -> tuple[pa.Table, dict[str, Any]]:
    """The matches as a table, and the record of the run.

    Parameters
    ----------
    reading
        Options of `read_measurements`: id, columns, without, encoding.
    options
        Options of `find_faces`.
    """
    progress = progress or Progress()
    with progress.stage("reading"):
        probes = read_measurements(inputs, **reading)
        gallery = read_measurements(against, **reading, names=probes.names) if against else None
    found = find_faces(probes.values, gallery.values if gallery else None, progress=progress, **options)
    run = describe_matches(found, {**_sides(inputs, against), **reading, **options}, progress)
    return found.table(probes.ids, (gallery or probes).ids), run


def prints_of_files(
    inputs: Sequence[str | Path],
    against: Sequence[str | Path],
    encoding: str = "utf-8",
    progress: Progress | None = None,
    **options: Any,
) -> tuple[pa.Table, dict[str, Any]]:
    """The matches as a table, and the record of the run; options of `find_prints`."""
    progress = progress or Progress()
    with progress.stage("reading"):
        probes = read_prints(inputs, encoding)
        gallery = read_prints(against, encoding) if against else None
    found = find_prints(probes, gallery, progress=progress, **options)
    run = describe_matches(found, {**_sides(inputs, against), "encoding": encoding, **options}, progress)
    return found.table(strings_to_arrow(probes.names), strings_to_arrow((gallery or probes).names)), run


def _sides(inputs: Sequence[str | Path], against: Sequence[str | Path]) -> dict[str, Any]:
    return {"inputs": [str(path) for path in inputs], "against": [str(path) for path in against]}
