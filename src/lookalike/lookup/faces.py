"""Face lookup: who in a gallery has nearly the same measurements as a probe.

Candidates share a cell of some hash function (`families/cells.py`); each is scored by how many components are close,
and is a match where they are enough. Without a gallery everybody is looked up among all the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.engine.progress import Progress
from lookalike.errors import BadDataError, UsageError
from lookalike.families.cells import Cells, check_finite
from lookalike.kernels.closeness import count_close
from lookalike.lookup.buckets import Shelf, look_up, shelve
from lookalike.lookup.matches import PROBES_AT_ONCE, Matches, MatchPart, others_only, rank_best
from lookalike.types import Float64

MOST_FUNCTIONS = 512
_DRAWS = 2000
"""Noisy copies that the expected recall is the mean of; it is off by about 0.001."""
_SAMPLE = 2000
"""Members of the gallery that widths are tried on."""
_WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Widths that are tried, in standard deviations of the difference that noise makes."""
_TRIED = 4
"""Functions that a width is tried with."""
_LOOKING = 1e-4
"""What a function costs by itself, as a share of the gallery."""
LEAST_FUNCTIONS = 3
"""So that one measurement that is wholly wrong does not lose a person."""


@dataclass(frozen=True, slots=True)
class FacePlan:
    """How faces are looked up.

    Examples
    --------
    >>> gallery = np.random.default_rng(1).normal(size=(300, 20))
    >>> plan = plan_faces(gallery, noise=0.05)
    >>> plan.recall >= 0.999, plan.threshold
    (True, 11)
    """

    cells: Cells
    functions: int
    """So many hash functions; sharing a cell of one makes a candidate."""
    tolerances: Float64
    """A component is close where two values differ by this at most."""
    scales: Float64
    """The standard deviation of each component."""
    threshold: int
    """So many components are close in a match."""
    recall: float
    """How likely a noisy copy is a candidate of its original."""

    def to_dict(self) -> dict[str, Any]:
        """For the record of a run."""
        return {
            "functions": self.functions,
            "r": self.cells.r,
            "edge": self.cells.edge,
            "seed": self.cells.seed,
            "width": float(np.median(self.cells.widths / self.scales)),
            "threshold": self.threshold,
            "recall": self.recall,
        }


def find_faces(
    probes: Float64,
    gallery: Float64 | None = None,
    *,
    plan: FacePlan | None = None,
    k: int = 10,
    progress: Progress | None = None,
    **options: Any,
) -> Matches:
    """Look the probes up in a gallery, or without one each among all the others.

    Parameters
    ----------
    probes, gallery : float64[items, measurements]
    plan
        How to look; made from the gallery by `plan_faces` unless given.
    k
        How many matches a probe has at most, the best first: by score, of equal ones by the sum of squared
        standardised differences, then in input order.
    options
        Those of `plan_faces`: noise, recall, close, tolerances, threshold, r, edge, widths, functions, seed.

    Examples
    --------
    >>> gallery = np.random.default_rng(1).normal(size=(500, 30))
    >>> found = find_faces(gallery[[7, 42]] + 0.001, gallery)
    >>> found.table().to_pylist()
    [{'left': 0, 'right': 7, 'score': 30, 'rank': 1}, {'left': 1, 'right': 42, 'score': 30, 'rank': 1}]
    >>> found.share < 0.1
    True
    """
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    progress = progress or Progress()
    alone = gallery is None
    probes = check_items(probes, "probes")
    gallery = probes if gallery is None else check_items(gallery, "gallery")
    if probes.shape[1] != gallery.shape[1]:
        raise BadDataError(f"probes have {probes.shape[1]} measurements, the gallery has {gallery.shape[1]}")
    with progress.stage("planning"):
        plan = plan or plan_faces(gallery, **options)
    with progress.stage("hashing"):
        shelves = [shelve(plan.cells.buckets_of(gallery, number)) for number in range(plan.functions)]
    with progress.stage("looking up", len(probes), "probes"):
        progress.compiling(count_close, "faces")
        parts = list(_search(probes, gallery, shelves, plan, alone, k, progress))
    return Matches.joined(parts, len(gallery) - alone, plan)


def _search(
    probes: Float64, gallery: Float64, shelves: list[Shelf], plan: FacePlan, alone: bool, k: int, progress: Progress
) -> Iterator[MatchPart]:
    """The matches of some probes at a time: left, right, score, rank, and how many each looked at."""
    for first in range(0, len(probes), PROBES_AT_ONCE):
        some = probes[first : first + PROBES_AT_ONCE]
        looking = ((shelf, plan.cells.buckets_of(some, number)) for number, shelf in enumerate(shelves))
        left, right = look_up(looking, len(gallery))
        if alone:
            left, right = others_only(left, right, first)
        looked_at = np.bincount(left, minlength=len(some))
        scores, distances = np.empty(len(left), np.int64), np.empty(len(left))
        count_close(some, gallery, plan.tolerances, plan.scales, left, right, scores, distances)
        best, ranks = rank_best(left, scores >= plan.threshold, k, distances, -scores)
        progress.advance(len(some))
        yield MatchPart(left[best] + first, right[best], scores[best], ranks, looked_at)


def check_items(items: Any, what: str) -> Float64:
    """Items as a matrix of finite numbers; what is wrong is named by row and column."""
    if isinstance(items, Sequence) and len({np.size(row) for row in items}) > 1:
        row, size = next((row, np.size(one)) for row, one in enumerate(items) if np.size(one) != np.size(items[0]))
        raise BadDataError(f"{what}: row {row} has {size} measurements, row 0 has {np.size(items[0])}")
    try:
        matrix = np.ascontiguousarray(items, np.float64)
    except (TypeError, ValueError) as error:
        raise BadDataError(f"{what}: not numbers: {error}") from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise BadDataError(f"{what}: a matrix is needed, with a row for each item and a column for each measurement")
    try:
        check_finite(matrix)
    except BadDataError as error:
        raise BadDataError(f"{what}: {error}") from None
    return matrix


def plan_faces(
    gallery: Float64,
    *,
    noise: float = 0.02,
    recall: float = 0.999,
    close: float | None = None,
    tolerances: Float64 | None = None,
    threshold: int | None = None,
    r: int = 3,
    edge: float = 0.1,
    widths: Float64 | None = None,
    functions: int | None = None,
    seed: int = 1,
) -> FacePlan:
    """Choose widths, functions and tolerances for a gallery.

    Parameters
    ----------
    gallery : float64[items, measurements]
    noise
        How far a component of a probe is from that of its original: the standard deviation of the difference, in
        standard deviations of the component.
    recall
        How likely the original is to be among the candidates.
    close, tolerances
        A component is close within so many standard deviations (three times the noise unless told), or within its own
        tolerance.
    threshold
        How many components are close in a match; unless told, halfway between all of them and as many as are close by
        chance, in a sample of the gallery.
    r, edge, seed
        As for `Cells`. With fewer measurements than r, all of them are looked at.
    widths, functions
        Taken as they are if given. Otherwise widths are tried out from twice to 64 times the noise, each with as many
        functions as `recall` takes, and the one that looks at the fewest members of the gallery is taken.

    Examples
    --------
    >>> people = np.random.default_rng(3).normal(170, 10, (400, 12))
    >>> plan = plan_faces(people, noise=0.1, recall=0.9)
    >>> expected_recall(plan.cells, plan.functions, plan.scales, noise=0.1) >= 0.9
    True
    """
    gallery = check_items(gallery, "gallery")
    if not 0 < noise < 10:
        raise UsageError(f"noise {noise}: above 0 and below 10 standard deviations")
    if not 0 < recall < 1:
        raise UsageError(f"recall {recall}: above 0 and below 1")
    measurements = gallery.shape[1]
    scales = standard_deviations(gallery)
    r = min(r, measurements)
    if widths is None:
        cells, functions = _choose_width(gallery, scales, noise, recall, (r, edge, seed), functions)
    else:
        cells = Cells(widths, r, edge, seed)
        functions = functions or _functions_for(recall, _chances(cells, scales, noise))
    if not 1 <= functions <= MOST_FUNCTIONS:
        raise UsageError(f"functions {functions}: from 1 to {MOST_FUNCTIONS}")
    if tolerances is None:
        tolerances = scales * (3 * noise if close is None else close)
    tolerances = np.broadcast_to(np.asarray(tolerances, np.float64), measurements).copy()
    threshold = _halfway(gallery, tolerances) if threshold is None else threshold
    if not 1 <= threshold <= measurements:
        raise UsageError(f"threshold {threshold}: from 1 to {measurements}, the number of measurements")
    reached = expected_recall(cells, functions, scales, noise)
    return FacePlan(cells, functions, tolerances, scales, threshold, reached)


def _halfway(gallery: Float64, tolerances: Float64) -> int:
    """Halfway between the score of strangers and the highest."""
    sample = gallery[np.random.default_rng(0).permutation(len(gallery))[:_SAMPLE]]
    strangers = float((np.abs(sample - np.roll(sample, 1, axis=0)) <= tolerances).mean()) if len(sample) > 1 else 0.0
    return max(1, round(len(tolerances) * (1 + strangers) / 2))


def standard_deviations(gallery: Float64) -> Float64:
    """That of each measurement; 1 where all are the same, and nothing can be told from it.

    Examples
    --------
    >>> standard_deviations(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 1.0]
    """
    spread = gallery.std(axis=0) if len(gallery) else np.ones(gallery.shape[1])
    return np.where(spread > 0, spread, 1.0)


def expected_recall(cells: Cells, functions: int, scales: Float64, noise: float) -> float:
    """How likely a noisy copy shares a cell with its original under any of some functions.

    Every component of the copy is off by a normal difference of `noise` standard deviations (`scales`). Given the
    differences, a function says yes with the mean over all choices of r components of the product of their shares, and
    functions are independent; the mean over 2,000 drawn copies is taken.

    Examples
    --------
    >>> cells = Cells(0.5, r=3)
    >>> [round(expected_recall(cells, n, np.ones(99), 0.02), 2) for n in (1, 2, 3)]
    [0.91, 0.99, 1.0]
    """
    return float(np.mean(-np.expm1(functions * np.log1p(-_chances(cells, scales, noise)))))


def _chances(cells: Cells, scales: Float64, noise: float) -> Float64:
    """For each of some drawn copies, how likely one function finds the original."""
    random = np.random.default_rng(0)
    differences = random.normal(0, noise, (_DRAWS, len(scales))) * scales / cells.widths
    shares = cells.shares(differences)
    # elementary symmetric means: sums[j] is the mean over all choices of j components of the product of their shares
    sums = [np.ones(_DRAWS)] + [np.zeros(_DRAWS)] * cells.r
    for taken, share in enumerate(shares.T, 1):
        for j in range(min(taken, cells.r), 0, -1):
            sums[j] = sums[j] * ((taken - j) / taken) + sums[j - 1] * share * (j / taken)
    return np.clip(sums[cells.r], 0, 1 - 1e-15)


def _functions_for(recall: float, chances: Float64) -> int:
    """The fewest functions that reach the recall; one more than are allowed where none do."""
    for functions in range(LEAST_FUNCTIONS, MOST_FUNCTIONS + 1):
        if np.mean(-np.expm1(functions * np.log1p(-chances))) >= recall:
            return functions
    return MOST_FUNCTIONS + 1


def _choose_width(
    gallery: Float64, scales: Float64, noise: float, recall: float, rest: tuple[int, float, int], fixed: int | None
) -> tuple[Cells, int]:
    """The width (in standard deviations of the noise) that looks at the fewest, and its number of functions."""
    sample = np.random.default_rng(0).permutation(len(gallery))[:_SAMPLE]
    tried: list[tuple[float, Cells, int]] = []
    for width in _WIDTHS:
        cells = Cells(width * noise * scales, *rest)
        functions = fixed or _functions_for(recall, _chances(cells, scales, noise))
        if functions <= MOST_FUNCTIONS:
            tried.append((functions * _share_met(cells, gallery[sample]), cells, functions))
    if not tried:
        raise UsageError(f"recall {recall} is out of reach with {MOST_FUNCTIONS} functions; give a smaller one")
    _, cells, functions = min(tried, key=lambda one: one[0])
    return cells, functions


def _share_met(cells: Cells, sample: Float64) -> float:
    """About the share of the gallery that a probe meets in the cells of one function, and a little for the looking."""
    met = 0
    for number in range(_TRIED):
        _, counts = np.unique(shelve(cells.buckets_of(sample, number)).keys, return_counts=True)
        met += int((counts**2).sum())
    return met / _TRIED / max(1, len(sample)) ** 2 + _LOOKING
