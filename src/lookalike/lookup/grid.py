"""From minutiae to grid squares: normalise prints so that those of one finger overlap, then lay them on a grid.

Knows nothing about files or similarity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lookalike.errors import UsageError
from lookalike.lookup.prints import Prints
from lookalike.types import Bool, Float64, Int64
from lookalike.types.frozen import frozen

SCALES = ("spread", "none")
ROTATIONS = ("axis", "angles", "none")
OCCUPIED = 0.2
"""Share of the squares that should hold minutiae, as in the book."""
EDGE = 0.15
"""Share of the side of a square."""
_SIDES = range(4, 65)


def normalise(prints: Prints, centre: bool = True, scale: str = "spread", rotation: str = "angles") -> Prints:
    """Move, scale and rotate each print so that two prints of a finger coincide.

    Parameters
    ----------
    centre
        Move the centroid of the minutiae to the origin.
    scale
        `spread` scales the root mean square distance from the centroid to 1, whatever the resolution; `none` keeps the
        size, which is better for partial prints from a single scanner.
    rotation
        `axis` turns the principal axis upright. `angles` makes the mean direction of the ridges horizontal (the mean of
        the doubled angles, so that opposite directions count as one); prints with unknown angles fall back to the axis.
        Both are ambiguous by half a turn, so the smaller rotation is used: nobody puts a finger on a scanner upside
        down. `none` keeps prints as they are.

    Examples
    --------
    >>> square = Prints(["a"], np.array([0, 2]), np.array([1.0, 3.0]), np.array([2.0, 4.0]), np.full(2, np.nan))
    >>> upright = normalise(square)
    >>> upright.x.round(6).tolist(), upright.y.round(6).tolist()
    ([-0.0, 0.0], [-1.0, 1.0])
    """
    if scale not in SCALES or rotation not in ROTATIONS:
        raise UsageError(f"scale must be one of {', '.join(SCALES)}; rotation one of {', '.join(ROTATIONS)}")
    owners = prints.owners
    middle_x, middle_y = _means(prints, prints.x)[owners], _means(prints, prints.y)[owners]
    x, y = prints.x - middle_x, prints.y - middle_y
    spread = np.sqrt(_means(prints, x**2 + y**2)) if scale == "spread" else np.ones(len(prints))
    spread = np.where(spread > 0, spread, 1.0)[owners]
    turn = _turns(prints, x, y, rotation)[owners]
    x, y = (x * np.cos(turn) - y * np.sin(turn)) / spread, (x * np.sin(turn) + y * np.cos(turn)) / spread
    if not centre:
        x, y = x + middle_x, y + middle_y
    return replace(prints, x=x, y=y, angles=(prints.angles + np.degrees(turn)) % 360)


def _means(prints: Prints, values: Float64) -> Float64:
    sums = np.bincount(prints.owners, values, minlength=len(prints))
    return sums / np.maximum(1, np.diff(prints.indptr))


def _turns(prints: Prints, x: Float64, y: Float64, rotation: str) -> Float64:
    """The rotation of each print, in radians from -pi/2 to pi/2."""
    if rotation == "none":
        return np.zeros(len(prints))
    # upright is a quarter turn from horizontal
    axis = np.arctan2(2 * _means(prints, x * y), _means(prints, x**2 - y**2)) / 2 - np.pi / 2
    if rotation == "angles":
        doubled = 2 * np.radians(prints.angles)
        known = _means(prints, np.isnan(doubled).astype(np.float64)) == 0
        directions = np.arctan2(_means(prints, np.sin(doubled)), _means(prints, np.cos(doubled))) / 2
        axis = np.where(known, directions, axis)
    # the smaller of the two rotations
    return (np.pi / 2 - axis) % np.pi - np.pi / 2


@frozen
class Grid:
    """A grid of `side` x `side` squares over a normalised print, from -reach to reach in both directions.

    Examples
    --------
    >>> Grid(side=16).squares
    256
    """

    side: int = 16
    reach: float = 1.75
    """In units of the spread; minutiae beyond it count for the outermost squares."""
    edge: float = EDGE
    """A minutia closer to the border of its square than this share of the side also occupies the adjacent square."""

    @property
    def squares(self) -> int:
        """Number of squares."""
        return self.side**2

    def occupy(self, prints: Prints) -> Bool:
        """Which squares each print has minutiae in: bool[prints, squares].

        Examples
        --------
        >>> two = Prints(["a"], np.array([0, 2]), np.array([-0.6, 0.4]), np.array([-0.5, 0.04]), np.zeros(2))
        >>> Grid(side=2, reach=1.0, edge=0.1).occupy(two).tolist()
        [[True, True, False, True]]
        """
        occupied = np.zeros((len(prints), self.squares), np.bool_)
        columns, column_steps = self._place(prints.x)
        rows, row_steps = self._place(prints.y)
        owners = prints.owners
        for across in (0, 1):
            for along in (0, 1):
                row = np.clip(rows + along * row_steps, 0, self.side - 1)
                column = np.clip(columns + across * column_steps, 0, self.side - 1)
                occupied[owners, row * self.side + column] = True
        return occupied

    def _place(self, values: Float64) -> tuple[Int64, Int64]:
        """The square of each value along one side, and the step (-1, 0, 1) to the adjacent square it is close to."""
        places = np.clip((values + self.reach) / (2 * self.reach) * self.side, 0, self.side - 1e-9)
        squares = np.floor(places).astype(np.int64)
        inside = places - squares
        return squares, np.where(inside < self.edge, -1, np.where(inside > 1 - self.edge, 1, 0))


def choose_grid(prints: Prints, occupied: float = OCCUPIED, edge: float = EDGE) -> Grid:
    """The grid on which normalised prints occupy about this share of the squares.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> one = Prints(["a"], np.array([0, 50]), *random.uniform(-1.5, 1.5, (2, 50)), np.zeros(50))
    >>> grid = choose_grid(one)
    >>> bool(abs(grid.occupy(one).mean() - 0.2) < 0.03)
    True
    """
    if not 0 <= edge <= 0.5:
        raise UsageError(f"edge must be from 0 to 0.5 (a share of a square), not {edge}")
    if not len(prints):
        return Grid(edge=edge)
    grids = [Grid(side, edge=edge) for side in _SIDES]
    low, high = 0, len(grids) - 1
    while low < high:  # finer squares are emptier, so bisect
        middle = (low + high) // 2
        if grids[middle].occupy(prints).mean() > occupied:
            low = middle + 1
        else:
            high = middle
    return grids[low]
