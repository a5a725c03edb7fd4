"""A line of JSON on stderr for each request."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from lookalike.server.gate import Passage


class RequestLog:
    """Logs what was requested, by whom, and the outcome; never the content."""

    def __init__(self, which: str = "all") -> None:
        self._which = which

    def write(self, passage: Passage, seconds: float) -> None:
        """Log a finished request."""
        if self._which == "none" or (self._which == "errors" and 0 < passage.status < 400):
            return
        client = passage.scope.get("client")
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request_id": passage.request_id,
            "client": client[0] if client else None,
            "key": passage.key,
            "method": passage.scope["method"],
            "path": passage.scope["path"][:500],
            "status": passage.status,
            "bytes": passage.sent_bytes,
            "ms": round(1000 * seconds, 2),
        }
        with contextlib.suppress(OSError, ValueError):  # the disk is full, or the pipe is closed
            sys.stderr.write(orjson.dumps(line).decode() + "\n")
