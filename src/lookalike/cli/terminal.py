"""The terminal: the one place where text is made safe for it, where errors are written, and where progress is shown."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import shlex
import sys
import threading
from typing import TYPE_CHECKING, TextIO

import click

from lookalike.cli.stopping import signals_held
from lookalike.errors import LookalikeError, WrongColumnError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_OTHERS = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
"""DEL and the control characters of Latin-1, separators of lines, characters that reverse text, and halves of surrogate
pairs."""
_UNSAFE = re.compile(f"[\x00-\x1f{_OTHERS}]")
_UNSAFE_IN_DATA = re.compile(f"[\x00-\x08\x0b-\x1f{_OTHERS}]")
"""The same without tabs and line ends, which separate columns and rows."""
_ERASE = "\x1b[K"
"""Erases from the cursor to the end of its line."""
_CTRL_C = 2
"""Columns that a terminal needs to show an interrupt as ^C."""
_COLUMNS = 80
"""The width of terminals that do not know it."""

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
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")


class StatusLine:
    """The line of stderr below all others, which is written again and again to show how far the work is.

    The cursor never leaves this line, so nothing above it can be overwritten, whatever the size of the terminal.
    """

    def __init__(self) -> None:
        self.writing = threading.RLock()
        """Held by whoever writes to the terminal."""
        self.hidden = False
        """Whether the line below the others is needed for data."""
        self.over = False
        """Whether the command has ended or failed: nothing more is said about its progress."""
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the line; it is cut to the width that the terminal has now."""
        with self.writing:
            if not self.hidden:
                self._shown = True
                _echo(f"\r{printable(text)[: max(1, _columns() - 1 - _CTRL_C)]}{_ERASE}", end="")

    def clear(self) -> bool:
        """Remove the line before something else is written there; returns whether it was shown."""
        with self.writing:
            shown = self._shown
            if shown:
                _echo(f"\r{_ERASE}", end="")
            self._shown = False
            return shown

    def end(self) -> None:
        """Remove the line, and show none until the next stage starts: a thread may still be about to write one."""
        with self.writing:
            self.clear()
            self.hidden = self.over = True


status = StatusLine()


def say(line: str = "") -> None:
    """Write a line to stderr, above the status line."""
    with status.writing:
        status.clear()
        _echo(printable(line))


def _echo(text: str, end: str = "\n") -> None:
    """Write to stderr; if that is closed or full, the result and the exit code are the same without it."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(text + end, err=True, nl=False)  # in one call, so that lines of two threads do not mix


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except (AttributeError, OSError, ValueError):
        return _COLUMNS


def protect_terminal() -> None:
    """If standard output is a terminal, let it show what it would otherwise execute; pipes and files get every byte."""
    if sys.stdout is not None and sys.stdout.isatty():
        shown = ShownOutput(sys.stdout)
        sys.stdout = io.TextIOWrapper(shown, "utf-8", "backslashreplace", newline="\n", write_through=True)


class ShownOutput(io.BufferedIOBase):
    r"""UTF-8 for a terminal, with control characters escaped as in `printable`, except tabs and line ends.

    Ids and texts come from others. What is no UTF-8, or is not in the terminal's own encoding, is escaped as well.

    Examples
    --------
    >>> ShownOutput(sys.stdout).write("\x1b]0;title\x07 nähe\n".encode())
    \x1b]0;title\x07 nähe
    17
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        if isinstance(terminal, io.TextIOWrapper):
            terminal.reconfigure(errors="backslashreplace")

    def write(self, data: ReadableBuffer) -> int:
        """Show all of it."""
        with status.writing:
            status.hidden = True  # until the next stage: these data may end within a line
            status.clear()
            self._terminal.write(_UNSAFE_IN_DATA.sub(_escape, self._decoder.decode(bytes(data))))
        return len(memoryview(data).cast("B"))

    def flush(self) -> None:
        """Show it now."""
        self._terminal.flush()

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """That of the terminal."""
        return self._terminal.fileno()


complaints: list[str] = []
"""The errors that were written."""


def complain(message: str) -> None:
    """Write an error as one line on stderr, completely; it is the last."""
    with signals_held(), status.writing:
        status.end()
        say(f"lookalike: {message}")
        complaints.append(message)


def describe_error(error: LookalikeError) -> str:
    """The message of an error that the Python functions share, as the command line words it.

    Examples
    --------
    >>> describe_error(WrongColumnError("a.csv: no column 'text'; its columns are 'a b'", "column", "a b"))
    "a.csv: no column 'text'; its columns are 'a b'; did you mean --column 'a b'?"
    """
    if not isinstance(error, WrongColumnError):
        return in_options(str(error))
    option = f"--{error.option}"
    advice = f"did you mean {option} {shlex.quote(error.value)}?" if error.value else f"choose another with {option}"
    return f"{error.problem}; {advice}"


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
