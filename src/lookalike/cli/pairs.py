"""`lookalike pairs`: every similar pair with its exact similarity."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import (
    CONTEXT,
    check_transpose,
    length_option,
    settings_from,
    shared_options,
    talking_options,
    transpose_option,
)
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.engine.settings import Settings
    from lookalike.types import Rejected

NAMED = 20
"""How many skipped lines are named on stderr."""

_EXAMPLE = """\b
Examples:
  lookalike pairs news.jsonl --threshold 0.7
  lookalike pairs news.jsonl -o pairs.parquet --shingle char:9
  lookalike pairs baskets.dat --method exact --measure containment --threshold 0.9
  lookalike pairs left.csv --against right.csv --column name --shingle char:3 --threshold 0.6
"""


@click.command("pairs", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", metavar="FILE", help=".parquet, .csv, .tsv or .jsonl. [default: TSV on stdout]")
@shared_options
@length_option
@transpose_option
@click.option(
    "--against",
    multiple=True,
    metavar="OTHER",
    help="List the pairs between INPUT (left) and OTHER (right) instead; may be repeated.",
)
@click.option(
    "--index",
    default="best",
    show_default=True,
    help="For --method exact: length, prefix, position, suffix (the lecture's) or best. The pairs are the same.",
)
@click.option(
    "--common",
    metavar="SHARE",
    help="For --method merge: shingles in more than this share of the sets make no pairs; no longer exact.",
)
@click.option("--stats", is_flag=True, help="For --method exact: say how many pairs each filter left.")
@click.option("--explain", is_flag=True, help="Say what each method would cost, and do nothing.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@talking_options
def command(
    inputs: tuple[str, ...],
    out: str | None,
    against: tuple[str, ...],
    index: str,
    common: str | None,
    stats: bool,
    explain: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    transpose: bool,
    **options: Any,
) -> None:
    """List all pairs of items in INPUT that are similar, as left, right, similarity.

    Pairs come in input order of left, then right. For containment each direction that holds is a pair, left
    contained in right; for overlap the threshold is a number of shared shingles.
    """
    from lookalike.candidates.exact import JoinStats
    from lookalike.cli.progress import open_progress
    from lookalike.cli.talk import say_pairs, say_stats, warm_up
    from lookalike.engine.settings import check_join
    from lookalike.jobs.pairs import pairs_of_files
    from lookalike.matching.join import JoinOptions
    from lookalike.read import check_inputs
    from lookalike.write import TABLE_SUFFIXES, output_file, write_tables, write_tsv

    if out is None and sys.stdout is None:
        raise UsageError("standard output is closed; name a file with -o")
    if as_json and out is None:
        raise UsageError("--json and the pairs would both go to stdout; name a file with -o")
    check_transpose(transpose, against, options)
    settings = settings_from(options)
    join = JoinOptions(index, check_join(settings.matching.method, index, common), stats=JoinStats())
    check_inputs([*inputs, *against])
    if explain:
        _explain([*inputs, *against], settings, transpose, as_json)
        return
    target = output_file(out, TABLE_SUFFIXES, overwrite) if out is not None else None
    progress = open_progress(quiet)
    warm_up(progress)
    with tempfile.TemporaryDirectory(prefix="lookalike-") as spool:
        found, run = pairs_of_files(inputs, settings, Path(spool), progress, against, join, transpose)
        if target is None:
            write_tsv(sys.stdout.buffer, found.tables())
        else:
            write_tables(target, found.tables())
    aside = set_aside(found.corpus.rejected, target)
    if as_json:
        click.echo(json.dumps(run))
    say_pairs(run, out, aside, progress)
    if stats and join.stats is not None:
        say_stats(join.stats, progress)


def _explain(inputs: list[str], settings: Settings, transpose: bool, as_json: bool) -> None:
    """What each method would cost, by a sample."""
    from lookalike.engine.method import choose
    from lookalike.read import open_inputs, open_inverted

    sources = open_inputs(inputs, encoding=settings.items.encoding)
    if transpose:
        sources = open_inverted(sources, settings.items.column, settings.execution.budget.sets_bytes)
    _, choice = choose(sources, settings.with_matching(method="auto"))
    assert choice is not None
    click.echo(json.dumps(choice.to_dict()) if as_json else f"{choice.why[0].upper()}{choice.why[1:]}.")


def set_aside(rejected: list[Rejected], target: Path | None) -> str:
    """Write skipped lines beside the result; without a file, name them."""
    from lookalike.write import write_rejected

    if target is None or not rejected:
        named = ", ".join(f"{bad.file}:{bad.line}" for bad in rejected[:NAMED])
        return named + (f" and {len(rejected) - NAMED:,} more (all of them with -o)" if len(rejected) > NAMED else "")
    path = target.with_name(target.name + ".rejected.jsonl")
    write_rejected(path, rejected)
    return str(path)
