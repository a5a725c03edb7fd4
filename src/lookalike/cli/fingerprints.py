"""`lookalike fingerprints`: which prints are of the same finger."""

from __future__ import annotations

from typing import Any

import click

from lookalike.cli.lookups import look_up, lookup_options
from lookalike.cli.options import CONTEXT

_EXAMPLE = """\b
Examples:
  lookalike fingerprints latent.xyt --against gallery/
  lookalike fingerprints prints.csv -o same.parquet
"""


@click.command("fingerprints", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="PRINTS...")
@click.option("--threshold", type=float,
              help="Smallest Jaccard similarity of the squares of a match. [default: by the gallery]")  # fmt: skip
@click.option("--triples", type=int, default=1024, show_default=True, help="How many triples of squares are drawn.")
@click.option("--scale", default="spread", show_default=True, metavar="[spread|none]",
              help="Bring prints to one size; none where all have one resolution.")  # fmt: skip
@click.option("--rotation", default="angles", show_default=True, metavar="[angles|axis|none]",
              help="Turn prints by the ridges' mean direction, or by their main axis.")  # fmt: skip
@click.option("--edge", type=float, default=0.15, show_default=True,
              help="Nearer than this share of a square to its edge, a minutia also counts for the next.")  # fmt: skip
@lookup_options
def command(
    inputs: tuple[str, ...],
    against: tuple[str, ...],
    encoding: str,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find which prints of GALLERY are of the same finger as each of PRINTS: left, right, score, rank.

    PRINTS are .xyt files (a minutia a line: x y theta quality), .csv, .tsv or .parquet with columns x, y and perhaps
    angle and print, or templates of ISO/IEC 19794-2:2005; folders of them, too. The score is the Jaccard similarity of
    the grid squares that have minutiae.
    """
    from lookalike.lookup.files import prints_of_files

    look_up(
        lambda progress: prints_of_files(inputs, against, encoding, progress, **options),
        [*inputs, *against], out, overwrite, as_json, quiet,
    )  # fmt: skip
