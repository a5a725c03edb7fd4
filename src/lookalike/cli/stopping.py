"""Stop a run by a signal: Ctrl-C, SIGTERM and SIGHUP all end it cleanly, and its finished work is kept.

This module imports nothing that takes time: it must be in place before the rest is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

REPEATED_SECONDS = 1.0
"""A signal this soon after another counts as the same request, and must not interrupt the cleanup."""

LATER_SECONDS = 0.05
TEMPORARY_PLACES = ("/tmp", "/var/tmp", "/usr/tmp")
"""As in Python, after those that the user names."""

_held = False
_waiting: list[int] = []
"""Signals that came while they were held."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the run; `args` say how to resume, if that is possible."""

    signal_number = int(signal.SIGINT)


def catch_signals() -> None:
    """Make signals that end the process raise `Stopped`, unless they are ignored (`nohup`)."""
    last = -2 * REPEATED_SECONDS
    losing = False

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal last
        if _held:
            _waiting.append(number)
            return
        if losing:  # what is raised now would be lost as well
            send_later(number)
            return
        before, last = last, time.monotonic()
        if last - before > REPEATED_SECONDS:
            stopped = Stopped()
            stopped.signal_number = number
            raise stopped

    others = sys.unraisablehook

    def send_again(lost: sys.UnraisableHookArgs) -> None:
        """Send the signal again: Python drops exceptions in destructors and callbacks, such as those of imports."""
        nonlocal last, losing
        if not isinstance(lost.exc_value, Stopped):
            others(lost)
            return
        last, losing = -2 * REPEATED_SECONDS, True
        send_later(lost.exc_value.signal_number)
        losing = False

    def send_later(number: int) -> None:
        threading.Timer(LATER_SECONDS, os.kill, (os.getpid(), number)).start()

    sys.unraisablehook = send_again
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, stop)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Let a signal stop the run only after this block, which must be short."""
    global _held
    _held = True
    try:
        yield
    finally:
        _held = False
        if _waiting:
            os.kill(os.getpid(), _waiting.pop())


def ignore_signals() -> None:
    """Let nothing interrupt the end of the process."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_IGN)


def exit_code(error: BaseException) -> int:
    """128 + the number of the signal."""
    return 128 + (error.signal_number if isinstance(error, Stopped) else int(signal.SIGINT))


def describe(error: BaseException) -> str:
    """The message, with how to resume if that is possible."""
    return "; ".join(["interrupted", *map(str, error.args)])


def choose_temporary_folder() -> None:
    """Decide where temporary files go by permissions.

    Python would write a file to find out, with a name that we do not know, and a signal would leave it there.
    """
    import tempfile

    named = filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))
    if tempfile.tempdir is None:
        tempfile.tempdir = next(filter(_is_writable, map(os.path.abspath, [*named, *TEMPORARY_PLACES])), None)


def _is_writable(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)  # noqa: PTH112


def remove_temporary() -> None:
    """Remove the temporary folders of this process, whenever it was stopped."""
    names = sys.modules.get("lookalike.types.names")
    if names is None:
        return
    import shutil
    import tempfile
    from pathlib import Path

    if tempfile.tempdir is None:  # no folder was made; to look for a place for one may fail
        return
    for folder in Path(tempfile.tempdir).glob(f"{names.TEMPORARY}*"):
        shutil.rmtree(folder, ignore_errors=True)
