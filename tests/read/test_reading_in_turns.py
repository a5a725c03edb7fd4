"""Small files are read by one thread at a time, unless reading means waiting; what is read is the same."""

from __future__ import annotations

import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.read import open_inputs
from lookalike.read.documents import Turns
from lookalike.read.files import File, stamp
from lookalike.types import Wanted


def busy(seconds: float) -> None:
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        pass


def most_at_once(turns: Turns, work, threads: int = 4) -> int:
    """How many threads are inside at the same time, after a first one has been inside alone."""
    with turns:
        work()
    inside, seen, lock = [0], [0], threading.Lock()

    def enter(_: int) -> None:
        with turns:
            with lock:
                inside[0] += 1
                seen.append(inside[0])
            work()
            with lock:
                inside[0] -= 1

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(enter, range(threads)))
    return max(seen)


def test_those_that_wait_read_at_the_same_time() -> None:
    assert most_at_once(Turns(), lambda: time.sleep(0.2)) > 1


def test_those_that_do_not_wait_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    # on a busy machine, a thread may wait for a processor
    monkeypatch.setattr("lookalike.read.documents.time.perf_counter", time.thread_time)
    assert most_at_once(Turns(), lambda: busy(0.02)) == 1


def test_files_are_those_of_one_thread(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"{number:03}.txt").write_text(f"text {number} " * (number % 40))
    (source,) = open_inputs([tmp_path])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda block: block.items(Wanted("text", ())).features.to_pylist(), source.blocks()))
    assert len(found) > 1
    assert [text for block in found for text in block] == [f"text {number} " * (number % 40) for number in range(600)]
    assert len(list(pickle.loads(pickle.dumps(source)).blocks())) == len(found)  # as for another process


def test_a_file_is_read_to_its_end_whatever_its_size_was(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(os.urandom(3 << 20))
    name = str(path)
    assert File(name, "a.txt", name, 3 << 20).read() == path.read_bytes()
    assert File(name, "a.txt", name, 10).read() == path.read_bytes()
    assert File(name, "a.txt", name, 4 << 20).read() == path.read_bytes()
    path.write_bytes(b"")
    assert File(name, "a.txt", name, 0, stamp(name)).read() == b""
    path.unlink()
    with pytest.raises(BadDataError, match="was removed"):
        File(name, "a.txt", name).read()
    with pytest.raises(UsageError, match="cannot be opened"):
        File(name + "/b", "b", name + "\n" * 300).read()
