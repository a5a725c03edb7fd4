"""Jobs with very little memory for each purpose: little data then takes the paths of much data."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from lookalike.engine.memory import BASE_BYTES, ITEM_BYTES, JOIN_BYTES, REFERRED_BYTES
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import DedupOptions, DedupResult, dedup_in_memory
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.matching.list_pairs import ListLimits
from lookalike.read import open_data


def cramp(settings: Settings, **sizes: int) -> Settings:
    """The same settings with other sizes in the budget, such as sets_bytes."""
    budget = replace(settings.execution.budget, **sizes)
    return replace(settings, execution=replace(settings.execution, budget=budget))


def ranges_for(items: int, ranges: int, threads: int, item_bytes: int) -> dict[str, int]:
    """Sizes with which a band of `items` items is joined in `ranges` ranges of keys."""
    total = BASE_BYTES + 8 * item_bytes * items // 7
    return {"total_bytes": total, "least_join_bytes": -(-JOIN_BYTES * items * threads // ranges)}


def _cramp(count: int, sizes: dict[str, int], options: dict[str, Any], item_bytes: int = ITEM_BYTES) -> Settings:
    settings, sizes = Settings.parse(**options), dict(sizes)
    ranges = sizes.pop("ranges", 1)
    sizes |= ranges_for(count, ranges, settings.execution.threads, item_bytes)
    settings = cramp(settings, **sizes)
    assert settings.execution.budget.joining_ranges(count, settings.execution.threads, item_bytes) == ranges
    return settings


def dedup_cramped(
    data: Any,
    sizes: dict[str, int],
    *,
    keep: str = "first",
    policy: str = "direct",
    reference: Any = None,
    **options: Any,
) -> DedupResult:
    """As la.dedup, in memory; sizes are those of the budget, and `ranges` of keys."""
    item_bytes = REFERRED_BYTES if reference else ITEM_BYTES
    settings = _cramp(len(data) + len(reference or []), sizes, options, item_bytes)
    references = [] if reference is None else [named(reference, "reference")]
    return dedup_in_memory([named(data, "data")], references, settings, DedupOptions(keep, policy))


def pairs_cramped(data: Any, sizes: dict[str, int], *, against: Any = None, **options: Any) -> pa.Table:
    """As la.pairs, in memory; sizes are those of the budget and of ListLimits, and `ranges` of keys."""
    limits = ListLimits(**{name: sizes[name] for name in ("expanded", "most_pairs") if name in sizes})
    sizes = {name: size for name, size in sizes.items() if name not in ("expanded", "most_pairs")}
    settings = _cramp(len(data) + (0 if against is None else len(against)), sizes, options)
    others = [] if against is None else [named(against, "against")]
    found = find_similar_pairs([named(data, "data")], settings, Progress(), others, limits=limits)
    return pa.concat_tables(found.tables(ids=False))


def named(data: Any, name: str) -> Any:
    source = open_data(data, "text")
    source.name = name
    return source
