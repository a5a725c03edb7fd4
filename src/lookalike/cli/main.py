"""The command line: `lookalike COMMAND`. Commands are imported only when they are called."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys

import click

from lookalike.errors import LookalikeError, ResourceError, UsageError
from lookalike.version import __version__

COMMANDS = {
    "dedup": "Remove near-duplicates: the main job.",
    "pairs": "List all similar pairs.",
    "neighbors": "List the most similar items of each item.",
    "link": "Find records that are the same entity, and how sure it is.",
    "faces": "Find who has nearly the same measurements.",
    "fingerprints": "Find which prints are of the same finger.",
    "audit": "Measure the recall that a finished dedup reached.",
    "tune": "Threshold and recall to a plan, with its S-curve.",
    "demo": "The main job on text found on this machine.",
}
"""Each is a module of this package with a click command named `command`."""

INTERRUPTED = 130
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class LazyGroup(click.Group):
    """Knows the commands by name and imports one only to run it: `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lookalike.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """One line each, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExample:\n  lookalike dedup news.jsonl -o out --threshold 0.8",
)
@click.version_option(__version__, message="lookalike %(version)s")
def group() -> None:
    """Find similar items: near-duplicate documents and similar sets, each pair verified."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; ends the process with the documented exit code."""
    code = run(arguments)
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    # All is written and closed. Taking the interpreter, LLVM and their memory down in order takes a tenth of a
    # second, which a small job would notice.
    os._exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; problems are said in one line on stderr."""
    try:
        group.main(arguments, prog_name="lookalike", standalone_mode=False)
        if sys.stdout is not None:
            # the last of the data: if it cannot be written, the run has failed
            sys.stdout.flush()
    except LookalikeError as error:
        _complain(str(error))
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code if not isinstance(error, click.FileError) else 2
    except (KeyboardInterrupt, click.exceptions.Abort):  # click makes the one of the other
        _complain("interrupted")
        return INTERRUPTED
    except MemoryError:
        _complain("out of memory; use fewer --threads or split the input")
        return 4
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): that is not an error.
        return 0
    except SystemExit:  # what click makes of a broken pipe
        return 0
    except OSError as error:
        _complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return ResourceError.exit_code if error.errno in NO_SPACE else UsageError.exit_code
    return 0


def _complain(message: str) -> None:
    click.echo(f"lookalike: {message}", err=True)
