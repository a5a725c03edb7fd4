"""The interface of an index to a job that adds the items it has kept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from lookalike.engine.settings import Settings


class ItemAdditions(Protocol):
    """Items to be added to a destination: all of them with `commit`, or none."""

    def prepare(self, features: pa.Array) -> Any:
        """Do the part of the work that does not depend on order; can be called on any thread."""

    def add(self, ids: pa.Array | None, prepared: Any) -> None:
        """Add the next items; items without an id get one."""

    def commit(self, run: str) -> None:
        """Add all of them atomically, as the items of this run."""


class Destination(Protocol):
    """A collection that outlives the job. No other process changes it during the job."""

    name: str
    """As messages and run.json show it."""

    def has_run(self, run: str) -> bool:
        """Whether the items of a run were added."""

    def adding(self, settings: Settings) -> AbstractContextManager[ItemAdditions]:
        """Begin to add items."""
