"""NDJSON in, NDJSON out: each line gets its answer or its error, in order, while the body is still arriving."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lookalike.server.bodies import NDJSON, read_lines
from lookalike.server.contents import parse_json
from lookalike.server.options import Limits
from lookalike.server.problems import Problem
from lookalike.server.spool import Spool

AHEAD = 8
"""Groups of lines that are being answered at the same time."""
Parse = Callable[[Any], Any]
Submit = Callable[[list[Any]], Awaitable[list[Any]]]


async def answer_each(given: list[Any], parse: Parse, submit: Submit) -> list[dict[str, Any]]:
    """The answer or error for each value; problems keep their positions."""
    jobs: list[Any] = []
    answers: list[Any] = []
    for value in given:
        try:
            if isinstance(value, Problem):
                raise value
            jobs.append(parse(value))
            answers.append(None)
        except Problem as problem:
            answers.append(problem)
    found = iter(await submit(jobs) if jobs else [])
    return [as_object(next(found) if answer is None else answer) for answer in answers]


def as_object(answer: Any) -> dict[str, Any]:
    """An answer, or an error in its place."""
    return {"error": answer.described()} if isinstance(answer, Problem) else answer


class StreamedAnswers(Response):
    """Answers an NDJSON body line by line.

    The framework's own streaming is not used: it listens for a disconnect meanwhile, and would consume the body.
    """

    media_type = NDJSON

    def __init__(self, request: Request, limits: Limits, parse: Parse, submit: Submit) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._request, self._limits, self._parse, self._submit = request, limits, parse, submit
        self._tasks: asyncio.Queue[asyncio.Task[list[dict[str, Any]]] | None] = asyncio.Queue(AHEAD)
        self._spool = Spool()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send answers while queries are still arriving."""
        running = [asyncio.create_task(self._read()), asyncio.create_task(self._collect())]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for piece in self._spool.pieces():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.gather(*running)
            await send({"type": "http.response.body", "body": b""})
        finally:
            for task in running:
                task.cancel()
            self._spool.close()

    def _parse_line(self, line: bytes) -> Any:
        return self._parse(parse_json(line))

    async def _read(self) -> None:
        """Read lines and start to answer them."""
        try:
            async for lines in read_lines(self._request, self._limits):
                await self._tasks.put(asyncio.create_task(answer_each(lines, self._parse_line, self._submit)))
        except Problem as problem:
            await self._tasks.put(asyncio.create_task(_problem(problem)))
        except ClientDisconnect:
            pass
        await self._tasks.put(None)

    async def _collect(self) -> None:
        """Put answers into the spool, in order."""
        try:
            while (task := await self._tasks.get()) is not None:
                await self._spool.write(b"".join(orjson.dumps(one) + b"\n" for one in await task))
        finally:
            await self._spool.end()


async def _problem(problem: Problem) -> list[dict[str, Any]]:
    return [as_object(problem)]
