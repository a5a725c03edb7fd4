"""The exceptions, each with the exit code of the command line.

A message names the place (file and line, option, row) and says what to do.
"""


class LookalikeError(Exception):
    """The base of all errors that lookalike raises. `exit_code` is the exit code of the command line."""

    exit_code = 1


class UsageError(LookalikeError, ValueError):
    """A wrong option, a missing input, or an output that already exists."""

    exit_code = 2


class BadDataError(LookalikeError, ValueError):
    """Input that is not valid data of its format."""

    exit_code = 3


class ResourceError(LookalikeError, RuntimeError):
    """Not enough disk space or memory."""

    exit_code = 4


def interrupt_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interrupt during which an error was raised: interrupted, `shutil.rmtree` can close a file twice.

    Examples
    --------
    >>> interrupt_behind(OSError("Bad file descriptor")) is None
    True
    """
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found
