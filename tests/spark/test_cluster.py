"""A standalone master with two workers on this machine; workers are killed while a job runs."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyspark
import pytest

from engines import files_in, make_texts, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def start(log, *arguments):
    with log.open("wb") as out:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        return subprocess.Popen([SPARK_CLASS, *arguments], stdout=out, stderr=out, env=environment)


def wait_for(log, pattern):
    for _ in range(600):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-2000:])


@pytest.fixture
def cluster(tmp_path):
    """The URL of a master, and its two workers."""
    running, logs = [], tmp_path / "logs"
    logs.mkdir()
    deploy = "org.apache.spark.deploy"
    running.append(
        start(logs / "master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    )
    url = wait_for(logs / "master", r"spark://127\.0\.0\.1:\d+")[0]
    for number in range(2):
        options = "--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(tmp_path / f"worker{number}")
        running.append(start(logs / f"worker{number}", f"{deploy}.worker.Worker", *options, url))
        wait_for(logs / f"worker{number}", "Successfully registered")
    yield url, running[1:]
    for process in running:
        process.kill()
        process.wait()


def dedup(folder, path, *options):
    command = [Path(sys.executable).parent / "lookalike", "dedup", path.name, "-o", folder, "--method", "lsh", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=path.parent)


@pytest.mark.parametrize("stage", ["digests-", "compared-", "kept-"])
def test_a_worker_is_killed(cluster, tmp_path, stage):
    url, workers = cluster
    path = write_lines(tmp_path / "a.jsonl", make_texts(100_000, seed=6))
    assert dedup(tmp_path / "local", path).returncode == 0
    work = tmp_path / ".spark.partial" / "work"
    killed = threading.Event()

    def kill():
        while not killed.is_set():
            if any(work.glob(f"{stage}*")):
                workers[0].kill()
                # its executor notices that the worker has gone, and ends
                killed.set()
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    ran = dedup(tmp_path / "spark", path, "--engine", "spark", "--master", url)
    was_killed = killed.is_set()
    killed.set()
    thread.join()
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert was_killed
    assert files_in(tmp_path / "local") == files_in(tmp_path / "spark")
