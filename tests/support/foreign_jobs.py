"""A session with a job of somebody else in it, while one of ours is interrupted. As a program: on a Connect server."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

from lookalike.engine.progress import Progress
from lookalike.spark.cluster import Cluster
from lookalike.spark.pieces import Written

PATIENCE = 60.0


def wait_until(exists, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not exists() and time.monotonic() < end:
        time.sleep(0.02)
    return exists()


def waiting(folder, name):
    """A step whose tasks say that they run and wait for a file; by value, since tasks cannot import this module."""

    def step(batches):
        import time
        from pathlib import Path

        import pyarrow

        for batch in batches:
            Path(folder, f"{name}-runs").touch()
            end = time.monotonic() + 60
            while not Path(folder, f"{name}-may-end").exists() and time.monotonic() < end:
                time.sleep(0.02)
            ended = Path(folder, f"{name}-may-end").exists()
            yield pyarrow.record_batch([pyarrow.array([ended] * len(batch))], ["ended"])

    return step


def interrupt_ours(session, folder):
    """Send SIGINT while both jobs run; returns what the other job gives, and how long ours took to end."""
    answers = []

    def run_other():
        answers.append(session.range(0, 1, 1, 1).mapInArrow(waiting(folder, "theirs"), "ended boolean").toArrow())

    def interrupt():
        assert wait_until(lambda: all(Path(folder, f"{name}-runs").exists() for name in ("ours", "theirs")))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sent = []
    threads = [threading.Thread(target=target) for target in (run_other, interrupt)]
    for thread in threads:
        thread.start()
    cluster = Cluster(session, Path(folder), Progress())

    def nothing(batches):
        yield from ()

    try:
        cluster.run(cluster.map(cluster.tasks([0]), waiting(folder, "ours"), "ended boolean"), nothing, [1])
        raise AssertionError("not interrupted")
    except KeyboardInterrupt:
        took = time.monotonic() - sent[0]
    Path(folder, "theirs-may-end").touch()
    for thread in threads:
        thread.join()
    return [answer.column("ended").to_pylist() for answer in answers], took


class Recorded(Progress):
    """Remembers every advance; the first lets tasks go on that wait for it."""

    def __init__(self, seen):
        super().__init__()
        self.advances, self._seen = [], seen

    def advance(self, amount):
        self.advances.append(amount)
        if amount:
            self._seen.touch()


def follow_ours(session, folder):
    """What is reported about six tasks, of which the fourth and later ones wait until it is known that some ended."""
    begun, seen = Path(folder, "begun"), Path(folder, "seen")
    begun.mkdir()

    def slow(batches):
        import time
        import uuid

        import pyarrow

        for batch in batches:
            (begun / uuid.uuid4().hex).touch()
            end = time.monotonic() + 60
            while sum(1 for _ in begun.iterdir()) > 3 and not seen.exists() and time.monotonic() < end:
                time.sleep(0.02)
            yield pyarrow.record_batch([["piece"] * len(batch), [1] * len(batch), [2] * len(batch)], list("abc"))

    progress = Recorded(seen)
    cluster = Cluster(session, Path(folder), progress)
    written = cluster.run(cluster.tasks(list(range(6))), slow, [10] * 6)
    assert written == [Written("piece", 1, 2)] * 6
    return progress.advances


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    opened = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    print(interrupt_ours(opened, sys.argv[2])[0], sum(follow_ours(opened, sys.argv[2])))
