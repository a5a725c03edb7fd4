"""`lookalike neighbors`: the most similar items of each item."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, check_transpose, shared_options_but, talking_options, transpose_option
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.jobs.neighbors import Nearby

_EXAMPLE = """\b
Examples:
  lookalike neighbors news.jsonl -k 3 --shingle word:2
  lookalike neighbors baskets.dat -o near.parquet
  lookalike neighbors baskets.dat --transpose -k 5
  lookalike neighbors faces.npy -k 3 --measure cosine
  lookalike neighbors new.jsonl --against archive.parquet --threshold 0.3
"""


@click.command("neighbors", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-k", type=int, default=10, show_default=True, help="How many neighbours an item has at most.")
@click.option("--against", multiple=True, metavar="OTHER", help="Seek them among these items; may be repeated.")
@click.option("-o", "--out", metavar="FILE", help=".parquet, .csv, .tsv or .jsonl. [default: TSV on stdout]")
@click.option(
    "--threshold", help="Smallest similarity of a neighbour (overlap: a count), or largest distance. [default: any]"
)
@click.option("--measure", default="jaccard", show_default=True, metavar="MEASURE",
              help="Of sets: jaccard, dice, cosine, containment (of the item in its neighbour), overlap. Of vectors: "
                   "cosine, euclidean, hamming.")  # fmt: skip
@shared_options_but("threshold", "measure", "method", "recall", "hashes", "seed")
@click.option("--method", default="exact", hidden=True)
@click.option("--recall", type=float, default=0.99, hidden=True)  # as all jobs take them; exact ones need none
@click.option("--hashes", type=int, default=256, hidden=True)
@click.option("--seed", type=int, default=1, hidden=True)
@transpose_option
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@talking_options
def command(
    inputs: tuple[str, ...],
    k: int,
    against: tuple[str, ...],
    out: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    transpose: bool,
    **options: Any,
) -> None:
    """List the K most similar other items of each item in INPUT, as left, right, similarity (or distance), rank.

    Every one is found: nothing is estimated. Items come in input order, each with its nearest first, and of
    equally similar ones the earlier first. Sets that share nothing are no neighbours.
    """
    from lookalike.cli.pairs import set_aside
    from lookalike.cli.progress import open_progress
    from lookalike.cli.talk import warm_up
    from lookalike.jobs.neighbors import Nearby, neighbors_of_files
    from lookalike.read import check_inputs
    from lookalike.write import TABLE_SUFFIXES, output_file, write_table, write_tsv

    if out is None and sys.stdout is None:
        raise UsageError("standard output is closed; name a file with -o")
    if as_json and out is None:
        raise UsageError("--json and the neighbours would both go to stdout; name a file with -o")
    check_transpose(transpose, against, options)
    wanted = Nearby.parse(k, id=options.pop("id_"), **options)
    check_inputs([*inputs, *against])
    target = output_file(out, TABLE_SUFFIXES, overwrite) if out is not None else None
    progress = open_progress(quiet)
    _say_plan(wanted, progress)
    warm_up(progress)
    with tempfile.TemporaryDirectory(prefix="lookalike-") as spool:
        table, rejected, run = neighbors_of_files(inputs, against, wanted, Path(spool), progress, transpose)
    if target is None:
        write_tsv(sys.stdout.buffer, [table])
    else:
        write_table(target, table)
    aside = set_aside(rejected, target)
    if as_json:
        click.echo(json.dumps(run))
    _say_neighbors(run["counts"], out, aside, progress)


def _say_plan(wanted: Nearby, progress: Progress) -> None:
    measure = wanted.settings.matching.measure
    least = f" of {measure.name} {measure.written} or more" if wanted.bounded else f" by {measure.name}"
    progress.say(f"Plan: exact search. The {wanted.k:,} nearest items{least}; none is missed.")


def _say_neighbors(counts: dict[str, int], out: str | None, aside: str, progress: Progress) -> None:
    """What was found."""
    from lookalike.types.wording import count

    progress.finish()
    among = f" among {count(counts['against'], 'other')}" if counts["against"] else ""
    progress.say(
        f"{count(counts['items'], 'item')} ({counts['empty']:,} empty): {counts['with_neighbors']:,} have neighbours"
        f"{among}, {counts['neighbors']:,} in all."
    )
    if counts["rejected"]:
        progress.say(f"{count(counts['rejected'], 'bad line')} left out: {aside}")
    if out is not None:
        progress.say(f"Results: {out}")
