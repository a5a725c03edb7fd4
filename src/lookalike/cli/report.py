"""`lookalike report`: the page that shows what a finished run did."""

from __future__ import annotations

from pathlib import Path

import click

from lookalike.cli.options import CONTEXT, json_and_quiet, memory_option
from lookalike.cli.terminal import say

_EXAMPLE = """\b
Examples:
  lookalike report out
  lookalike report out --by source -o news.html
  lookalike report pairs.parquet
"""


@click.command("report", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("out", metavar="OUT")
@click.option(
    "-o",
    "--page",
    metavar="FILE",
    help="Write the page to this file. [default: report.html in OUT, or next to the file of pairs]",
)
@click.option("--by", metavar="COLUMN", help="Count kept and removed items by the values of a column, not by file.")
@memory_option
@json_and_quiet
def command(out: str, page: str | None, by: str | None, memory: str | None, as_json: bool, quiet: bool) -> None:
    """Write an HTML report of a finished run: what was found, how certain it is, what to check.

    OUT is the output folder of dedup or link, or the file of pairs. The page is a single file that works
    offline and without JavaScript. It shows texts from the inputs of the run if these have not moved or changed.
    """
    from lookalike.cli.output import print_record
    from lookalike.engine.allocators import thrifty_memory
    from lookalike.engine.memory import parse_memory

    memory_bytes = parse_memory(memory)
    with thrifty_memory(memory_bytes):
        path = _report(out, page, by, memory_bytes)
    if as_json:
        print_record({"out": out, "page": str(path), "bytes": path.stat().st_size})
    elif not quiet:
        say(f"Report: {path}")


def _report(out: str, page: str | None, by: str | None, memory_bytes: int) -> Path:
    """Write the page of a run of dedup, pairs or link, depending on the content of OUT."""
    from lookalike.errors import UsageError
    from lookalike.types import RUN_FILE, parse_record
    from lookalike.write.files import disk_errors

    folder = Path(out)
    if not folder.is_dir():
        from lookalike.jobs.reports.pairs_report import report_pairs

        _refuse_by(by)
        return report_pairs(out, page, memory_bytes)
    with disk_errors(folder / RUN_FILE):
        record = parse_record((folder / RUN_FILE).read_bytes()) if (folder / RUN_FILE).is_file() else None
    if record is None:
        raise UsageError(
            f"{out}: is not an output of lookalike ({RUN_FILE} is missing or not ours); name the OUT of a run"
        )
    if "reference" in record["options"]:
        from lookalike.jobs.reports.dedup_report import report_folder

        return report_folder(out, page, by)
    _refuse_by(by)
    from lookalike.linkage.report_page import report_links

    return report_links(out, page)


def _refuse_by(by: str | None) -> None:
    from lookalike.errors import UsageError

    if by is not None:
        raise UsageError(f"--by {by}: only reports of dedup can count items by a column")
