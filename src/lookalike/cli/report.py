"""`lookalike report`: the page that shows what a finished run did."""

from __future__ import annotations

import click

from lookalike.cli.options import CONTEXT, talking_options

_EXAMPLE = """\b
Examples:
  lookalike report out
  lookalike report out --by source -o news.html
"""


@click.command("report", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("out")
@click.option("-o", "--page", metavar="FILE", help="Write the page to this file. [default: report.html in OUT]")
@click.option("--by", metavar="COLUMN", help="Count kept and removed items by the values of a column, not by file.")
@talking_options
def command(out: str, page: str | None, by: str | None, as_json: bool, quiet: bool) -> None:
    """Write report.html for the finished run in OUT: what was removed and why, how certain that is, what to check.

    The page is one file that needs no network and no JavaScript. Texts come from the inputs of the run, if they are
    still in their place and unchanged.
    """
    from lookalike.cli.output import print_record
    from lookalike.jobs.report import report_folder

    path = report_folder(out, page, by)
    if as_json:
        print_record({"out": out, "page": str(path), "bytes": path.stat().st_size})
    elif not quiet:
        click.echo(f"Report: {path}", err=True)
