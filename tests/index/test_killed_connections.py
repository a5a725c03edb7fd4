"""Random histories of an index in a database whose connections are ended at any moment.

What was acknowledged is there, what failed has changed nothing or everything, and no answer is wrong. Only errors are
allowed, and few of them.
"""

import os
import queue
import random
import threading
import time
from contextlib import suppress

import psycopg
import pytest

import lookalike as la
from lookalike.index.postgres.place import Place
from modelling import OPTIONS, put, similar

IDS = [f"i{n}" for n in range(12)]
HISTORIES = int(os.environ.get("LOOKALIKE_EXAMPLES", 40)) // 10


class Killer:
    """Ends one or all connections of lookalike, a moment after it was asked to."""

    def __init__(self, url, seed):
        self._url, self._draw = url, random.Random(seed)
        self._orders, self.orders = queue.SimpleQueue(), 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def strike(self):
        """In the next hundredth of a second, while something else goes on; or shortly after it."""
        self.orders += 1
        self._orders.put(self._draw.random() ** 2 / 50)

    def _run(self):
        with psycopg.connect(self._url, autocommit=True) as connection:
            while (delay := self._orders.get()) is not None:
                time.sleep(delay)
                wanted = "SELECT pid FROM pg_stat_activity WHERE application_name = 'lookalike'"
                pids = [pid for (pid,) in connection.execute(wanted).fetchall()]
                for pid in pids if self._draw.random() < 0.5 else self._draw.sample(pids, min(1, len(pids))):
                    connection.execute("SELECT pg_terminate_backend(%s)", [pid])

    def __exit__(self, *_):
        self._orders.put(None)
        self._thread.join()

    def __enter__(self):
        self._thread.start()
        return self


class History:
    """Two writers and a reader, which do something at random, one at a time."""

    def __init__(self, place, seed):
        self.draw = random.Random(seed)
        self.place, self.table = place, Place.parse(place).prefix
        la.Index.create(place, **OPTIONS).close()
        self.items = []
        self.reading = [[]]
        """The states that the reader may see."""
        self.truth = psycopg.connect(Place.parse(place).url, autocommit=True)
        self.writers = [la.Index.open(place) for _ in range(2)]
        self.reader = la.Index.open(place, read_only=True)
        self.done = self.failed = 0

    def close(self):
        for index in (*self.writers, self.reader):
            with suppress(la.LookalikeError):
                index.close()
        self.truth.close()

    def text(self):
        return " ".join(self.draw.choices("abcdefg", k=self.draw.randint(0, 6)))

    def rows(self):
        return [(self.draw.choice(IDS), self.text()) for _ in range(self.draw.randint(1, 4))]

    @property
    def version(self):
        return self.truth.execute(f"SELECT version FROM {self.table}_index").fetchone()[0]

    def ids(self):
        gone = f"SELECT number FROM {self.table}_removed"
        listed = f"SELECT id FROM {self.table}_items WHERE number NOT IN ({gone}) ORDER BY number"
        return [bytes(id).decode() for (id,) in self.truth.execute(listed)]

    def change(self, work, after):
        """Change the index and the model of it; after an error, find out which of its two states it has."""
        before = self.version
        try:
            work()
        except la.LookalikeError:
            self.failed += 1
            deadline = time.monotonic() + 10
            while (version := self.version) == before and self.busy() and time.monotonic() < deadline:
                time.sleep(0.001)
            assert version in (before, before + 1)
            if version > before:
                self.items = after
        else:
            self.done += 1
            self.items = after
        assert self.ids() == [name for name, _ in self.items]

    def busy(self):
        """Whether a transaction of a connection that was ended has not."""
        active = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lookalike' AND state <> 'idle'"
        return self.truth.execute(active).fetchone() != (0,)

    def add(self):
        rows, after = self.rows(), self.items
        for name, text in rows:
            after = put(after, name, text)
        index = self.draw.choice(self.writers)
        self.change(lambda: index.add([{"id": name, "text": text} for name, text in rows]), after)

    def add_if_new(self):
        rows, after, expected = self.rows(), self.items, []
        for name, text in rows:
            best = similar(after, text)
            expected.append(best[0] if best else (None, None))
            after = after if best else put(after, name, text)

        def work():
            told = index.add([{"id": name, "text": text} for name, text in rows], if_new=True).to_pylist()
            assert [(row["match"], row["similarity"]) for row in told] == expected

        index = self.draw.choice(self.writers)
        self.change(work, after)

    def remove(self):
        names = self.draw.sample(IDS, self.draw.randint(1, 3))
        index = self.draw.choice(self.writers)
        self.change(lambda: index.remove(names), [row for row in self.items if row[0] not in names])

    def compact(self):
        self.change(self.draw.choice(self.writers).compact, self.items)

    def refresh(self):
        self.reading.append(self.items)
        with suppress(la.LookalikeError):
            self.reader.refresh()
            self.reading = [self.items]

    def query(self):
        self.ask(self.draw.choice(self.writers), [self.items])

    def read(self):
        self.reading.append(self.items)
        self.reading = self.ask(self.reader, self.reading)

    def ask(self, index, states):
        """The states that explain an answer, of which there must be one."""
        texts = [self.text() for _ in range(self.draw.randint(1, 3))]
        try:
            if self.draw.random() < 0.3:
                answer = index._index.ids().to_pylist()
                states = [items for items in states if [name for name, _ in items] == answer]
            else:
                answer = [
                    (row["left"], row["right"], row["similarity"]) for row in index.query(texts, k=None).to_pylist()
                ]
                states = [items for items in states if matches(items, texts) == answer]
        except la.LookalikeError:
            self.failed += 1
        else:
            self.done += 1
            assert states, answer
        return states


def matches(items, texts):
    return [(row, *match) for row, text in enumerate(texts) for match in similar(items, text)]


def live(database, seed, steps):
    """One history; how many calls succeeded and failed, and how often connections were ended."""
    history = History(database.new_index(), seed)
    try:
        with Killer(database.url, seed) as killer:
            for _ in range(steps):
                step = history.draw.choices(
                    [history.add, history.add_if_new, history.remove, history.compact, history.refresh, history.query,
                     history.read],
                    [4, 3, 2, 3, 1, 2, 3],
                )[0]  # fmt: skip
                if history.draw.random() < 0.3:
                    killer.strike()
                step()
        with la.Index.open(history.place) as index:
            assert index._index.ids().to_pylist() == [name for name, _ in history.items]
            assert index.check() == []
            index.compact()
            assert index.check() == []
    finally:
        history.close()
    return history.done, history.failed, killer.orders


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_connections_that_end_lose_nothing_and_cause_no_wrong_answer(database, seed):
    done, failed, ended = live(database, seed, steps=100)
    assert ended > 15
    assert failed <= ended
    assert done > 50
