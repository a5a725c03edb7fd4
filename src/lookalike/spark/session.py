"""A Spark session: its requirements, its configuration, and its log."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import ResourceError, UsageError
from lookalike.types import TEMPORARY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
OLDEST_PYSPARK = (4, 1)
CONNECT, CONNECT_PORT = "sc://", 15002
"""The prefix of the address of a Spark Connect server, and the default port."""
ANSWER_SECONDS = 10.0
"""How long a standalone master or a server may take to respond."""
_EXCEPTION = re.compile(r"\b(\w*(?:Exception|Error)): (.+)")
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
"""For a session that is started here; spark-defaults.conf and PYSPARK_SUBMIT_ARGS can add to it."""
BATCHES = "spark.sql.execution.arrow.maxBytesPerBatch", str(64 << 20)
"""Rows are few and large: batches end by their bytes. Sessions of others have their own limit, by default this one."""


def check_installed(master: str) -> None:
    """Refuse to start without PySpark and Java (or the client of Spark Connect), and say what to do."""
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError("--engine spark needs PySpark, which is not installed: pip install 'lookalike[spark]'")
    import pyspark

    if tuple(map(int, re.findall(r"\d+", pyspark.__version__)[:2])) < OLDEST_PYSPARK:
        needed = ".".join(map(str, OLDEST_PYSPARK))
        raise UsageError(
            f"--engine spark needs PySpark {needed} or newer, not {pyspark.__version__}: pip install 'lookalike[spark]'"
        )
    if master.startswith(CONNECT):
        if any(importlib.util.find_spec(name) is None for name in ("grpc", "grpc_status", "pandas")):
            raise UsageError(f"--master {master}: Spark Connect needs pip install 'lookalike[spark-connect]'")
        return
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    what_to_do = f"install Java {OLDEST_JAVA} or newer (make java), or set JAVA_HOME"
    if java is None:
        place = f"in JAVA_HOME ({home})" if home else "on PATH"
        raise UsageError(f"--engine spark needs Java, which is not {place}; {what_to_do}")
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
        version = re.search(r'version "(\d+)', told.stderr + told.stdout)
    except OSError:  # not a program
        version = None
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise UsageError(f"--engine spark: {java} is Java {version[1] if version else '?'}; {what_to_do}")


@contextmanager
def open_session(master: str, memory_bytes: int) -> Iterator[SparkSession]:
    """A session on this master; a session that is already active is used unchanged and left open.

    The output of Spark and its workers goes to a file, which is named if Spark cannot be started.
    """
    check_installed(master)
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    log = Path(tempfile.mkdtemp(prefix=TEMPORARY)) / "spark.log"
    with _py4j_quiet():
        session = _start(master, memory_bytes, log)
        try:
            session.conf.set(*BATCHES)
            yield session
        finally:
            with suppress(Exception):
                session.stop()
            shutil.rmtree(log.parent, ignore_errors=True)


@contextmanager
def _py4j_quiet() -> Iterator[None]:
    """Silence Py4J, which logs an interrupt with its stack to stderr if the root logger has no handler."""
    none = logging.NullHandler()
    logging.getLogger().addHandler(none)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(none)


def _start(master: str, memory_bytes: int, log: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    check_reachable(master)
    builder: Any = SparkSession.builder.appName("lookalike")
    if master.startswith(CONNECT):  # the server has its own configuration
        builder = builder.remote(master)
    else:
        builder = builder.master(master)
        for name, value in CONFIGURATION.items():
            builder = builder.config(name, value)
    if master.startswith("local"):  # tasks then run in the driver's process
        megabytes = min(4096, max(1024, memory_bytes >> 22))
        builder = builder.config("spark.driver.memory", f"{megabytes}m")
    with _output_to(log), _interrupts_as_before(), nullcontext() if master.startswith(CONNECT) else _ending_java():
        try:
            session: SparkSession = builder.getOrCreate()
        except Exception as error:
            told = failure_cause(str(error) or type(error).__name__, log.read_text(errors="replace"))
            raise ResourceError(f"--master {master}: Spark could not be started: {told}") from error
    return session


def check_reachable(master: str) -> None:
    """Refuse a standalone master or a server that does not respond: Spark would retry for a minute, then show Java."""
    if not master.startswith(("spark://", CONNECT)):
        return
    reasons = []
    for address in master.partition("://")[2].partition("/")[0].split(","):
        if master.startswith(CONNECT) and not re.search(r":\d+$", address):
            address = f"{address}:{CONNECT_PORT}"
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise ResourceError(
        f"--master {master}: no Spark master answered ({'; '.join(reasons)}); check the address, and that the "
        "master is running"
    )


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """Keep the handler of Ctrl-C, which PySpark replaces: ours says how to resume."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _ending_java() -> Iterator[None]:
    """Stop the JVM if its start is interrupted: PySpark loses track of it, and it would wait for ever."""
    from pyspark import SparkContext, java_gateway

    gateway: Any = java_gateway
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*arguments, **options))
        return started[-1]

    before, gateway.Popen = gateway.Popen, start
    try:
        yield
    except KeyboardInterrupt:
        if SparkContext._gateway is None:  # otherwise it notices when this process ends
            for process in started:
                process.kill()
        raise
    finally:
        gateway.Popen = before


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Redirect stdout and stderr of processes started in the block to a file, so that ours stay clean."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        saved = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, before in zip((1, 2), saved):
                os.dup2(before, number)
                os.close(before)


def failure_cause(told: str, logged: str) -> str:
    r"""Why Spark did not start: the cause according to its error, otherwise its log.

    Examples
    --------
    >>> failure_cause("An error occurred\n: java.lang.NumberFormatException: 1x is no size\n\tat a.B", "")
    '1x is no size'
    >>> failure_cause("Java has exited", "WARN\njava.nio.file.NoSuchFileException: /env.tar.gz\n\tat a.B")
    'NoSuchFileException: /env.tar.gz'
    """
    for source in (told, logged):  # messages logged while Spark stops can hide the cause
        lines = [line.strip() for line in source.splitlines()]
        found = [_EXCEPTION.search(line) for line in lines if not line.startswith("at ")]
        causes = [one[2] if " " in one[2] else f"{one[1]}: {one[2]}" for one in found if one]
        if causes := causes or [line for line in lines if line.startswith("Error")]:
            return causes[-1]
    return told.strip().split("\n")[0]
