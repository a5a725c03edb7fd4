"""What goes wrong on a cluster is told as on one machine; a run that was killed continues after its finished stages."""

import html
import importlib.util
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines import SMALL, files_in, make_texts, write_lines
from lookalike.cli.main import run
from lookalike.engine.memory import BASE_BYTES
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.read import open_inputs
from lookalike.spark.reading import split_parts
from lookalike.spark.session import check_installed, check_reachable
from lookalike.spark.stages import SparkStages
from lookalike.types import Wanted

pytestmark = pytest.mark.xdist_group("spark")
LSH = Settings.parse(method="lsh", threads=1)


def test_a_bad_line_is_named_as_locally(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(200))
    lines = path.read_text().splitlines()
    lines[150] = "{broken"
    lines[170] = "{broken too"
    path.write_text("\n".join(lines) + "\n")
    told = []
    for stages in ({}, {"stages": SparkStages(session, "local[2]", SMALL)}):
        with pytest.raises(BadDataError) as error:
            dedup_to_folder([path], tmp_path / "out", LSH, **stages)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert told[0].startswith(f"{path}:151: ")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.jsonl"]


@pytest.mark.slow
def test_a_bad_vector_is_named_as_locally(session, tmp_path):
    """In the lines of the whole file, blank ones included, although a task has read only a part of them."""
    lines = [json.dumps({"v": [k % 5 + 0.5, 1.0, k / 7]}) for k in range(700)]
    lines[600] = json.dumps({"v": [1.0]})
    path = tmp_path / "v.jsonl"
    path.write_text("\n" + "\n".join(lines) + "\n")
    settings = Settings.parse(method="lsh", measure="euclidean", threshold="0.1", column="v", threads=1)
    for stages in ({}, {"stages": SparkStages(session, "local[2]", SMALL)}):
        with pytest.raises(BadDataError, match=r"v\.jsonl:602: column 'v' has 1 values; those before it have 3"):
            dedup_to_folder([path], tmp_path / "out", settings, **stages)


def test_tasks_find_relative_paths_from_any_folder(tmp_path, monkeypatch):
    write_lines(tmp_path / "a.jsonl", ["a b c"])
    monkeypatch.chdir(tmp_path)
    (source,) = open_inputs(["a.jsonl"])
    sent = pickle.dumps(source)
    monkeypatch.chdir("/")
    received = pickle.loads(sent)
    assert received.name == "a.jsonl"
    assert len(list(received.blocks())) == 1


class Stopped(SparkStages):
    """Is interrupted before it writes."""

    def write_kept(self, *given):
        raise KeyboardInterrupt


def test_resuming(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(120, seed=2))
    with pytest.raises(KeyboardInterrupt):
        dedup_to_folder([path], tmp_path / "out", LSH, stages=Stopped(session, "local[2]", SMALL))
    again = SparkStages(session, "local[2]", SMALL)
    resumed = dedup_to_folder([path], tmp_path / "out", LSH, stages=again, resume=True)
    assert {"spark-read.arrow", "spark-compared.arrow"} <= set(resumed["reused"])
    dedup_to_folder([path], tmp_path / "local", LSH)
    assert files_in(tmp_path / "out") == files_in(tmp_path / "local")


@pytest.mark.slow
def test_lost_shuffle_files(session, tmp_path):
    """Deleted when the first bucket has been joined: Spark reads what is missing again."""
    path = write_lines(tmp_path / "a.jsonl", make_texts(300, seed=2))
    dedup_to_folder([path], tmp_path / "local", LSH)
    work, deleted = tmp_path / ".out.partial" / "work", []

    def delete():
        while not any(work.glob("buckets-*")):
            time.sleep(0.001)
        for file in Path(os.environ["SPARK_LOCAL_DIRS"]).rglob("shuffle_*.data"):
            file.unlink()
            deleted.append(file)

    thread = threading.Thread(target=delete)
    thread.start()
    small = replace(SMALL, joined_bytes=6000)
    record = dedup_to_folder([path], tmp_path / "out", LSH, stages=SparkStages(session, "local[2]", small))
    thread.join()
    assert deleted
    assert record["engine"]["failed_tasks"] > 0
    assert files_in(tmp_path / "out") == files_in(tmp_path / "local")
    assert run(["report", str(tmp_path / "out"), "--quiet"]) == 0
    page = html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    assert "--engine spark --master 'local[2]'" in page
    assert "of memory at its peak on the driver" in page


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["digests-", "compared-"])
def test_resuming_after_the_driver_was_killed(tmp_path, stage):
    path = write_lines(tmp_path / "a.jsonl", make_texts(60_000, seed=6))
    command = [Path(sys.executable).parent / "lookalike", "dedup", path, "--method", "lsh", "--quiet"]
    subprocess.run([*command, "-o", tmp_path / "local"], check=True)
    command += ["-o", tmp_path / "out", "--engine", "spark", "--master", "local[2]"]
    work = tmp_path / ".out.partial" / "work"
    with subprocess.Popen(command) as driver:
        while driver.poll() is None and not any(work.glob(f"{stage}*")):
            time.sleep(0.003)
        driver.kill()
    assert driver.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    subprocess.run([*command, "--resume"], check=True)
    reused = json.loads((tmp_path / "out" / "run.json").read_text())["reused"]
    assert ("spark-read.arrow" in reused) == (stage != "digests-")
    assert files_in(tmp_path / "out") == files_in(tmp_path / "local")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0, 1, None])
def test_interrupted_while_java_starts(tmp_path, seconds):
    """Or when the first tasks are sent: one line, and the JVM must not stay behind."""
    path = write_lines(tmp_path / "a.jsonl", make_texts(20))
    command = [Path(sys.executable).parent / "lookalike", "dedup", path, "-o", tmp_path / "out", "--method", "lsh"]
    command += ["--engine", "spark", "--master", "local[1]", "--quiet"]
    java = f"spark.app.id={tmp_path.name}"  # by which the JVM is known
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--conf {java} pyspark-shell"}

    def running():
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        return any(b"java" in line and java.encode() in line for line in lines)

    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell may have it ignored
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, preexec_fn=default) as driver:
        while driver.poll() is None and not running():
            time.sleep(0.01)
        while seconds is None and driver.poll() is None and not (tmp_path / ".out.partial" / "work").exists():
            time.sleep(0.001)
        time.sleep(seconds or 0)
        driver.send_signal(signal.SIGINT)
        told = driver.communicate()[1]
    assert driver.returncode == 130
    assert told.strip() == b"lookalike: interrupted"
    time.sleep(3)
    assert not running()


def test_the_driver_needs_memory(session, tmp_path):
    """Said before anything is read, and refused if the number of items is known to be too large."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": make_texts(100)}), path)
    said = []
    progress = Progress()
    progress.say = said.append
    budget = replace(LSH.execution.budget, total_bytes=BASE_BYTES + 1000)
    little = replace(LSH, execution=replace(LSH.execution, budget=budget))
    stages = SparkStages(session, "local[2]", SMALL)
    with pytest.raises(ResourceError, match=r"100 items need .* --memory"):
        dedup_to_folder([path], tmp_path / "out", little, stages=stages, progress=progress)
    assert any("of memory on the driver" in line for line in said)
    assert [found.name for found in tmp_path.iterdir()] == ["a.parquet"]


def test_connected_parts_must_fit(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(150, seed=7, copies=0.95))
    stages = SparkStages(session, "local[2]", replace(SMALL, task_sets_bytes=30_000))
    with pytest.raises(ResourceError, match="does not fit in the memory of a task"):
        dedup_to_folder(
            [path], tmp_path / "out", Settings.parse(method="lsh", threshold=0.5),
            DedupOptions(policy="connected"), stages=stages,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "spark"], "--engine spark needs --master"),
        (["--master", "local"], "--master requires --engine spark"),
        (["--engine", "flink"], "--engine must be local or spark, not 'flink'"),
        (["--engine", "spark", "--master", "local[x]"], "--master local[x]: not the address of a Spark cluster"),
        (["--engine", "spark", "--master", "spark://host"], "--master spark://host: not the address of a Spark"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, capsys, options, told):
    path = write_lines(tmp_path / "a.jsonl", ["a b c"])
    assert run(["dedup", str(path), "-o", str(tmp_path / "out"), *options]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--master", "local", "--transpose"], "--engine spark: --transpose works only with --engine local"),
        (["--master", "local", "--method", "merge"], "--engine spark: --method merge works only with --engine local"),
        (["--master", "spark://host:7077"], "name a file with -o, in a folder that all machines see"),
    ],
)
def test_pairs_that_a_cluster_cannot_list(tmp_path, capsys, options, told):
    (tmp_path / "a.dat").write_text("1 2 3\n")
    assert run(["pairs", str(tmp_path / "a.dat"), "--engine", "spark", *options]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("places", "told"),
    [
        (["new", "-"], "store standard input in a file that all machines see"),
        (["s3://bucket/new", "a.jsonl"], "create the index in a folder that all machines see"),
    ],
)
def test_index_that_other_machines_cannot_see(capsys, places, told):
    assert run(["index", "create", *places, "--engine", "spark", "--master", "spark://host:7077"]) == 2
    assert told in capsys.readouterr().err


def test_a_master_that_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ResourceError, match=rf"127\.0\.0\.1:{port}: Connection refused.*check the address") as error:
        check_reachable(f"spark://127.0.0.1:{port},127.0.0.1:{port}")
    assert "\n" not in str(error.value)


def test_without_java_or_pyspark(tmp_path, capsys, monkeypatch):
    path = write_lines(tmp_path / "a.jsonl", ["a b c"])
    command = ["dedup", str(path), "-o", str(tmp_path / "out"), "--engine", "spark", "--master", "local[2]"]
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run(command) == 2
    assert "needs Java, which is not on PATH; install Java 17 or newer" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    assert run(command) == 2
    assert "pip install 'lookalike[spark]'" in capsys.readouterr().err


def test_java_that_is_not_a_program(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("not a program")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"bin/java is Java \?; install Java 17 or newer"):
        check_installed("local[2]")


def test_an_old_pyspark(monkeypatch):
    monkeypatch.setattr("pyspark.__version__", "4.0.1")
    with pytest.raises(UsageError, match=r"needs PySpark 4\.1 or newer, not 4\.0\.1: pip install 'lookalike\[spark\]'"):
        check_installed("local[2]")
    monkeypatch.setattr("pyspark.__version__", "4.10.0.dev1")
    check_installed("local[2]")


def test_input_that_only_this_process_sees_is_refused():
    with fsspec.open("memory://spark/a.jsonl", "wb") as file:
        file.write(b'{"text": "a b c"}\n')
    sources = open_inputs(["memory://spark/a.jsonl"])
    with pytest.raises(UsageError, match="only this process can read it; save it to a file"):
        split_parts(sources, [Wanted("text")], 1 << 20)


def test_stdout_is_data_only(session, tmp_path, capsys):
    path = write_lines(tmp_path / "a.jsonl", make_texts(40))
    command = ["dedup", str(path), "-o", str(tmp_path / "out"), "--method", "lsh", "--json"]
    assert run([*command, "--engine", "spark", "--master", "local[2]"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["engine"]["name"] == "spark"
    assert "WARN" not in told.err
