"""Request bodies: a JSON document within its limit, or NDJSON a few lines at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from lookalike.server.answers.space import Holding
from lookalike.server.options import Limits
from lookalike.server.problems import Problem

NDJSON = "application/x-ndjson"
_LINES = {NDJSON, "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines"}
DISCARDED_BYTES, DISCARDING_SECONDS = 1 << 30, 10.0
"""How much of a refused body is read."""
GROUP_LINES, GROUP_BYTES = 512, 1 << 18
"""The most lines and bytes that are answered together."""
LONG_BYTES = 1 << 16
"""Of a longer line, the bytes that have arrived are counted."""


def is_ndjson(request: Request) -> bool:
    """Whether the body is NDJSON rather than JSON; anything else is refused."""
    given = request.headers.get("content-type", "application/json")
    name, *parameters = (part.strip().lower() for part in given.split(";"))
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "compressed bodies are not supported; send the body uncompressed")
    if any(one.startswith("charset=") and one[8:].strip('"') not in ("utf-8", "utf8") for one in parameters):
        raise Problem(415, "the body must be UTF-8")
    if name in _LINES:
        return True
    if name != "application/json" and not (name.startswith("application/") and name.endswith("+json")):
        raise Problem(415, f"content type {given[:80]!r}: send application/json or {NDJSON}")
    return False


async def _pieces(request: Request, seconds: float) -> AsyncIterator[bytes]:
    """The body as it arrives, with a limit on the time between two pieces."""
    stream = request.stream()
    while True:
        try:
            piece = await asyncio.wait_for(anext(stream), seconds)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Problem(408, f"nothing arrived for {seconds:g} seconds", {"Connection": "close"}) from None
        if piece:
            yield piece


async def discard(request: Request) -> None:
    """Keep reading for a while: clients that send the whole body before they read would not see the error."""
    if "expect" in request.headers:  # this client waits for permission before it sends the body (Expect: 100-continue)
        return
    left = DISCARDED_BYTES
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DISCARDING_SECONDS):
            while left > 0:
                message = await request.receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return


def parsed_bytes(body: bytes | bytearray) -> int:
    """About how much memory a JSON document takes once it is parsed, its text included.

    Objects and lists take far more than they do as text: 32 MiB of `{},{},` become 800 MiB.

    Examples
    --------
    >>> parsed_bytes(b'{"text": "a"}')
    306
    """
    return 2 * len(body) + 280 * body.count(b"{") + 64 * body.count(b"[") + 56 * body.count(b",")


async def read_json_body(request: Request, limits: Limits, held: Holding) -> bytearray:
    """A body within the limits of size and time, and of what all requests may hold."""
    length = request.headers.get("content-length", "0")
    too_large = Problem(
        413,
        f"the body is larger than {limits.body_bytes:,} bytes; send fewer items at a time, or NDJSON",
        {"Connection": "close"},
    )
    if length.isascii() and length.isdigit() and int(length) > limits.body_bytes:
        await discard(request)
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for piece in _pieces(request, limits.seconds):
                held.take(len(piece))
                body += piece
                if len(body) > limits.body_bytes:
                    body.clear()
                    await discard(request)
                    raise too_large
    except TimeoutError:
        raise Problem(408, f"the body took longer than {limits.seconds:g} seconds", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Problem(400, "the connection ended before the body did") from None
    except Problem as problem:
        if problem.status == 503:
            await discard(request)
        raise
    held.take(parsed_bytes(body) - len(body))
    return body


class LineSplitter:
    r"""Cuts pieces of a body into lines; a line that is too long is replaced by a problem.

    Lines end with a newline, or with carriage return and newline; the last one may end with the body. Blank lines are
    skipped.

    Parameters
    ----------
    largest
        The most bytes of a line.
    held
        Counts the bytes of a long line that has not ended.

    Examples
    --------
    >>> from lookalike.server.answers.space import Space
    >>> splitter = LineSplitter(8, Holding(Space(100)))
    >>> splitter.add(b"12\r\n\n345"), splitter.add(b"6\n"), splitter.end()
    ([b'12'], [b'3456'], [])
    """

    def __init__(self, largest: int, held: Holding) -> None:
        self._largest, self._held = largest, held
        self._rest = bytearray()
        self._refused: Problem | None = None

    def add(self, piece: bytes) -> list[bytes | Problem]:
        """The lines that a piece completes."""
        *whole, rest = piece.split(b"\n")
        found: list[bytes | Problem] = []
        for part in whole:
            found += self._complete(part)
        self._append(rest)
        return found

    def end(self) -> list[bytes | Problem]:
        """The last line, if it has no newline."""
        return self._complete(b"")

    def drop(self) -> None:
        """Forget the line that has not ended."""
        self._rest = bytearray()

    def _append(self, part: bytes) -> None:
        if self._refused is not None:
            return
        self._rest += part
        try:
            if len(self._rest) > self._largest:
                raise Problem(413, f"the line is longer than {self._largest:,} bytes")
            if len(self._rest) > LONG_BYTES:
                self._held.take(len(part))
        except Problem as problem:
            self._refused, self._rest = problem, bytearray()
            self._held.release()

    def _complete(self, part: bytes) -> list[bytes | Problem]:
        self._append(part)
        line, refused = bytes(self._rest), self._refused
        self._rest, self._refused = bytearray(), None
        self._held.release()
        if refused is not None:
            return [refused]
        line = line.removesuffix(b"\r")
        return [line] if line.strip(b" \t\r") else []


async def read_lines(request: Request, limits: Limits, held: Holding) -> AsyncIterator[list[bytes | Problem]]:
    """The lines of an NDJSON body in groups: those that have arrived, up to the number that is answered together."""
    splitter = LineSplitter(limits.body_bytes, held)
    try:
        async for piece in _pieces(request, limits.seconds):
            for group in _groups(splitter.add(piece)):
                yield group
        if last := splitter.end():
            yield last
    finally:
        splitter.drop()  # the error that ends a request refers to what it held


def _groups(lines: list[bytes | Problem]) -> list[list[bytes | Problem]]:
    groups: list[list[bytes | Problem]] = []
    size = GROUP_BYTES
    for line in lines:
        if size >= GROUP_BYTES or len(groups[-1]) >= GROUP_LINES:
            groups.append([])
            size = 0
        groups[-1].append(line)
        size += len(line) if isinstance(line, bytes) else 0
    return groups
