"""`lookalike faces`: find people, or anything else that is measured, by their measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.lookups import Output, Wording, lookup_options, run_lookup
from lookalike.cli.options import CONTEXT

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.lookup.face_plan import FacePlan
    from lookalike.lookup.files import Paths
    from lookalike.lookup.matches import Matches
    from lookalike.lookup.read_numbers import Measurements

_EXAMPLES = """\b
Examples:
  lookalike faces new.csv --against people.csv --id name
  lookalike faces people.csv --columns 'face_*' --without face_id -o duplicates.csv
  lookalike faces people.npy --noise 0.05 -k 1 -o duplicates.parquet
"""
_SHOWN = 8
"""Columns that are named."""
_OPTIONS = [
    click.option("--id", metavar="COLUMN", help="Column with the id of an item. [default: id, or FILE:ROW]"),
    click.option("--columns", metavar="NAME,...", default="",
                 help="Columns with measurements; * is a wildcard. [default: those whose first value is a number]"),
    click.option("--without", metavar="NAME,...", default="", help="Columns that are not measurements."),
    click.option("--noise", type=float, default=0.02, show_default=True,
                 help="Typical difference between two measurements of one person, in standard deviations."),
    click.option("--recall", type=float, default=0.999, show_default=True, help="Target recall."),
    click.option("--close", type=float,
                 help="Largest difference of a close measurement, in standard deviations. [default: 3 x noise]"),
    click.option("--threshold", type=int,
                 help="Number of close measurements needed for a match. [default: estimated from the gallery]"),
    click.option("-r", "r", type=int, default=3, show_default=True, help="Measurements per hash function."),
    click.option("--edge", type=float, default=0.1, show_default=True,
                 help="Also search the adjacent cell if a value is closer to it than this share of the cell's width."),
]  # fmt: skip


@click.command("faces", epilog=_EXAMPLES, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="PROBES...")
@lookup_options(_OPTIONS)
def command(
    inputs: tuple[str, ...],
    against: tuple[str, ...],
    id: str | None,
    columns: str,
    without: str,
    encoding: str,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the people in GALLERY with nearly the same measurements as each of PROBES.

    Files are .csv, .tsv, .parquet, .npy or .fvecs, with one row per person (or anything else that is measured). The
    output has columns left, right, score and rank; the score is the number of measurements that are close. Only people
    who share a cell of some hash function are compared.
    """
    from lookalike.lookup.faces import find_faces
    from lookalike.lookup.files import match_files
    from lookalike.lookup.read_numbers import read_measurements

    reading: dict[str, Any] = {"id": id, "columns": _names(columns), "without": _names(without), "encoding": encoding}

    def read(paths: Paths, probes: Measurements | None, progress: Progress) -> Measurements:
        names = None if probes is None else probes.names
        return read_measurements(paths, **reading, names=names, note=progress.say)

    def find(probes: Measurements, gallery: Measurements | None, progress: Progress) -> Matches[FacePlan]:
        found = find_faces(probes.values, None if gallery is None else gallery.values, progress=progress, **options)
        progress.say(_describe(probes.names, found.plan.threshold))
        return found

    run_lookup(
        lambda progress: match_files(inputs, against, read, find, {**reading, **options}, progress),
        [*inputs, *against],
        Output(out, overwrite, as_json, quiet),
        Wording("person", "people", "choose the measurements with --columns or --without, or set a higher --threshold"),
    )


def _describe(names: list[str], threshold: int) -> str:
    from lookalike.types.wording import count

    shown = [*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])]
    close = count(threshold, "close measurement")
    return f"Measurements: {', '.join(shown)} ({count(len(names), 'column')}). Threshold: {close}."


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
