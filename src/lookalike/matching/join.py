"""The ways to find the similar pairs among sets: by buckets, by the exact join, or by divide-compute-merge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.workers import Workers
from lookalike.errors import UsageError
from lookalike.matching.comparable import Comparable
from lookalike.matching.refine import Refined, refine
from lookalike.matching.vectors import near_pairs
from lookalike.types import Bool, Buckets, Int32, Int64, Sets
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import list_pairs, list_pairs_of_band

if TYPE_CHECKING:
    from lookalike.candidates.exact import JoinStats

PAIR_BYTES = 64
"""What a pair takes while it is decided who stays: its bucket, and its place in the lists of its two sets."""


@dataclass(slots=True)
class JoinOptions:
    """How exact methods go about it; the pairs are the same but for `common`."""

    index: str = "best"
    common: Fraction | None = None
    """Elements in more than this share of the sets make no pairs (merge): no longer exact."""
    folder: Path | None = None
    """Where what does not fit goes."""
    stats: JoinStats | None = None
    """Gets what each filter of the exact join left."""


class Joined(NamedTuple):
    """Similar pairs by number of set, for containment in the direction that holds; and how many were compared."""

    left: Int64
    right: Int64
    overlaps: Int64
    compared: int


def join_sets(
    found: Comparable,
    apart: Bool | None,
    settings: Settings,
    options: JoinOptions,
    refined: Refined,
    workers: Workers,
    progress: Progress,
) -> Iterator[Joined]:
    """The similar pairs of some sets, as they are found.

    With `apart` only pairs in which one set has it and the other has not are needed; others may come as well.
    """
    measure = settings.matching.measure
    if found.kind and options.index != "best":
        raise UsageError(f"--index {options.index} is for sets; vectors are compared in matrix products")
    if settings.matching.method in ("exact", "merge") or (found.kind and settings.matching.method != "lsh"):
        for left, right, overlaps, compared in _losing_none(found, apart, settings, options, workers, progress):
            yield Joined(*_directed(left, right, overlaps, found.sizes, measure), compared)
        return
    for band in found.bands:
        for listed in list_pairs_of_band(band, found.sets, measure.arguments, found.earlier, workers.map):
            left, right, overlaps = (one.astype(np.int64) for one in listed[:3])
            yield Joined(left, right, overlaps, listed.candidates)
    refine(found, settings, progress, refined)
    ratio = settings.matching.length_ratio.as_integer_ratio()
    for listed in list_pairs(found.buckets, found.sets, measure.arguments, found.earlier, workers.map, ratio):
        left, right, overlaps = (one.astype(np.int64) for one in listed[:3])
        yield Joined(left, right, overlaps, listed.candidates)


def _losing_none(
    found: Comparable,
    apart: Bool | None,
    settings: Settings,
    options: JoinOptions,
    workers: Workers,
    progress: Progress,
) -> Iterator[Joined]:
    """Every pair that is similar in one direction or the other: of vectors by matrix products, of sets by a join."""
    if found.kind:
        for near in near_pairs(found.kind, settings.matching.measure, found.sets, found.earlier, workers):
            yield Joined(near.left, near.right, np.zeros(len(near.left), np.int64), near.compared)
        return
    sets, numbers = _in_one_piece(found)
    sides = _sides(found, apart)
    chosen = None if sides is None else sides[numbers]
    for left, right, overlaps in _exactly(sets, chosen, settings, options, workers, progress):
        yield Joined(numbers[left], numbers[right], overlaps, len(left))


def _sides(found: Comparable, apart: Bool | None) -> Bool | None:
    """Blocks are compared with each other only; else collections, if there are two."""
    return np.arange(len(found)) < found.earlier if found.earlier else apart


def _in_one_piece(found: Comparable) -> tuple[Sets, Int64]:
    """The sets as they lie in memory, one after the other, and the number of each; copied only where there are gaps."""
    numbers = np.argsort(found.begins)
    begins, ends = found.begins[numbers], found.ends[numbers]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - begins)])
    if not len(numbers) or (begins[1:] == ends[:-1]).all():
        start = int(begins[0]) if len(numbers) else 0
        return Sets(indptr, found.elements[start : start + int(indptr[-1])]), numbers
    gaps_and_sets = np.diff(np.stack([begins, ends], axis=1).ravel(), prepend=0)
    inside = np.repeat(np.arange(2 * len(numbers)) % 2 == 1, gaps_and_sets)
    return Sets(indptr, found.elements[: len(inside)][inside]), numbers


def _exactly(
    sets: Sets, sides: Bool | None, settings: Settings, options: JoinOptions, workers: Workers, progress: Progress
) -> Iterator[tuple[Int64, Int64, Int64]]:
    """Rows of `sets` and overlaps of all pairs of similar length that are similar in one direction or the other."""
    for left, right, overlaps in _of_any_length(sets, sides, settings, options, workers, progress):
        kept = settings.matching.alike_in_length(sets.sizes[left], sets.sizes[right])
        yield left[kept], right[kept], overlaps[kept]


def _of_any_length(
    sets: Sets, sides: Bool | None, settings: Settings, options: JoinOptions, workers: Workers, progress: Progress
) -> Iterator[tuple[Int64, Int64, Int64]]:
    # loaded only where they are used: they would make every other run start later
    from lookalike.candidates.exact import join_exact
    from lookalike.candidates.merge import join_merge
    from lookalike.candidates.numbering import number_elements
    from lookalike.kernels.exact_masks import probe_marked

    measure = settings.matching.measure.arguments
    if settings.matching.method == "merge":
        memory = max(settings.execution.budget.sets_bytes, 256 << 20)
        known = {"sides": sides, "folder": options.folder, "threads": workers.threads, "common": options.common}
        for merged in join_merge(sets, measure, memory_bytes=memory, **known):  # type: ignore[arg-type]
            yield merged.left.astype(np.int64), merged.right.astype(np.int64), merged.overlaps.astype(np.int64)
        return
    progress.compiling(probe_marked, "exact joins")
    with progress.stage("numbering"):
        numbered, rows = number_elements(sets, threads=workers.threads, each=workers.map)
    sides = None if sides is None else sides[rows]
    how = {"index": options.index, "threads": workers.threads, "each": workers.map, "stats": options.stats}
    for pairs in join_exact(numbered, measure, sides=sides, **how):  # type: ignore[arg-type]
        yield rows[pairs.left], rows[pairs.right], pairs.overlaps.astype(np.int64)


def _directed(left: Int64, right: Int64, overlaps: Int64, sizes: Int64, measure: Measure) -> tuple[Int64, Int64, Int64]:
    """Pairs as they are; for containment each direction that holds."""
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


def bring_together(
    found: Comparable, settings: Settings, refined: Refined, workers: Workers, progress: Progress
) -> None:
    """Make buckets that are small enough to be compared, in which every similar pair that there is meets.

    By the exact join each similar pair is a bucket of its own; where these would be very many, rare elements make the
    buckets, as they do of oversize ones.
    """
    if settings.matching.method == "exact" or (found.kind and settings.matching.method == "brute"):
        pairs = _few_pairs(found, settings, workers, progress)
        if pairs is not None:
            found.buckets = Buckets(np.arange(0, len(pairs) + 1, 2), pairs)
            return
    refine(found, settings, progress, refined)


def _few_pairs(found: Comparable, settings: Settings, workers: Workers, progress: Progress) -> Int32 | None:
    """All similar pairs, one after the other; None where they do not fit."""
    most = settings.execution.budget.sets_bytes // PAIR_BYTES
    parts, count = [np.empty((0, 2), np.int32)], 0
    for part in _losing_none(found, None, settings, JoinOptions(), workers, progress):
        count += len(part.left)
        if count > most:
            return None
        parts.append(np.sort(np.stack([part.left, part.right], axis=1), axis=1).astype(np.int32))
    return np.concatenate(parts).ravel()
