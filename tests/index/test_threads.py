"""Threads that share one index: each question is answered from one complete state while others change it."""

import threading
import time
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


def test_many_threads_query_while_one_changes(place):
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


def test_single_items_of_several_threads_are_added_together(place):
    """Each is there, on disk, when its call returns; with ids of both types, and an item that cannot be added."""

    def add_all(index, number):
        for n in range(15):
            id = f"{number}-{n}" if number % 2 else 100 * number + n
            told = index.add([{"id": id, "text": f"text {n} of thread {number}"}])
            assert told.to_pylist() == [{"id": id, "added": True, "match": None, "similarity": None}]
            if n % 5 == 4:
                with la.Index.open(place, read_only=True) as reader:
                    assert str(id) in reader
        with pytest.raises(la.BadDataError, match="surrogate"):
            index.add([{"id": f"bad {number}", "text": "\ud800"}])

    with la.Index.create(place) as index, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add_all(index, number), range(8)))
        assert len(index) == 8 * 15
        assert index._together.groups < 8 * 15
        assert index.check() == []


def test_after_a_failure_each_thread_adds_its_item_by_itself(tmp_path, monkeypatch):
    la.Index.create(tmp_path / "index").close()
    with la.Index.open(tmp_path / "index") as index, ThreadPoolExecutor(8) as pool:
        add, sizes = index._index.add, []

        def fail_for_many(sources, **options):
            sizes.append(len(sources[0].table))
            if sizes[-1] > 1:
                raise la.ResourceError("no room for several")
            time.sleep(0.01)  # others come
            return add(sources, **options)

        monkeypatch.setattr(index._index, "add", fail_for_many)
        rows = [{"id": f"i{n}", "text": f"text {n}"} for n in range(40)]
        list(pool.map(lambda row: index.add([row]), rows))
        assert max(sizes) > 1
        assert sorted(index._index.ids().to_pylist()) == sorted(row["id"] for row in rows)
