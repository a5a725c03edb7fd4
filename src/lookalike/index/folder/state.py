"""The state of an index that changes: its parts, and what was added and removed since they were written.

A part is a segment or a stretch of the log: items that are not in a segment yet. Nothing here knows how a state is
stored (`state_file.py`), or what a change contains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from lookalike.types.frozen import frozen


class PartName(NamedTuple):
    """A part of the index."""

    id: int
    segment: str | None
    """The name of its file; None for items that are in the log only."""


@frozen
class State:
    """One state of an index."""

    kind: dict[str, Any]
    """What it stores and how items are compared; see `Kind.to_dict`."""
    parts: tuple[PartName, ...]
    """In input order; the last one takes small additions."""
    runs: tuple[str, ...] = ()
    """The most recent batch jobs that have added their items."""
    following: int = 1
    """No part or segment has this number or a higher one yet."""
    generation: int = 0
    """Grows whenever one of the above changes."""
    commits: int = 0
    """How many transactions there were."""
    last: int = 0
    """The number of the latest change."""
    rows: int = 0
    """How many changes are stored; the others are in segments."""
    added: int = 0
    """The number of items ever added."""
    integers: bool = True
    """Whether all ids were integers."""

    def after(
        self, changes: int = 0, *, dropped: int = 0, integers: bool = True, counted: int = 0, **description: Any
    ) -> State:
        """The state after a transaction.

        Parameters
        ----------
        changes, dropped
            How many changes it stores, and removes because they are in a segment now.
        integers
            Whether all ids of its items were integers.
        counted
            By how much the counter for items without an id advances.
        description
            Further values that it changes; then it is a new generation.
        """
        return replace(
            self,
            commits=self.commits + 1,
            last=self.last + changes,
            rows=self.rows + changes - dropped,
            added=self.added + counted,
            integers=self.integers and integers,
            generation=self.generation + bool(description),
            **description,
        )


class StoredChange(NamedTuple):
    """A row of the log: what was added to a part, or removed from it."""

    number: int
    part: int
    content: bytes
