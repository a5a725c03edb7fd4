"""What goes wrong on a cluster is told as on one machine; a run that was killed continues after its finished stages."""

import importlib.util
import json
import shutil

import pytest

from engines import SMALL, files_in, make_texts, write_lines
from lookalike.cli.main import run
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, ResourceError
from lookalike.jobs.dedup import DedupOptions, dedup_to_folder
from lookalike.spark.stages import SparkStages

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


def test_connected_parts_must_fit(session, tmp_path):
    from dataclasses import replace

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
        (["--master", "local"], "--master goes with --engine spark"),
        (["--engine", "flink"], "--engine must be local or spark, not 'flink'"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, capsys, options, told):
    path = write_lines(tmp_path / "a.jsonl", ["a b c"])
    assert run(["dedup", str(path), "-o", str(tmp_path / "out"), *options]) == 2
    assert told in capsys.readouterr().err


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


def test_stdout_is_data_only(session, tmp_path, capsys):
    path = write_lines(tmp_path / "a.jsonl", make_texts(40))
    command = ["dedup", str(path), "-o", str(tmp_path / "out"), "--method", "lsh", "--json"]
    assert run([*command, "--engine", "spark", "--master", "local[2]"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["engine"]["name"] == "spark"
    assert "WARN" not in told.err
