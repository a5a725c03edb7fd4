"""Where a job can add the items that it has kept: what it knows of an index."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from lookalike.engine.settings import Settings


class ItemAdditions(Protocol):
    """Items on their way to a destination, which gets all of them with `commit`, or none."""

    def prepare(self, features: pa.Array) -> Any:
        """Do the work for some items that needs no order; can be called on any thread."""

    def add(self, ids: pa.Array | None, prepared: Any) -> None:
        """Add the next items; those without ids get some."""

    def commit(self, run: str) -> None:
        """Add all of them, as the items of this run."""


class Destination(Protocol):
    """A collection that outlives the job. No other process changes it meanwhile."""

    name: str
    """As messages and run.json show it."""

    def has_run(self, run: str) -> bool:
        """Whether the items of a run were added."""

    def adding(self, settings: Settings) -> AbstractContextManager[ItemAdditions]:
        """Begin to add items."""
