"""Run a command and measure it from outside: seconds, processor seconds, memory of its whole process tree.

The command runs in a session of its own. Every 50 ms the proportional set sizes (PSS: shared pages are
counted once) of the processes of that session are summed; the largest sum is the peak. The kernel's own
high-water mark of a single process (`VmHWM`) sees what falls between two polls and is used if larger.
`ru_maxrss` does not help: a child inherits it from the process that starts it.
"""

import math
import os
import platform
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
INTERVAL_SECONDS = 0.05
MOST_OVERHEAD = 0.05  # of one core: reading smaps walks page tables, so large trees are polled less often
SESSION_FIELD = 3  # of /proc/PID/stat after the command's name: state, ppid, pgrp, session


@dataclass(frozen=True)
class Measured:
    """What a command cost.

    Attributes
    ----------
    seconds, cpu_seconds
        Wall time, and user plus system time of the process and the children that it waited for.
    peak_bytes
        Peak memory of the whole process tree.
    exit_code
        As the shell counts: 128 + the signal's number if a signal ended it.
    stdout, stderr
        What it printed.
    stopped
        Which limit ended it: "time" or "memory"; empty if none did.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    exit_code: int
    stdout: str
    stderr: str
    stopped: str = ""


def find_session(session: int) -> list[int]:
    """Return the ids of the processes that belong to `session`."""
    found = []
    for entry in os.scandir(PROC):
        if not entry.name.isdigit():
            continue
        try:
            stat = (PROC / entry.name / "stat").read_text("utf-8", "replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[SESSION_FIELD]) == session:
            found.append(int(entry.name))
    return found


def read_bytes_of(pid: int, file: str, field: str) -> int:
    """Return a field of a process's memory statistics in bytes; 0 if it has gone."""
    try:
        lines = (PROC / str(pid) / file).read_text("utf-8", "replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


class MemoryWatch(threading.Thread):
    """Poll the memory of a session until stopped; end the session if it exceeds a limit."""

    def __init__(self, session: int, limit_bytes: float = math.inf) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.limit_bytes = limit_bytes
        self.peak_bytes = 0
        self.exceeded = False
        self._done = threading.Event()

    def run(self) -> None:
        """Poll every 50 ms, or less often if polling would take more than its share of time."""
        pause = 0.0
        while not self._done.wait(pause):
            started = time.perf_counter()
            processes = find_session(self.session)
            total = sum(read_bytes_of(pid, "smaps_rollup", "Pss:") for pid in processes)
            marks = [read_bytes_of(pid, "status", "VmHWM:") for pid in processes]
            self.peak_bytes = max(self.peak_bytes, total, *marks)
            if self.peak_bytes > self.limit_bytes:
                self.exceeded = True
                end_session(self.session)
            pause = max(INTERVAL_SECONDS, (time.perf_counter() - started) / MOST_OVERHEAD)

    def stop(self) -> int:
        """Stop polling and return the peak in bytes."""
        self._done.set()
        self.join()
        return self.peak_bytes


def end_session(session: int) -> None:
    """End every process of a session that we started."""
    for pid in find_session(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def run_measured(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    memory_bytes: float = math.inf,
) -> Measured:
    """Run `command` to its end and measure it.

    Parameters
    ----------
    command
        The program and its arguments.
    env
        Variables to add to the environment.
    timeout
        Seconds after which the whole session is ended (exit code 137).
    memory_bytes
        Peak memory of the process tree from which on it is ended likewise, as soon as a poll sees it.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        watch = MemoryWatch(process.pid, memory_bytes)
        watch.start()
        late = threading.Event()
        alarm = threading.Timer(timeout or threading.TIMEOUT_MAX, lambda: (late.set(), end_session(process.pid)))
        alarm.daemon = True
        alarm.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait again
        finally:
            alarm.cancel()
            peak_bytes = watch.stop()
            end_session(process.pid)  # helpers that outlive their parent
        out.seek(0)
        err.seek(0)
        code = process.returncode
        return Measured(
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_bytes=peak_bytes,
            exit_code=code if code >= 0 else 128 - code,
            stdout=out.read().decode("utf-8", "replace"),
            stderr=err.read().decode("utf-8", "replace"),
            stopped=("memory" if watch.exceeded else "time" if late.is_set() else "") if code else "",
        )


def warm_cache(path: Path) -> None:
    """Read a file once, so that it is in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def describe_machine() -> dict[str, str | int | float]:
    """Describe the machine: processor, cores, memory, Python, load. No names and no paths."""
    cpu = "unknown"
    for line in (PROC / "cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_at_start": round(os.getloadavg()[0], 2),
    }
