"""What `lookalike faces` and `lookalike fingerprints` share: options, output and summary."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import Command, json_and_quiet
from lookalike.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.engine.progress import Progress

_OPTIONS = [
    click.option("--against", multiple=True, metavar="GALLERY",
                 help="Files to search; may be repeated. [default: look each item up among all the others]"),
    click.option("-k", type=int, default=10, show_default=True, help="Maximum number of matches per item."),
    click.option("-o", "--out", metavar="FILE",
                 help="Write the matches to a .parquet, .csv, .tsv or .jsonl file. [default: TSV on stdout]"),
    click.option("--seed", type=int, default=1, show_default=True, help="Seed of the hash functions."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text files."),
    click.option("--overwrite", is_flag=True, help="Replace FILE if it exists."),
]  # fmt: skip


CROWD, SEVERAL = 0.9, 5
"""If this share of the items have matches, and items have this many on average, the matches mean little."""
FEW = 20
"""Fewer items give no note about shares."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a command speaks of its items."""

    noun: str
    plural: str
    remedy: str
    """What to do if nearly all items have several matches."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where the matches are written, and what is printed."""

    out: str | None
    overwrite: bool
    as_json: bool
    quiet: bool


def lookup_options(own: Sequence[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    """Add a command's own options, and after them those that both commands have."""

    def add(command: Command) -> Command:
        command = json_and_quiet(command)
        for option in reversed([*own, *_OPTIONS]):
            command = option(command)
        return command

    return add


def run_lookup(
    find: Callable[[Progress], tuple[pa.Table, dict[str, Any]]], given: list[str], output: Output, wording: Wording
) -> None:
    """Check inputs and output, do the work, write the matches and print the summary."""
    from lookalike.cli.progress import open_progress
    from lookalike.read import check_inputs, refuse_input_as_output
    from lookalike.write import TABLE_SUFFIXES, output_file, write_table, write_tsv

    if output.out is None and sys.stdout is None:
        raise UsageError("standard output is closed; name a file with -o")
    if output.as_json and output.out is None:
        raise UsageError("--json and the matches would both go to stdout; name a file with -o")
    check_inputs(given)
    target = output_file(output.out, TABLE_SUFFIXES, output.overwrite) if output.out is not None else None
    if target is not None:
        refuse_input_as_output(target, given)
    progress = open_progress(output.quiet)
    table, run = find(progress)
    if target is None:
        write_tsv(sys.stdout.buffer, [table])
    else:
        write_table(target, table)
    if output.as_json:
        click.echo(json.dumps(run))
    _summarize(run, output.out, progress, wording)


def _summarize(run: dict[str, Any], out: str | None, progress: Progress, wording: Wording) -> None:
    from lookalike.types.wording import count

    counts = run["counts"]
    probes, gallery, matched, matches = (counts[name] for name in ("probes", "gallery", "matched", "matches"))
    among = f" among {gallery:,}" if run["options"]["against"] else f", each among the {gallery:,} others"
    have = "has" if matched == 1 else "have"
    found = f"{'all' if matched == probes > 1 else f'{matched:,}'} {have} matches, {matches:,} in total"
    progress.finish()
    progress.say(
        f"{count(probes, wording.noun, wording.plural)} looked up{among}: {found if matched else 'no matches'}. "
        f"Each was compared with {100 * run['share']:.2g}% of them on average."
    )
    if probes >= FEW and matched >= CROWD * probes and matches >= SEVERAL * probes:
        progress.say(
            f"Note: nearly all {wording.plural} have several matches, so a match means little: {wording.remedy}."
        )
    if out is not None:
        progress.say(f"Results: {out}")
