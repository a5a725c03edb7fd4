"""Fingerprints as lists of minutiae: the points where ridges end or fork."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.types import Float64, Int64, strings_to_arrow
from lookalike.types.frozen import frozen


@frozen
class Prints:
    """The minutiae of several prints, concatenated: those of print i are at indptr[i] to indptr[i + 1] - 1.

    Examples
    --------
    >>> prints = Prints(["left thumb"], np.array([0, 2]), np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.zeros(2))
    >>> len(prints), prints.owners.tolist()
    (1, [0, 0])
    """

    names: list[str]
    indptr: Int64
    x: Float64
    """Increases to the right."""
    y: Float64
    """Increases upwards."""
    angles: Float64
    """Direction in degrees, counterclockwise from the x axis; NaN if unknown."""

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def single(cls, name: str, x: Float64, y: Float64, angles: Float64) -> Prints:
        """One print."""
        return cls([name], np.array([0, len(x)], np.int64), x, y, angles)

    @classmethod
    def joined(cls, parts: Sequence[Prints]) -> Prints:
        """The prints of several collections as one collection."""
        sizes = [np.diff(part.indptr) for part in parts]
        return cls(
            [name for part in parts for name in part.names],
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])),
            *(np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)]) for name in ("x", "y", "angles")),
        )

    @property
    def ids(self) -> pa.Array:
        """The names as an Arrow array."""
        return strings_to_arrow(self.names)

    @property
    def owners(self) -> Int64:
        """The print that each minutia belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def minutiae(self, number: int) -> tuple[Float64, Float64, Float64]:
        """The x, y and angles of one print.

        Examples
        --------
        >>> prints = Prints.single("thumb", np.array([1.0]), np.array([5.0]), np.array([90.0]))
        >>> [values.tolist() for values in prints.minutiae(0)]
        [[1.0], [5.0], [90.0]]
        """
        own = slice(*self.indptr[number : number + 2].tolist())
        return self.x[own], self.y[own], self.angles[own]
