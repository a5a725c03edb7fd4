"""A kill costs at most about 15 seconds of work, besides the start: killed in every stage, and resumed.

Costs are processor time of one thread, which does not depend on what else the machine does.
"""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from calling import LOOKALIKE, environment
from linking import make_people

LOST_SECONDS = 15
START_SECONDS = 5
"""Python and its libraries, the choice of a method, a look at the input; for `link` also reading the tables."""
LEAST_SECONDS = 60
"""Shorter runs prove little."""
SHARE = 0.7
"""Where in a stage a run is killed: after this share of its time."""
SHORT = int(os.environ.get("KILL_COST_SHORT", "0"))
"""The number of documents or people instead, to try the tests themselves."""
TOO_SHORT = 0.3
"""Stages of fewer seconds are not aimed at."""
STAGED = (sys.executable, Path(__file__).parents[1] / "support" / "killed.py")


def write_documents(path, documents, words=1300, vocabulary=50_000, seed=1):
    """Documents of about 8 kB, a third of them near-copies, as compressed lines."""
    draw = np.random.default_rng(seed)
    known = np.array(
        ["".join(map(chr, draw.integers(97, 123, draw.integers(2, 9)))) for _ in range(vocabulary)], object
    )
    recent = []
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(documents):
            if recent and draw.random() < 0.3:
                one = recent[draw.integers(len(recent))].copy()
                one[draw.integers(0, len(one), len(one) // 100)] = known[draw.integers(vocabulary)]
            else:
                count = draw.integers(words // 2, words * 3 // 2)
                one = known[(vocabulary * draw.random(count) ** 2).astype(int)]
            recent = [*recent[-999:], one]
            file.write(json.dumps({"id": number, "text": " ".join(one)}) + "\n")


def call(command, out, *more, program=(LOOKALIKE,), **variables):
    """Run the command; its exit code, processor time, and time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [*program, *command, "-o", out, "--quiet", *more]
    done = subprocess.run([*map(str, words)], env=environment(**variables), check=False)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode, used, seconds


def results(out):
    """By name, the bytes of every file but the record of the run, which has times."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and path.name != "run.json"]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def check_manifest(work):
    """Every piece that is listed and not dropped is there."""
    if (work / "manifest.jsonl").exists():
        lines = [json.loads(line) for line in (work / "manifest.jsonl").read_text().splitlines()[1:]]
        there = {line["name"]: line for line in lines}
        for name, line in there.items():
            assert line.get("dropped") or ((work.parent if line.get("output") else work) / name).exists(), name


def kill_in(command, out, stage, seconds):
    """Kill the command in a stage that takes about so long; its processor time, and time."""
    for share in (SHARE, SHARE / 2, SHARE / 4):
        moment = {"KILL_STAGE": stage, "KILL_SECONDS": str(share * seconds)}
        code, used, waited = call(command, out, program=STAGED, **moment)
        if code == -signal.SIGKILL:
            return used, waited
        assert code == 0  # this time it was faster
        shutil.rmtree(out)
    pytest.fail(f"{stage} is never reached for long enough")


def check_cost(tmp_path, command, stages):
    out, times = tmp_path / "out", tmp_path / "times.json"
    code, calm, seconds = call(command, out, program=STAGED, STAGE_TIMES=str(times))
    assert code == 0
    of_stage, expected = json.loads(times.read_text()), results(out)
    print(f"{calm:.0f} s ({seconds:.0f} s with waiting):", {name: round(used, 1) for name, used in of_stage.items()})
    shutil.rmtree(out)
    costs = {}
    for stage in [stage for stage in stages if of_stage.get(stage, 0) >= TOO_SHORT]:
        killed, waited = kill_in(command, out, stage, of_stage[stage])
        check_manifest(tmp_path / ".out.partial/work")
        code, resumed, more = call(command, out, "--resume")
        assert code == 0
        assert results(out) == expected
        costs[stage] = killed + resumed - calm
        print(f"killed when {stage}: {costs[stage]:.1f} s ({waited + more - seconds:.1f} s with waiting)")
        shutil.rmtree(out)
    assert calm >= LEAST_SECONDS or SHORT
    assert max(costs.values()) <= LOST_SECONDS + START_SECONDS
    return set(costs)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "documents"), [("lsh", 160_000), ("exact", 130_000)])
def test_a_kill_costs_dedup_little(tmp_path, method, documents):
    write_documents(tmp_path / "in.jsonl.gz", SHORT or documents)
    command = ["dedup", tmp_path / "in.jsonl.gz", "--method", method, "--threads", "1"]
    stages = ["reading", "joining bands", "finding copies", "fetching sets", "numbering", "refining", "verifying"]
    done = check_cost(tmp_path, command, [*stages, "writing"])
    assert SHORT or done >= {"reading", "fetching sets", "refining", "writing"}


@pytest.mark.slow
def test_a_kill_costs_link_little(tmp_path):
    one, other, _ = make_people(SHORT or 1_550_000, SHORT or 1_550_000, 0.3)
    files = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for table, path in zip((one, other), files):
        pq.write_table(table, path)
    command = ["link", *files, "--fields", "name,address,phone", "--threads", "1"]
    stages = ["reading", "reading fields", "candidates", "comparing", "scoring", "deciding", "writing"]
    done = check_cost(tmp_path, command, stages)
    assert SHORT or done >= {"reading fields", "candidates", "comparing", "scoring", "writing"}
