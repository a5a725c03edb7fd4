"""`lookalike dedup`: near-duplicates out, with a reason for each."""

from __future__ import annotations

import json
from typing import Any

import click

from lookalike.cli.options import CONTEXT, settings_from, shared_options, talking_options

_EXAMPLE = """\b
Examples:
  lookalike dedup news.jsonl -o out
  lookalike dedup 'data/*.parquet' -o out --column body --threshold 0.7 --keep longest
  zcat big.jsonl.gz | lookalike dedup - -o out --json
"""


@click.command("dedup", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", required=True, metavar="OUT", help="The output folder; must not exist yet.")
@shared_options
@click.option(
    "--keep",
    default="first",
    show_default=True,
    help="Who stays: first, last, longest, shortest, max:COL or min:COL.",
)
@click.option(
    "--policy",
    default="direct",
    show_default=True,
    help="direct (a kept item resembles each removed one) or connected (one per cluster).",
)
@click.option(
    "--reference",
    multiple=True,
    metavar="INPUT",
    help="Items that stay and remove what resembles them; may be repeated.",
)
@click.option("--audit", type=int, default=0, metavar="N", help="Measure the recall on a random sample of N items.")
@click.option("--resume", is_flag=True, help="Go on with a run into OUT that was killed.")
@click.option("--work", metavar="DIR", help="Where work files go while the run lasts. [default: beside OUT]")
@click.option("--overwrite", is_flag=True, help="Replace an output folder of an earlier run.")
@talking_options
def command(
    inputs: tuple[str, ...],
    out: str,
    keep: str,
    policy: str,
    reference: tuple[str, ...],
    audit: int,
    resume: bool,
    work: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Remove near-duplicates from INPUT and write the rest, with a reason for every removal.

    INPUT is files, folders, globs, URLs, or - for JSONL on stdin; .parquet .jsonl .ndjson .csv .tsv .txt .html,
    text formats also .gz and .zst. OUT gets kept/ (the surviving rows as they were), removed.parquet,
    clusters.parquet and run.json.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.cli.talk import say_plan, say_run, warm_up
    from lookalike.jobs.dedup import dedup_to_folder
    from lookalike.jobs.settings import check_policy, parse_keep
    from lookalike.read import check_inputs
    from lookalike.write import OutputFolder

    settings = settings_from(options)
    # what is wrong with the rest of the command is said now too, before the plan and the compiling
    parse_keep(keep)
    check_policy(policy)
    check_inputs([*inputs, *reference])
    OutputFolder(out, overwrite)
    progress = open_progress(quiet)
    say_plan(settings, progress)
    warm_up(progress)
    run = dedup_to_folder(
        inputs,
        out,
        settings,
        keep=keep,
        policy=policy,
        reference=reference,
        overwrite=overwrite,
        resume=resume,
        work_folder=work,
        audit_items=audit,
        progress=progress,
    )
    if as_json:
        click.echo(json.dumps(run))
    say_run(run, out, progress)
