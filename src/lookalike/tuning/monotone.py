"""Isotonic regression: the nearest sequence that never falls (pool adjacent violators)."""

from __future__ import annotations

import numpy as np

from lookalike.types import Float64


def rising(values: Float64, weights: Float64) -> Float64:
    """The non-decreasing sequence nearest to the values in weighted least squares; weights are positive.

    Neighbours that decrease are pooled to their mean until none are left, so the weighted sum does not change.

    Examples
    --------
    >>> rising(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    means: list[float] = []
    heavy: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist()):
        size = 1
        while means and means[-1] >= value:
            earlier = heavy.pop()
            value = (means.pop() * earlier + value * weight) / (earlier + weight)
            weight, size = weight + earlier, size + sizes.pop()
        means.append(value)
        heavy.append(weight)
        sizes.append(size)
    return np.repeat(np.asarray(means, np.float64), sizes)
