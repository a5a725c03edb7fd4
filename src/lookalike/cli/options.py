"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from lookalike.engine.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

_option = partial(partial, click.option)
"""An option with its attributes, which a command may change."""
_SHARED: dict[str, Callable[..., Any]] = {
    "threshold": _option(
        "--threshold", default="0.8", show_default=True,
        help="Lowest similarity of a pair (overlap: a count), or largest distance."),
    "measure": _option(
        "--measure", default="jaccard", show_default=True, metavar="MEASURE",
        help="For sets: jaccard, dice, cosine and, except with lsh, containment, overlap. For vectors: cosine, "
             "euclidean, hamming."),
    "recall": _option(
        "--recall", type=float, default=0.99, show_default=True, help="Target recall: share of similar pairs to find."),
    "column": _option("--column", default="text", show_default=True, help="The column to compare."),
    "id": _option("--id", "id_", metavar="COLUMN", help="The column with ids. [default: id, or FILE:ROW]"),
    "shingle": _option(
        "--shingle", default="word:5", show_default=True, help="How to shingle texts: word:W, char:K or stopword:N."),
    "bag": _option("--bag", is_flag=True, help="Count repeated shingles."),
    "language": _option(
        "--language", default="en", show_default=True, help="Language of the stop words, for --shingle stopword:N."),
    "method": _option(
        "--method", default="auto", show_default=True, metavar="METHOD",
        help="lsh reaches the target recall; exact and brute miss nothing; auto uses the cheapest."),
    "hashes": _option(
        "--hashes", type=int, default=256, show_default=True, help="Maximum number of minhash values per item."),
    "seed": _option("--seed", type=int, default=1, show_default=True, help="Seed of the hash functions."),
    "on_error": _option(
        "--on-error", default="stop", show_default=True, metavar="[stop|skip]",
        help="What to do with a bad line: stop, or set it aside and continue."),
    "encoding": _option("--encoding", default="utf-8", show_default=True, help="Encoding of text files."),
    "memory": _option(
        "--memory", metavar="SIZE", help="Memory limit, such as 4GiB. [default: half of the machine's memory]"),
    "engine": _option(
        "--engine", default="local", show_default=True, metavar="[local|spark]",
        help="Run on this machine, or on a Spark cluster with the same result."),
    "master": _option("--master", metavar="URL", help="For --engine spark: local[2], spark://HOST:7077 or yarn."),
    "threads": _option("--threads", type=int, help="Number of threads. [default: all processors]"),
}  # fmt: skip
_TALKING = [
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Print no plan, progress or summary."),
]


def shared_options(*, without: Iterable[str] = (), **helps: str) -> Callable[[Command], Command]:
    """Add the options that say what items are, what is similar and how the run is executed, except some.

    The help of an option whose choices are others in this command can be given by the option's name.
    """
    left_out = set(without)

    def add(command: Command) -> Command:
        chosen = {name: option for name, option in _SHARED.items() if name not in left_out}
        return _add(
            [option(help=helps[name]) if name in helps else option() for name, option in chosen.items()], command
        )

    return add


def length_option(command: Command) -> Command:
    """Add --length-ratio."""
    return click.option(
        "--length-ratio",
        metavar="R",
        help="Compare only items of similar length: shorter / longer at least R, by the number of distinct shingles. "
        "[default: items of any length]",
    )(command)


def transpose_option(command: Command) -> Command:
    """Add --transpose."""
    return click.option(
        "--transpose",
        is_flag=True,
        help="For .dat files and lists: compare the elements instead, each as the set of rows that contain it.",
    )(command)


def memory_option(command: Command) -> Command:
    """Add --memory."""
    return _add([_SHARED["memory"]()], command)


def json_and_quiet(command: Command) -> Command:
    """Add --json and --quiet."""
    return _add(_TALKING, command)


def _add(options: Sequence[Callable[[Any], Any]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def check_transpose(transpose: bool, against: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse options that cannot be combined with --transpose."""
    from lookalike.errors import UsageError

    others = {"--against": against, "--id": options["id_"], "--on-error skip": options["on_error"] == "skip"}
    for name in [name for name, given in others.items() if transpose and given]:
        raise UsageError(f"--transpose: the items are the elements, which are their own ids; leave {name} out")


def settings_from(options: dict[str, Any]) -> Settings:
    """Check the shared options."""
    from lookalike.engine.settings import Settings

    options = dict(options)
    return Settings.parse(id=options.pop("id_"), **options)
