"""Output to stderr: the one place where text is made safe for terminals and errors are written as one line."""

from __future__ import annotations

import contextlib
import re

import click

from lookalike.cli.stopping import signals_held

_UNSAFE = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
"""Control characters, separators of lines, characters that reverse text, and halves of surrogate pairs."""


_PARAMETERS = "threshold|measure|recall|hashes|bits|width|noise|close|edge|precision|scale|triples"
_BEFORE_PARAMETER = re.compile(
    rf"^(?=({_PARAMETERS}) (must be|\S+: |\S+ (is|has) ))|(?<=set )(?=hashes to)|(?<=with )(?=columns$)"
)


def printable(text: str) -> str:
    r"""Escape everything that a terminal would execute instead of display, including line ends.

    Names of files and values of options come from others: they must not move the cursor or fake a line of output.

    Examples
    --------
    >>> printable("naïve\x1b[2J\n名.jsonl")
    'naïve\\x1b[2J\\n名.jsonl'
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSAFE, lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def say(line: str = "") -> None:
    """Write a line to stderr; if that is closed or full, the result and the exit code are the same without it."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(printable(line), err=True)


complaints: list[str] = []
"""The errors that were written."""


def complain(message: str) -> None:
    """Write an error as one line on stderr, completely."""
    with signals_held():
        say(f"lookalike: {message}")
        complaints.append(message)


def in_options(message: str) -> str:
    """A message that the Python functions share, with options in place of their parameters.

    Examples
    --------
    >>> in_options("threshold must be a number such as 0.8, not high")
    '--threshold must be a number such as 0.8, not high'
    >>> in_options("16 hashes cannot find them: set hashes to 90 or more")
    '16 hashes cannot find them: set --hashes to 90 or more'
    """
    return _BEFORE_PARAMETER.sub("--", message)


def describe_usage(error: click.ClickException) -> str:
    """The error of the option parser in one line, and where the options are explained.

    Examples
    --------
    >>> describe_usage(click.UsageError("No such option '--thresold'."))
    "No such option '--thresold'; see lookalike -h"
    >>> describe_usage(click.UsageError("No such option '--bagg'. Did you mean '--bag'?"))
    "No such option '--bagg'. Did you mean '--bag'? See lookalike -h"
    """
    # click lists choices on lines of their own
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    link = " See" if message.endswith("?") else "; see"
    return f"{message}{link} {context.command_path if context else 'lookalike'} -h"
