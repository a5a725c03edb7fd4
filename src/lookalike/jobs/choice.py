"""Which method is the cheapest: a sample of the items tells what each would cost, before the work.

The prediction is about two things that differ between methods: what is done with every element (sketching, or numbering
by frequency), and how many pairs of sets are looked at. Reading and writing cost the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.numbering import number_elements
from lookalike.features.shingles import sets_of
from lookalike.jobs.forecast import count_items
from lookalike.jobs.settings import Settings, plan_for
from lookalike.types import Sets, Source, Wanted, to_arrow

SAMPLE = 2000
"""Items that are looked at."""
SAMPLED_SOURCES = 4
"""Sources from whose beginnings they are taken."""
MARGIN = 1.1
"""So much cheaper must another method be to be preferred to the one before it in the list: predictions are rough."""

# Nanoseconds of one thread, measured (benchmarks/methods.py).
SHINGLE = 18.0
"""An element of a set: tokens, shingles, and sorting them."""
SKETCH_ITEM, SKETCH_ELEMENT = 2500.0, 9.0
"""Bands of one item: so much for each, and so much for each of its elements."""
BAND = 15.0
"""An item in one band, sorted."""
NUMBER = 45.0
"""An element that is numbered by frequency and encoded for the join."""
MEETING = 6.0
"""Two sets that share an element of their prefixes."""
BRUTE, BRUTE_ELEMENT = 40.0, 1.0
"""Two sets that are compared, and so much for each element of the smaller."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sample tells about all items."""

    items: int
    """How many there are, about."""
    size: float
    """Elements of a set, on average."""
    meetings: float
    """How many pairs of sets share an element of their prefixes."""
    candidates: float
    """How many pairs of sets would share a band."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The method, and what it was chosen from."""

    method: str
    seconds: dict[str, float]
    """Predicted, by method, beside reading and writing; only those that meet the recall."""
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows it."""
        return {"method": self.method, "predicted_seconds": self.seconds, "why": self.why}


def choose(sources: list[Source], settings: Settings) -> tuple[Settings, Choice | None]:
    """Settings with a method where "auto" was asked for, and why it is that one."""
    if settings.method != "auto":
        return settings, None
    sampled = sample(sources, settings)
    seconds = predict(sampled, settings)
    best = next(iter(seconds))
    for method, cost in seconds.items():
        if cost * MARGIN < seconds[best]:
            best = method
    named = ", ".join(f"{method} {cost:.2g} s" for method, cost in seconds.items())
    why = (
        f"{best} is expected to be the cheapest way (beside reading: {named}), for about {sampled.items:,} sets of "
        f"{sampled.size:,.0f} elements"
    )
    if "lsh" not in seconds:
        why += "; only exact methods give what was asked for"
    return with_method(settings, best), Choice(best, seconds, why)


def with_method(settings: Settings, method: str) -> Settings:
    """The same settings with another method, and bands if it needs them."""
    plan = plan_for(settings.measure, settings.recall, settings.hashes) if method == "lsh" else None
    return replace(settings, method=method, plan=plan)


def sample(sources: list[Source], settings: Settings) -> Sampled:
    """Look at some items from the beginnings of some sources."""
    items, _ = count_items(sources)
    parts = [sets_of(features, settings.shingling) for features in _some_features(sources, settings)]
    filled = [Sets(np.concatenate([[0], np.cumsum(part.sizes[part.sizes > 0])]), part.elements) for part in parts]
    total = sum(len(part) for part in parts)
    sets = _joined(filled)
    if len(sets) < 2:
        return Sampled(items, float(len(sets.elements)), 0.0, 0.0)
    there = max(2.0, items * len(sets) / max(1, total))
    scale = (there / len(sets)) ** 2  # pairs grow with the square
    meetings, candidates = _meetings(sets, settings)
    return Sampled(round(there), len(sets.elements) / len(sets), meetings * scale, candidates * scale)


def _some_features(sources: list[Source], settings: Settings) -> Iterator[pa.Array]:
    wanted = Wanted(settings.column, (), True)
    step = -(-len(sources) // SAMPLED_SOURCES) or 1
    chosen = sources[::step]
    for source in chosen:
        for block in islice(source.blocks(), 1):
            features = block.items(wanted).features
            rows = np.unique(np.linspace(0, len(features) - 1, SAMPLE // len(chosen)).astype(np.int64))
            yield features.take(to_arrow(rows[rows >= 0]))
        source.set_aside.clear()  # what is bad in it is found again when it is read


def _joined(parts: list[Sets]) -> Sets:
    sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
    elements = np.concatenate([np.empty(0, np.uint64), *(part.elements for part in parts)])
    return Sets(np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), elements)


def _meetings(sets: Sets, settings: Settings) -> tuple[float, float]:
    """How many pairs of the sample share an element of their prefixes; and a band, if elements were independent."""
    numbered, _ = number_elements(sets)
    floor = float(settings.measure.jaccard_floor or 0)
    sizes = numbered.sizes
    prefix = sizes - np.ceil(floor * sizes).astype(np.int64) + 1
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(numbered.tokens)) - numbered.indptr[owner]
    lists = np.bincount(numbered.tokens[place < prefix[owner]], minlength=1).astype(np.float64)
    meetings = float(np.sum(lists * (lists - 1) / 2))
    return meetings, min(meetings, len(sizes) * (len(sizes) - 1) / 2)


def predict(sampled: Sampled, settings: Settings) -> dict[str, float]:
    """Seconds of each method that meets the recall, in order of preference where they cost the same."""
    items, elements = sampled.items, sampled.items * sampled.size
    nanoseconds = {}
    if settings.recall < 1 and settings.measure.jaccard_floor is not None:
        bands = plan_for(settings.measure, settings.recall, settings.hashes).bands
        verified = sampled.candidates * (BRUTE + BRUTE_ELEMENT * sampled.size)
        nanoseconds["lsh"] = items * SKETCH_ITEM + elements * SKETCH_ELEMENT + items * bands * BAND + verified
    nanoseconds["exact"] = elements * (SHINGLE + NUMBER) + sampled.meetings * MEETING
    pairs = items * (items - 1) / 2
    nanoseconds["brute"] = elements * SHINGLE + pairs * (BRUTE + BRUTE_ELEMENT * sampled.size)
    return {method: cost / 1e9 / settings.threads for method, cost in nanoseconds.items()}
