"""`lookalike link`: records that are the same entity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, json_and_quiet

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.linkage.settings import LinkSettings

_EXAMPLE = """\b
Examples:
  Customers that two tables have in common:
    lookalike link a.csv b.csv -o links --fields name,address,phone
  Products of two shops, by the rare words and codes in their titles; each offer of B belongs to one product of A:
    lookalike link products.csv offers.csv -o links --fields title:text,maker=brand,price --one-to-one right
  Duplicates within one table:
    lookalike link people.parquet -o links --fields given_name,surname,born:date,address
  Columns with different names; 99% precision, validated by the date of creation:
    lookalike link a.csv b.csv -o links --fields name,surname=last_name --validate created --precision 0.99
  Bob matches Robert:
    lookalike link a.csv b.csv -o links --fields name,address,phone --nicknames english
  Pairs worth labelling; after filling in the column match, their labels improve the links:
    lookalike link a.csv b.csv --fields name,address,phone --review 100 -o pairs.csv
    lookalike link a.csv b.csv --fields name,address,phone --labels pairs.csv -o links
  Records that arrive later, linked to those of a finished run:
    lookalike link monday.csv --against links -o links-monday
"""


@click.command("link", epilog=_EXAMPLE, context_settings=CONTEXT)
@click.argument("tables", nargs=-1, metavar="A [B]")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Output folder; with --review, a file.")
@click.option(
    "--fields",
    metavar="NAMES",
    help="Columns to compare, separated by commas: NAME, or LEFT=RIGHT if the tables use different names. Add :KIND "
    "to set the kind (person, place, text, address, code, phone, email, date, number) instead of detecting it. "
    "'all' is every column, matched by name and values. 'record:text' is the whole record as one text.",
)
@click.option(
    "--against",
    metavar="OUT",
    help="The output folder of a finished run: A (and B) are new records to link to those of that run and to "
    "each other, with its fields, options and weights. Clusters keep their numbers; changes.parquet lists all changes.",
)
@click.option(
    "--without",
    metavar="IDS",
    help="With --against: remove these records, given as a file with one id per line, or as ids separated by commas.",
)
@click.option(
    "--into",
    metavar="[left|right]",
    help="With --against, if two tables were linked and A is one table: the table to add it to. [default: left]",
)
@click.option(
    "--id",
    "id_",
    metavar="COLUMN",
    help="Column that identifies a record: NAME, or LEFT=RIGHT. [default: id if present, else FILE:ROW]",
)
@click.option(
    "--validate",
    metavar="COLUMN",
    help="A column of dates or numbers (NAME, or LEFT=RIGHT), not in --fields, used to estimate the share of correct "
    "links. If that is impossible, a note says so; with --precision it is an error.",
)
@click.option(
    "--labels",
    metavar="FILE",
    help="Labelled pairs (columns left, right: ids; match: 1 or 0). They refine weights and probabilities; precision, "
    "recall and F1 are measured on labels that were held out.",
)
@click.option(
    "--review",
    type=int,
    metavar="N",
    help="Do not link; instead, write the N pairs whose labels would help most to the file -o (.csv), for --labels.",
)
@click.option("--precision", type=float, help="Raise the cut until this share of the links is estimated to be correct.")
@click.option(
    "--probability",
    type=float,
    default=0.5,
    show_default=True,
    help="Without --precision: link pairs with at least this probability, according to the model.",
)
@click.option(
    "--one-to-one",
    is_flag=False,
    flag_value="optimal",
    default="auto",
    show_default=True,
    metavar="[optimal|greedy|left|right|no|auto]",
    help="At most one link per record. optimal: the greatest total score; greedy: the best pair first; left: only "
    "for records of A, while those of B may have several; right: the reverse; auto: if most records have only one "
    "match, or second matches score clearly less.",
)
@click.option(
    "--scoring",
    default="weights",
    show_default=True,
    metavar="[weights|points]",
    help="weights: learned from the data, without labels. points: 100 per field, fewer for differences.",
)
@click.option(
    "--nicknames",
    metavar="english|FILE",
    help="Match nicknames with full names (Bob, Robert): from the built-in list, or from a file with one group "
    "of names per line, such as: robert bob rob.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the hash functions and random samples.")
@click.option("--memory", metavar="SIZE", help="Memory limit, such as 4GiB. [default: half of the machine's memory]")
@click.option("--threads", type=int, help="Number of threads. [default: all processors]")
@click.option("--encoding", help="Encoding of text files. [default: utf-8; with --against, that of the finished run]")
@click.option("--overwrite", is_flag=True, help="Replace an existing output folder.")
@click.option("--resume", is_flag=True, help="Continue a run that was killed or ran out of disk space.")
@click.option("--work", metavar="DIR", help="Folder for temporary work files. [default: next to the output folder]")
@json_and_quiet  # fmt: skip
def command(
    tables: tuple[str, ...],
    out: str,
    overwrite: bool,
    resume: bool,
    work: str | None,
    as_json: bool,
    quiet: bool,
    fields: str | None,
    against: str | None,
    without: str | None,
    into: str | None,
    labels: str | None,
    review: int | None,
    **options: Any,
) -> None:
    """Find records in table A (and B) that describe the same entity.

    lookalike searches for matches in many ways at once, so a small error in every field does not hide a match. It
    scores each pair by how well its fields agree, with weights that it learns from the data, without labels.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.errors import UsageError
    from lookalike.linkage.job import link_files
    from lookalike.linkage.settings import LinkSettings
    from lookalike.read import check_inputs

    if len(tables) > 2:
        raise UsageError(
            f"expected one table or two, not {len(tables)}: put the files of one table into a folder, or use a glob"
        )
    place: dict[str, Any] = {"overwrite": overwrite, "resume": resume, "work_folder": work}
    if against is not None:
        decided = {"fields": fields, "id": options.pop("id_"), "labels": labels, "review": review}
        run, progress = _link_later(tables, out, against, without, into, quiet, decided, options, place)
    else:
        if without is not None or into is not None:
            raise UsageError(f"--{'into' if without is None else 'without'} needs --against, the finished run")
        if not tables:
            raise UsageError("missing A: name a table to link")
        if fields is None:
            raise UsageError("missing --fields: name the columns to compare, such as name,phone; or --fields all")
        settings = LinkSettings.parse(fields, id=options.pop("id_"), **options)
        check_inputs([*tables, *([] if labels is None else [labels])])
        progress = open_progress(quiet)
        if review is not None:
            _review(tables, out, settings, progress, review, labels, as_json, place)
            return
        run = link_files(tables[:1], tables[1:], out, settings, progress, labels=labels, **place)
    if as_json:
        click.echo(json.dumps(run))
    _say_links(run, out, progress)


def _link_later(
    tables: tuple[str, ...],
    out: str,
    against: str,
    without: str | None,
    into: str | None,
    quiet: bool,
    decided: dict[str, Any],
    options: dict[str, Any],
    place: dict[str, Any],
) -> tuple[dict[str, Any], Progress]:
    """With --against: the contents of run.json. Options that the finished run has decided are refused."""
    from lookalike.cli.progress import open_progress
    from lookalike.engine.execution import Execution
    from lookalike.errors import UsageError
    from lookalike.linkage.later_job import link_later_files
    from lookalike.linkage.settings import LinkSettings
    from lookalike.read import check_inputs

    if not tables and without is None:
        raise UsageError("--against needs new records, or ids to remove with --without")
    encoding, execution = options.pop("encoding"), Execution.parse(options.pop("threads"), options.pop("memory"))
    LinkSettings.refuse_others(decided | options)
    check_inputs(list(tables))
    progress = open_progress(quiet)
    new = [[table] for table in tables]
    run = link_later_files(
        new, out, against, execution, progress, without=without, into=into, encoding=encoding, **place
    )  # fmt: skip
    return run, progress


def _review(
    tables: tuple[str, ...],
    out: str,
    settings: LinkSettings,
    progress: Progress,
    count: int,
    labels: str | None,
    as_json: bool,
    place: dict[str, Any],
) -> None:
    """With --review: write the pairs to be labelled."""
    from lookalike.errors import UsageError
    from lookalike.linkage.job import review_files
    from lookalike.types.wording import count as plural

    if place["resume"] or place["work_folder"] is not None:
        raise UsageError("--review has no --resume or --work: it writes one file at the end")
    both, overwrite = (tables[:1], tables[1:]), place["overwrite"]
    found = review_files(*both, out, settings, progress, count, overwrite=overwrite, labels=labels)
    if as_json:
        click.echo(json.dumps({"pairs": found, "out": out}))
    progress.finish()
    all_of_them = " (there are no more candidates)" if found < count else ""
    said = f"{plural(found, 'pair')} to label{all_of_them}: {out}."
    progress.say(f"{said} Fill in the column match (1 or 0), then use --labels {out}.")


def _say_links(run: dict[str, Any], out: str, progress: Progress) -> None:
    """Say what was found, how certain it is, and where the results are."""
    from lookalike.cli.summary import say_alarms
    from lookalike.types.wording import count

    progress.finish()
    counts, precision, recall = run["counts"], run["precision"], run["candidate_recall"]
    both = counts["right"] is not None
    of = f"{counts['left']:,} x {counts['right']:,} records" if both else count(counts["left"], "record")
    progress.say(
        f"{of}, {count(counts['candidates'], 'candidate pair')}: {count(counts['links'], 'link')}, "
        f"{count(counts['clusters'], 'cluster')}. Cut: {run['cut']['why']}."
    )
    if changes := run.get("changes"):
        said = ", ".join(f"{number:,} {name}" for name, number in changes.items() if number) or "none"
        progress.say(f"Records that changed: {said}. Reasons: {out}/changes.parquet.")
    if labels := run.get("labels"):
        _say_labels(labels, progress)
    if precision:
        interval = f" ({precision['low']:.1%} to {precision['high']:.1%})" if "low" in precision else ""
        progress.say(
            f"Estimated precision of the links: {precision['estimate']:.1%}{interval}, {_source(precision['how'])}."
        )
    if recall:
        progress.say(
            f"Estimated share of all matches that are candidates: {recall['estimate']:.1%} "
            f"({recall['low']:.1%} to {recall['high']:.1%})."
        )
    say_alarms(run, progress)
    tables = f"{out}/links.parquet (with the reasons), {out}/clusters.parquet, {out}/run.json"
    progress.say(f"Results: {tables}. Report: {out}/report.html")


def _say_labels(labels: dict[str, Any], progress: Progress) -> None:
    """Say how well the links agree with the labels."""
    from lookalike.linkage.scoring.labels import LabelFigures, Share, describe_figures

    counts = (labels[name] for name in ("pairs", "matches", "not_candidates", "folds"))
    shares = (labels[name] for name in ("precision", "recall", "f1"))
    figures = LabelFigures(*counts, *(None if share is None else Share(**share) for share in shares))
    progress.say(describe_figures(figures))


def _source(how: str) -> str:
    from lookalike.report.linkage.facts import MODEL_ALONE

    if how.startswith("validated"):
        return how
    return f"according to {'the model itself (not validated)' if how == MODEL_ALONE else how}"
