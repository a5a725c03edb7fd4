"""Fingerprints as lists of minutiae."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.types import Float64, Int64


@dataclass(frozen=True, slots=True)
class Prints:
    """The minutiae of fingerprints, one print after the other: print i has places indptr[i] to indptr[i + 1] - 1.

    Examples
    --------
    >>> prints = Prints(["left thumb"], np.array([0, 2]), np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.zeros(2))
    >>> len(prints), prints.owners.tolist()
    (1, [0, 0])
    """

    names: list[str]
    indptr: Int64
    x: Float64
    """To the right."""
    y: Float64
    """Upwards."""
    angles: Float64
    """Direction in degrees, counterclockwise from the right; NaN where it is not known."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def owners(self) -> Int64:
        """The print that each minutia belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @classmethod
    def joined(cls, parts: Sequence[Prints]) -> Prints:
        """Prints of several sources as one."""
        sizes = [np.diff(part.indptr) for part in parts]
        return cls(
            [name for part in parts for name in part.names],
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
            *(np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("x", "y", "angles")),
        )
