"""What `lookalike faces` and `lookalike fingerprints` have in common: options, output and the summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import Command, talking_options
from lookalike.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.engine.progress import Progress

_OPTIONS = [
    click.option("--against", multiple=True, metavar="GALLERY",
                 help="Look them up here; may be repeated. [default: each among all the others]"),
    click.option("-k", type=int, default=10, show_default=True, help="How many matches there are at most for each."),
    click.option("-o", "--out", metavar="FILE", help=".parquet, .csv, .tsv or .jsonl. [default: TSV on stdout]"),
    click.option("--seed", type=int, default=1, show_default=True, help="Another seed draws other hash functions."),
    click.option("--encoding", default="utf-8", show_default=True, help="How text files are encoded."),
    click.option("--overwrite", is_flag=True, help="Replace FILE if it exists."),
]  # fmt: skip


def lookup_options(command: Command) -> Command:
    """Add the options that both commands have, below their own."""
    command = talking_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def look_up(
    find: Callable[[Progress], tuple[pa.Table, dict[str, Any]]],
    given: list[str],
    out: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check where things come from and go to, do the work, write the matches and say what was found."""
    from lookalike.cli.progress import open_progress
    from lookalike.read import check_inputs
    from lookalike.write import TABLE_SUFFIXES, output_file, write_table, write_tsv

    if out is None and sys.stdout is None:
        raise UsageError("standard output is closed; name a file with -o")
    if as_json and out is None:
        raise UsageError("--json and the matches would both go to stdout; name a file with -o")
    check_inputs(given)
    target = output_file(out, TABLE_SUFFIXES, overwrite) if out is not None else None
    progress = open_progress(quiet)
    table, run = find(progress)
    if target is None:
        write_tsv(sys.stdout.buffer, [table])
    else:
        write_table(target, table)
    if as_json:
        click.echo(json.dumps(run))
    _say_matches(run, out, progress)


def _say_matches(run: dict[str, Any], out: str | None, progress: Progress) -> None:
    counts = run["counts"]
    progress.finish()
    progress.say(
        f"{counts['probes']:,} looked up among {counts['gallery']:,}: {counts['matched']:,} have a match, "
        f"{counts['matches']:,} in all. {100 * run['share']:.2g}% of them were looked at for each."
    )
    if out is not None:
        progress.say(f"Results: {out}")
