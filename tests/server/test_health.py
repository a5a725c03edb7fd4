"""Readiness: the store is asked, and a follower goes on after any error and says how old its view is."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import failing_disk
from calling import wait_for
from lookalike.index.folder.acknowledged import Acknowledged
from lookalike.index.index import StoredIndex
from lookalike.server.monitoring import health as module
from lookalike.server.monitoring.health import Health
from lookalike.server.options import ServerOptions
from lookalike.server.problems import Problem
from serving import TEXTS, Serving, make_index


class Index:
    """An index whose store fails, or does not answer, when a test says so."""

    def __init__(self):
        self.error, self.answering = None, threading.Event()
        self.answering.set()
        self.asked, self.ended = 0, None
        self.store = self.lookup = self
        self.total = 1

    def __len__(self):
        self.asked += 1
        self.answering.wait()
        if self.error is not None:
            raise self.error
        return 1

    def next_from(self, number):
        return number

    def refresh(self):
        if self.error is not None:
            raise self.error


@pytest.fixture
def index():
    made = Index()
    yield made
    made.answering.set()


def started(index, **options):
    health = Health(index, ServerOptions(**options))
    health.not_ready = None
    return health


async def reason_of(health):
    with pytest.raises(Problem) as refused:
        await health.check()
    assert refused.value.status == 503
    return refused.value.detail


def test_a_store_that_cannot_be_read_is_not_ready(index, monkeypatch):
    monkeypatch.setattr(module, "ASK_SECONDS", 0.0)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)

    async def checks():
        health = started(index)
        assert await health.check() == {"status": "ready"}
        index.error = RuntimeError("the database is gone")
        assert "the database is gone" in await reason_of(health)
        index.error = None
        assert await health.check() == {"status": "ready"}
        index.answering.clear()
        assert "has not answered" in await reason_of(health)
        before = index.asked
        assert "has not answered" in await reason_of(health)
        assert index.asked == before  # checks do not pile up
        index.answering.set()
        while index.asked == before:
            await asyncio.sleep(0.01)
            await asyncio.gather(health.check(), return_exceptions=True)
        assert await health.check() == {"status": "ready"}
        health.close()

    asyncio.run(checks())


@pytest.mark.parametrize("error", [OSError("I/O error"), ValueError("damaged"), KeyError("x"), MemoryError()])
def test_a_follower_goes_on_after_any_error(index, error, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    async def checks():
        health = started(index, read_only=True, refresh_seconds=1.0)
        now[0] += 3
        assert (await health.check())["view_age_seconds"] == 3
        assert await health.refresh() is None
        assert (await health.check())["view_age_seconds"] == 0
        index.error = error
        assert await health.refresh()
        assert await health.refresh() is None  # it is said once
        index.error = None
        now[0] += 9
        assert (await health.check())["view_age_seconds"] == 9
        index.error = error
        await health.refresh()
        now[0] += 2
        index.error = None
        assert "the view is 11 seconds old" in await reason_of(health)
        assert str(error) in await reason_of(health)
        assert await health.refresh() is None
        assert (await health.check())["view_age_seconds"] == 0
        health.close()

    asyncio.run(checks())


@pytest.mark.skipif(failing_disk.COMPILER is None, reason="needs a C compiler, to make a disk that fails")
def test_a_writer_whose_disk_has_failed_is_not_ready(tmp_path):
    """The next fsync may succeed, although the system has forgotten what it could not write."""
    index = make_index(tmp_path / "index")
    question = {"text": TEXTS["rose"], "k": 1}
    with Serving(index, env=failing_disk.environment(tmp_path)) as server:
        (tmp_path / "fails").touch()
        for id in ("lost", "refused"):
            added = server.post("/v1/items", {"id": id, "text": "a text of its own"})
            assert (added.status, "opened again" in added.json()["detail"]) == (503, True)
            (tmp_path / "fails").unlink(missing_ok=True)
        wait_for(lambda: server.call("GET", "/readyz").status == 503)  # checks share an answer for half a second
        assert "opened again" in server.call("GET", "/readyz").json()["detail"]
        assert server.call("GET", "/healthz").status == 200
        assert server.post("/v1/query", question).json()["matches"][0]["id"] == "rose"
        with Serving(index, "--read-only") as follower:  # its constructor waits until it is ready
            assert follower.post("/v1/query", question).json()["matches"][0]["id"] == "rose"
        server.stop()
    with Serving(index) as server:
        assert server.call("GET", "/v1/items/refused").status == 404
        assert server.post("/v1/items", {"id": "new", "text": "a text of its own"}).json()["added"]


def test_a_change_that_was_interrupted_is_not_ready(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise MemoryError

    with StoredIndex.open(make_index(tmp_path / "index")) as index:

        async def checks():
            health = started(index)
            assert await health.check() == {"status": "ready"}
            with monkeypatch.context() as patched:
                patched.setattr(Acknowledged, "write", interrupt)
                with pytest.raises(MemoryError):
                    index.remove(["rose"])
            monkeypatch.setattr(module, "ASK_SECONDS", 0.0)
            assert "may have been stored" in await reason_of(health)
            health.close()

        asyncio.run(checks())


def test_a_change_that_is_under_way_is_ready(tmp_path):
    with StoredIndex.open(make_index(tmp_path / "index")) as index, ThreadPoolExecutor(1) as threads:
        with index.store.changing(), index.store.file.writing():
            assert threads.submit(lambda: index.store.ended).result(20) is None
        assert "interrupted" in index.store.ended  # it was not applied to what is in memory


def test_a_follower_says_how_old_its_view_is(tmp_path):
    index = make_index(tmp_path / "index")
    with Serving(index) as writer:
        assert writer.call("GET", "/readyz").json() == {"status": "ready"}
        with Serving(index, "--read-only", "--refresh", 0.05) as follower:
            wait_for(lambda: follower.call("GET", "/readyz").json()["view_age_seconds"] < 1)
