"""Whether both of two tables have several records of an entity, judging by matches.

Best partners say little then: each record has several. Levels of agreement do not mind, if a field identifies records.
But levels may also have failed, so that similar names look like matches. The difference is that records of an entity
all match each other.
"""

from __future__ import annotations

import numpy as np

from lookalike.types import Int32

OFTEN = 1.5
"""The least number of matches per matched record, in both tables."""
CLOSED = 0.8
"""The least share of records two steps away, by way of a third and a fourth, that match directly as well."""
MOST_PATHS = 20_000_000
"""With more such steps, records match at random."""


def repeat_in_both(left: Int32, right: Int32) -> bool:
    """Whether these matches join groups of several records of each table, in which nearly all match each other.

    Examples
    --------
    >>> groups = np.divmod(np.arange(400), 4)
    >>> left, right = (2 * groups[0] + part for part in divmod(groups[1], 2))
    >>> repeat_in_both(left, right), repeat_in_both(np.arange(9), np.arange(9))
    (True, False)
    >>> chain = np.repeat(np.arange(400), 2)
    >>> repeat_in_both(chain[:-1], chain[1:])
    False
    """
    if not len(left) or min(len(left) / len(np.unique(side)) for side in (left, right)) < OFTEN:
        return False
    from scipy.sparse import csr_array

    lefts, rights = (np.unique(side, return_inverse=True)[1] for side in (left, right))
    matches = csr_array((np.ones(len(left)), (lefts, rights)))
    steps = np.bincount(lefts)[lefts] @ np.bincount(rights)[rights].astype(np.float64)
    if steps > MOST_PATHS:
        return False
    closed = ((matches @ matches.T) @ matches).multiply(matches).sum()
    return bool(closed >= CLOSED * steps)
