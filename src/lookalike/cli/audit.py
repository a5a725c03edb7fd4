"""`lookalike audit`: the recall of a finished run, measured on a sample."""

from __future__ import annotations

import click

from lookalike.cli.options import CONTEXT, json_and_quiet

_EXAMPLE = "\b\nExample:\n  lookalike audit out --sample 1000"


@click.command("audit", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("out")
@click.option("--sample", type=click.IntRange(1), default=1000, show_default=True, help="Number of items to sample.")
@json_and_quiet
def command(out: str, sample: int, as_json: bool, quiet: bool) -> None:
    """Measure the recall of the dedup run in OUT, against the exact answer for a random sample of items.

    This reads the input of the run again, so the input must not have been moved.
    """
    from lookalike.cli.output import print_record
    from lookalike.cli.progress import open_progress
    from lookalike.cli.summary import describe_audit
    from lookalike.jobs.audit import audit_folder

    progress = open_progress(quiet)
    measured = audit_folder(out, sample, progress)
    progress.finish()
    if as_json:
        print_record(measured)
    else:
        click.echo(describe_audit(measured))
