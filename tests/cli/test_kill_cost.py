"""A kill costs at most about 15 seconds of work, besides the start: killed in every stage, and resumed."""

import json
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from calling import process, start
from linking import make_people

LOST_SECONDS = 15
START_SECONDS = 10
"""Python and its libraries, the choice of a method; for `link`, the fields."""
NOISE = 0.2
"""How much longer the same work may take another time, on a machine that does other things as well."""
TOO_SHORT = 0.5
"""Stages of fewer seconds are not aimed at."""


def texts(items, seed=1):
    """Texts of about 80 words, a third of them near-copies."""
    draw = np.random.default_rng(seed)
    words = np.array(["".join(map(chr, draw.integers(97, 123, draw.integers(2, 9)))) for _ in range(20_000)], object)
    made = []
    for _ in range(items):
        if made and draw.random() < 0.3:
            one = made[draw.integers(len(made))].copy()
            one[draw.integers(0, len(one))] = words[draw.integers(20_000)]
        else:
            one = words[(20_000 * draw.random(draw.integers(25, 135)) ** 2).astype(int)]
        made.append(one)
    return [" ".join(one) for one in made]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    made = texts(800_000)
    for number in range(8):  # the rows of one file are written again after a kill
        some = made[number::8]
        with (folder / f"{number}.jsonl").open("w") as file:
            file.writelines(json.dumps({"id": f"{number}-{n}", "text": text}) + "\n" for n, text in enumerate(some))
    return [folder]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    one, other, _ = make_people(1_500_000, 1_500_000, 0.3)
    for table, name in ((one, "a"), (other, "b")):
        pq.write_table(table, folder / f"{name}.parquet")
    return [folder / "a.parquet", folder / "b.parquet"]


def moments(seconds, draw):
    """A random moment in each stage, in seconds after the start."""
    begun = 0.0
    for stage, taken in seconds.items():
        if taken >= TOO_SHORT:
            yield stage, begun + draw.uniform(0.2, 0.9) * taken
        begun += taken


def results(out):
    return {path.name: pq.read_table(path) for path in sorted(out.glob("*.parquet"))}


def check_cost(tmp_path, command):
    out, draw = tmp_path / "out", random.Random(5)
    began = time.perf_counter()
    done = process(*command, "-o", out, "--json", "--quiet")
    calm = time.perf_counter() - began
    assert done.code == 0, done.err
    seconds, expected = done.json()["seconds"], results(out)
    shutil.rmtree(out)
    before = max(0.0, calm - sum(seconds.values()))
    costs = {}
    for stage, moment in moments(seconds, draw):
        with start(*command, "-o", out, "--quiet", stdout=subprocess.DEVNULL) as started:
            time.sleep(before + moment)
            if started.poll() is not None:  # it was faster
                shutil.rmtree(out)
                continue
            started.send_signal(signal.SIGKILL)
        began = time.perf_counter()
        assert process(*command, "-o", out, "--resume", "--quiet").code == 0
        costs[stage] = before + moment + time.perf_counter() - began - calm
        assert results(out) == expected
        shutil.rmtree(out)
    print(f"{calm:.0f} s", {stage: round(cost, 1) for stage, cost in costs.items()})
    assert costs
    assert max(costs.values()) < LOST_SECONDS + START_SECONDS + NOISE * calm


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "lsh"])
def test_a_kill_costs_dedup_little(documents, tmp_path, method):
    check_cost(tmp_path, ["dedup", *documents, "--method", method, "--threads", "1"])


@pytest.mark.slow
def test_a_kill_costs_link_little(people, tmp_path):
    check_cost(tmp_path, ["link", *people, "--fields", "name,address,phone", "--threads", "1"])
