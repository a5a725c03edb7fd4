"""A standalone Spark cluster on this machine: a master and workers, each a process of its own."""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def start(log, *arguments, program=SPARK_CLASS, before=(), **environment):
    """Start a program of Spark; `before` is a command that starts it, such as taskset."""
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **environment}
    with log.open("wb") as out:
        command = [*before, program, *arguments]
        return subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **environment})


def wait_for(log, pattern):
    """Wait until a log has a line."""
    for _ in range(1500):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-2000:])


@contextmanager
def standalone(folder, workers=2, memory="1g", pinned=False, **environment):
    """The URL of a master, and its workers with one core each; `pinned`, each of them stays on a core of its own.

    Each has an address of its own: Spark starts a task for the second time only on another host.
    """
    running, logs = [], folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    deploy = "org.apache.spark.deploy"
    options = "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
    try:
        running.append(start(logs / "master", f"{deploy}.master.Master", *options))
        url = wait_for(logs / "master", r"spark://127\.0\.0\.1:\d+")[0]
        for number in range(workers):
            place = "--work-dir", str(folder / f"worker{number}")
            host = f"127.0.0.{number + 1}"
            options = "--host", host, "--cores", "1", "--memory", memory, "--webui-port", "0", *place
            before = ["taskset", "-c", str(number)] if pinned else []
            log = logs / f"worker{number}"
            running.append(
                start(log, f"{deploy}.worker.Worker", *options, url, before=before, SPARK_LOCAL_IP=host, **environment)
            )
            wait_for(log, "Successfully registered")
        yield url, running[1:]
    finally:
        for process in running:
            process.kill()
            process.wait()
