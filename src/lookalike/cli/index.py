"""`lookalike index`: a persistent index in a folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.options import CONTEXT, json_and_quiet, shared_options

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.engine.settings import Settings
    from lookalike.index.index import StoredIndex
    from lookalike.types import Source

_GROUP = """\b
Examples:
  lookalike index create seen news.jsonl --threshold 0.7
  lookalike index add seen today.jsonl --if-new -o added.parquet
  lookalike index query seen today.jsonl -k 1
"""
_CREATE = """\b
Examples:
  lookalike index create seen news.jsonl --threshold 0.7
  lookalike index create seen --shingle char:9
"""
_ADD = """\b
Examples:
  lookalike index add seen today.jsonl
  lookalike index add seen today.jsonl --if-new -o added.parquet
"""
_QUERY = """\b
Examples:
  lookalike index query seen today.jsonl
  lookalike index query seen today.jsonl -k 1 --threshold 0.9 -o matches.parquet
"""
_SNAPSHOT = """\b
Examples:
  lookalike index snapshot seen backup/seen
"""
_REMOVE = """\b
Examples:
  lookalike index remove seen doc17 doc18
  lookalike index remove seen --ids gone.txt
  lookalike index remove seen --older-than 90d
"""

_conflict = click.option(
    "--on-conflict",
    default="replace",
    show_default=True,
    metavar="[replace|skip|error]",
    help="What to do if an id already exists.",
)
_durability = click.option(
    "--durability",
    default="each",
    show_default=True,
    metavar="[each|batch]",
    help="Wait for the disk after each addition, or once when the command ends.",
)
_out = click.option("-o", "--out", metavar="FILE", help="Write the table to a .parquet, .csv, .tsv or .jsonl file.")
_overwrite = click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
_threads = click.option("--threads", type=int, help="Number of threads. [default: all processors]")
_memory = click.option(
    "--memory", metavar="SIZE", help="Memory limit, such as 4GiB. [default: half of the machine's memory]"
)
_index = click.argument("index", metavar="INDEX")
_NAMED = 5
"""How many unknown ids are named."""


@click.group("index", epilog=_GROUP, context_settings=CONTEXT)
def command() -> None:
    """Store items in a persistent index, and find those similar to new ones.

    INDEX is a folder, or postgresql://user@host/database?table=prefix. Answers are those of `lookalike pairs --method
    lsh --against`, and of `lookalike dedup --reference`: every similarity is verified.
    """


@command.command("create", epilog=_CREATE, context_settings=CONTEXT)
@_index
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@shared_options(
    without=("method",), measure="For sets: jaccard, dice, cosine. For vectors: cosine, euclidean, hamming."
)
@click.option(
    "--store",
    default="sets",
    show_default=True,
    metavar="[sets|text]",
    help="Store each item's set of shingles, or its text (needed to show texts on the web page).",
)
@_conflict
@json_and_quiet
def create(
    index: str, inputs: tuple[str, ...], store: str, on_conflict: str, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Create an index, empty or with the items of INPUT."""
    from lookalike.cli.engines import check_cluster, open_digesting, take_engine
    from lookalike.cli.progress import open_progress
    from lookalike.engine.columns import check_columns
    from lookalike.engine.method import report_plan
    from lookalike.index.index import StoredIndex
    from lookalike.index.kind import Kind, settings_for_index
    from lookalike.index.stores import check_new
    from lookalike.read import check_inputs

    master = take_engine(options)
    unshared = {"store standard input in a file": "-" in inputs, "create the index in a folder": "://" in index}
    check_cluster(master, {}, unshared)
    settings = settings_for_index(id=options.pop("id_"), **options)
    check_new(index)
    check_inputs(inputs)
    progress = open_progress(quiet)
    kind = Kind.create(settings, store)
    with _opened(inputs, settings, progress) as sources, open_digesting(master, index, settings, progress) as elsewhere:
        check_columns(sources, settings.items)
        if kind.decided:
            report_plan(kind.settings, None, progress)
        made = StoredIndex.create(
            index, settings, sources, store=store, progress=progress, on_conflict=on_conflict, elsewhere=elsewhere
        )
    with made:
        counts = {"items": len(made), "rejected": len(made.rejected)}
        _tell(made, progress, as_json, counts, "" if inputs else "created, empty")


@command.command("add", epilog=_ADD, context_settings=CONTEXT)
@_index
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--if-new", is_flag=True, help="Add an item only if nothing similar is in the index or was added before it."
)
@_conflict
@_durability
@_out
@_overwrite
@_threads
@_memory
@json_and_quiet
def add(
    index: str,
    inputs: tuple[str, ...],
    if_new: bool,
    on_conflict: str,
    durability: str,
    out: str | None,
    overwrite: bool,
    threads: int | None,
    memory: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Add items to an index, all of them or none.

    FILE gets the columns id, added, match, similarity. With --if-new, match is the most similar item of the index at
    that moment.
    """
    from lookalike.cli.output import TableOutput
    from lookalike.cli.progress import open_progress
    from lookalike.index.index import StoredIndex
    from lookalike.read import check_inputs
    from lookalike.types import compute as pc

    check_inputs(inputs)
    output = None if out is None else TableOutput.check(out, overwrite, as_json, "items", inputs)
    progress = open_progress(quiet)
    opened = StoredIndex.open(index, durability=durability, progress=progress, threads=threads, memory=memory)
    with opened, _opened(inputs, opened.kind.settings, progress) as sources:
        table = opened.add(sources, if_new=if_new, on_conflict=on_conflict)
        if output is not None:
            output.write([table])
        added = int(pc.sum(table["added"]).as_py() or 0)
        counts = {"items": len(opened), "added": added, "not_added": table.num_rows - added}
        _tell(opened, progress, as_json, {**counts, "rejected": len(opened.rejected)})


@command.command("query", epilog=_QUERY, context_settings=CONTEXT)
@_index
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-k", default=10, show_default=True, help="Maximum number of matches per item.")
@click.option("--threshold", help="A higher threshold than that of the index. [default: that of the index]")
@_out
@_overwrite
@_threads
@_memory
@json_and_quiet
def query(
    index: str,
    inputs: tuple[str, ...],
    k: int,
    threshold: str | None,
    out: str | None,
    overwrite: bool,
    threads: int | None,
    memory: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """List the most similar items of an index for each item of INPUT.

    The columns are left, right, similarity (or distance), rank.
    """
    from lookalike.cli.output import TableOutput
    from lookalike.cli.progress import open_progress
    from lookalike.index.index import StoredIndex
    from lookalike.read import check_inputs

    check_inputs(inputs)
    output = TableOutput.check(out, overwrite, as_json, "matches", inputs)
    progress = open_progress(quiet)
    opened = StoredIndex.open(index, read_only=True, progress=progress, threads=threads, memory=memory)
    with opened, _opened(inputs, opened.kind.settings, progress) as sources:
        found = opened.matches(sources, k, threshold)
        output.write(found.tables())
        counts = {"items": len(opened), "matches": len(found), "rejected": len(opened.rejected)}
        _tell(opened, progress, as_json, counts)


@command.command("remove", epilog=_REMOVE, context_settings=CONTEXT)
@_index
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--ids", "file", metavar="FILE", help="A file with one id per line.")
@click.option("--older-than", metavar="AGE", help="Remove items added longer ago than this: 90d, 12h, 30m, 2w.")
@json_and_quiet
def remove(
    index: str, ids: tuple[str, ...], file: str | None, older_than: str | None, as_json: bool, quiet: bool
) -> None:
    """Remove items from an index: by id, or by age."""
    from lookalike.cli.progress import open_progress
    from lookalike.errors import UsageError
    from lookalike.index.ages import parse_age
    from lookalike.index.index import StoredIndex
    from lookalike.read.txt import read_small_lines

    if not ids and file is None and older_than is None:
        raise UsageError("name the items to remove: ID..., --ids FILE or --older-than AGE")
    named = list(ids)
    if file is not None:
        named += [line for line in read_small_lines(Path(file), "--ids") if line]
    age = None if older_than is None else parse_age(older_than)
    progress = open_progress(quiet)
    with StoredIndex.open(index, progress=progress) as opened:
        unknown = opened.unknown_ids(named)
        removed = opened.remove(named, older_than=age)
        _tell(opened, progress, as_json, {"items": len(opened), "removed": removed})
        if unknown:
            more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
            progress.say(f"Not in the index: {', '.join(map(repr, unknown[:_NAMED]))}{more}.")


@command.command("stats", context_settings=CONTEXT)
@_index
@json_and_quiet
def stats(index: str, as_json: bool, quiet: bool) -> None:
    """Show the size of an index.

    Items, bytes per item, segments, log, and the largest bucket.
    """
    from lookalike.index.index import StoredIndex

    with StoredIndex.open(index, read_only=True) as opened:
        found = opened.store.describe()
    if as_json:
        click.echo(json.dumps(found))
    if as_json or quiet:
        return
    size = found["bytes_per_item"]
    each = "" if size is None else f", {size:,.0f} per item"
    click.echo(f"items           {found['items']:,} ({found['removed']:,} removed and not compacted yet)")
    click.echo(f"bytes           {found['bytes']:,}{each}")
    if log := found.get("log"):
        click.echo(f"segments        {found['segments']}")
        click.echo(f"log             {log['items']:,} items, {log['bytes']:,} bytes")
    click.echo(f"largest bucket  {found['largest_bucket']:,} items")
    if found["oversize_buckets"]:
        refined = found.get("refined_items", 0)
        how = f"{refined:,} items are found by rare shingles" if refined else "queries that hit one are slower"
        click.echo(f"large buckets   {found['oversize_buckets']:,} with more than 200 items (often boilerplate): {how}")


@command.command("check", context_settings=CONTEXT)
@_index
@json_and_quiet
def check(index: str, as_json: bool, quiet: bool) -> None:
    """Verify all files of an index.

    Compares checksums, and checks that keys are in order and that every item is in all its buckets.

    Exit code 3 means that something is wrong; the output names the files.
    """
    from lookalike.errors import BadDataError
    from lookalike.index.stores import check_store

    wrong = check_store(index)
    if as_json:
        click.echo(json.dumps({"good": not wrong, "wrong": wrong}))
    if wrong:
        raise BadDataError("\n".join(wrong))
    if not as_json and not quiet:
        click.echo("No problems found.")


@command.command("compact", context_settings=CONTEXT)
@_index
@_memory
@json_and_quiet
def compact(index: str, memory: str | None, as_json: bool, quiet: bool) -> None:
    """Merge an index into one segment, without removed items."""
    from lookalike.cli.progress import open_progress
    from lookalike.index.index import StoredIndex

    progress = open_progress(quiet)
    with StoredIndex.open(index, progress=progress, memory=memory) as opened:
        opened.compact()
        _tell(opened, progress, as_json, {"items": len(opened)})


@command.command("snapshot", epilog=_SNAPSHOT, context_settings=CONTEXT)
@_index
@click.argument("to", metavar="DEST")
@json_and_quiet
def snapshot(index: str, to: str, as_json: bool, quiet: bool) -> None:
    """Copy an index to the new folder DEST while it is in use.

    The copy is an index of its own: a consistent state, whose checksums are verified while it is written. An index in
    PostgreSQL is copied with pg_dump.
    """
    from lookalike.cli.progress import open_progress
    from lookalike.index.index import StoredIndex
    from lookalike.index.stores import snapshot_store

    progress = open_progress(quiet)
    size = snapshot_store(index, to, progress)
    with StoredIndex.open(to, read_only=True, progress=progress) as copied:
        _tell(copied, progress, as_json, {"items": len(copied), "bytes": size})


@contextmanager
def _opened(inputs: tuple[str, ...], settings: Settings, progress: Progress) -> Iterator[list[Source]]:
    """The sources of the command line, and a place for a copy of standard input."""
    from lookalike.read import open_inputs
    from lookalike.types import TEMPORARY

    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as spool:
        if not inputs:
            yield []
            return
        yield open_inputs(
            inputs,
            encoding=settings.items.encoding,
            spool=Path(spool),
            skip_errors=settings.items.skip_errors,
            note=progress.say,
            limits=settings.execution.limits,
        )


def _tell(opened: StoredIndex, progress: Progress, as_json: bool, counts: dict[str, int], told: str = "") -> None:
    """The summary: as JSON on stdout, or a line on stderr (the counts by default); and which lines were skipped."""
    from lookalike.cli.output import TableOutput

    if as_json:
        click.echo(json.dumps({"counts": counts, "seconds": progress.seconds}))
    one = {"items": "item", "matches": "match"}
    told = told or ", ".join(
        f"{number:,} {(one.get(name, name) if number == 1 else name).replace('_', ' ')}"
        for name, number in counts.items()
        if name != "rejected"
    )
    progress.say(f"{opened.store.name}: {told}.")
    if opened.rejected:
        progress.say(f"Skipped lines: {TableOutput(None).write_rejected(opened.rejected)}.")
