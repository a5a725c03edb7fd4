"""Choose the cheapest method, by predicting the cost of each from a sample of the items.

The prediction covers what differs between the methods: the work per element (sketching, or numbering by frequency) and
the number of pairs of sets examined. Reading and writing cost the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.candidates.buckets import group_prints
from lookalike.candidates.prefix import OVERSIZE
from lookalike.engine.columns import check_columns
from lookalike.engine.forecast import count_items
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings, plan_for
from lookalike.engine.vectors import brute_cost, for_vectors, lsh_cost, sample_vectors, vectors_of
from lookalike.errors import UsageError
from lookalike.features.shingles import sets_of
from lookalike.kernels.minhash import key_sets
from lookalike.kernels.sets import fingerprint_sets
from lookalike.tuning.plan import Plan, TooFewHashesError, tune
from lookalike.tuning.thresholds import written
from lookalike.types import Int64, Sets, Source, VectorKind, Wanted, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.types.wording import count, duration

SAMPLE, SAMPLE_BYTES = 2000, 8 << 20
"""The most items in the sample, and bytes of their text: sets and joins of a sample take about 13 times its size."""
LONG_BYTES, HIGH_FLOOR = 1024, Fraction(3, 4)
"""Items at least this long, compared at least at this Jaccard similarity, need no sample: the exact join costs several
times as much per element as sketching, and buckets hold few dissimilar items."""
FEW_ITEMS, FEW_BYTES = 50, 1 << 16
"""This few items need no sample either: comparing every pair takes less time than sampling."""
MOST_ELEMENTS = 1 << 26
"""With more elements in total, the exact join is not considered: it may have to process the sets block by block."""
MARGIN = 1.1
"""How much cheaper a method must be to be preferred to the one before it in the list: predictions are rough."""

# Nanoseconds of one thread, measured (benchmarks/methods.py).
SHINGLE = 40.0
"""An element of a set: tokens, shingles, and sorting them."""
SKETCH_ITEM, SKETCH_ELEMENT = 2500.0, 20.0
"""The bands of one item, and the additional time for each of its elements."""
BAND = 60.0
"""An item in one band: it is sorted, and its bucket scanned."""
REFINE = 60.0
"""An element of a set in an oversize bucket."""
NUMBER = 90.0
"""An element that is numbered by frequency and encoded for the join."""
MEETING = 4.0
"""Two sets that share an element of their prefixes."""
COMPARE, COMPARE_ELEMENT = 250.0, 2.0
"""A comparison of two sets, and the additional time for each element of one."""


@frozen
class Sampled:
    """Estimates for all items, from a sample."""

    items: int
    """Their approximate number."""
    size: float
    """The average number of elements of a set."""
    meetings: float
    """Pairs of sets that share an element of their prefixes."""
    candidates: float
    """Pairs of sets that would share a bucket of ordinary size."""
    refined: float
    """Sets that would be in oversize buckets."""


@frozen
class Choice:
    """The chosen method, and the predictions behind the choice."""

    method: str
    seconds: dict[str, float]
    """The prediction for each method that reaches the recall, without reading and writing."""
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows it."""
        return {"method": self.method, "predicted_seconds": self.seconds, "why": self.why}


def choose(sources: list[Source], settings: Settings) -> tuple[Settings, Choice | None]:
    """Replace "auto" in the settings by a method; also return why it was chosen."""
    check_columns(sources, settings.items)
    if kind := vectors_of(sources, settings.items.column, settings.matching.measure):
        return _choose_for_vectors(sources, for_vectors(settings, kind), kind)
    if settings.matching.method != "auto":
        return settings, None
    if few := _few_items(sources):
        _check_plan(settings)
        return with_method(settings, "brute"), Choice(
            "brute", {}, f"brute force is the fastest for about {count(few, 'item')}"
        )
    if length := _long_items(sources, settings):
        why = (
            f"items are long (about {length:,} bytes) and the threshold is high: sketching is cheaper than numbering "
            "all their shingles"
        )
        return with_method(settings, "lsh"), Choice("lsh", {}, why)
    sampled = sample(sources, settings)
    seconds = predict(sampled, settings)
    best = next(iter(seconds))
    for method, cost in seconds.items():
        if cost * MARGIN < seconds[best]:
            best = method
    why = (
        f"{best} is predicted to be the fastest for about {count(sampled.items, 'set')} of "
        f"{count(round(sampled.size), 'element')} ({_estimates(seconds)})"
    )
    if "lsh" not in seconds:
        why += "; only exact methods reach the recall"
    return with_method(settings, best), Choice(best, seconds, why)


def _estimates(seconds: dict[str, float]) -> str:
    named = ", ".join(f"{method} {duration(spent)}" for method, spent in seconds.items())
    return f"estimated time, excluding reading: {named}"


_PLANS = {
    "brute": "brute force. Every pair is compared.",
    "exact": "an exact join by rare elements. No similar pair is missed.",
    "merge": "divide, compute, merge. Every pair that shares an element is counted.",
}


def report_plan(settings: Settings, choice: Choice | None, progress: Progress) -> None:
    """Report the plan before the work starts: why this method, what it does and what it finds."""
    if choice is not None:
        progress.say(f"Method: {choice.why}.")
    if settings.items.vectors:
        return  # for vectors, the reason says it all
    if settings.matching.plan is None:
        progress.say(f"Plan: {_PLANS[settings.matching.method]}")
    else:
        first, *others = settings.matching.plan.describe().split(". ")
        progress.say(f"Plan: {first}.")
        if settings.matching.measure.name != "jaccard":
            what = f"{settings.matching.measure.name} {settings.matching.measure.written}"
            progress.say(f"  {what} is Jaccard {settings.matching.plan.threshold:g} or more:")
        for sentence in others:
            progress.say(f"  {sentence.rstrip('.')}.")
    if settings.matching.length_ratio:
        ratio = written(settings.matching.length_ratio)
        progress.say(f"  Only items of similar length are compared: shorter / longer at least {ratio}.")


_PRODUCTS = "Every pair is compared, in matrix products of blocks."
_BLOCKS = "Pairs that agree in a block of bits are compared, or all pairs if that is cheaper: no pair is missed."


def _choose_for_vectors(sources: list[Source], settings: Settings, kind: VectorKind) -> tuple[Settings, Choice]:
    """Choose between bands and every pair in matrix products; a method that the user named is used."""
    matching = settings.matching
    plan = plan_for_vectors(settings, kind)
    seen = sample_vectors(sources, settings, kind)
    cost = {"brute": brute_cost(seen, float(matching.measure.threshold))}
    if plan:
        cost["lsh"] = lsh_cost(seen, plan)
    seconds = {method: predicted.seconds(settings.execution.threads) for method, predicted in cost.items()}
    best = matching.method
    if best == "auto" or (best == "lsh" and plan is None):
        best = min(seconds, key=lambda method: seconds[method])
    what = f"{count(seen.items, 'vector')} of {kind.dimension:,} {'bits' if kind.scalar == 'bits' else 'numbers'}"
    how = plan.describe() if best == "lsh" and plan else _PRODUCTS if kind.scalar != "bits" else _BLOCKS
    why = f"{best} for about {what} ({_estimates(seconds)}). {how.rstrip('.')}"
    return settings.with_matching(method=best, plan=plan if best == "lsh" else None), Choice(best, seconds, why)


def plan_for_vectors(settings: Settings, kind: VectorKind) -> Plan | None:
    """The plan of the bands; None if bands cannot be used."""
    matching, measure = settings.matching, settings.matching.measure
    bits = kind.dimension if measure.name == "hamming" else None
    if matching.method not in ("auto", "lsh"):
        return None
    if matching.recall >= 1:
        if matching.method == "lsh":
            raise UsageError("recall must be below 1 for --method lsh: hashing can miss a pair; use auto or brute")
        return None
    if bits is not None and measure.threshold >= bits:
        return None  # every pair is near enough, and the most distant ones agree in no bit
    try:
        return tune(measure.threshold, matching.recall, matching.hashes, measure.name, bits)
    except TooFewHashesError as error:
        if matching.method == "lsh":
            raise UsageError(f"{error}, or use --method brute") from None
        return None


def _check_plan(settings: Settings) -> None:
    """Refuse settings that no plan can satisfy, even if these items need no plan: more items will be added."""
    if settings.matching.recall < 1 and settings.matching.measure.jaccard_floor is not None:
        plan_for(settings.matching.measure, settings.matching.recall, settings.matching.hashes)


def _few_items(sources: list[Source]) -> int:
    """The number of items if there are so few that every method is fast; otherwise 0."""
    if sum(source.nbytes for source in sources) > FEW_BYTES:
        return 0
    items = _about(count_items(sources)[0])
    return items if items <= FEW_ITEMS else 0


def _long_items(sources: list[Source], settings: Settings) -> int:
    """The average length of items if it alone decides the method; otherwise 0."""
    floor = settings.matching.measure.jaccard_floor
    if settings.matching.recall >= 1 or floor is None or floor < HIGH_FLOOR:
        return 0
    items, _ = count_items(sources)
    length = sum(source.nbytes for source in sources) // max(1, items)
    return length if length >= LONG_BYTES else 0


def with_method(settings: Settings, method: str) -> Settings:
    """The same settings with another method, and a plan if it needs one."""
    plan = (
        plan_for(settings.matching.measure, settings.matching.recall, settings.matching.hashes)
        if method == "lsh"
        else None
    )
    return settings.with_matching(method=method, plan=plan)


def sample(sources: list[Source], settings: Settings) -> Sampled:
    """Estimate sizes and candidates from the first items."""
    items, _ = count_items(sources)
    settings.execution.budget.limit_items(sources, settings.items.shingling.bag, settings.items.characters)
    parts = [sets_of(some, settings.items.shingling) for some in first_features(sources, settings.items.column)]
    total = sum(len(part) for part in parts)
    sets = _distinct(Sets.joined(parts))
    if len(sets) < 2:
        return Sampled(items, float(len(sets.elements)), 0.0, 0.0, 0.0)
    there = _about(max(2.0, items * len(sets) / max(1, total)))
    scale = (there / len(sets)) ** 2  # the number of pairs grows with the square
    size = len(sets.elements) / len(sets)
    candidates, refined = _candidates(sets, settings, there / len(sets))
    return Sampled(there, size, _meetings(sets, settings) * scale, candidates, refined)


def first_features(sources: list[Source], column: str) -> Iterator[pa.Array]:
    """The first items in input order, so that estimates do not depend on how files are split."""
    wanted = Wanted(column, (), True)
    left, left_bytes = SAMPLE, SAMPLE_BYTES
    for source in sources:
        for block in source.blocks():
            found = block.items(wanted).features[:left]
            ends = np.cumsum(_text_bytes(found))
            found = found[: int(np.searchsorted(ends, left_bytes)) + 1]  # including the item that exceeds it
            yield found
            left -= len(found)
            left_bytes -= int(ends[len(found) - 1]) if len(found) else 0
            if left <= 0 or left_bytes <= 0:
                break
        source.rejected_rows.clear()  # bad rows are reported when the file is read in full
        if left <= 0 or left_bytes <= 0:
            return


def _text_bytes(features: pa.Array) -> Int64:
    """The size of each text; for sets and vectors, 8 bytes per element.

    Examples
    --------
    >>> _text_bytes(pa.array(["ab", None, "ä"])).tolist(), _text_bytes(pa.array([[1, 2, 3], []])).tolist()
    ([2, 0, 2], [24, 0])
    """
    if pa.types.is_null(features.type):
        return np.zeros(len(features), np.int64)
    text = pa.types.is_string(features.type) or pa.types.is_large_string(features.type)
    lengths = pc.cast(pc.binary_length(features) if text else pc.list_value_length(features), pa.int64())
    found = to_numpy(pc.coalesce(lengths, to_arrow(np.zeros(len(features), np.int64))))
    return found if text else 8 * found


def _about(count: float) -> int:
    """Round to two digits: the number of lines is an estimate, and slightly different if files are split.

    Examples
    --------
    >>> _about(2395.2), _about(2.0)
    (2400, 2)
    """
    return int(float(f"{count:.1e}"))


def _distinct(sets: Sets) -> Sets:
    """The distinct sets, without the empty one."""
    first = group_prints(*fingerprint_sets(sets.indptr, sets.elements))
    kept = (first == np.arange(len(sets))) & (sets.sizes > 0)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sets.sizes[kept])])
    return Sets(indptr, sets.elements[np.repeat(kept, sets.sizes)])


def _meetings(sets: Sets, settings: Settings) -> float:
    """The number of pairs in the sample that share an element of their prefixes, which hold the rarest elements."""
    order = np.argsort(sets.elements)
    ordered = sets.elements[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) + 1
    counts = np.diff(ends, prepend=0)
    by_count = np.empty(len(counts), np.int64)
    by_count[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    tokens = np.empty(len(order), np.int64)
    tokens[order] = np.repeat(by_count, counts)
    sizes = sets.sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    tokens = tokens[np.lexsort((tokens, owner))]
    place = np.arange(len(tokens)) - sets.indptr[owner]
    floor = float(settings.matching.measure.jaccard_floor or 0)
    prefix = sizes - np.ceil(floor * sizes).astype(np.int64) + 1
    lists = np.bincount(tokens[place < prefix[owner]], minlength=1).astype(np.float64)
    return float(np.sum(lists * (lists - 1) / 2))


def _candidates(sets: Sets, settings: Settings, growth: float) -> tuple[float, float]:
    """The numbers of pairs that share a bucket and of sets in oversize buckets, scaled up from the sample."""
    if settings.matching.measure.jaccard_floor is None or settings.matching.recall >= 1:
        return 0.0, 0.0
    plan = plan_for(settings.matching.measure, settings.matching.recall, settings.matching.hashes)
    keys = key_sets(sets.indptr, sets.elements, np.uint64(settings.matching.seed), plan.bands, plan.rows)
    pairs = refined = 0.0
    for band in keys:
        counts = np.unique(band, return_counts=True)[1].astype(np.float64)
        large = (counts > 1) & (counts * growth > OVERSIZE)
        pairs += float(np.sum(counts[~large] * (counts[~large] - 1) / 2)) * growth**2
        refined += float(np.sum(counts[large])) * growth
    return pairs, refined


def predict(sampled: Sampled, settings: Settings) -> dict[str, float]:
    """The seconds of each method that reaches the recall; among equally fast ones, the preferred method comes first."""
    items, elements = sampled.items, sampled.items * sampled.size
    nanoseconds = {}
    if settings.matching.recall < 1 and settings.matching.measure.jaccard_floor is not None:
        bands = plan_for(settings.matching.measure, settings.matching.recall, settings.matching.hashes).bands
        verified = sampled.candidates * (COMPARE + COMPARE_ELEMENT * sampled.size)
        verified += sampled.refined * sampled.size * REFINE
        nanoseconds["lsh"] = items * SKETCH_ITEM + elements * SKETCH_ELEMENT + items * bands * BAND + verified
    if elements <= MOST_ELEMENTS or not nanoseconds:
        nanoseconds["exact"] = elements * (SHINGLE + NUMBER) + sampled.meetings * MEETING
    pairs = items * (items - 1) / 2
    nanoseconds["brute"] = elements * SHINGLE + pairs * (COMPARE + COMPARE_ELEMENT * sampled.size)
    return {method: cost / 1e9 / settings.execution.threads for method, cost in nanoseconds.items()}
