"""A session of somebody else is used as it is, and left as it was; its other jobs are not touched."""

import os
import signal
import threading
from types import SimpleNamespace

import pytest

from engines import SMALL, dedup_on_both, make_texts, write_lines
from foreign_jobs import follow_ours, interrupt_ours
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.spark.cluster import Cluster
from lookalike.spark.session import open_session
from lookalike.spark.stages import SparkStages

pytestmark = pytest.mark.xdist_group("spark")


def state_of(session):
    context = session.sparkContext
    return dict(session.conf.getAll), set(context.getJobTags()), session.getTags(), signal.getsignal(signal.SIGINT)


def test_ctrl_c_ends_no_other_job(session, handler_of_pyspark, tmp_path):
    before = signal.signal(signal.SIGINT, handler_of_pyspark)  # as in a session that was not started here
    try:
        answers, took = interrupt_ours(session, tmp_path)
        assert signal.getsignal(signal.SIGINT) is handler_of_pyspark
    finally:
        signal.signal(signal.SIGINT, before)
    assert answers == [[True]]
    assert took < 30  # its task would wait for a minute
    assert not (tmp_path / "ours-may-end").exists()


class Unhurried:
    """A job that has not started when it is cancelled for the first time."""

    def __init__(self):
        self.cancelled, self.ended = 0, threading.Event()

    def collect(self, rows):
        self.ended.wait(60)

    def cancel(self):
        self.cancelled += 1
        if self.cancelled == 3:
            self.ended.set()

    def tasks_done(self, step):
        raise KeyboardInterrupt


def test_ctrl_c_before_a_job_has_started_ends_it_too(tmp_path, monkeypatch):
    job = Unhurried()
    monkeypatch.setattr("lookalike.spark.cluster.new_job", lambda *_: job)
    rows = SimpleNamespace(mapInArrow=lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        Cluster(None, tmp_path, Progress()).run(rows, None, [1])
    assert job.cancelled == 3


def test_starting_spark_leaves_the_handler_of_signals(session, handler_of_pyspark):
    assert handler_of_pyspark is not None
    assert signal.getsignal(signal.SIGINT) is not handler_of_pyspark


def test_nothing_of_the_session_is_changed(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(120))
    settings = Settings.parse(method="lsh", threads=1)
    before = state_of(session)
    with open_session("local[2]", 1 << 30) as opened:
        assert opened is session
        dedup_to_folder([path], tmp_path / "out", settings, stages=SparkStages(opened, "local[2]", SMALL))
        assert state_of(session) == before
        path.write_text(path.read_text() + "{broken\n")
        with pytest.raises(BadDataError):
            dedup_to_folder([path], tmp_path / "bad", settings, stages=SparkStages(opened, "local[2]", SMALL))
    assert state_of(session) == before


UNUSUAL = {
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.shuffle.partitions": "3",
}


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_settings_of_the_session_do_not_matter(session, tmp_path, adaptive):
    path = write_lines(tmp_path / "a.jsonl", make_texts(200, seed=21))
    chosen = {**UNUSUAL, "spark.sql.adaptive.enabled": adaptive}
    before = {name: session.conf.get(name) for name in chosen}
    for name, value in chosen.items():
        session.conf.set(name, value)
    try:
        made = dedup_on_both(session, tmp_path, [path], method="lsh", threshold=0.6)
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
    assert made[1]["counts"]["removed"] > 20


def test_tasks_of_others_are_not_counted(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(60))
    settings = Settings.parse(method="lsh", threads=1)
    tasks = []
    for name in ("one", "two"):
        stages = SparkStages(session, "local[2]", SMALL)
        tasks.append(dedup_to_folder([path], tmp_path / name, settings, stages=stages)["engine"]["tasks"])
        session.range(0, 100, 1, 7).count()
    assert tasks[0] == tasks[1] > 5


def test_progress_is_asked_of_spark_and_not_of_the_folder(session, tmp_path, monkeypatch):
    listed = []
    for name in ("listdir", "scandir"):
        real = getattr(os, name)

        def noting(place=".", real=real):
            if str(tmp_path) in str(place):
                listed.append(place)
            return real(place)

        monkeypatch.setattr(os, name, noting)
    advances = follow_ours(session, tmp_path)
    assert sum(advances) == 60
    assert 10 <= sum(advances[:-1]) <= 60  # some of it before the end
    assert len([one for one in advances if one]) > 1
    assert len(listed) <= 1  # for errors, at the end
