"""The options of a server, and the limits that it enforces."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from lookalike.errors import UsageError

PORT = 8378


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on requests. Larger ones are refused, with the limit in the message."""

    body_bytes: int = 32 << 20
    """A JSON body; of NDJSON, one line. NDJSON as a whole is streamed and has no limit."""
    items: int = 10_000
    """Items in a JSON array."""
    text_bytes: int = 4 << 20
    """One text, in UTF-8."""
    requests: int = 256
    """Requests in progress; more are refused with status 429."""
    connections: int = 512
    """Open connections; before more are refused with status 503, idle ones are closed. With as many requests, whose
    answers may wait in files, they stay below the 1,024 open files that systems allow a process by convention."""
    seconds: float = 30.0
    """To send a JSON body, and between two pieces of NDJSON."""
    k: int = 1000
    """Matches of one question."""
    response_bytes: int = 64 << 20
    """A JSON response; of NDJSON, one line. NDJSON as a whole has no limit."""
    in_flight_bytes: int = 256 << 20
    """The bodies of all requests in progress, as far as they are in memory, with what is made of them."""
    spool_bytes: int = 1 << 30
    """Files with answers that wait for their clients, of all requests."""

    def check(self) -> Limits:
        """Refuse limits that allow nothing."""
        given = {
            "max-body": self.body_bytes,
            "max-items": self.items,
            "max-text": self.text_bytes,
            "max-requests": self.requests,
            "max-connections": self.connections,
            "timeout": self.seconds,
            "max-k": self.k,
            "max-response": self.response_bytes,
            "max-in-flight": self.in_flight_bytes,
            "max-spool": self.spool_bytes,
        }
        for name, value in given.items():
            if not value > 0:
                raise UsageError(f"--{name} must be above 0, not {value}")
        if self.seconds == math.inf:
            raise UsageError("--timeout must be a number of seconds")
        if self.in_flight_bytes < 2 * self.body_bytes:
            raise UsageError(f"--max-in-flight must be at least twice --max-body, which is {self.body_bytes:,} bytes")
        if self.spool_bytes < self.response_bytes:
            raise UsageError(f"--max-spool must be at least --max-response, which is {self.response_bytes:,} bytes")
        return self


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where to listen, who has access, and how the server runs."""

    host: str = "127.0.0.1"
    port: int = PORT
    keys: Path | None = None
    read_only: bool = False
    allow_origins: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    root_path: str = ""
    """The path under which a proxy offers the server, such as "/lookalike"."""
    forwarded_allow_ips: tuple[str, ...] = ()
    """Addresses of proxies whose headers X-Forwarded-For and X-Forwarded-Proto are believed; "*" for all."""
    log: str = "all"
    """Requests that are logged: "all", "errors" or "none"."""
    batching: bool = True
    """Answer concurrent questions together."""
    refresh_seconds: float = 1.0
    """How often a read-only server looks for changes."""
    drain_delay_seconds: float = 2.0
    """How long new connections are accepted after SIGTERM, while /readyz says that the server is stopping."""
    run: Path | None = None
    """The output folder of a run to review."""
    without_index: bool = False
    """Only a run is reviewed; the index is empty."""
    limits: Limits = field(default_factory=Limits)

    def check(self) -> ServerOptions:
        """Refuse options that are unsafe or cannot work.

        Examples
        --------
        >>> ServerOptions(host="0.0.0.0").check()
        Traceback (most recent call last):
        lookalike.errors.UsageError: --host 0.0.0.0: without --keys, anyone who can reach this machine could read and \
change the index; use --keys FILE, or leave --host at 127.0.0.1
        """
        self.limits.check()
        if self.keys is None and not is_loopback(self.host):
            raise UsageError(
                f"--host {self.host}: without --keys, anyone who can reach this machine could read and change the "
                "index; use --keys FILE, or leave --host at 127.0.0.1"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key belong together; give both or neither")
        if not 0 <= self.drain_delay_seconds < math.inf:
            raise UsageError(f"--drain-delay must be 0 seconds or more, not {self.drain_delay_seconds}")
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port must be from 0 to 65535, not {self.port}")
        if self.log not in ("all", "errors", "none"):
            raise UsageError(f"--log {self.log!r}: write all, errors or none")
        if not 0 < self.refresh_seconds < math.inf:
            raise UsageError(f"--refresh must be above 0 seconds, not {self.refresh_seconds}")
        for origin in self.allow_origins:
            _check_origin(origin)
        for address in self.forwarded_allow_ips:
            _check_network(address)
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise UsageError(f"--root-path {self.root_path!r}: write a path such as /lookalike, without a / at its end")
        return self


def _check_origin(origin: str) -> None:
    scheme, mark, rest = origin.partition("://")
    if origin != "*" and (scheme not in ("http", "https") or not mark or not rest or "/" in rest):
        raise UsageError(f"--allow-origin {origin!r}: write scheme and host, such as https://news.example, or *")


_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]*[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""Segments of characters that need no escaping, none of them "." or ".."."""


def _check_network(address: str) -> None:
    try:
        if address != "*":
            ipaddress.ip_network(address)
    except ValueError as error:
        raise UsageError(f"--forwarded-allow-ips {address}: {error}; write addresses such as 10.0.0.5, or *") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
