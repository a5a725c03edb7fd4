"""The state that the routes of one server share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lookalike.errors import LookalikeError
from lookalike.index.index import StoredIndex
from lookalike.server.answers.space import Space
from lookalike.server.answers.spool import Spool
from lookalike.server.batching import Batcher
from lookalike.server.collection import Asked, Change, Collection
from lookalike.server.contents import ContentReader
from lookalike.server.monitoring.health import Health
from lookalike.server.monitoring.metrics import Metrics
from lookalike.server.options import ServerOptions
from lookalike.server.problems import Problem, problem_of
from lookalike.server.rendering import Answer

TOGETHER = 512
"""Queries or changes that one call handles; more only if they come from one request."""
ASKING = 2
"""Calls that answer queries at the same time."""
ORDINARY_LENGTH, ORDINARY_MATCHES = 2048, 32
"""A query with more characters, or for more matches, counts as several: others wait for the calls before theirs."""
OTHERS = 2
"""Threads for other work with the index or a run, some of which takes long."""
ON_FILES = 2
"""Threads that write answers, a long one of which is in memory meanwhile."""
Found = TypeVar("Found")


def _weight(query: Asked) -> int:
    return 1 + query.question.item.length // ORDINARY_LENGTH + query.question.k // ORDINARY_MATCHES


class ServerState:
    """The index, the threads that use it, and whether the server is ready."""

    def __init__(self, index: StoredIndex, options: ServerOptions) -> None:
        self.index, self.options = index, options
        self.collection = Collection(index)
        self.contents = ContentReader(index.kind.settings.items.column, options.limits)
        self.metrics = Metrics(lambda: self.index)
        self.health = Health(index, options)
        self.plain_defaults: Mapping[str, Any] = {"k": 10, "threshold": None}
        most = TOGETHER if options.batching else 1
        asking = ThreadPoolExecutor(ASKING, thread_name_prefix="ask")
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._others = ThreadPoolExecutor(OTHERS, thread_name_prefix="others")
        self._files = ThreadPoolExecutor(ON_FILES, thread_name_prefix="files")
        self._threads = asking, self._writing, self._others, self._files
        self.in_flight, self._spooled = Space(options.limits.in_flight_bytes), Space(options.limits.spool_bytes)
        """The bodies in memory, of all requests; and the answers in files."""
        asked, changed = self.metrics.batches.labels("query"), self.metrics.batches.labels("change")
        self.reader: Batcher[Asked, Answer] = Batcher(
            self.collection.answer, asking, most=most, calls=ASKING, seen=asked.observe, weigh=_weight
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

    def new_spool(self) -> Spool:
        """Where the answers of a request wait."""
        return Spool(self._spooled, self._files)

    async def run(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Run slow work on a thread; see `StoredIndex.reading`."""
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._others, self.index.reading, work, *arguments)
        except LookalikeError as error:
            raise problem_of(error) from error

    async def on_files(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """Parse a long body, or write answers, on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._files, work, *arguments)

    def close(self) -> None:
        """Stop the threads after the last request, and close the index."""
        for threads in self._threads:
            threads.shutdown()
        self.health.close()
        self.index.close()
