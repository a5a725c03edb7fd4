"""`lookalike pairs`: every similar pair with its exact similarity."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, settings_from, shared_options, talking_options
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.types import Rejected

NAMED = 20
"""How many skipped lines are named on stderr."""

_EXAMPLE = """\b
Examples:
  lookalike pairs news.jsonl --threshold 0.7
  lookalike pairs news.jsonl -o pairs.parquet --shingle char:9
"""


@click.command("pairs", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", metavar="FILE", help=".parquet, .csv, .tsv or .jsonl. [default: TSV on stdout]")
@shared_options
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@talking_options
def command(
    inputs: tuple[str, ...], out: str | None, overwrite: bool, as_json: bool, quiet: bool, **options: Any
) -> None:
    """List all pairs of items in INPUT that are similar, as left, right, similarity.

    Pairs come in input order of left, then right. For containment each direction that holds is a pair, left
    contained in right; for overlap the threshold is a number of shared shingles.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.cli.talk import say_pairs, say_plan, warm_up
    from lookalike.jobs.pairs import pairs_of_files
    from lookalike.read import check_inputs
    from lookalike.write import TABLE_SUFFIXES, output_file, write_table, write_tsv

    if out is None and sys.stdout is None:
        raise UsageError("standard output is closed; name a file with -o")
    if as_json and out is None:
        raise UsageError("--json and the pairs would both go to stdout; name a file with -o")
    settings = settings_from(options)
    check_inputs(inputs)
    target = output_file(out, TABLE_SUFFIXES, overwrite) if out is not None else None
    progress = open_progress(quiet)
    say_plan(settings, progress)
    warm_up(progress)
    with tempfile.TemporaryDirectory(prefix="lookalike-") as spool:
        table, rejected, run = pairs_of_files(inputs, settings, Path(spool), progress)
    if target is None:
        write_tsv(sys.stdout.buffer, table)
    else:
        write_table(target, table)
    aside = set_aside(rejected, target)
    if as_json:
        click.echo(json.dumps(run))
    say_pairs(run, out, aside, progress)


def set_aside(rejected: list[Rejected], target: Path | None) -> str:
    """Write skipped lines beside the result; without a file, name them."""
    from lookalike.write import write_rejected

    if target is None or not rejected:
        named = ", ".join(f"{bad.file}:{bad.line}" for bad in rejected[:NAMED])
        return named + (f" and {len(rejected) - NAMED:,} more (all of them with -o)" if len(rejected) > NAMED else "")
    path = target.with_name(target.name + ".rejected.jsonl")
    write_rejected(path, rejected)
    return str(path)
