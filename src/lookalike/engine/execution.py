"""How a run is executed: threads, memory and block sizes. No result depends on them."""

from __future__ import annotations

from lookalike.engine.memory import Budget, parse_memory
from lookalike.engine.stores.work import SAVE_SECONDS
from lookalike.engine.workers import count_threads
from lookalike.types import READ_LIMITS, ReadLimits
from lookalike.types.frozen import frozen


@frozen
class Execution:
    """Threads, memory and block sizes of a run.

    Examples
    --------
    >>> Execution.parse(threads=2, memory="2GiB").threads
    2
    """

    threads: int
    budget: Budget
    limits: ReadLimits = READ_LIMITS
    """The sizes of the blocks of the input."""
    save_seconds: float = SAVE_SECONDS
    """How often work is saved, so that a killed run loses little of it."""

    def blocks_ahead(self, characters: bool = False) -> int:
        """How many input blocks may be in memory at a time; `characters`: whether shingles consist of characters."""
        return self.budget.blocks_ahead(self.threads, self._block_bytes, characters)

    def blocks_waiting(self, characters: bool = False) -> int:
        """How many blocks that are read out of turn may be in memory."""
        return self.budget.fitting_blocks(self._block_bytes, characters)

    @property
    def _block_bytes(self) -> int:
        return max(self.limits.block_bytes, self.limits.parquet_bytes)

    @classmethod
    def parse(cls, threads: int | None = None, memory: str | int | None = None) -> Execution:
        """Check threads and memory; by default, all processors and half of the machine's memory."""
        return cls(count_threads(threads), Budget.split(parse_memory(memory)))

    def to_dict(self) -> dict[str, int]:
        """As run.json shows them."""
        return {"threads": self.threads, "memory_bytes": self.budget.total_bytes}
