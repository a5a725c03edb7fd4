"""Answers on their way to the client: NDJSON line by line while the body arrives, lists and objects as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lookalike.server.answers.space import Holding
from lookalike.server.answers.spool import IN_MEMORY_BYTES, Spool, no_space
from lookalike.server.bodies import LONG_BYTES, NDJSON, discard, parsed_bytes, read_lines
from lookalike.server.contents import parse_json
from lookalike.server.problems import Problem
from lookalike.server.rendering import SMALL_BYTES, Answer, Matched, TooLongError, Writing, as_object, in_parts
from lookalike.server.state import ServerState

AHEAD = 4
"""Groups of lines that are being answered at the same time."""
MATCHES_TOGETHER = 1 << 14
"""The most matches of a group: their numbers and similarities wait in memory until they are written."""
LOOK_SECONDS = 0.1
"""How often to look whether a client has read some of its answers."""
Parse = Callable[[Any], Any]
Submit = Callable[[list[Any]], Awaitable[list[Answer]]]
Weigh = Callable[[Any], int]
"""How many matches a job may have."""


class Asking:
    """How the items of a body are answered.

    Parameters
    ----------
    parse
        Makes a job from a JSON value, or raises a problem.
    submit
        Answers jobs, in order.
    weigh
        How many matches a job may have, to be kept in memory with those of its group; 0 if all are answered together.
    alone
        Marks a job as the only one of its request.
    """

    def __init__(
        self, parse: Parse, submit: Submit, weigh: Weigh = lambda _: 0, alone: Parse = lambda job: job
    ) -> None:
        self._parse, self._submit, self._weigh, self._alone = parse, submit, weigh, alone

    def parse_one(self, value: Any) -> Any:
        """The job of a request with a single object."""
        return self._alone(self._parse(value))

    def parse_all(self, values: Iterable[Any], convert: Parse = lambda value: value) -> list[list[Any]]:
        """The jobs, or problems, in groups."""
        jobs = [self._parsed(value, convert) for value in values]
        return list(in_parts(jobs, lambda job: 0 if isinstance(job, Problem) else self._weigh(job), MATCHES_TOGETHER))

    def _parsed(self, value: Any, convert: Parse) -> Any:
        try:
            return value if isinstance(value, Problem) else self._parse(convert(value))
        except Problem as problem:
            return problem

    async def answers(self, jobs: Sequence[Any]) -> list[Answer]:
        """The answers to jobs; problems keep their places."""
        good = [job for job in jobs if not isinstance(job, Problem)]
        answers = iter(await self._submit(good) if good else [])
        return [job if isinstance(job, Problem) else next(answers) for job in jobs]


class Reply:
    """The response of one request, gathered in a spool.

    Parameters
    ----------
    seconds
        How long to wait for space while the client reads nothing; 0 if it cannot read yet.
    """

    def __init__(self, state: ServerState, seconds: float = 0.0) -> None:
        self.spool, self._on_files, self._seconds = state.new_spool(), state.on_files, seconds
        self._largest = state.options.limits.response_bytes

    async def write(self, writing: Writing) -> bool:
        """Write the next answers; return whether there were any."""
        try:
            content = await self._on_files(writing.next, min(SMALL_BYTES, self._largest))
            await self._find_room(len(content))
        except TooLongError:
            await self._find_room(self._largest)
            content = await self._write_long(writing)
        await self.spool.write(content)
        return bool(content)

    async def _write_long(self, writing: Writing) -> bytes:
        try:
            return await self._on_files(writing.next, self._largest)
        except TooLongError:
            text = f"the answer is longer than {self._largest:,} bytes; ask for fewer matches, or without their text"
            writing.replace(Problem(413, text))
            return await self._on_files(writing.next, self._largest)

    async def _find_room(self, count: int) -> None:
        """Wait until there is room for more bytes, but not for a client that does not read."""
        loop = asyncio.get_running_loop()
        pending, deadline = self.spool.pending, loop.time() + self._seconds
        wait = min(self._seconds, LOOK_SECONDS)
        while not self.spool.fits_memory(count) and not await self.spool.reserve(count, wait):
            if self.spool.pending < pending:
                pending, deadline = self.spool.pending, loop.time() + self._seconds
            if loop.time() >= deadline:
                raise no_space()

    def response(self) -> Response:
        """What has been written, as JSON."""
        content = self.spool.in_memory
        if content is None:
            return _Spooled(self.spool)
        self.spool.close()
        return Response(content, media_type="application/json")


class _Spooled(Response):
    """A response that is read from a spool while the client reads it."""

    media_type = "application/json"

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self.headers["Content-Length"] = str(spool.size)
        self._spool = spool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send it piece by piece."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await self._spool.end()
            async for piece in self._spool.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._spool.close()


async def reply_to_one(state: ServerState, answer: Answer) -> Response:
    """The answer to a single object."""
    if isinstance(answer, Problem):
        raise answer
    if not isinstance(answer, Matched):
        return Response(orjson.dumps(answer), media_type="application/json")
    return await reply_with(state, answer if answer.written is None else answer.written)


async def reply_with(state: ServerState, content: bytes | Matched) -> Response:
    """A response that may be long."""
    if isinstance(content, bytes) and len(content) <= IN_MEMORY_BYTES:
        return Response(content, media_type="application/json")
    reply = Reply(state)
    try:
        await reply.write(Writing([content], alone=True))
        return reply.response()
    except BaseException:
        reply.spool.close()
        raise


async def reply_to_list(state: ServerState, asking: Asking, values: list[Any]) -> Response:
    """The answers or errors of a list."""
    largest = state.options.limits.response_bytes
    reply = Reply(state)
    try:
        await reply.spool.write(b"[")
        for number, jobs in enumerate(await state.on_files(asking.parse_all, values)):
            writing = Writing(await asking.answers(jobs), between=b",", begun=number > 0)
            while await reply.write(writing):
                if reply.spool.size > largest:
                    text = f"the answers have more than {largest:,} bytes; send fewer items at a time, or NDJSON"
                    raise Problem(413, text)
        await reply.spool.write(b"]")
        return reply.response()
    except BaseException:
        reply.spool.close()
        raise


class StreamedAnswers(Response):
    """Answers an NDJSON body line by line.

    Until the body has arrived, answers wait in the spool, for clients that send everything before they read; from then
    on, they are made as the client reads. The framework's own streaming is not used: it listens for a disconnect
    meanwhile, and would consume the body.
    """

    media_type = NDJSON

    def __init__(self, state: ServerState, request: Request, asking: Asking) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._state, self._request, self._asking = state, request, asking
        self._limits = state.options.limits
        self._groups: asyncio.Queue[asyncio.Task[list[Answer]] | None] = asyncio.Queue(AHEAD)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reply = Reply(state, self._limits.seconds)
        self._arrived = False
        """Whether the body has arrived, or is no longer read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send answers while queries are still arriving."""
        held = Holding(self._state.in_flight)
        self._reading = self._start(self._read(held), held)
        self._collecting = self._start(self._collect())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for piece in self._reply.spool.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            with suppress(asyncio.CancelledError):
                await self._collecting
            if self._reading.done() and not self._reading.cancelled():
                self._reading.result()  # raises the error that ended it, if there is one
            await send({"type": "http.response.body", "body": b""})
        finally:
            for task in list(self._tasks):
                task.cancel()
            try:
                await asyncio.gather(*self._tasks, return_exceptions=True)
            finally:  # even if the client leaves just now
                self._reply.spool.close()
                del self._reading, self._collecting  # with their errors, and all that these refer to

    def _start(self, work: Coroutine[Any, Any, Any], held: Holding | None = None) -> asyncio.Task[Any]:
        """A task of this request, and what it holds until it ends."""
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if held is not None:
            task.add_done_callback(lambda _: held.release())
        return task

    async def _read(self, held: Holding) -> None:
        """Read lines and start to answer them."""
        try:
            async for lines in read_lines(self._request, self._limits, held):
                await self._put(lines)
        except Problem as problem:
            await self._put([problem])
        except ClientDisconnect:  # the gate ends the request
            return
        except Exception:
            self._collecting.cancel()
            raise
        self._arrived = True
        await self._groups.put(None)

    async def _put(self, lines: Sequence[bytes | Problem]) -> None:
        """Start to answer lines."""
        held = Holding(self._state.in_flight)
        try:
            counted = [_counted(line, held) for line in lines]
            if any(isinstance(line, bytes) and len(line) > LONG_BYTES for line in counted):
                groups = await self._state.on_files(self._asking.parse_all, counted, parse_json)
            else:
                groups = self._asking.parse_all(counted, parse_json)
            for jobs in groups:  # they were parsed together, and are held until the last one is answered
                last = held if jobs is groups[-1] else None
                await self._groups.put(self._start(self._asking.answers(jobs), last))
        except BaseException:
            held.release()
            raise

    async def _collect(self) -> None:
        """Put answers into the spool, in order."""
        spool = self._reply.spool
        try:
            while (group := await self._groups.get()) is not None:
                writing = Writing(await group, after=b"\n")
                written = True
                while written:
                    if self._arrived:
                        await spool.until_read()
                    written = await self._reply.write(writing)
        except Problem as problem:
            await self._stop(problem)
        finally:
            await spool.end()

    async def _stop(self, problem: Problem) -> None:
        """End the stream with an error line; the client may have to send everything before it sees it."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        await self._reply.spool.write_last(orjson.dumps(as_object(problem)) + b"\n")
        await self._reply.spool.end()
        if not self._arrived:
            await discard(self._request)


def _counted(line: bytes | Problem, held: Holding) -> bytes | Problem:
    """A line, or a problem if it is too long for what requests may hold at the moment."""
    if isinstance(line, bytes) and len(line) > LONG_BYTES:
        try:
            held.take(parsed_bytes(line))
        except Problem as problem:
            return problem
    return line
