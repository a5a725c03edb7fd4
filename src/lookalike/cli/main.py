"""The command line: `lookalike COMMAND`. A command is imported only when it is called."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import sys
import time
import warnings
from typing import Any

import click

from lookalike import address_space
from lookalike.cli import lean_imports, stopping
from lookalike.cli.terminal import complain, complaints, describe_error, describe_usage, protect_terminal, say, status
from lookalike.errors import LookalikeError, ResourceError, UsageError, is_device_failure
from lookalike.version import __version__

COMMANDS = {
    "dedup": "Remove near-duplicates, and record a reason for each removal.",
    "pairs": "List all similar pairs.",
    "neighbors": "List the most similar items of each item.",
    "index": "Store items, and find those similar to new ones.",
    "serve": "Serve an index over HTTP, with a web page.",
    "link": "Find records that describe the same entity.",
    "faces": "Find people with nearly the same measurements.",
    "fingerprints": "Find prints of the same finger.",
    "report": "Write an HTML report of a finished run.",
    "audit": "Measure the recall of a finished dedup run.",
    "tune": "Show the plan and the S-curve for a threshold and a recall.",
    "demo": "Run dedup on the Python files of this machine.",
}
"""Each is a module of this package that defines a click command named `command`."""

LIBRARIES = {"MIMALLOC_ALLOW_THP": "0", "OPENBLAS_NUM_THREADS": "1"}
"""Settings that libraries read when they are imported, unless the user has set them. Arrow's allocator takes memory in
pages of 4 kB instead of 2 MB, which takes a tenth less of it, and half the time in the system on a virtual machine that
returns free memory to its host. NumPy multiplies matrices on one thread: our own threads share the work, and the sums
in `link` would otherwise depend on the number of processors (docs/log.md)."""
PROGRAM = "lookalike"
COMPLETE = "_LOOKALIKE_COMPLETE"
"""The variable by which a shell asks for completion."""
NO_TEMPORARY = "No usable temporary directory"
"""What Python says if neither TMPDIR nor the usual folders can be written."""
NOT_UTF8 = (
    r":\d+: (in the header: )?not valid UTF-8|: not valid UTF-8: byte \S+ at position \d+(; is this a text file\?)?$"
)
"""The error of a line or a file that is in another encoding, or no text."""
STDOUT = "<stdout>"
"""What Python calls standard output."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2


class LazyGroup(click.Group):
    """Knows the commands by name and imports one only to run it, so that `--help` responds at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lookalike.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Suggest a command if there is none of this name."""
        if args and args[0] not in COMMANDS and (near := _nearest(args[0])):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """A line per command, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _nearest(name: str) -> str | None:
    """The command that a name is nearly that of."""
    from difflib import get_close_matches

    longer = [command for command in COMMANDS if name.startswith(command)]
    return next(iter(longer or get_close_matches(name, COMMANDS, 1)), None)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExample:\n  lookalike dedup news.jsonl -o out --threshold 0.8",
)
@click.version_option(__version__, message="lookalike %(version)s")
@click.pass_context
def group(context: click.Context) -> None:
    """Find similar items: near-duplicate documents, similar sets and vectors, records of the same entity.

    Every pair it reports has been verified. `lookalike COMMAND -h` explains a command.
    """
    context.obj = time.perf_counter()
    address_space.check_limit()
    stopping.choose_temporary_folder()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and end the process with the documented exit code."""
    for name, value in LIBRARIES.items():
        os.environ.setdefault(name, value)
    address_space.reserve_little()
    lean_imports.leave_out()
    stopping.catch_signals()
    protect_terminal()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # warnings are for developers, who set PYTHONWARNINGS
    try:
        code = run(arguments)
        stopping.ignore_signals()
    except KeyboardInterrupt as error:  # in the last moment
        stopping.ignore_signals()
        code = stopping.exit_code(error) if complaints else _report_interrupt(error)  # an error is one line
    stopping.remove_temporary()  # folders that `os._exit`, or a signal at a bad moment, would leave behind
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
    if "fsspec.implementations.cached" in sys.modules:
        sys.exit(code)  # its copies of files go when the interpreter shuts down
    # Everything is written and closed. An orderly shutdown of the interpreter and LLVM takes a tenth of a second,
    # which matters for a small job.
    os._exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; an error is one line on stderr."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _call(arguments)
        if sys.stdout is not None:
            # if the end of the data cannot be written, the run has failed
            sys.stdout.flush()
    except LookalikeError as error:
        complain(describe_error(error) + _advice(str(error), arguments))
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, _NO_ARGUMENTS):
            error.show()  # the help
        else:
            complain(describe_usage(error))
        return UsageError.exit_code
    except click.exceptions.Exit as end:  # after the help
        return end.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        return _report_interrupt(error)
    except MemoryError:
        complain("out of memory; use fewer --threads or split the input")
        return ResourceError.exit_code
    except RuntimeError as error:
        if (interrupt := _interrupt_behind(error)) is not None:  # Python wraps what is raised while a class is made
            return _report_interrupt(interrupt)
        if str(error) != "can't start new thread":
            raise
        complain("no more threads can be started; raise the limit of memory or processes (see ulimit -a)")
        return ResourceError.exit_code
    except BrokenPipeError:
        # The reader of our output has gone (`| head`), which is not an error.
        return 0
    except SystemExit:  # after shell completion
        return 0
    except OSError as error:
        if (interrupt := _interrupt_behind(error)) is not None:  # it was not the only thing to fail
            return _report_interrupt(interrupt)
        if NO_TEMPORARY in str(error):
            complain("temporary files cannot be written anywhere; set TMPDIR to a folder with free space")
            return ResourceError.exit_code
        complain(f"{_place_of(error)}: {error.strerror or error}")
        resources = error.errno in NO_SPACE or is_device_failure(error)
        return ResourceError.exit_code if resources else UsageError.exit_code
    finally:
        status.end()
    return 0


def _place_of(error: OSError) -> str:
    """The file that an error of the system is about. If it has no name, the command line failed to write to stdout."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = str(last.tb_frame.f_globals.get("__name__")) if last is not None else ""
    if error.filename == STDOUT or (not error.filename and module.startswith(("click.", "lookalike.cli."))):
        return "standard output"
    return str(error.filename or "a file or device")


def _advice(message: str, arguments: list[str]) -> str:
    """What may help against an error, if the command has the option for it."""
    if not re.search(NOT_UTF8, message):
        return ""
    command: click.Command | None = group
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    options = [name for parameter in (command.params if command else []) for name in parameter.opts]
    skipping = "leave it out with --on-error skip" if "--on-error" in options else ""
    if message.endswith("?"):
        return f" If not, {skipping}" if skipping else ""
    skipping = f"; {skipping}" if skipping else ""
    if "--encoding" not in options or any(word.startswith("--encoding") for word in arguments):
        return skipping
    return f"{skipping}; if all of the input is in another encoding, name it, as in --encoding latin-1"


def _interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt that an error was raised from, or during the handling of which it was raised."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__cause__ or behind.__context__
    return behind


def _call(arguments: list[str]) -> None:
    """Call a command.

    `group.main` does the same, but prints an empty line when it is interrupted; it is needed for shell completion.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if COMPLETE in os.environ:
        group.main(arguments, prog_name=PROGRAM, complete_var=COMPLETE, standalone_mode=False)
    else:
        with group.make_context(PROGRAM, list(arguments)) as context:
            group.invoke(context)


def _report_interrupt(error: BaseException) -> int:
    """Say that the run was interrupted, and return its exit code."""
    if sys.stderr is not None and sys.stderr.isatty() and not status.clear():
        say()  # ends the line on which the terminal shows ^C
    complain(stopping.describe(error))
    return stopping.exit_code(error)
