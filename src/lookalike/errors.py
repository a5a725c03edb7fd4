"""The exceptions, each with the exit code that the command line ends with.

A message names the place (file and line, option, row) and says what to do.
"""


class LookalikeError(Exception):
    """Whatever lookalike itself finds wrong. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(LookalikeError, ValueError):
    """A wrong option, a missing input, an output that exists already."""

    exit_code = 2


class BadDataError(LookalikeError, ValueError):
    """Input that cannot be read as what it claims to be."""

    exit_code = 3


class ResourceError(LookalikeError, RuntimeError):
    """Not enough disk or memory."""

    exit_code = 4
