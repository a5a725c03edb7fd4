"""Numbers in order made to rise: the nearest rising sequence (pool adjacent violators)."""

from __future__ import annotations

import numpy as np

from lookalike.types import Float64


def rising(values: Float64, weights: Float64) -> Float64:
    """The sequence that never falls and is nearest to the values by weighted squares; weights are above 0.

    Neighbours that fall are pooled to their mean until none do, so the weighted sum stays what it was.

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
