"""`lookalike pairs`: every similar pair with its exact similarity."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import (
    CONTEXT,
    check_transpose,
    json_and_quiet,
    length_option,
    settings_from,
    shared_options,
    transpose_option,
)

if TYPE_CHECKING:
    from lookalike.cli.output import TableOutput
    from lookalike.engine.settings import Settings
    from lookalike.jobs.pairs import FoundPairs

_EXAMPLE = """\b
Examples:
  lookalike pairs news.jsonl --threshold 0.7
  lookalike pairs news.jsonl -o pairs.parquet --shingle char:9
  lookalike pairs baskets.dat --method exact --measure containment --threshold 0.9
  lookalike pairs left.csv --against right.csv --column name --shingle char:3 --threshold 0.6
"""


@click.command("pairs", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="Write the pairs to a .parquet, .csv, .tsv or .jsonl file. [default: TSV on stdout]",
)
@click.option(
    "--against",
    multiple=True,
    metavar="OTHER",
    help="List the pairs between INPUT (left) and OTHER (right) instead; may be repeated.",
)
@shared_options(method="lsh reaches the target recall; exact, merge and brute miss nothing; auto uses the cheapest.")
@length_option
@transpose_option
@click.option(
    "--index",
    default="best",
    show_default=True,
    help="For --method exact: length, prefix, position, suffix or best. The pairs are the same.",
)
@click.option(
    "--common",
    metavar="SHARE",
    help="For --method merge: ignore shingles in more than this share of the sets; no longer exact.",
)
@click.option("--stats", is_flag=True, help="For --method exact: report how many pairs passed each filter.")
@click.option("--explain", is_flag=True, help="Only print what each method would cost.")
@click.option("--report", is_flag=True, help="Also write a report next to FILE: pairs.report.html for pairs.csv.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_and_quiet
def command(
    inputs: tuple[str, ...],
    out: str | None,
    against: tuple[str, ...],
    index: str,
    common: str | None,
    stats: bool,
    explain: bool,
    report: bool,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    transpose: bool,
    **options: Any,
) -> None:
    """List all similar pairs of items in INPUT, as left, right, similarity.

    Pairs are in input order of left, then right. For containment, each direction that holds is a pair, left contained
    in right; for overlap, the threshold is a number of shared shingles.
    """
    from lookalike.candidates.exact import JoinStats
    from lookalike.cli.engines import check_cluster, open_stages, take_engine
    from lookalike.cli.output import TableOutput, print_record
    from lookalike.cli.progress import open_progress
    from lookalike.cli.summary import summarize_join, summarize_pairs
    from lookalike.engine.kept import open_encoders
    from lookalike.engine.run_record import used
    from lookalike.engine.settings import check_join
    from lookalike.jobs.pairs import pairs_of_files
    from lookalike.matching.join import JoinOptions
    from lookalike.read import check_inputs
    from lookalike.types import TEMPORARY

    check_transpose(transpose, against, options)
    master = take_engine(options)
    local_only = {
        "--transpose": transpose, "--method merge": options["method"] == "merge",
        "--index": index != "best", "--common": common is not None,
    }  # fmt: skip
    check_cluster(master, local_only, {"name a file with -o, in a folder": out is None})
    settings = settings_from(options)
    join = JoinOptions(index, check_join(settings.matching.method, index, common), stats=JoinStats())
    check_inputs([*inputs, *against])
    if explain:
        _explain([*inputs, *against], settings, transpose, as_json)
        return
    output = TableOutput.check(out, overwrite, as_json, "pairs", [*inputs, *against], options["on_error"] == "skip")
    page = _check_page(output) if report else None
    progress = open_progress(quiet)
    shared = str(Path(out).absolute().parent) if master and out else None  # all machines of a cluster need the folder
    spooling = tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=shared)
    with spooling as spool, open_stages(master, settings, progress) as stages:
        found, run = pairs_of_files(inputs, settings, Path(spool), progress, against, join, transpose, stages)
        stage = progress.stage("writing", len(found.pairs), "pairs")
        with stage, open_encoders(settings.execution, found.several_tables) as encoders:
            output.write(found.tables(), encoders)
        run |= used(progress)
        if page is not None:
            _write_page(found, run, output, page)
    rejected = output.write_rejected(found.corpus.rejected)
    if as_json:
        print_record(run)
    summarize_pairs(run, out, rejected, progress)
    if page is not None:
        progress.say(f"Report: {page}")
    if stats and join.stats is not None:
        summarize_join(join.stats, progress)


def _check_page(output: TableOutput) -> Path:
    """The path of the report; refused before any work if it cannot be written."""
    from lookalike.errors import UsageError
    from lookalike.jobs.reports.pairs_report import page_path
    from lookalike.report.page_file import check_page

    if output.path is None:
        raise UsageError("--report writes a page next to the file of pairs; name that file with -o")
    page = page_path(output.path)
    check_page(page)
    return page


def _write_page(found: FoundPairs, run: dict[str, Any], output: TableOutput, page: Path) -> None:
    from lookalike.jobs.reports.pairs_report import report_found_pairs

    assert output.path is not None
    report_found_pairs(found, run, output.path, page)


def _explain(inputs: list[str], settings: Settings, transpose: bool, as_json: bool) -> None:
    """Print what each method would cost, estimated from a sample."""
    from lookalike.engine.method import choose
    from lookalike.read import open_inputs, open_inverted

    sources = open_inputs(inputs, encoding=settings.items.encoding, skip_errors=settings.items.skip_errors)
    if transpose:
        sources = open_inverted(sources, settings.items.column, settings.execution.budget.sets_bytes)
    _, choice = choose(sources, settings.with_matching(method="auto"))
    assert choice is not None
    click.echo(json.dumps(choice.to_dict()) if as_json else f"{choice.why[0].upper()}{choice.why[1:]}.")
