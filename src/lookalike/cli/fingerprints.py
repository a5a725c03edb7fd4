"""`lookalike fingerprints`: find prints of the same finger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.lookups import Output, Wording, lookup_options, run_lookup
from lookalike.cli.options import CONTEXT

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.lookup.files import Paths
    from lookalike.lookup.fingerprints import PrintPlan
    from lookalike.lookup.matches import Matches
    from lookalike.lookup.prints import Prints

_EXAMPLES = """\b
Examples:
  lookalike fingerprints latent.xyt --against gallery/
  lookalike fingerprints scans/*.fmr --against known.csv -k 1 -o found.csv
  lookalike fingerprints prints.csv -o same.parquet
"""
_OPTIONS = [
    click.option("--threshold", type=float,
                 help="Lowest Jaccard similarity of a match. [default: estimated from the gallery]"),
    click.option("--triples", type=int, default=1024, show_default=True, help="Number of triples of grid squares."),
    click.option("--scale", default="spread", show_default=True, metavar="[spread|none]",
                 help="Scale prints to the same size, or keep their size (if all have the same resolution)."),
    click.option("--rotation", default="angles", show_default=True, metavar="[angles|axis|none]",
                 help="Align prints by the mean direction of their ridges, by their principal axis, or not at all."),
    click.option("--edge", type=float, default=0.15, show_default=True,
                 help="A minutia closer to the adjacent square than this share of its side counts for both."),
]  # fmt: skip


@click.command("fingerprints", epilog=_EXAMPLES, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="PRINTS...")
@lookup_options(_OPTIONS)
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
    """Find the prints in GALLERY that come from the same finger as each of PRINTS.

    PRINTS are files or folders: .xyt files (one minutia per line: x y theta quality); .csv, .tsv or .parquet files with
    columns x, y and optionally angle and print; or ISO/IEC 19794-2:2005 templates. The output has columns left, right,
    score and rank; the score is the Jaccard similarity of the grid squares that hold minutiae.
    """
    from lookalike.lookup.files import match_files
    from lookalike.lookup.fingerprints import find_prints
    from lookalike.lookup.read_prints import read_prints

    def read(paths: Paths, probes: Prints | None, progress: Progress) -> Prints:  # noqa: ARG001
        return read_prints(paths, encoding, progress.say)

    def find(probes: Prints, gallery: Prints | None, progress: Progress) -> Matches[PrintPlan]:
        return find_prints(probes, gallery, progress=progress, **options)

    run_lookup(
        lambda progress: match_files(inputs, against, read, find, {"encoding": encoding, **options}, progress),
        [*inputs, *against],
        Output(out, overwrite, as_json, quiet),
        Wording("print", "prints", "set a higher --threshold"),
    )
