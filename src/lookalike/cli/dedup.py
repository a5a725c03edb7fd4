"""`lookalike dedup`: near-duplicates out, with a reason for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, length_option, settings_from, shared_options, talking_options

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.engine.settings import Settings
    from lookalike.jobs.dedup import DedupOptions

_EXAMPLE = """\b
Examples:
  lookalike dedup news.jsonl -o out
  lookalike dedup 'data/*.parquet' -o out --column body --threshold 0.7 --keep longest
  lookalike dedup tuesday.jsonl --reference mon -o tue
  zcat big.jsonl.gz | lookalike dedup - -o out --json
  lookalike dedup --from out --threshold 0.9 -o stricter
"""
_AGAIN = {"out", "earlier", "threshold", "keep", "policy", "threads", "memory", "overwrite", "as_json", "quiet"}
"""What can be said with --from."""


@click.command("dedup", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("-o", "--out", required=True, metavar="OUT", help="The output folder; must not exist yet.")
@shared_options
@length_option
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
    help="Items that stay and remove what resembles them, such as the OUT of an earlier run; may be repeated.",
)
@click.option("--audit", type=int, default=0, metavar="N", help="Measure the recall on a random sample of N items.")
@click.option("--resume", is_flag=True, help="Go on with a run into OUT that was killed or ran out of disk.")
@click.option("--work", metavar="DIR", help="Where work files go while the run lasts. [default: beside OUT]")
@click.option("--overwrite", is_flag=True, help="Replace an output folder of an earlier run.")
@click.option(
    "--from",
    "earlier",
    metavar="OUT",
    help="Ask a finished run again, at a higher --threshold or with another --keep, without reading the text again; "
    "its --length-ratio stays.",
)
@talking_options
@click.pass_context
def command(
    context: click.Context,
    /,
    inputs: tuple[str, ...],
    out: str,
    keep: str,
    policy: str,
    reference: tuple[str, ...],
    audit: int,
    resume: bool,
    work: str | None,
    overwrite: bool,
    earlier: str | None,
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
    from lookalike.cli.talk import say_run

    progress = open_progress(quiet)
    if earlier is not None:
        run = _again(context, earlier, out, overwrite, progress)
    else:
        settings = settings_from(options)
        choices = _options(settings, keep, policy, audit)
        asked = {"reference": reference, "overwrite": overwrite, "resume": resume, "work_folder": work}
        run = _dedup(inputs, out, settings, choices, asked, progress)
    if as_json:
        click.echo(json.dumps(run))
    say_run(run, out, progress)


def _options(settings: Settings, keep: str, policy: str, audit: int) -> DedupOptions:
    from lookalike.jobs.dedup import DedupOptions

    return DedupOptions.parse(settings.matching.method, keep, policy, audit)


def _dedup(
    inputs: tuple[str, ...],
    out: str,
    settings: Settings,
    choices: DedupOptions,
    asked: dict[str, Any],
    progress: Progress,
) -> Any:
    from lookalike.cli.talk import warm_up
    from lookalike.errors import UsageError
    from lookalike.jobs.dedup import dedup_to_folder
    from lookalike.read import check_inputs
    from lookalike.write import OutputFolder

    # what is wrong with the rest of the command is said now too, before the plan and the compiling
    if not inputs:
        raise UsageError("INPUT is missing: files, folders, globs or URLs, or - for JSONL on standard input")
    check_inputs([*inputs, *asked["reference"]])
    OutputFolder(out, asked["overwrite"])
    warm_up(progress)
    return dedup_to_folder(inputs, out, settings, choices, progress=progress, **asked)


def _again(context: click.Context, earlier: str, out: str, overwrite: bool, progress: Progress) -> Any:
    from click.core import ParameterSource

    from lookalike.cli.talk import warm_up
    from lookalike.errors import UsageError
    from lookalike.jobs.dedup_again import dedup_again

    given = {name for name in context.params if context.get_parameter_source(name) != ParameterSource.DEFAULT}
    if context.params["inputs"]:
        raise UsageError("--from takes its input from the earlier run; leave INPUT out")
    given.discard("inputs")
    if given - _AGAIN:
        names = ", ".join(f"--{name.strip('_').replace('_', '-')}" for name in sorted(given - _AGAIN))
        raise UsageError(f"--from: {names} cannot change; run dedup on the input again")
    changeable = ("threshold", "keep", "policy", "threads", "memory")
    warm_up(progress)
    asked = {name: context.params[name] for name in changeable if name in given}
    return dedup_again(earlier, out, overwrite=overwrite, progress=progress, **asked)
