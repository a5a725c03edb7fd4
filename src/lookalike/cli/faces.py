"""`lookalike faces`: who has nearly the same measurements."""

from __future__ import annotations

from typing import Any

import click

from lookalike.cli.lookups import look_up, lookup_options
from lookalike.cli.options import CONTEXT

_EXAMPLE = """\b
Examples:
  lookalike faces new.csv --against people.csv --id name
  lookalike faces people.npy -o doubles.parquet --noise 0.05
"""


@click.command("faces", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="PROBES...")
@click.option("--id", metavar="COLUMN", help="The column that names an item. [default: id, or FILE:ROW]")
@click.option("--columns", metavar="NAME,...", default="",
              help="The measurements; * stands for anything. [default: columns that start with a number]")  # fmt: skip
@click.option("--without", metavar="NAME,...", default="", help="Columns that are no measurements.")
@click.option("--noise", type=float, default=0.02, show_default=True,
              help="How far measurements of one person are apart, in standard deviations.")  # fmt: skip
@click.option("--recall", type=float, default=0.999, show_default=True, help="Share of such persons to find.")
@click.option(
    "--close", type=float, help="Standard deviations within which a measurement is close. [default: 3 x noise]"
)
@click.option("--threshold", type=int, help="How many close measurements make a match. [default: by the data]")
@click.option("-r", "r", type=int, default=3, show_default=True, help="How many measurements a cell is made of.")
@click.option("--edge", type=float, default=0.1, show_default=True,
              help="Nearer than this share of a cell to its edge, also look in the next.")  # fmt: skip
@lookup_options
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
    """Find who in GALLERY has nearly the same measurements as each of PROBES: left, right, score, rank.

    Files are .csv, .tsv, .parquet or .npy, with a row for each person (or anything else that is measured). The score
    is the number of measurements that are close. Only those are compared that share a cell of some hash function.
    """
    from lookalike.lookup.files import faces_of_files

    named = {"columns": _names(columns), "without": _names(without)}
    reading: dict[str, Any] = {"id": id, **named, "encoding": encoding}
    look_up(
        lambda progress: faces_of_files(inputs, against, reading, progress, **options),
        [*inputs, *against], out, overwrite, as_json, quiet,
    )  # fmt: skip


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
