"""`lookalike audit`: the recall of a finished run, measured on a sample."""

from __future__ import annotations

import json

import click

from lookalike.cli.options import CONTEXT, talking_options

_EXAMPLE = "\b\nExample:\n  lookalike audit out --sample 1000"


@click.command("audit", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("out")
@click.option("--sample", type=click.IntRange(1), default=1000, show_default=True, help="How many items to look at.")
@talking_options
def command(out: str, sample: int, as_json: bool, quiet: bool) -> None:
    """Measure the recall that the dedup run in OUT reached, against the exact answer for a random sample of items.

    The input of the run is read again, so it must still be where it was.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.cli.talk import describe_audit, warm_up
    from lookalike.jobs.audit import audit_folder

    progress = open_progress(quiet)
    warm_up(progress)
    measured = audit_folder(out, sample, progress)
    progress.finish()
    click.echo(json.dumps(measured) if as_json else describe_audit(measured))
