"""Predict the items, memory and disk space of a run before it starts. A run that cannot fit is refused."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from lookalike.engine.memory import BASE_BYTES, BLOCK_FACTORS, ITEM_BYTES, JOIN_BYTES, Budget
from lookalike.engine.settings import Settings
from lookalike.errors import ResourceError
from lookalike.types import Source
from lookalike.types.frozen import frozen
from lookalike.types.wording import count
from lookalike.write import free_bytes

ASKED_SOURCES = 64
"""If there are more sources than this, the number of rows is estimated from some of them."""
DIGEST_BYTES = 40
"""Disk space per item besides its bucket keys: fingerprint, counts and id."""


@frozen
class Forecast:
    """The resources that a run is expected to need."""

    items: int
    exact: bool
    """Whether the number of items is known, not estimated from the first lines."""
    input_bytes: int
    memory_bytes: int
    work_bytes: int
    """Digests. The sets of candidates take further space: 8 bytes per shingle."""
    result_bytes: int
    """An upper bound: the size of the input."""

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows it."""
        return asdict(self)

    def describe(self, where: str = "") -> str:
        """One or two sentences for people; `where` names the machine that needs the memory."""
        about = "" if self.exact else "about "
        work = f"{_size(self.work_bytes)} of work files and " if self.work_bytes else ""
        return (
            f"Expected: {about}{count(self.items, 'item')} in {_size(self.input_bytes)}; "
            f"{_most(self.memory_bytes)} of memory{where}, {work}{_most(self.result_bytes)} of results on disk."
        )


def forecast_run(
    sources: list[Source], references: list[Source], settings: Settings, *, cluster: bool = False
) -> Forecast:
    """The resources for a run over these sources; on a cluster, the memory of the driver, which holds no texts."""
    everything = references + sources
    items, exact = count_items(everything)
    budget = settings.execution.budget
    bands = settings.matching.plan.bands if settings.matching.plan else 0
    digests = items * (8 * bands + DIGEST_BYTES)
    joining = (
        items * JOIN_BYTES * settings.execution.threads // budget.joining_ranges(items, settings.execution.threads)
    )
    nbytes = sum(source.nbytes for source in everything)
    blocks = settings.execution.blocks_ahead(settings.items.characters) * settings.execution.limits.block_bytes
    in_progress = int(min(blocks, nbytes) * BLOCK_FACTORS[settings.items.characters])
    reading = 0 if cluster else _held(budget, nbytes) + in_progress + 2 * min(digests, budget.piece_bytes)
    memory = BASE_BYTES + items * ITEM_BYTES + max(joining, reading)
    return Forecast(
        items,
        exact,
        nbytes,
        min(memory, budget.total_bytes),
        digests if cluster or digests >= budget.piece_bytes else 0,
        sum(source.nbytes for source in sources),
    )


def _held(budget: Budget, nbytes: int) -> int:
    """What stays in memory between the stages: the items of a small corpus, or the sets of candidates."""
    return min(max(budget.held_bytes, budget.sets_bytes), nbytes)


def count_items(sources: list[Source]) -> tuple[int, bool]:
    """The approximate number of items, and whether it is exact."""
    step = -(-len(sources) // ASKED_SOURCES) or 1
    asked = sources[::step]
    found = [source.estimate_rows() for source in asked]
    rows = sum(number for number, _ in found)
    share = sum(source.nbytes for source in sources) / max(1, sum(source.nbytes for source in asked))
    return round(rows * max(1.0, share)), step == 1 and all(exact for _, exact in found)


def check_forecast(
    forecast: Forecast, settings: Settings, work: Path, out: Path, item_bytes: int = ITEM_BYTES
) -> str | None:
    """Refuse a run that cannot fit; return a warning if it may not fit."""
    if forecast.exact:
        settings.execution.budget.check_items(forecast.items, item_bytes)
    work_free, out_free = free_bytes(work), free_bytes(out)
    if forecast.exact and forecast.work_bytes > work_free:
        raise ResourceError(
            f"{work}: work files will take {_size(forecast.work_bytes)}, and {_size(work_free)} are free; free some "
            "space, or choose another disk with --work DIR"
        )
    if forecast.result_bytes > out_free:
        return (
            f"Note: if little is removed, the results take up to {_size(forecast.result_bytes)}; {_size(out_free)} "
            f"are free at {out}."
        )
    return None


def _most(nbytes: int) -> str:
    return _size(nbytes) if nbytes < 1e3 else f"up to {_size(nbytes)}"


def _size(nbytes: int) -> str:
    """A size for people to read.

    Examples
    --------
    >>> _size(1_500_000_000), _size(20_000), _size(80)
    ('1.5 GB', '20 kB', 'under 1 kB')
    """
    if nbytes < 1e3:
        return "under 1 kB"
    if nbytes >= 1e9:
        return f"{nbytes / 1e9:,.1f} GB"
    return f"{nbytes / 1e6:,.0f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:,.0f} kB"
