"""A writer that is killed a thousand times: while it adds, removes, compacts, asks before it adds, and creates."""

import multiprocessing
import random
import time

import pytest

import index_writers
import lookalike as la
from corpora import corpus
from lookalike.index.stores import check_store

EACH = 300
"""Items that a writer can add before it is killed."""


@pytest.fixture(scope="module")
def processes():
    """Processes that begin with everything loaded: a start costs milliseconds."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["index_writers"])
    return found


def run_and_kill(processes, job, folder, first, texts, seconds):
    """What was acknowledged before the writer was killed, within some seconds of its first word."""
    told, to_tell = processes.Pipe(duplex=False)
    child = processes.Process(target=job, args=(folder, first, texts, to_tell))
    child.start()
    to_tell.close()
    found = [told.recv()]
    time.sleep(random.Random(str((first, seconds))).random() * seconds)
    child.kill()
    child.join()
    try:
        while True:
            found.append(told.recv())
    except EOFError:
        return found


def present(folder):
    assert check_store(folder) == []
    with la.Index.open(folder, read_only=True) as index:
        return set(index._index.ids().to_pylist())


def names(numbers):
    return {f"k{number}" for number in numbers}


def expect_all(folder, acknowledged, last):
    """What was acknowledged is there, but for the item whose removal was under way, and at most one item more."""
    there, known = present(folder), set(acknowledged)
    gone = {number - 2 for number in known if number % 5 == 4}
    under_way = {number - 1 for number in last if number % 5 == 3}
    assert names(known - gone - under_way) <= there
    assert not names(gone) & there
    assert there <= names(known | {number + 1 for number in last})


def expect_one_of_each(folder, acknowledged, last):
    """No copy, all that was acknowledged, and at most one item more."""
    assert names(acknowledged) <= present(folder) <= names({*acknowledged, *(number + 1 for number in last)})


@pytest.mark.slow
@pytest.mark.parametrize(("job", "expect"), [("add_and_remove", expect_all), ("add_if_new", expect_one_of_each)])
def test_nothing_that_was_acknowledged_is_lost(tmp_path, processes, job, expect):
    """400 kills each, 20 of each index."""
    for attempt in range(20):
        folder, acknowledged, last = tmp_path / f"{attempt}", [], []
        la.Index.create(folder, **index_writers.OPTIONS).close()
        texts = corpus(20 * EACH, seed=attempt, copies=0, shortest=8, longest=20)
        for first in range(0, 20 * EACH, EACH):
            some = texts[first : first + EACH]
            told = run_and_kill(processes, getattr(index_writers, job), folder, first, some, 0.4)
            acknowledged += told
            last.append(told[-1])
            expect(folder, acknowledged, last)


@pytest.mark.slow
def test_create_is_all_or_nothing(tmp_path, processes):
    """200 kills; what a killed one leaves behind does not disturb the next."""
    folder, texts, seen = tmp_path / "index", corpus(500, copies=0), []
    for attempt in range(200):
        told = run_and_kill(processes, index_writers.create, folder, attempt, texts, 0.5)
        seen.append(folder.exists())
        assert "created" not in told or folder.exists()
        if folder.exists():
            assert present(folder) == names(range(index_writers.CREATED))
            folder.rename(tmp_path / f"done{attempt}")
    assert {True, False} == set(seen)
    la.Index.create(folder, ["a b c"], **index_writers.OPTIONS).close()
    assert check_store(folder) == []
