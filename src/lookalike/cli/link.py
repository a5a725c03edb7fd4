"""`lookalike link`: which records are the same entity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, talking_options

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress

_EXAMPLE = """\b
Examples:
  lookalike link a.csv b.csv -o links --fields name,address,phone
  lookalike link people.parquet -o links --fields given_name,surname,born:date,address
  lookalike link a.csv b.csv -o links --fields name,surname=last_name --validate created --precision 0.99
  lookalike link a.csv b.csv -o links --fields name,address,phone --nicknames english
"""


@click.command("link", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("tables", nargs=-1, required=True, metavar="A [B]")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Where the results go.")
@click.option(
    "--fields",
    required=True,
    metavar="NAMES",
    help="What is compared: name, or left=right where the tables call it differently; with :KIND to say what it "
    "is (person, text, address, code, phone, email, date, number).",
)
@click.option(
    "--id", "id_", metavar="COLUMN", help="What names a record: NAME, or LEFT=RIGHT. [default: id, or FILE:ROW]"
)
@click.option(
    "--validate",
    metavar="COLUMN",
    help="A date or number (NAME, or LEFT=RIGHT) that is not in --fields: it tells how many links are valid. If it "
    "tells nothing, a note says so; with --precision that is an error.",
)
@click.option("--precision", type=float, help="Link from the score on at which this share of the links is valid.")
@click.option(
    "--probability",
    type=float,
    default=0.5,
    show_default=True,
    help="Without --precision: link where the model's own probability is at least this.",
)
@click.option(
    "--one-to-one",
    is_flag=False,
    flag_value="optimal",
    default="auto",
    show_default=True,
    metavar="[optimal|greedy|no|auto]",
    help="Each record in one link at most: the best ones in all, or the best first; auto: where most are so anyway.",
)
@click.option(
    "--scoring",
    default="weights",
    show_default=True,
    metavar="[weights|points]",
    help="weights: learned from the data, without labels. points: 100 a field, less for differences.",
)
@click.option(
    "--nicknames",
    metavar="english|FILE",
    help="Nicknames agree with full names (Bob, Robert): those of the list that comes along, or of a file with a group "
    "of names a line, such as: robert bob rob.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed draws other hash functions.")
@click.option("--memory", metavar="SIZE", help="How much memory to use, such as 4GiB. [default: half of the machine's]")
@click.option("--threads", type=int, help="How many processors to use. [default: all]")
@click.option("--encoding", default="utf-8", show_default=True, help="How text files are encoded.")
@click.option("--overwrite", is_flag=True, help="Replace the output of an earlier run.")
@click.option("--resume", is_flag=True, help="Go on with a run into OUT that was killed or ran out of disk.")
@click.option("--work", metavar="DIR", help="Where work files go while the run lasts. [default: beside OUT]")
@talking_options  # fmt: skip
def command(
    tables: tuple[str, ...],
    out: str,
    overwrite: bool,
    resume: bool,
    work: str | None,
    as_json: bool,
    quiet: bool,
    fields: str,
    **options: Any,
) -> None:
    """Find the records of table A (and B) that are the same entity.

    Candidates are found by many hashes, so that a small error in every field does no harm. Each pair gets a score from
    how well its fields agree; what an agreement weighs is learned from the data itself, without labels.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.errors import UsageError
    from lookalike.linkage.job import link_files
    from lookalike.linkage.settings import LinkSettings
    from lookalike.read import check_inputs
    from lookalike.report.linkage.page import links_page

    if len(tables) > 2:
        raise UsageError(
            f"one table or two, not {len(tables)}: put the files of one table into a folder, or use a glob"
        )
    settings = LinkSettings.parse(fields, id=options.pop("id_"), **options)
    check_inputs(list(tables))
    progress = open_progress(quiet)
    run = link_files(
        tables[:1], tables[1:], out, settings, progress, overwrite, links_page, resume=resume, work_folder=work
    )
    if as_json:
        click.echo(json.dumps(run))
    _say_links(run, out, progress)


def _say_links(run: dict[str, Any], out: str, progress: Progress) -> None:
    """What was found, how sure it is, and what to do next."""
    from lookalike.types.wording import count

    progress.finish()
    counts, precision, recall = run["counts"], run["precision"], run["candidate_recall"]
    of = f"{counts['left']:,} x {counts['right']:,}" if counts["right"] is not None else f"{counts['left']:,}"
    progress.say(
        f"{of} records, {count(counts['candidates'], 'candidate pair')}: {count(counts['links'], 'link')}, "
        f"{count(counts['clusters'], 'cluster')}. Cut: {run['cut']['why']}."
    )
    if precision:
        interval = f" ({precision['low']:.1%} to {precision['high']:.1%})" if "low" in precision else ""
        progress.say(
            f"About {precision['estimate']:.1%}{interval} of the links are valid, {_source(precision['how'])}."
        )
    if recall:
        progress.say(
            f"About {recall['estimate']:.1%} ({recall['low']:.1%} to {recall['high']:.1%}) of all matches are "
            "candidates, as two groups of hashes tell."
        )
    tables = f"{out}/links.parquet (with the reasons), {out}/clusters.parquet, {out}/run.json"
    progress.say(f"Results: {tables}; look at {out}/report.html")


def _source(how: str) -> str:
    return how if how.startswith("validated") else f"by {how}"
