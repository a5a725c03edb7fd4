"""Run a command in a fork of this process, or as a process of its own, within limits of time and memory."""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("lookalike")
FULL = Path("/dev/full")
MOST_SECONDS = 60.0
"""A command is killed after this much processor time, or as long without any; on a busy machine it has to wait."""
MEMORY_BYTES = 3 << 29
"""What a command may use beyond what the fuzzer itself holds."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Exit code; minus the number of a signal."""
    out: bytes
    err: bytes
    processor_seconds: float
    peak_bytes: int
    """Beyond what it started with."""
    killed: str = ""
    """Why it was killed."""


def run(
    arguments: list[str],
    place: Path,
    log: Path,
    *,
    stdin: str | None = None,
    full: bool = False,
    as_process: bool = False,
    kill_after: float | None = None,
    signal_after: tuple[float, int] | None = None,
) -> Ended:
    """Run `lookalike ARGUMENTS` in a folder; what it prints goes to files that start with `log`.

    The seconds of `signal_after` count from when the command catches signals.
    """
    base = 0 if as_process else _resident(os.getpid())
    printed = [log.with_suffix(suffix) for suffix in (".out", ".err")]
    for path in printed:
        path.write_bytes(b"")
    pid = os.fork()
    if pid == 0:
        _become(
            arguments,
            place,
            [place / stdin if stdin else Path(os.devnull), FULL if full else printed[0], printed[1]],
            as_process,
        )
    killed, status, used = _wait(pid, base, kill_after, signal_after)
    out, err = (path.read_bytes() for path in printed)
    peak = max(0, used.ru_maxrss * 1024 - base)
    return Ended(os.waitstatus_to_exitcode(status), out, err, used.ru_utime + used.ru_stime, peak, killed)


def _become(arguments: list[str], place: Path, streams: list[Path], as_process: bool) -> None:
    """What the child does; never returns."""
    try:
        os.chdir(place)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background lets it be ignored
        for number, path in enumerate(streams):
            os.dup2(os.open(path, os.O_WRONLY if number else os.O_RDONLY), number)
        os.environ["TMPDIR"] = str(place / "tmp")
        if as_process:
            os.execv(PROGRAM, [str(PROGRAM), *arguments])
        tempfile.tempdir = None
        sys.warnoptions.append("default")  # what developers would see is a failure here
        warnings.filterwarnings("ignore", "coroutine")  # except what a signal at the start of a server leaves
        faulthandler.enable()
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
        from lookalike.cli.main import main

        main(arguments)
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(99)


def _wait(
    pid: int, base: int, kill_after: float | None, signal_after: tuple[float, int] | None
) -> tuple[str, int, resource.struct_rusage]:
    """Wait for a child, and kill it when it takes too much, or after some seconds."""
    started = moved = time.monotonic()
    due = None
    used, killed = 0.0, ""
    handle = os.pidfd_open(pid)
    watch = select.poll()
    watch.register(handle, select.POLLIN)
    try:
        while not killed and not watch.poll(100 if kill_after is None and signal_after is None else 5):
            if signal_after is not None and due is None and _catches_signals(pid):
                due = time.monotonic() + signal_after[0]
            if signal_after is not None and due is not None and time.monotonic() >= due:
                os.kill(pid, signal_after[1])
                signal_after = None
            now, before, used = time.monotonic(), used, _processor_seconds(pid)
            moved = now if used > before else moved
            if kill_after is not None and now - started > kill_after:
                killed = "as planned"
            elif _resident(pid) - base > MEMORY_BYTES:
                killed = "too much memory"
            elif used > MOST_SECONDS or now - moved > MOST_SECONDS:
                killed = "too much time"
        if killed:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(handle)
    _, status, total = os.wait4(pid, 0)
    return killed, status, total


def _processor_seconds(pid: int) -> float:
    """As far as it is known: the name of a program may hold spaces, so fields are counted from its end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _catches_signals(pid: int) -> bool:
    try:
        caught = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0]
    except (OSError, IndexError):
        return False
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def warm_up(place: Path) -> None:
    """Import every command and load the kernels, so that forks need not; on one thread: more do not survive a fork."""
    from fuzzing.options import FUZZED, command_named
    from lookalike.cli.main import run as run_here
    from lookalike.server.serve import serve  # noqa: F401

    for name in FUZZED:
        command_named(name)
    place.mkdir(parents=True)
    (place / "a.jsonl").write_text('{"id": 1, "text": "a b c d e f g"}\n' * 3)
    (place / "a.csv").write_text("id,text,n\n1,a b c,2\n2,a b c,3\n")
    given, one = str(place / "a.jsonl"), ["--threads", "1", "--quiet"]
    out = ["-o", str(place / "out.csv"), "--overwrite"]
    commands = [
        ["dedup", given, "-o", str(place / "out"), *one],
        ["audit", str(place / "out"), "--quiet"],
        *(["pairs", given, *out, "--method", method, *one] for method in ("lsh", "exact", "brute")),
        ["neighbors", given, *out, *one],
        ["link", str(place / "a.csv"), "-o", str(place / "links"), "--fields", "text", *one],
        ["report", str(place / "out"), "--quiet"],
    ]
    for command in commands:
        assert run_here(command) == 0, command
    gc.collect()
    gc.freeze()
