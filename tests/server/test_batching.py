"""Requests that are answered together: up to a weight, in order, and not for clients that have left."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from lookalike.server.answers.space import Space
from lookalike.server.answers.spool import Spool
from lookalike.server.answers.streaming import StreamedAnswers
from lookalike.server.batching import Batcher
from lookalike.server.leaving import Leaving
from lookalike.server.options import Limits


class Work:
    """Notes the jobs of each call; the first call lasts until it may end."""

    def __init__(self):
        self.calls, self.may_end = [], threading.Event()

    def __call__(self, jobs):
        self.calls.append(jobs)
        self.may_end.wait(30)
        return [2 * job for job in jobs]


async def batches(scenario, **options):
    """Run a scenario while a first call holds all others; returns what was called after it."""
    work = Work()
    with ThreadPoolExecutor(1) as threads:
        batcher = Batcher(work, threads, **options)
        first = asyncio.create_task(batcher.submit(0))
        while not work.calls:
            await asyncio.sleep(0.001)
        tasks = scenario(batcher)
        await asyncio.sleep(0.01)
        for task in tasks.pop("leaving", ()):
            task.cancel()
        await asyncio.sleep(0.01)
        work.may_end.set()
        answers = await asyncio.gather(first, *tasks.pop("staying"))
    return work.calls[1:], answers[1:]


def test_calls_are_as_large_as_their_weight_allows():
    def scenario(batcher):
        return {"staying": [asyncio.create_task(batcher.submit(job)) for job in (1, 2, 3, 9, 1, 1)]}

    calls, answers = asyncio.run(batches(scenario, most=6, weigh=lambda job: job))
    assert calls == [[1, 2, 3], [9], [1, 1]]
    assert answers == [2, 4, 6, 18, 2, 2]


def test_nothing_is_done_for_clients_that_have_left():
    def scenario(batcher):
        each = [asyncio.create_task(batcher.submit_all([job, job])) for job in (1, 2, 3, 4)]
        return {"leaving": [each[0], each[2]], "staying": [each[1], each[3]]}

    calls, answers = asyncio.run(batches(scenario, most=100))
    assert calls == [[2, 2, 4, 4]]
    assert answers == [[4, 4], [8, 8]]


@pytest.mark.parametrize("early", [False, True])
def test_a_request_ends_when_its_client_leaves(early):
    """Or has left before it began: what it sent last and the end of the connection can arrive together."""

    async def run():
        leaving, ended = Leaving(), []
        if early:
            leaving.end()

        async def request():
            with leaving.ends():
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.append(True)

        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        if not early:
            leaving.end()
        await asyncio.wait([task], timeout=30)
        assert (task.cancelled(), ended) == (True, [True])
        leaving.end()  # nothing is in progress

    asyncio.run(run())


class Ending(StreamedAnswers):
    """A stream whose answers have been sent while the body is still arriving, and that takes long to end."""

    async def _collect(self):
        await self._reply.spool.write(b"x" * (1 << 20))
        await self._reply.spool.end()

    async def _read(self, held):
        self.ending = asyncio.Event()
        try:
            await asyncio.sleep(60)
        finally:
            self.ending.set()
            await asyncio.Event().wait()


def test_space_is_given_back_if_the_client_leaves_while_its_request_ends():
    space, sent = Space(4 << 20), []

    async def send(message):
        sent.append(len(message.get("body", b"")))
        await asyncio.sleep(0)

    async def run(threads):
        options = SimpleNamespace(limits=Limits())
        state = SimpleNamespace(
            options=options, in_flight=Space(1), new_spool=lambda: Spool(space, threads), on_files=None
        )
        answers = Ending(state, None, None)
        task = asyncio.create_task(answers({}, None, send))
        while not hasattr(answers, "ending"):
            await asyncio.sleep(0)
        await answers.ending.wait()
        await answers._reply.spool.write(b"y" * (1 << 20))  # which nobody reads
        assert space.free == 3 << 20
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(run(threads))
    assert sum(sent) >= 1 << 20
    assert space.free == 4 << 20
