"""The exceptions, each with the exit code of the command line.

A message names the place (file and line, option, row) and says what to do.
"""

import errno
from typing import TypeGuard

_DEVICE_FAILURES = {
    getattr(errno, name, errno.EIO)
    for name in ("EIO", "ENXIO", "ENODEV", "EREMOTEIO", "EUCLEAN", "ESTALE", "ETIMEDOUT", "EHOSTDOWN")
}
"""What systems report for a failing disk, a damaged file system, or a network folder that does not answer."""


class LookalikeError(Exception):
    """The base of all errors that lookalike raises. `exit_code` is the exit code of the command line."""

    exit_code = 1


class UsageError(LookalikeError, ValueError):
    """A wrong option, a missing input, or an output that already exists."""

    exit_code = 2


class BadDataError(LookalikeError, ValueError):
    """Input that is not valid data of its format."""

    exit_code = 3


class WrongColumnError(BadDataError):
    """An option names a column that does not exist.

    Parameters
    ----------
    problem : str
        What is wrong, and which columns there are.
    option : str
        The option.
    value : str
        The value of it that was probably meant; empty if nothing is similar.
    """

    def __init__(self, problem: str, option: str, value: str) -> None:
        super().__init__(problem, option, value)
        self.problem, self.option, self.value = problem, option, value

    def __str__(self) -> str:
        """For Python callers; the command line writes its own options.

        Examples
        --------
        >>> print(WrongColumnError("a.csv: no column 'tex'; its columns are 'id', 'text'", "column", "text"))
        a.csv: no column 'tex'; its columns are 'id', 'text'; did you mean column='text'?
        """
        advice = f"did you mean {self.option}={self.value!r}?" if self.value else f"choose another with {self.option}="
        return f"{self.problem}; {advice}"


class ResourceError(LookalikeError, RuntimeError):
    """Not enough disk space or memory, or a disk that fails."""

    exit_code = 4


def is_device_failure(error: BaseException | None) -> TypeGuard[OSError]:
    """Whether an error says that a disk, or a folder on the network, failed.

    Examples
    --------
    >>> is_device_failure(OSError(errno.EIO, "Input/output error")), is_device_failure(FileNotFoundError())
    (True, False)
    """
    return isinstance(error, OSError) and error.errno in _DEVICE_FAILURES


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
