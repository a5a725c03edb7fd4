"""The gate for every request: request id, access, limits, response headers, log and metrics."""

from __future__ import annotations

import asyncio
import re
import sys
import time
import traceback
import uuid
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lookalike.server.access import check_access, check_origin, cors_headers, is_open
from lookalike.server.keys import Keys
from lookalike.server.monitoring.logs import RequestLog
from lookalike.server.monitoring.metrics import Metrics
from lookalike.server.options import ServerOptions
from lookalike.server.problems import PROBLEM_TYPE, Problem
from lookalike.server.targets import check_utf8, without_root

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
METRICS, SCRAPES = "/metrics", 8
"""Requests for metrics do not count as others do, but no more than this many at a time are answered."""
CLIENT_LEFT = 499
"""The status in log and metrics if the connection ended before the response began; convention of nginx."""
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(slots=True)
class Passage:
    """One request in progress."""

    scope: MutableMapping[str, Any]
    request_id: str
    origin: str | None
    started: float = field(default_factory=time.perf_counter)
    status: int = 0
    sent_bytes: int = 0
    key: str | None = None
    state: str = ""


class Gate:
    """An ASGI application around the routes."""

    def __init__(
        self, app: ASGIApp, options: ServerOptions, keys: Keys | None, metrics: Metrics, log: RequestLog
    ) -> None:
        self._app, self._options, self._metrics, self._log = app, options, metrics, log
        self.keys = keys
        """They can be replaced at any time."""
        self._in_progress = self._scrapes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = without_root(scope, self._options.root_path)
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        passage = Passage(scope, request_id, headers.get("origin"))
        scrapes = scope["path"] == METRICS
        limited = not scrapes and not is_open(scope["path"])
        self._in_progress += limited
        self._scrapes += scrapes
        self._metrics.in_progress.set(self._in_progress)
        try:
            full = self._in_progress > self._options.limits.requests if limited else scrapes and self._scrapes > SCRAPES
            await self._pass(passage, headers, full, receive, self._sender(passage, send))
        finally:
            self._in_progress -= limited
            self._scrapes -= scrapes
            self._tell(passage)

    async def _pass(self, passage: Passage, headers: Headers, full: bool, receive: Receive, send: Send) -> None:
        try:
            if full:
                raise Problem(429, "too many requests in progress; try again shortly", {"Retry-After": "1"})
            check_utf8(passage.scope)
            preflight = check_origin(passage.scope, headers, self._options)
            if preflight is not None:
                await _answer(send, 204, b"", {})
                return
            passage.key = check_access(passage.scope, headers, self.keys)
            inner = dict(passage.scope)
            inner["state"] = {**passage.scope.get("state", {}), "request_id": passage.request_id}
            if inner["method"] == "HEAD":
                inner["method"] = "GET"  # the protocol omits the body
            with inner["state"]["leaving"].ends():
                await self._app(inner, receive, send)
        except Problem as problem:
            await self._refuse(passage, problem, send)
        except asyncio.CancelledError:
            passage.status = passage.status or CLIENT_LEFT
            raise
        except Exception:
            sys.stderr.write(f"lookalike: request {passage.request_id}: {traceback.format_exc()}")
            if passage.status:
                raise  # the response has started: only closing the connection shows that it is incomplete
            await self._refuse(passage, Problem(500, "internal error; the log of the server has the details"), send)

    async def _refuse(self, passage: Passage, problem: Problem, send: Send) -> None:
        headers = {"Content-Type": PROBLEM_TYPE, **problem.headers}
        await _answer(send, problem.status, problem.body(passage.request_id), headers)

    def _sender(self, passage: Passage, send: Send) -> Send:
        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                passage.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = passage.request_id
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
                for name, value in cors_headers(passage.scope, passage.origin, self._options).items():
                    headers[name] = value
            else:
                passage.sent_bytes += len(message.get("body", b""))
            await send(message)

        return sender

    def _tell(self, passage: Passage) -> None:
        seconds = time.perf_counter() - passage.started
        self._metrics.in_progress.set(self._in_progress)
        self._metrics.count(passage.scope["method"], passage.scope["path"], passage.status, seconds)
        self._log.write(passage, seconds)


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    listed = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    if status != 204:
        listed.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
