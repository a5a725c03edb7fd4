"""uvicorn's HTTP protocol, with limits on connections and on the time of a request, and with errors as problems."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lookalike.server.leaving import Leaving
from lookalike.server.options import Limits
from lookalike.server.problems import PROBLEM_TYPE, Problem

HEAD_BYTES = 64 << 10
"""Request line and headers together."""


class HeadTooLargeError(Exception):
    """The request line and headers are longer than allowed."""


_numbers = itertools.count()


class Protocol(HttpToolsProtocol):
    """The protocol, with limits on the size of the head of a request and on the time in which it must arrive."""

    head_seconds: float
    stall_seconds: float
    most_connections: int
    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _stall_timer: asyncio.TimerHandle | None = None
    _received = _received_before = _unsent_before = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, or refuse one connection too many."""
        self._leaving, self._number = Leaving(), next(_numbers)
        full = len(self.connections) >= self.most_connections and not self._end_idle()
        super().connection_made(transport)
        if full:
            text = f"{self.most_connections} connections are open; try again shortly"
            self._refuse(Problem(503, text, {"Retry-After": "1"}))
            return
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _end_idle(self) -> bool:
        """Close the connection that has waited longest for its next request; return whether there is one."""
        idle = [
            (other.timeout_keep_alive_task.when(), other._number, other)  # the clock of the loop has ticks of 1 ms
            for other in self.connections
            if isinstance(other, Protocol)
            and other.timeout_keep_alive_task is not None
            and not other.transport.is_closing()
        ]
        if idle:
            min(idle)[-1].timeout_keep_alive_handler()
        return bool(idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks, and end the request in progress."""
        self._leaving.end()
        self._stop_timer()
        self._stop_watching()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self._refuse(Problem(408, f"the head of the request took longer than {self.head_seconds:g} seconds"))

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    # A client that reads nothing

    def data_received(self, data: bytes) -> None:
        """Count what arrives."""
        self._received += len(data)
        super().data_received(data)

    def pause_writing(self) -> None:
        """Watch the client, since it does not read as fast as it is answered."""
        super().pause_writing()
        self._stop_watching()
        self._watch()

    def resume_writing(self) -> None:
        """Stop watching."""
        self._stop_watching()
        super().resume_writing()

    def _watch(self) -> None:
        self._received_before, self._unsent_before = self._received, self.transport.get_write_buffer_size()
        self._stall_timer = self.loop.call_later(self.stall_seconds, self._end_stalled)

    def _end_stalled(self) -> None:
        """End the connection if nothing was read or sent since the last look: some send everything, then read."""
        if self._received > self._received_before or self.transport.get_write_buffer_size() < self._unsent_before:
            self._watch()
        else:
            self.transport.abort()  # `close` would wait until everything is sent

    def _stop_watching(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, even if the client has not read the last response."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def on_message_begin(self) -> None:
        """Start the limits of a new request head."""
        super().on_message_begin()
        self.scope["state"]["leaving"] = self._leaving
        self._head_bytes = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the request line."""
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the bytes of a header."""
        self._count(name + value)
        super().on_header(name, value)

    def _count(self, part: bytes) -> None:
        self._head_bytes += len(part)
        if self._head_bytes > HEAD_BYTES:
            raise HeadTooLargeError

    def on_headers_complete(self) -> None:
        """Stop the clock: the head has arrived in time."""
        self._stop_timer()
        super().on_headers_complete()

    def eof_received(self) -> Any:
        """A client that has sent its whole request may close its side and still gets the response."""
        cycle = self.cycle
        if self.scheme == "https" or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Respond with a problem to input that is not HTTP, or too long."""
        if self._head_bytes > HEAD_BYTES:
            self._refuse(Problem(431, f"the head of the request is larger than {HEAD_BYTES:,} bytes"))
        else:
            self._refuse(Problem(400, "this is not a valid HTTP request"))

    def _refuse(self, problem: Problem) -> None:
        request_id = uuid.uuid4().hex
        body = problem.body(request_id)
        head = f"HTTP/1.1 {problem.status} {problem.described()['title']}\r\ncontent-type: {PROBLEM_TYPE}\r\n"
        headers = {**problem.headers, "content-length": len(body), "x-request-id": request_id, "connection": "close"}
        head += "".join(f"{name.lower()}: {value}\r\n" for name, value in headers.items())
        self.transport.write(f"{head}\r\n".encode() + body)
        self.transport.close()


def protocol_with(limits: Limits) -> type[HttpToolsProtocol]:
    """The protocol with these limits; before a client that reads nothing is cut off, a stream can tell it why."""
    seconds, most = limits.seconds, limits.connections
    own = {"head_seconds": seconds, "stall_seconds": 2 * seconds, "most_connections": most}
    return type("Protocol", (Protocol,), own)
