"""Start a server on an index, and shut it down gracefully."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from lookalike.engine.settings import Settings
from lookalike.errors import LookalikeError, UsageError
from lookalike.index.index import StoredIndex
from lookalike.server.app import create_app
from lookalike.server.collection import Asked
from lookalike.server.contents import Item, Question
from lookalike.server.gate import Gate
from lookalike.server.keys import Keys
from lookalike.server.monitoring.health import STARTING, STOPPING
from lookalike.server.options import ServerOptions, is_loopback
from lookalike.server.protocol import protocol_with
from lookalike.server.renewal import Renewal
from lookalike.server.reviewing.reviewed_run import ReviewedRun
from lookalike.server.state import ServerState
from lookalike.types import TEMPORARY
from lookalike.types.wording import count

Say = Callable[[str], None]
Announce = Callable[[dict[str, Any]], None]
DRAIN_SECONDS = 30
"""How long requests in progress may take once the server has stopped accepting."""

UNCLOSED = "deallocating an open event loop"


def serve(place: str | Path | None, options: ServerOptions, say: Say, announce: Announce = lambda _: None) -> None:
    """Serve an index until a signal ends it; requests in progress are finished first.

    Parameters
    ----------
    say
        Called with messages for the user.
    announce
        Called once with a record that says where the server listens.

    Raises
    ------
    UsageError
        If it is not an index, another process writes to it, or the address is taken.
    """
    leave_unclosed_loops_unsaid()
    options = replace(options, without_index=place is None).check()
    keys = None if options.keys is None else Keys.load(options.keys)
    reviewed = None if options.run is None else ReviewedRun.open(options.run)
    with contextlib.ExitStack() as stack:
        if place is None:
            place = _empty_index(stack, reviewed)
        state = ServerState(_open(place, options), options)
        stack.callback(state.close)
        app = create_app(state, keys, reviewed)
        config = _config(app, options)
        _Server(config, state, Renewal(options, app, config.ssl, say), say, announce).run()


def leave_unclosed_loops_unsaid() -> None:
    """Drop a message of uvloop: a signal before the server runs leaves a loop that nothing has used."""
    logging.getLogger("asyncio").addFilter(lambda record: UNCLOSED not in record.getMessage())


def _empty_index(stack: contextlib.ExitStack, reviewed: ReviewedRun | None) -> Path:
    """An empty index, for a server that only reviews a run."""
    if reviewed is None:
        raise UsageError("name an INDEX to serve, or a run to review with --run OUT")
    place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=TEMPORARY)), "empty")
    StoredIndex.create(place, Settings.parse(method="lsh")).close()
    return place


def _open(place: str | Path, options: ServerOptions) -> StoredIndex:
    try:
        return StoredIndex.open(place, read_only=options.read_only)
    except UsageError as error:
        if "another process" in str(error):
            raise UsageError(f"{error}; start this server with --read-only to follow it") from None
        raise


def _config(app: Gate, options: ServerOptions) -> uvicorn.Config:
    proxies = ",".join(options.forwarded_allow_ips)
    config = uvicorn.Config(
        app, host=options.host.strip("[]"), port=options.port, log_level="critical", access_log=False,
        server_header=False, date_header=True, lifespan="off", timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=75, http=protocol_with(options.limits), ws="none",
        proxy_headers=bool(proxies), forwarded_allow_ips=proxies,
        ssl_certfile=options.tls_cert and str(options.tls_cert), ssl_keyfile=options.tls_key and str(options.tls_key),
    )  # fmt: skip
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--tls-cert {options.tls_cert}, --tls-key {options.tls_key}: {error}") from None
    return config


class _Server(uvicorn.Server):
    """uvicorn, with the background work besides requests."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, renewal: Renewal, say: Say, announce: Announce
    ) -> None:
        super().__init__(config)
        self._state, self._renewal, self._say, self._announce = state, renewal, say, announce
        self._accept_until: float | None = None

    def run(self, sockets: Any = None) -> None:
        """Serve until a signal comes."""
        try:
            listening = sockets or [self.config.bind_socket()]
        except SystemExit:
            host, port = self.config.host, self.config.port
            raise UsageError(f"--port {port}: {host}:{port} cannot be used; is another server running there?") from None
        with contextlib.suppress(KeyboardInterrupt):
            super().run(listening)

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Let signals stop the server, but not the process; SIGHUP renews keys and certificates."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        if hasattr(signal, "SIGHUP"):
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._renewal.ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Report that the server is not ready; stop accepting after the delay, and end when all requests are done.

        Load balancers see /readyz change before connections are refused. Ctrl-C and a second signal skip the delay.
        """
        health = self._state.health
        first, health.not_ready = health.not_ready != STOPPING, STOPPING
        delay = self._state.options.drain_delay_seconds
        if first and sig == signal.SIGTERM and delay:
            self._accept_until = time.monotonic() + delay
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop accepting connections; called ten times a second."""
        if self._accept_until is not None and time.monotonic() >= self._accept_until:
            self.should_exit = True
        if self._renewal.asked and not self._renewal.renew():  # its terminal was closed
            self.handle_exit(signal.SIGINT, None)
        return await super().on_tick(counter)

    async def startup(self, sockets: Any = None) -> None:
        """Start listening, and prepare in the background."""
        await super().startup(sockets)
        self._beside = asyncio.create_task(self._prepare())
        port = self.servers[0].sockets[0].getsockname()[1]
        self._tell(port)

    async def shutdown(self, sockets: Any = None) -> None:
        """Finish requests in progress."""
        self._beside.cancel()
        await super().shutdown(sockets)

    def _tell(self, port: int) -> None:
        options = self._state.options
        scheme = "https" if options.tls_cert else "http"
        host = f"[{options.host.strip('[]')}]" if ":" in options.host else options.host
        index = self._state.index
        mode = ", read-only" if options.read_only else ""
        url = f"{scheme}://{host}:{port}/"
        if options.run is not None:
            self._say(f"Review {options.run} at {url}#review")
        if not options.without_index:
            self._say(f"{index.store.name}: {count(len(index), 'item')}{mode}, at {url}")
        self._announce({"url": url, "items": len(index), "read_only": options.read_only})
        if options.keys is None:
            self._say("Only programs on this machine can connect, and they need no key.")
            self._say("To let others connect, use --keys FILE and --host 0.0.0.0.")
        elif is_loopback(options.host):
            self._say("Only programs on this machine can connect. To let others connect, use --host 0.0.0.0.")
        self._say("Press Ctrl-C to stop.")

    async def _prepare(self) -> None:
        """Load the kernels with one query; then, if read-only, follow the writer."""
        state = self._state
        item = Item("text", "one question, so that everything is loaded before the first request comes")
        with contextlib.suppress(LookalikeError):
            await state.reader.submit(Asked(Question(item, 1, None), with_text=False))
        if state.health.not_ready == STARTING:
            state.health.not_ready = None
        if state.options.read_only:
            async for _ in _every(state.options.refresh_seconds):
                if error := await state.health.refresh():
                    self._say(f"The changes of the writer cannot be read, and will be tried again: {error}")


async def _every(seconds: float) -> AsyncIterator[None]:
    while True:
        await asyncio.sleep(seconds)
        yield
