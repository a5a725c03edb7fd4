"""`lookalike neighbors`: the most similar items of each item."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, check_transpose, json_and_quiet, shared_options, transpose_option

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress

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
@click.option("-k", type=int, default=10, show_default=True, help="Maximum number of neighbours per item.")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Write the neighbours to a .parquet, .csv, .tsv or .jsonl file. [default: TSV on stdout]",
)
@click.option(
    "--against",
    multiple=True,
    metavar="OTHER",
    help="Look for neighbours among the items of OTHER instead; may be repeated.",
)
@click.option(
    "--threshold", help="Lowest similarity of a neighbour (overlap: a count), or largest distance. [default: any]"
)
@click.option(
    "--measure",
    default="jaccard",
    show_default=True,
    metavar="MEASURE",
    help="For sets: jaccard, dice, cosine, containment (of the item in its neighbour), overlap. For vectors: "
    "cosine, euclidean, hamming.",
)
@shared_options(without=("threshold", "measure", "method", "recall", "hashes", "seed", "engine", "master"))
@transpose_option
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_and_quiet
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

    The search is exact. Items are in input order, each with its nearest neighbour first; ties are in input order. Sets
    that share nothing are not neighbours.
    """
    from lookalike.cli.output import TableOutput, print_record
    from lookalike.cli.progress import open_progress
    from lookalike.engine.run_record import used
    from lookalike.jobs.neighbors import NeighborSettings, neighbors_of_files
    from lookalike.read import check_inputs
    from lookalike.types import TEMPORARY

    check_transpose(transpose, against, options)
    rejects = options["on_error"] == "skip"
    settings = NeighborSettings.parse(k, id=options.pop("id_"), **options)
    check_inputs([*inputs, *against])
    output = TableOutput.check(out, overwrite, as_json, "neighbours", [*inputs, *against], rejects)
    progress = open_progress(quiet)
    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as spool:
        table, rejected, run = neighbors_of_files(inputs, against, settings, Path(spool), progress, transpose)
    with progress.stage("writing", table.num_rows, "pairs"):
        output.write([table])
    run |= used(progress)
    named = output.write_rejected(rejected)
    if as_json:
        print_record(run)
    _summarize(run, out, named, progress)


def _summarize(run: dict[str, Any], out: str | None, rejected: str, progress: Progress) -> None:
    from lookalike.cli.summary import say_alarms
    from lookalike.types.wording import count

    progress.finish()
    counts = run["counts"]
    among = f" among {count(counts['against'], 'other item')}" if counts["against"] else ""
    progress.say(
        f"{count(counts['items'], 'item')} ({counts['empty']:,} empty): {counts['with_neighbors']:,} have neighbours"
        f"{among}, {counts['neighbors']:,} in total."
    )
    say_alarms(run, progress, rejected)
    if out is not None:
        progress.say(f"Results: {out}")
