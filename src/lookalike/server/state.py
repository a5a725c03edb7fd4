"""The state that the routes of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lookalike.errors import LookalikeError
from lookalike.index.index import StoredIndex
from lookalike.server.batching import Batcher
from lookalike.server.collection import Answer, Change, Collection
from lookalike.server.contents import ContentReader, Question
from lookalike.server.metrics import Metrics
from lookalike.server.options import ServerOptions
from lookalike.server.problems import Problem, problem_of

STARTING, STOPPING = "the server is starting", "the server is stopping"
TOGETHER = 512
"""Queries or changes that one call handles; more only if they come from one request."""
ASKING = 2
"""Calls that answer queries at the same time."""
Found = TypeVar("Found")


class ServerState:
    """The index, the threads that use it, and whether the server is ready."""

    def __init__(self, index: StoredIndex, options: ServerOptions) -> None:
        self.index, self.options = index, options
        self.collection = Collection(index)
        self.contents = ContentReader(index.kind.settings.items.column, options.limits)
        self.metrics = Metrics(lambda: self.index)
        self.not_ready: str | None = STARTING
        """Why the server does not take requests; None if it does."""
        self.plain_defaults: Mapping[str, Any] = {"k": 10, "threshold": None}
        most = TOGETHER if options.batching else 1
        self._threads = ThreadPoolExecutor(ASKING + 2, thread_name_prefix="ask")
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="write")
        asked, changed = self.metrics.batches.labels("query"), self.metrics.batches.labels("change")
        self.reader: Batcher[tuple[Question, bool], Answer] = Batcher(
            self.collection.answer, self._threads, most=most, calls=ASKING, seen=asked.observe
        )
        self.writer: Batcher[Change, Answer] = Batcher(
            self.collection.change, self._writing, most=most, seen=changed.observe
        )

    def defaults(self, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        """The default k and threshold of queries."""
        found = dict(self.plain_defaults)
        if "k" in parameters:
            given = parameters["k"]
            found["k"] = self.contents.k(
                int(given) if given.isascii() and given.isdigit() and len(given) < 19 else given
            )
        if "threshold" in parameters:
            found["threshold"] = parameters["threshold"]
        return found

    def check_writing(self) -> None:
        """Refuse to change an index that is open for reading."""
        if self.options.read_only:
            raise Problem(403, "the server is read-only; send changes to the one that writes to this index")

    async def run(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Run slow work on a thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)
        except LookalikeError as error:
            raise problem_of(error) from error

    def close(self) -> None:
        """Stop the threads after the last request, and close the index."""
        self._threads.shutdown()
        self._writing.shutdown()
        self.index.close()
