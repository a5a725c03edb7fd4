"""What is said while the work goes on: how far, how fast, how long yet, how much memory."""

import itertools
import json
import re
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import pytest

from calling import jsonl, wait_for
from corpora import corpus
from lookalike.cli.progress import MovingProgress, PlainProgress, Stage
from lookalike.cli.terminal import complain, status
from lookalike.engine import usage
from lookalike.engine.memory import Budget
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.matching.stages import LOCAL


@pytest.mark.parametrize(
    ("stage", "now", "says"),
    [
        (Stage("reading", 10**9, "B", 0), 5, "0% of 1.0 GB, using 300 MB"),
        (Stage("reading", 10**9, "B", 0, 10**8), 2, "10% of 1.0 GB, 50 MB/s, 18 s left, using 300 MB"),
        (Stage("reading", 10**13, "B", 0, 10**12), 6000, "10% of 10,000.0 GB, 167 MB/s, 15.0 h left, using 300 MB"),
        (Stage("reading", 10**6, "B", 0, 2 * 10**6), 1, "100% of 1 MB, 2 MB/s, 0 s left, using 300 MB"),
        (Stage("joining", 26, "bands", 0, 13), 1, "50% of 26 bands, 13 bands/s, 1 s left, using 300 MB"),
        (Stage("verifying", 40, "batches", 0, 10), 200, "25% of 40 batches, 3 batches/min, 10 min left, using 300 MB"),
        (Stage("verifying", 4, "batches", 0, 1), 9000, "25% of 4 batches, 0 batches/h, 7.5 h left, using 300 MB"),
        (Stage("deciding", 2000, "", 0, 1000), 1, "50% of 2,000, 1 s left, using 300 MB"),
        (Stage("deciding", None, "", 0, 1000), 99, "99 s so far, using 300 MB"),
        (Stage("deciding", 0, "B", 0), 0, "0 s so far, using 300 MB"),
    ],
)
def test_a_stage_says_share_rate_time_left_and_memory(stage, now, says):
    assert stage.describe(now, 300_000_000) == says


def test_memory_is_that_of_now(monkeypatch, tmp_path):
    before = usage.resident_bytes()
    held = bytearray(512 << 20)  # much more than what earlier tests may give back meanwhile
    held[::4096] = b"x" * len(held[::4096])
    assert 300 << 20 < usage.resident_bytes() - before < 600 << 20
    monkeypatch.setattr(usage, "_STATM", tmp_path / "absent")
    most = usage.resident_bytes()
    assert most <= usage.peak_memory_bytes() < most + (1 << 20)  # which may grow in between
    del held


def test_plain_lines_come_while_a_stage_works_and_once_at_the_end(capfd):
    started, progress = time.perf_counter(), PlainProgress(every_seconds=0.05)
    with progress.stage("reading", 100, "B"):
        time.sleep(0.12)  # nothing advances, as in a long kernel
    for _ in range(30):
        with progress.stage("refining"):
            time.sleep(0.005)  # none of them is long, all together are
        with progress.stage("verifying", 2, "pairs"):
            progress.advance(1)
            time.sleep(0.005)
    progress.finish()
    took = time.perf_counter() - started
    time.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    number = len(progress.seconds)
    assert [line.split()[0] for line in lines[-number:]] == ["reading", "refining", "verifying"]
    assert all(re.fullmatch(r"  \w+ +\d+\.\d\d s", line) for line in lines[-number:])
    assert float(lines[-2].split()[1]) == pytest.approx(progress.seconds["refining"], abs=0.01)
    during = lines[:-number]
    assert [line for line in during if line.startswith("  reading: 0% of 0 MB, using ")]
    assert [line for line in during if line.startswith(("  refining: ", "  verifying: "))]
    assert len(during) <= took / 0.05 + 1


def test_nothing_is_said_about_progress_after_an_error(capfd):
    """An interrupt at the wrong moment leaves the thread that watches a stage."""
    interrupted, another = PlainProgress(every_seconds=0.01), PlainProgress(every_seconds=0.01)
    interrupted.start("reading", None, "")
    wait_for(lambda: "  reading: " in capfd.readouterr().err)
    complain("interrupted")
    assert capfd.readouterr().err.endswith("lookalike: interrupted\n")
    time.sleep(0.1)
    interrupted.stop()
    assert capfd.readouterr().err == ""
    another.start("writing", None, "")  # the next command in this process
    wait_for(lambda: "  writing: " in capfd.readouterr().err)
    another.stop()


def test_a_stage_within_another_interrupts_it(capfd):
    progress = PlainProgress(every_seconds=0.03)
    said: list[str] = []

    def work_until_shown(name):
        time.sleep(0.05)
        until = time.monotonic() + 20
        while said[-1:] != [name] and time.monotonic() < until:
            time.sleep(0.01)
            said.extend(line.split(":")[0].strip() for line in capfd.readouterr().err.splitlines())

    started = time.perf_counter()
    with progress.stage("outer"):
        work_until_shown("outer")
        with progress.stage("inner"):
            work_until_shown("inner")
        work_until_shown("outer")
    assert progress.seconds["inner"] >= 0.05
    assert progress.seconds["outer"] >= 0.1
    assert sum(progress.seconds.values()) <= time.perf_counter() - started  # nothing is counted twice
    said += [line.split(":")[0].strip() for line in capfd.readouterr().err.splitlines()]
    assert [name for name, _ in itertools.groupby(said)] == ["outer", "inner", "outer"]
    time.sleep(0.1)
    assert capfd.readouterr().err == ""  # nobody watches what is over


@pytest.mark.parametrize("unit", ["B", "bands", ""])
@pytest.mark.parametrize("total", [None, 0, 10])
def test_the_moving_line_takes_any_unit_and_continues_when_a_stage_is_entered_again(capfd, monkeypatch, total, unit):
    shown = []
    monkeypatch.setattr(status, "show", shown.append)
    progress = MovingProgress(0.001)
    for _ in range(3):
        for name in ("refining", "verifying"):
            with progress.stage(name, total, unit):
                progress.advance(5)
                before = len(shown)
                wait_for(lambda: len(shown) > before)  # noqa: B023
            assert re.match(rf"[-|/\\\\] {name}: .*, using \d+ MB$", shown[-1])
    progress.seconds |= {"refining": 0.1, "verifying": 0.004}
    progress.finish()
    said = capfd.readouterr().err
    assert said.count("refining ") == 1
    assert "verifying " not in said  # it took no time


def test_the_longest_stage_is_listed_even_if_it_took_no_time(capfd):
    progress = PlainProgress(10)
    progress.seconds |= {"reading": 0.001, "joining": 0.003}
    progress.finish()
    assert capfd.readouterr().err == "  joining               0.00 s\n"


def test_a_run_in_many_batches_names_each_stage_once(tmp_path, capfd):
    settings = Settings.parse()
    small = replace(settings, execution=replace(settings.execution, budget=Budget(1 << 30, 0, sets_bytes=20_000)))
    (tmp_path / "a.jsonl").write_bytes(jsonl(*[{"text": text} for text in corpus(500, seed=12)]))
    progress = Counting()
    dedup_to_folder([tmp_path / "a.jsonl"], tmp_path / "out", small, progress=progress)
    progress.seconds |= {"verifying": 0.1, "reading": 0.1}  # stages that took no time are not listed
    progress.finish()
    said = capfd.readouterr().err
    assert progress.starts["verifying"] > 3
    assert said.count("  verifying ") == said.count("  reading ") == 1


class Counting(PlainProgress):
    """Knows how often each stage was entered."""

    def __init__(self):
        super().__init__(10)
        self.starts = Counter()

    def start(self, name, total, unit):
        super().start(name, total, unit)
        self.starts[name] += 1


def test_bytes_are_counted_by_stage(cli, tmp_path):
    size = 3_000_000
    (tmp_path / "a.jsonl").write_bytes(jsonl({"text": "word " * (size // 5)}))
    assert cli("dedup", "a.jsonl", "-o", "out").code == 0
    moved = json.loads((tmp_path / "out/run.json").read_text())["bytes"]
    assert list(moved)[:2] == ["planning", "reading"]
    assert moved["reading"]["read"] >= size > moved["reading"]["written"]
    assert moved["writing"]["written"] >= size
    assert moved["joining bands"]["written"] < 100_000


def test_bytes_add_up_and_are_omitted_if_not_counted(tmp_path, monkeypatch):
    progress = Progress()
    for _ in range(2):
        with progress.stage("writing"):
            (tmp_path / "a").write_bytes(b"x" * 100_000)
    assert 200_000 <= progress.bytes["writing"]["written"] < 250_000
    monkeypatch.setattr(usage, "_IO", tmp_path / "absent")
    progress = Progress()
    with progress.stage("writing"):
        pass
    assert (progress.bytes, list(progress.seconds)) == ({}, ["writing"])


@pytest.mark.parametrize("command", [["dedup", "-o", "out"], ["pairs", "-o", "out.csv"]])
def test_the_start_of_spark_is_a_stage_and_the_total_is_what_the_user_waited_for(cli, news, monkeypatch, command):
    """Java takes seconds to start; this one takes less."""

    @contextmanager
    def start_slowly(master, memory_bytes):
        time.sleep(0.4)
        yield None
        time.sleep(0.3)

    monkeypatch.setattr("lookalike.spark.session.open_session", start_slowly)
    monkeypatch.setattr("lookalike.spark.stages.SparkStages", lambda session, master: LOCAL)
    started = time.perf_counter()
    done = cli(command[0], news, *command[1:], "--engine", "spark", "--master", "local[2]", "--json")
    took = time.perf_counter() - started
    assert done.code == 0, done.err
    assert 0.4 <= done.json()["seconds"]["starting Spark"] < took
    shown = dict(re.findall(r"^  (\w+ Spark) +([\d.]+) s$", done.err, re.MULTILINE))
    assert float(shown["starting Spark"]) >= 0.4
    assert float(shown["stopping Spark"]) >= 0.3
    if command[0] == "dedup":
        total = float(re.search(r" ([\d.]+) s, [\d,]+ MB\.$", done.err, re.MULTILINE)[1])
        assert sum(map(float, shown.values())) - 0.02 <= total <= took + 0.05
