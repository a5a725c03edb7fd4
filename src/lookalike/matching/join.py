"""Find similar pairs of sets: by buckets, by the exact join, or by divide-compute-merge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.engine.run import Run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pair_log import PairLog
from lookalike.errors import UsageError
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import Refined, refine
from lookalike.types import Bool, Buckets, Int32, Int64, Numbered, Sets, to_arrow, to_numpy
from lookalike.types.frozen import mutable
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import FoundPairs, list_pairs, list_pairs_of_band

if TYPE_CHECKING:
    from lookalike.candidates.exact import JoinStats

PAIR_BYTES = 64
"""Memory for a pair while keepers are decided: its bucket, and its entries in the lists of its two sets."""


@mutable
class JoinOptions:
    """How exact methods work. They find the same pairs, except with `common`."""

    index: str = "best"
    common: Fraction | None = None
    """Elements in more than this share of the sets make no pairs (merge); the result is then no longer exact."""
    folder: Path | None = None
    """Where to spill what does not fit in memory."""
    stats: JoinStats | None = None
    """Filled with how many pairs each filter of the exact join let through."""
    first: int = 0
    """Where to continue a join that has already reached it."""
    numbered: str = ""
    """The name of a piece of work for the sets with their elements numbered."""


class Joined(NamedTuple):
    """Similar pairs of sets (for containment, in the direction that holds), and how many were compared."""

    left: Int64
    right: Int64
    overlaps: Int64
    compared: int
    reached: int = 0
    """Where a join that lists no more pairs before this can be continued."""


def join_sets(
    run: Run[Settings], found: Comparable, apart: Bool | None, options: JoinOptions
) -> Iterator[tuple[Joined, Refined]]:
    """Yield the similar pairs of some sets as they are found, with the oversize buckets that were refined.

    With `apart`, only pairs of a set with the flag and one without it are needed; others may be returned as well.
    """
    matching, each = run.settings.matching, run.workers.map
    measure = matching.measure
    if found.kind and options.index != "best":
        raise UsageError(f"--index {options.index} is for sets; vectors are compared in matrix products")
    if matching.method in ("exact", "merge") or (found.kind and matching.method != "lsh"):
        for left, right, overlaps, compared, _ in _join_exactly(run, found, apart, options):
            yield Joined(*_directed(left, right, overlaps, found.sizes, measure), compared), Refined()
        return
    for band in found.bands:
        for listed in list_pairs_of_band(band, found.sets, measure.arguments, found.earlier, each):
            yield _joined(listed), Refined()
    refined = _refine(run, found)
    ratio = matching.length_ratio.as_integer_ratio()
    for listed in list_pairs(found.buckets, found.sets, measure.arguments, found.earlier, each, ratio):
        yield _joined(listed), refined
        refined = Refined()  # counted once


def _joined(listed: FoundPairs) -> Joined:
    left, right, overlaps = (one.astype(np.int64) for one in listed[:3])
    return Joined(left, right, overlaps, listed.candidates)


def _join_exactly(run: Run[Settings], found: Comparable, apart: Bool | None, options: JoinOptions) -> Iterator[Joined]:
    """Find every pair that is similar in either direction: vectors by matrix products, sets by a join."""
    if found.kind:
        from lookalike.matching.vectors import near_pairs  # sets do not need it

        measure = run.settings.matching.measure
        for near in near_pairs(found.kind, measure, found.sets, found.earlier, run.workers, first=options.first):
            yield Joined(near.left, near.right, np.zeros(len(near.left), np.int64), near.compared, near.reached)
        return
    sets, numbers = _in_one_piece(found)
    sides = _sides(found, apart)
    chosen = None if sides is None else sides[numbers]
    for left, right, overlaps, reached in _overlapping(run, sets, chosen, options):
        kept = run.settings.matching.alike_in_length(sets.sizes[left], sets.sizes[right])
        yield Joined(numbers[left[kept]], numbers[right[kept]], overlaps[kept], int(np.count_nonzero(kept)), reached)


def _sides(found: Comparable, apart: Bool | None) -> Bool | None:
    """The side of each set: two blocks, or two collections, are compared only with each other."""
    return np.arange(len(found)) < found.earlier if found.earlier else apart


def _in_one_piece(found: Comparable) -> tuple[Sets, Int64]:
    """The sets in the order in which they are in memory, and the number of each; copied only if there are gaps."""
    numbers = np.argsort(found.begins)
    begins, ends = found.begins[numbers], found.ends[numbers]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - begins)])
    if not len(numbers) or (begins[1:] == ends[:-1]).all():
        start = int(begins[0]) if len(numbers) else 0
        return Sets(indptr, found.elements[start : start + int(indptr[-1])]), numbers
    gaps_and_sets = np.diff(np.stack([begins, ends], axis=1).ravel(), prepend=0)
    inside = np.repeat(np.arange(2 * len(numbers)) % 2 == 1, gaps_and_sets)
    return Sets(indptr, found.elements[: len(inside)][inside]), numbers


def _overlapping(
    run: Run[Settings], sets: Sets, sides: Bool | None, options: JoinOptions
) -> Iterator[tuple[Int64, Int64, Int64, int]]:
    """Yield rows of `sets` and overlaps of all pairs similar in either direction, and how far the join has got."""
    # imported on use: other runs start faster without them
    from lookalike.candidates.exact import join_exact
    from lookalike.candidates.merge import join_merge

    settings, workers, progress = run.settings, run.workers, run.progress
    measure = settings.matching.measure.arguments
    if settings.matching.method == "merge":
        memory = max(settings.execution.budget.sets_bytes, 256 << 20)
        known = {"sides": sides, "folder": options.folder, "threads": workers.threads, "common": options.common}
        for merged in join_merge(sets, measure, memory_bytes=memory, **known):  # type: ignore[arg-type]
            yield merged.left.astype(np.int64), merged.right.astype(np.int64), merged.overlaps.astype(np.int64), 0
        return
    with progress.stage("numbering"):
        numbered, rows = _number_once(run, sets, options.numbered)
    sides = None if sides is None else sides[rows]
    how = {"index": options.index, "threads": workers.threads, "each": workers.map, "stats": options.stats}
    for pairs in join_exact(numbered, measure, sides=sides, first=options.first, **how):  # type: ignore[arg-type]
        yield rows[pairs.left], rows[pairs.right], pairs.overlaps.astype(np.int64), pairs.reached


def _number_once(run: Run[Settings], sets: Sets, name: str) -> tuple[Numbered, Int64]:
    """Number the elements of sets; a resumed run reuses the numbers of the killed run."""
    from lookalike.candidates.numbering import number_elements

    work = run.work if name else None
    if work is not None and work.has(name):
        table = work.load(name)
        indptr, rows, tokens = (np.array(to_numpy(table.column(k)[0].values)) for k in range(3))
        return Numbered(indptr, tokens, *json.loads(table.schema.metadata[b"counts"])), rows
    numbered, rows = number_elements(sets, threads=run.workers.threads, each=run.workers.map)
    if work is not None and work.due:
        arrays = [to_arrow(numbered.indptr), to_arrow(rows), to_arrow(numbered.tokens)]
        lists = [pa.LargeListArray.from_arrays([0, len(one)], one) for one in arrays]
        counts = json.dumps([numbered.distinct, numbered.singles])
        work.save(name, pa.table(lists, ["indptr", "rows", "tokens"]).replace_schema_metadata({"counts": counts}))
    return numbered, rows


def _directed(left: Int64, right: Int64, overlaps: Int64, sizes: Int64, measure: Measure) -> tuple[Int64, Int64, Int64]:
    """The pairs; for containment, each direction that holds."""
    if measure.name != "containment":
        return left, right, overlaps
    threshold = measure.threshold
    forth = overlaps * threshold.denominator >= threshold.numerator * sizes[left]
    back = overlaps * threshold.denominator >= threshold.numerator * sizes[right]
    return (
        np.concatenate([left[forth], right[back]]),
        np.concatenate([right[forth], left[back]]),
        np.concatenate([overlaps[forth], overlaps[back]]),
    )


def narrow_buckets(run: Run[Settings], found: Comparable) -> Refined:
    """Make the buckets small enough to compare; every similar pair still shares one.

    The exact join turns each similar pair into a bucket of its own. If there are too many pairs for that, buckets are
    made from rare elements, as for oversize ones.
    """
    matching = run.settings.matching
    if matching.method == "exact" or (found.kind and matching.method == "brute"):
        pairs = _few_pairs(run, found)
        if pairs is not None:
            if len(pairs) // 2 > run.settings.execution.budget.whole_bytes // PAIR_BYTES:
                found.crowded = np.arange(len(found))  # as in a run with less memory, which cannot list them
            found.buckets = Buckets(np.arange(0, len(pairs) + 1, 2), pairs)
            return Refined()
    return _refine(run, found)


def _refine(run: Run[Settings], found: Comparable) -> Refined:
    return refine(found, run.settings.matching)


def _few_pairs(run: Run[Settings], found: Comparable) -> Int32 | None:
    """All similar pairs, concatenated; None if they do not fit in memory."""
    most = run.settings.execution.budget.sets_bytes // PAIR_BYTES
    log = PairLog(run.work, f"{found.name}-pairs")
    options = JoinOptions(first=log.reached, numbered=f"{found.name}-numbered.arrow")
    for part in _join_exactly(run, found, None, options):
        if len(log) + len(part.left) > most:
            return None
        log.add(np.sort(np.stack([part.left, part.right], axis=1), axis=1).astype(np.int32), part.reached)
    return log.pairs()
