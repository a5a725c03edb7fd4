"""A standalone master with two workers on this machine; workers are killed while a job runs."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import foreign_jobs
from engines import files_in, make_texts, write_lines
from standalone import SPARK_CLASS, standalone, start, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


@pytest.fixture
def cluster(tmp_path):
    """The URL of a master, and its two workers."""
    with standalone(tmp_path) as running:
        yield running


def dedup(folder, path, *options, **environment):
    command = [Path(sys.executable).parent / "lookalike", "dedup", path.name, "-o", folder, "--method", "lsh", *options]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=path.parent, env=environment)


def python_of(worker):
    """The Python processes of a worker's executors."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    found = {worker.pid}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    names = {pid: Path(f"/proc/{pid}/cmdline") for pid in found}
    return [pid for pid, name in names.items() if name.exists() and b"pyspark.daemon" in name.read_bytes()]


def test_a_slow_worker(cluster, tmp_path):
    """Its tasks are started once more on the other one (spark.speculation); both attempts may finish."""
    url, workers = cluster
    path = write_lines(tmp_path / "a.jsonl", make_texts(50_000, seed=6))
    assert dedup(tmp_path / "local", path).returncode == 0
    (tmp_path / "events").mkdir()
    configured = {
        "speculation": "true", "speculation.interval": "100ms", "speculation.multiplier": "1.2",
        "speculation.quantile": "0.5", "speculation.minTaskRuntime": "10ms", "task.reaper.enabled": "false",
        "eventLog.enabled": "true", "eventLog.dir": (tmp_path / "events").as_uri(), "eventLog.rolling.enabled": "false",
        "eventLog.compress": "false",
    }  # fmt: skip
    arguments = " ".join(f"--conf spark.{name}={value}" for name, value in configured.items())
    work, ended = tmp_path / ".spark.partial" / "work", threading.Event()

    def speculated():
        return any(
            b'"Speculative":true' in log.read_bytes() for log in (tmp_path / "events").rglob("*") if log.is_file()
        )

    def slow():
        while not ended.is_set() and not any(work.glob("digests-*")):
            time.sleep(0.01)
        stopped = python_of(workers[0])
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        ended.wait(60)
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=slow)
    thread.start()
    options = "--engine", "spark", "--master", url
    ran = dedup(tmp_path / "spark", path, *options, PYSPARK_SUBMIT_ARGS=f"{arguments} pyspark-shell")
    ended.set()
    thread.join()
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert speculated()
    assert files_in(tmp_path / "local") == files_in(tmp_path / "spark")


@pytest.mark.parametrize("stage", ["digests-", "compared-", "kept-"])
def test_a_worker_is_killed(cluster, tmp_path, stage):
    url, workers = cluster
    path = write_lines(tmp_path / "a.jsonl", make_texts(50_000, seed=6))
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


def test_spark_connect(tmp_path):
    """A server with executors of its own, which this process reaches by gRPC: no JVM is started here."""
    pytest.importorskip("grpc_status")
    path = write_lines(tmp_path / "a.jsonl", make_texts(20_000, seed=6))
    assert dedup(tmp_path / "local", path).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = "--master", "local[2]", "--conf", f"spark.connect.grpc.binding.port={port}"
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    server = start(tmp_path / "log", "--class", name, *options, program=SPARK_CLASS.with_name("spark-submit"))
    try:
        wait_for(tmp_path / "log", "Spark Connect server started")
        asked = "--engine", "spark", "--master", f"sc://127.0.0.1:{port}"
        ran = dedup(tmp_path / "spark", path, *asked, PATH="", JAVA_HOME="")
        bad = path.with_name("bad.jsonl")
        bad.write_text(path.read_text() + "{broken")
        refused = dedup(tmp_path / "refused", bad, *asked)
        (tmp_path / "foreign").mkdir()
        command = [sys.executable, foreign_jobs.__file__, f"sc://127.0.0.1:{port}", tmp_path / "foreign"]
        foreign = subprocess.run(command, capture_output=True, text=True, timeout=300)
    finally:
        server.terminate()
        server.wait()
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert files_in(tmp_path / "local") == files_in(tmp_path / "spark")
    assert refused.returncode == 3
    assert "bad.jsonl:20001: " in refused.stderr.splitlines()[-1]
    assert foreign.returncode == 0, foreign.stderr[-2000:]
    assert foreign.stdout.strip() == "[[True]] 60"  # the other job's answer, and all progress
