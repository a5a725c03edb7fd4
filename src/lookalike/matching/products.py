"""Matrix products of blocks of vectors, and bounds on the score of each pair.

The score of two vectors is their cosine, or minus half their squared distance; `kernels/nearest.py` uses it. Vectors
are scaled so that none is longer than 1, so products cannot overflow.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.kernels import nearest as kernels
from lookalike.types import Float64, Int64, VectorKind

if TYPE_CHECKING:
    from lookalike.verify.measures import Measure

CENTRE_FROM = 4096
"""Vectors from which the centre is computed: products of vectors around it have smaller errors."""
ROUNDED = 2.0**-20
"""More than all rounding errors of a threshold."""
SMALLEST_NUMBER = 1e-37
"""Vectors of smaller numbers are not scaled up any further."""
Rows = tuple[Int64, Int64, Any]
"""Where each vector begins and ends, and the numbers of all, as `VectorKind.as_rows` gives them."""


class Scaled(NamedTuple):
    """A block of vectors in the form that matrix products take."""

    vectors: npt.NDArray[Any]
    lows: npt.NDArray[Any]
    """The score of a pair is at most its product, minus the `lows` of both vectors ..."""
    highs: npt.NDArray[Any]
    """... and at least its product, minus the `highs` of both."""


def one_thread_each() -> AbstractContextManager[Any]:
    """Run matrix products on one thread each, since the workers already use all threads."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limited: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limited


class Scaling:
    """How the vectors of a collection are scaled, and how large the errors of products can become."""

    def __init__(self, kind: VectorKind, measure: Measure, rows: Rows) -> None:
        self._begins, _, self._numbers = rows
        self._measure, self._dimension = measure.arguments[0], kind.dimension
        self._cosine = measure.name == "cosine"
        self.dtype: np.dtype[np.floating[Any]] = np.dtype(
            np.float32 if self._cosine or self._numbers.dtype == np.float32 else np.float64
        )
        self._centre, self._scale = np.zeros(kind.dimension), 1.0
        if not self._cosine and len(self._begins):
            self._centre = self._middle()
            largest = max(float(self._numbers.max()), -float(self._numbers.min()), SMALLEST_NUMBER)
            self._scale = 2.0 ** -ceil(log2(2 * largest * sqrt(kind.dimension)))

    def _middle(self) -> Float64:
        """The mean of some vectors."""
        chosen = self._begins[:: -(-len(self._begins) // CENTRE_FROM)]
        places = chosen[:, None] + np.arange(self._dimension)
        return np.mean(self._numbers[places], axis=0, dtype=np.float64)  # type: ignore[no-any-return]

    def block(self, first: int, last: int) -> Scaled:
        """The vectors first..last-1, with bounds that allow for the errors of their products.

        The error of a sum of n rounded products is at most n/2 * eps times the sum of their absolute values. The rest
        of (n + 32) * eps covers rounding of the vectors, the bounds and their sums. Underflow loses less than the
        smallest normal number.
        """
        scaled, squares = np.empty((last - first) * self._dimension, self.dtype), np.empty(last - first)
        begins = self._begins[first:last]
        kernels.scale_rows(self._measure, begins, self._numbers, self._centre, self._scale, scaled, squares)
        kind = np.finfo(self.dtype)
        error, least = (self._dimension + 32) * float(kind.eps), 4 * self._dimension * float(kind.tiny)
        halves = np.zeros(len(squares)) if self._cosine else squares / 2
        slack = (np.full(len(squares), 0.5) if self._cosine else halves) * error + least
        return Scaled(
            scaled.reshape(-1, self._dimension),
            (halves - slack).astype(self.dtype),
            (halves + slack).astype(self.dtype),
        )

    def score_of(self, limit: float) -> float:
        """A score that is certainly below the score at the limit, which is a cosine or distance."""
        if self._cosine:
            return limit - ROUNDED
        farthest = min(limit * self._scale, 4.0)  # two vectors of length 1 are never that far apart
        return -(farthest**2) / 2 * (1 + ROUNDED) - float(np.finfo(self.dtype).tiny)
