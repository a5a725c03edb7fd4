"""A writer that is killed a thousand times: while it adds, removes, compacts, asks before it adds, and creates."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import index_writers
import lookalike as la
from corpora import corpus
from lookalike.index.stores import check_store

EACH, TIMES = 300, 20
"""Items that a writer can add before it is killed, and how often each index loses its writer."""


@pytest.fixture
def writers(tmp_path):
    """A process that starts writers, and what is known of them."""
    command = [sys.executable, index_writers.__file__, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield process
        process.stdin.close()


def run_and_kill(writers, job, folder, first, texts, seconds):
    """What was acknowledged before the writer was killed, within some seconds of its first word."""
    print(job, folder, first, first + EACH, texts, file=writers.stdin, flush=True)
    child = int(writers.stdout.readline())
    told = [writers.stdout.readline().strip()]
    assert told != ["ended"]
    time.sleep(random.Random(first).random() * seconds)
    os.kill(child, signal.SIGKILL)
    while (line := writers.stdout.readline().strip()) != "ended":
        assert line
        told.append(line)
    return told


def present(folder):
    assert check_store(folder) == []
    with la.Index.open(folder, read_only=True) as index:
        return set(index._index.ids().to_pylist())


def names(numbers):
    return {f"k{number}" for number in numbers}


def expect_all(there, known, last):
    """What was acknowledged is there, but for the item whose removal was under way, and at most one item more."""
    gone = {number - 2 for number in known if number % 5 == 4}
    under_way = {number - 1 for number in last if number % 5 == 3}
    assert names(known - gone - under_way) <= there
    assert not names(gone) & there
    assert there <= names(known | {number + 1 for number in last})


def expect_one_of_each(there, known, last):
    """No copy, all that was acknowledged, and at most one item more."""
    assert names(known) <= there <= names(known | {number + 1 for number in last})


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(20))
@pytest.mark.parametrize(("job", "expect"), [("add_and_remove", expect_all), ("add_if_new", expect_one_of_each)])
def test_nothing_that_was_acknowledged_is_lost(tmp_path, writers, job, expect, attempt):
    """800 kills in all."""
    folder, texts = tmp_path / "index", tmp_path / "texts.txt"
    la.Index.create(folder, **index_writers.OPTIONS).close()
    texts.write_text("\n".join(corpus(TIMES * EACH, seed=attempt, copies=0, shortest=8, longest=20)))
    known, last = set(), []
    for first in range(0, TIMES * EACH, EACH):
        told = [int(number) for number in run_and_kill(writers, job, folder, first, texts, 0.4)]
        known.update(told)
        last.append(told[-1])
        expect(present(folder), known, last)


@pytest.mark.slow
def test_create_is_all_or_nothing(tmp_path, writers):
    """200 kills; what a killed one leaves behind does not disturb the next."""
    folder, texts, seen = tmp_path / "index", tmp_path / "texts.txt", []
    texts.write_text("\n".join(corpus(200 + EACH, copies=0)))
    seconds = 0.1
    for attempt in range(200):
        told = run_and_kill(writers, "create", folder, attempt, texts, seconds)
        seen.append(folder.exists())
        seconds *= 0.9 if seen[-1] else 1.1  # about half of them come to an end
        assert "created" not in told or folder.exists()
        if folder.exists():
            assert present(folder) == names(range(index_writers.CREATED))
            folder.rename(tmp_path / "done")
            shutil.rmtree(tmp_path / "done")
    assert {True, False} == set(seen)
    la.Index.create(folder, ["a b c"], **index_writers.OPTIONS).close()
    assert check_store(folder) == []
