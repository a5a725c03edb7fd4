"""`lookalike dedup`: remove near-duplicates, with a reason for each removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lookalike.cli.options import CONTEXT, json_and_quiet, length_option, settings_from, shared_options

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress

_EXAMPLE = """\b
Examples:
  lookalike dedup news.jsonl -o out
  lookalike dedup 'data/*.parquet' -o out --column body --threshold 0.7 --keep longest
  lookalike dedup tuesday.jsonl --reference mon -o tue
  lookalike dedup tuesday.jsonl --reference seen --into seen -o tue
  zcat big.jsonl.gz | lookalike dedup - -o out --json
  lookalike dedup --from out --threshold 0.9 -o stricter
"""
_CHANGEABLE = ("threshold", "keep", "policy", "threads", "memory")
"""Options of a finished run that --from can change."""
_WITH_FROM = {*_CHANGEABLE, "out", "earlier", "overwrite", "report", "as_json", "quiet"}


@click.command("dedup", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="OUT",
    help="The output folder; must not exist yet, unless --overwrite or --resume is given.",
)
@click.option(
    "--keep",
    default="first",
    show_default=True,
    help="Which item to keep: first, last, longest, shortest, max:COL or min:COL.",
)
@click.option(
    "--policy",
    default="direct",
    show_default=True,
    help="direct (every removed item resembles a kept one) or connected (one item per cluster).",
)
@click.option(
    "--reference",
    multiple=True,
    metavar="INPUT",
    help="Remove items that resemble one of these, such as the OUT of an earlier run or an INDEX; may be repeated.",
)
@click.option("--into", metavar="INDEX", help="Add the kept items to an index once the run has succeeded.")
@shared_options()
@length_option
@click.option("--audit", type=int, default=0, metavar="N", help="Measure the recall on a random sample of N items.")
@click.option(
    "--from",
    "earlier",
    metavar="OUT",
    help="Re-threshold a finished run (a higher --threshold), or apply another --keep or --policy, without "
    "reading the texts again; its --length-ratio stays.",
)
@click.option("--report", is_flag=True, help="Also write OUT/report.html: what was removed and why, and what to check.")
@click.option("--resume", is_flag=True, help="Continue a run into OUT that was interrupted or ran out of disk space.")
@click.option("--work", metavar="DIR", help="Folder for work files during the run. [default: next to OUT]")
@click.option("--overwrite", is_flag=True, help="Replace the output folder of an earlier run.")
@json_and_quiet
@click.pass_context
def command(
    context: click.Context,
    /,
    inputs: tuple[str, ...],
    out: str,
    keep: str,
    policy: str,
    reference: tuple[str, ...],
    into: str | None,
    audit: int,
    report: bool,
    resume: bool,
    work: str | None,
    overwrite: bool,
    earlier: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Remove near-duplicates from INPUT and write the rest, with a reason for every removal.

    INPUT: one or more files, folders, globs or URLs, or - for JSONL on stdin; .parquet .jsonl .ndjson .csv .tsv .txt
    .html .dat .npy .fvecs, text formats also .gz and .zst. OUT gets kept/ (the surviving rows, unchanged),
    removed.parquet, clusters.parquet and run.json.
    """
    from lookalike.cli.output import print_record
    from lookalike.cli.progress import open_progress
    from lookalike.cli.summary import summarize_dedup

    progress = open_progress(quiet)
    if earlier is not None:
        run = _dedup_again(earlier, out, {"overwrite": overwrite, "report": report}, _changes(context), progress)
    else:
        places = {"reference": reference, "into": into, "overwrite": overwrite, "resume": resume, "work_folder": work}
        places["report"] = report
        run = _dedup(inputs, out, options, (keep, policy, audit), places, progress)
    if as_json:
        print_record(run)
    summarize_dedup(run, out, progress, report)


def _dedup(
    inputs: tuple[str, ...],
    out: str,
    options: dict[str, Any],
    own_options: tuple[str, str, int],
    places: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Check everything that can be wrong with the command before the kernels are compiled, then run it."""
    from lookalike.cli.engines import open_stages, take_engine
    from lookalike.errors import UsageError
    from lookalike.index.places import is_index
    from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
    from lookalike.read import check_inputs
    from lookalike.write import OutputFolder

    master = take_engine(options)
    choices = DedupOptions.parse(options["method"], *own_options)
    settings = settings_from(options)
    if not inputs:
        raise UsageError("INPUT is missing: files, folders, globs or URLs, or - for JSONL on standard input")
    check_inputs([*inputs, *places["reference"]])
    OutputFolder(out, places["overwrite"])
    into = places["into"]
    if into is None and not any(map(is_index, places["reference"])):
        with open_stages(master, settings, progress) as stages:
            return dedup_to_folder(inputs, out, settings, choices, progress=progress, stages=stages, **places)
    if master is not None:
        raise UsageError("--engine spark: an index as --reference or --into works only with --engine local")
    from lookalike.index.bulk import JobIndexes

    with JobIndexes(settings) as indexes:
        places["into"] = None if into is None else indexes.into(into)
        places["reference"] = indexes.references(list(places["reference"]))
        return dedup_to_folder(inputs, out, settings, choices, progress=progress, **places)


def _changes(context: click.Context) -> dict[str, Any]:
    """The options that --from changes; any other option that was given is refused."""
    from lookalike.errors import UsageError

    given = {name for name in context.params if context.get_parameter_source(name) != ParameterSource.DEFAULT}
    if context.params["inputs"]:
        raise UsageError("--from takes its input from the earlier run; leave INPUT out")
    if fixed := given - _WITH_FROM - {"inputs"}:
        names = ", ".join(f"--{name.strip('_').replace('_', '-')}" for name in sorted(fixed))
        raise UsageError(f"--from: {names} cannot change; run dedup on the input again")
    return {name: context.params[name] for name in _CHANGEABLE if name in given}


def _dedup_again(
    earlier: str, out: str, places: dict[str, Any], changes: dict[str, Any], progress: Progress
) -> dict[str, Any]:
    from lookalike.jobs.dedup_again import dedup_again

    return dedup_again(earlier, out, progress=progress, **places, **changes)
