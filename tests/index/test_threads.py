"""Threads that share one index: each question is answered from one complete state while others change it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import lookalike as la

GROUP = 3
"""Items that are added at a time, and removed at a time."""


def ask_until(done, index):
    """How many answers were seen; each has all items of every group, or none."""
    seen = set()
    while not done.is_set():
        found = index.query(["alpha beta gamma delta"], k=None)["right"].to_pylist()
        groups = {name.partition("-")[0] for name in found}
        assert len(found) == GROUP * len(groups), found
        assert len(index.get(["base-0", "nobody"])) == 1
        assert len(index) % GROUP == 0
        seen.add(len(found))
    return len(seen)


def change(index, rounds, compact_every):
    for number in range(rounds):
        index.add([{"id": f"{number}-{n}", "text": "alpha beta gamma delta"} for n in range(GROUP)])
        if number % 4 == 3:
            index.remove([f"{number - 2}-{n}" for n in range(GROUP)])
        if number % compact_every == compact_every - 1:
            index.compact()
        with pytest.raises(la.BadDataError):  # undone
            index.add([{"id": "x", "text": "alpha beta gamma delta"}, {"id": "0-0", "text": "x"}], on_conflict="error")


def test_many_threads_ask_while_one_changes(place):
    done = threading.Event()
    rows = [{"id": f"base-{n}", "text": "alpha beta gamma delta"} for n in range(GROUP)]
    with la.Index.create(place, rows, threshold=0.5, shingle="word:1") as index, ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask_until, done, index) for _ in range(4)]
        try:
            change(index, 40, compact_every=10)
        finally:
            done.set()
        assert max(one.result() for one in asking) > 3
        assert index.check() == []
        assert len(index) == GROUP * (1 + 40 - 10)


def test_changes_of_several_threads_wait_for_each_other(place):
    """Of similar items that several threads add if new, one is added."""
    texts = [f"word{n} alpha{n} beta{n} gamma{n} delta{n}" for n in range(20)]

    def add_all(index, number):
        told = [index.add([{"id": f"{number}-{n}", "text": text}], if_new=True) for n, text in enumerate(texts)]
        return sum(one["added"][0].as_py() for one in told)

    with la.Index.create(place, threshold=0.5) as index, ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(lambda number: add_all(index, number), range(3))) == len(texts) == len(index)
