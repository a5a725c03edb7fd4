"""Options that several commands share, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from lookalike.engine.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

_SHARED = [
    click.option("--column", default="text", show_default=True, help="The column that is compared."),
    click.option("--id", "id_", metavar="COLUMN", help="The column that names an item. [default: id, or FILE:ROW]"),
    click.option("--threshold", default="0.8", show_default=True,
                 help="Smallest similarity of a pair (overlap: a count), or largest distance."),
    click.option("--recall", type=float, default=0.99, show_default=True, help="Share of similar pairs to find."),
    click.option("--hashes", type=int, default=256, show_default=True, help="Minhash values per item at most."),
    click.option("--shingle", default="word:5", show_default=True, help="word:W, char:K or stopword:N."),
    click.option("--bag", is_flag=True, help="Count repeated shingles."),
    click.option("--language", default="en", show_default=True, help="Whose stop words, for --shingle stopword:N."),
    click.option("--measure", default="jaccard", show_default=True, metavar="MEASURE",
                 help="Of sets: jaccard, dice, cosine; containment and overlap but by lsh. Of vectors: cosine, "
                      "euclidean, hamming."),
    click.option("--method", default="auto", show_default=True, metavar="METHOD",
                 help="lsh (recall as asked); exact, brute, for pairs merge (nothing missed); auto: the cheapest."),
    click.option("--seed", type=int, default=1, show_default=True, help="Another seed draws other hash functions."),
    click.option("--memory", metavar="SIZE",
                 help="How much memory to use, such as 4GiB. [default: half of the machine's]"),
    click.option("--threads", type=int, help="How many processors to use. [default: all]"),
    click.option("--on-error", default="stop", show_default=True, metavar="[stop|skip]",
                 help="At a bad line: stop, or skip it and set it aside."),
    click.option("--encoding", default="utf-8", show_default=True, help="How text files are encoded."),
]  # fmt: skip
_TALKING = [
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="No plan, progress or summary."),
]


def shared_options(command: Command) -> Command:
    """Add the options that describe what is similar."""
    return _add(_SHARED, command)


def shared_options_but(*names: str) -> Callable[[Command], Command]:
    """Add these options without some, by the names of their parameters."""

    def add(command: Command) -> Command:
        before = list(getattr(command, "__click_params__", []))
        command = _add(_SHARED, command)
        added = [option for option in command.__click_params__ if option not in before]  # type: ignore[attr-defined]
        command.__click_params__ = before + [option for option in added if option.name not in names]  # type: ignore[attr-defined]
        return command

    return add


def length_option(command: Command) -> Command:
    """Add --length-ratio."""
    return click.option(
        "--length-ratio",
        metavar="R",
        help="Compare only items of similar length: shorter / longer at least R, where the length of an item is its "
        "number of distinct shingles. [default: items of any length]",
    )(command)


def transpose_option(command: Command) -> Command:
    """Add --transpose."""
    return click.option(
        "--transpose",
        is_flag=True,
        help="For .dat files and lists: compare the elements instead, each as the set of rows that hold it.",
    )(command)


def check_transpose(transpose: bool, against: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse what does not go with --transpose."""
    from lookalike.errors import UsageError

    others = {"--against": against, "--id": options["id_"], "--on-error skip": options["on_error"] == "skip"}
    for name in [name for name, given in others.items() if transpose and given]:
        raise UsageError(f"--transpose: elements are the items, and name themselves; {name} does not go with it")


def talking_options(command: Command) -> Command:
    """Add --json and --quiet."""
    return _add(_TALKING, command)


def _add(options: Sequence[Callable[[Any], Any]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def settings_from(options: dict[str, Any]) -> Settings:
    """Check the shared options."""
    from lookalike.engine.settings import Settings

    options = dict(options)
    return Settings.parse(id=options.pop("id_"), **options)
