"""How a run is executed: threads and memory. No result depends on them."""

from __future__ import annotations

from dataclasses import dataclass

from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.workers import count_threads


@dataclass(frozen=True, slots=True)
class Execution:
    """Threads and memory of a run.

    Examples
    --------
    >>> Execution.parse(threads=2, memory="2GiB").threads
    2
    """

    threads: int
    budget: Budget

    @classmethod
    def parse(cls, threads: int | None = None, memory: str | int | None = None) -> Execution:
        """Check both; by default all processors and half of the machine's memory."""
        return cls(count_threads(threads), Budget.split(parse_memory(memory)))

    def to_dict(self) -> dict[str, int]:
        """As run.json shows them."""
        return {"threads": self.threads, "memory_bytes": self.budget.total_bytes}
