"""Planning a face lookup: cell widths, number of hash functions, tolerances and threshold, from the gallery itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.errors import BadDataError, UsageError
from lookalike.families.cells import Cells, check_finite
from lookalike.lookup.buckets import index_buckets
from lookalike.types import Float64
from lookalike.types.frozen import frozen

LEAST_FUNCTIONS = 3
"""With fewer, one grossly wrong measurement could lose a person."""
MOST_FUNCTIONS = 512
_SIMULATED_COPIES = 2000
"""Noisy copies that the expected recall is averaged over; its error is about 0.001."""
_SAMPLE = 2000
"""Members of the gallery that widths are tried on."""
_WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Widths to try, in multiples of the noise."""
_TRIAL_FUNCTIONS = 4
"""Hash functions that a width is tried with."""
_FUNCTION_COST = 1e-4
"""The fixed cost of a function, as a share of the gallery."""


@frozen
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
    """Number of hash functions; sharing a cell of any one makes a candidate."""
    tolerances: Float64
    """Largest difference at which a component is close."""
    scales: Float64
    """Standard deviation of each component."""
    threshold: int
    """Number of close components that makes a match."""
    recall: float
    """Probability that a noisy copy is a candidate of its original."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for the run record."""
        return {
            "functions": self.functions,
            "r": self.cells.r,
            "edge": self.cells.edge,
            "seed": self.cells.seed,
            "width": float(np.median(self.cells.widths / self.scales)),
            "threshold": self.threshold,
            "recall": self.recall,
        }


def plan_faces(
    gallery: npt.ArrayLike,
    *,
    noise: float = 0.02,
    recall: float = 0.999,
    close: float | None = None,
    tolerances: npt.ArrayLike | None = None,
    threshold: int | None = None,
    r: int = 3,
    edge: float = 0.1,
    widths: npt.ArrayLike | None = None,
    functions: int | None = None,
    seed: int = 1,
) -> FacePlan:
    """Choose widths, functions and tolerances for a gallery.

    Parameters
    ----------
    gallery : float64[items, measurements]
    noise
        Standard deviation of the difference between two measurements of the same component of one person, in standard
        deviations of that component.
    recall
        Probability that the original of a probe is among its candidates.
    close
        A component is close within this many standard deviations; by default three times the noise.
    tolerances : float64[measurements]
        A component is close within its tolerance; overrides `close`.
    threshold
        Number of close components that makes a match; by default halfway between all of them and the number that is
        close by chance in a sample of the gallery.
    r, edge, seed
        See `Cells`. If there are fewer than r measurements, all of them are used.
    widths, functions
        Used as given. By default, widths from 2 to 64 times the noise are tried, each with as many functions as
        `recall` requires, and the one that compares a probe with the fewest members of the gallery is chosen.

    Examples
    --------
    >>> people = np.random.default_rng(3).normal(170, 10, (400, 12))
    >>> plan = plan_faces(people, noise=0.1, recall=0.9)
    >>> expected_recall(plan.cells, plan.functions, plan.scales, noise=0.1) >= 0.9
    True
    """
    values = check_measurements(gallery, "gallery")
    if not 0 < noise < 10:
        raise UsageError(f"noise must be above 0 and below 10 standard deviations, not {noise}")
    if not 0 < recall < 1:
        raise UsageError(f"recall must be above 0 and below 1, not {recall}")
    if functions is not None and not 1 <= functions <= MOST_FUNCTIONS:
        raise UsageError(f"functions must be from 1 to {MOST_FUNCTIONS}, not {functions}")
    measurements = values.shape[1]
    scales = standard_deviations(values)
    r = min(r, measurements)
    if widths is None:
        cells, functions = _choose_width(values, scales, noise, recall, (r, edge, seed), functions)
    else:
        cells = Cells(np.asarray(widths, np.float64), r, edge, seed)
        functions = functions or _functions_for(recall, _chances(cells, scales, noise))
    if functions > MOST_FUNCTIONS:
        raise UsageError(f"{MOST_FUNCTIONS} functions cannot reach recall {recall}; ask for less, or for wider cells")
    if tolerances is None:
        tolerances = scales * (3 * noise if close is None else close)
    limits: Float64 = np.asarray(tolerances, np.float64)
    if limits.size not in (1, measurements):
        raise UsageError(f"tolerances must be one number, or one for each of the {measurements} measurements")
    limits = np.broadcast_to(limits.ravel(), measurements).copy()
    threshold = _default_threshold(values, limits) if threshold is None else threshold
    if not 1 <= threshold <= measurements:
        raise UsageError(f"threshold must be from 1 to {measurements}, the number of measurements, not {threshold}")
    return FacePlan(cells, functions, limits, scales, threshold, expected_recall(cells, functions, scales, noise))


def check_measurements(items: npt.ArrayLike, side: str) -> Float64:
    """The measurements as a matrix of finite numbers; errors name the side, the row and the column.

    Examples
    --------
    >>> check_measurements([[1, 2], [3]], "probes")
    Traceback (most recent call last):
    lookalike.errors.BadDataError: probes: row 1 has 1 measurements, row 0 has 2
    """
    if isinstance(items, Sequence) and len({np.size(row) for row in items}) > 1:
        row, size = next((row, np.size(one)) for row, one in enumerate(items) if np.size(one) != np.size(items[0]))
        raise BadDataError(f"{side}: row {row} has {size} measurements, row 0 has {np.size(items[0])}")
    try:
        matrix = np.ascontiguousarray(items, np.float64)
    except (TypeError, ValueError) as error:
        raise BadDataError(f"{side}: not numbers: {error}") from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise BadDataError(f"{side}: must be a matrix with one row per item and one column per measurement")
    try:
        check_finite(matrix)
    except BadDataError as error:
        raise BadDataError(f"{side}: {error}") from None
    return matrix


def _default_threshold(gallery: Float64, tolerances: Float64) -> int:
    """Halfway between the mean score of two different people and the highest possible score."""
    sample = gallery[np.random.default_rng(0).permutation(len(gallery))[:_SAMPLE]]
    strangers = float((np.abs(sample - np.roll(sample, 1, axis=0)) <= tolerances).mean()) if len(sample) > 1 else 0.0
    return max(1, round(len(tolerances) * (1 + strangers) / 2))


def standard_deviations(gallery: Float64) -> Float64:
    """The standard deviation of each measurement; 1 for a constant one, which distinguishes nobody.

    Examples
    --------
    >>> standard_deviations(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 1.0]
    """
    spread = gallery.std(axis=0) if len(gallery) else np.ones(gallery.shape[1])
    return np.where(spread > 0, spread, 1.0)


def expected_recall(cells: Cells, functions: int, scales: Float64, noise: float) -> float:
    """The probability that a noisy copy shares a cell with its original under any of the functions.

    Every component of the copy is off by a normally distributed difference of `noise` standard deviations (`scales`).
    Given the differences, one function finds the original with the mean, over all choices of r components, of the
    product of their shares; functions are independent. The result is the mean over 2,000 simulated copies.

    Examples
    --------
    >>> cells = Cells(0.5, r=3)
    >>> [round(expected_recall(cells, n, np.ones(99), 0.02), 2) for n in (1, 2, 3)]
    [0.91, 0.99, 1.0]
    """
    return _recall_of(functions, _chances(cells, scales, noise))


def _recall_of(functions: int, chances: Float64) -> float:
    """The mean over copies of 1 - (1 - chance)^functions."""
    return float(np.mean(-np.expm1(functions * np.log1p(-chances))))


def _chances(cells: Cells, scales: Float64, noise: float) -> Float64:
    """For each simulated copy, the probability that one function finds the original."""
    random = np.random.default_rng(0)
    differences = random.normal(0, noise, (_SIMULATED_COPIES, len(scales))) * scales / cells.widths
    shares = cells.shares(differences)
    # elementary symmetric means: sums[j] is the mean over all choices of j components of the product of their shares
    sums = [np.ones(_SIMULATED_COPIES)] + [np.zeros(_SIMULATED_COPIES)] * cells.r
    for taken, share in enumerate(shares.T, 1):
        for j in range(min(taken, cells.r), 0, -1):
            sums[j] = sums[j] * ((taken - j) / taken) + sums[j - 1] * share * (j / taken)
    return np.clip(sums[cells.r], 0, 1 - 1e-15)


def _functions_for(recall: float, chances: Float64) -> int:
    """The fewest functions that reach the recall; MOST_FUNCTIONS + 1 if that many do not."""
    counts = range(LEAST_FUNCTIONS, MOST_FUNCTIONS + 1)
    return next((functions for functions in counts if _recall_of(functions, chances) >= recall), MOST_FUNCTIONS + 1)


def _choose_width(
    gallery: Float64, scales: Float64, noise: float, recall: float, rest: tuple[int, float, int], given: int | None
) -> tuple[Cells, int]:
    """The width that compares a probe with the fewest members, and its number of functions (if not `given`)."""
    sample = np.random.default_rng(0).permutation(len(gallery))[:_SAMPLE]
    tried: list[tuple[float, Cells, int]] = []
    for width in _WIDTHS:
        cells = Cells(width * noise * scales, *rest)
        functions = given or _functions_for(recall, _chances(cells, scales, noise))
        if functions <= MOST_FUNCTIONS:
            tried.append((functions * _cost_of_function(cells, gallery[sample]), cells, functions))
    if not tried:
        return cells, functions
    _, cells, functions = min(tried, key=lambda one: one[0])
    return cells, functions


def _cost_of_function(cells: Cells, sample: Float64) -> float:
    """The share of the gallery, roughly, that a probe meets in the cells of one function, plus the fixed cost."""
    met = 0
    for function in range(_TRIAL_FUNCTIONS):
        _, counts = np.unique(index_buckets(cells.buckets_of(sample, function)).keys, return_counts=True)
        met += int((counts**2).sum())
    return met / _TRIAL_FUNCTIONS / max(1, len(sample)) ** 2 + _FUNCTION_COST
