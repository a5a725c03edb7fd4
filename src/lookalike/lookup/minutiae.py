"""Minutiae of fingerprints -> grid squares: normalised so that prints of one finger overlap, then put on a grid.

Knows nothing of files and of similarity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lookalike.errors import UsageError
from lookalike.types import Bool, Float64, Prints

SCALES = ("spread", "none")
ROTATIONS = ("axis", "angles", "none")
OCCUPIED = 0.2
"""The share of the squares with minutiae that a grid is chosen for, as in the lecture."""
EDGE = 0.15
_SIDES = range(4, 65)


def normalise(prints: Prints, centre: bool = True, scale: str = "spread", rotation: str = "angles") -> Prints:
    """Move, scale and turn each print so that two prints of a finger lie on each other.

    Parameters
    ----------
    centre
        Put the centroid of the minutiae at 0, 0.
    scale
        `spread` makes the root mean square distance from the centroid 1, whatever the resolution was; `none` leaves
        the size alone, which is better for partial prints of one and the same scanner.
    rotation
        `axis` turns the main axis (by second moments) upright, `angles` makes the mean direction of the ridges level
        (of the minutiae's angles, doubled so that opposite ones are one); `none` leaves prints as they are. Of the two
        ways to do that the smaller turn is taken: fingers are not put on scanners upside down. Prints whose minutiae
        have no angles are turned by the axis.

    Examples
    --------
    >>> square = Prints(["a"], np.array([0, 2]), np.array([1.0, 3.0]), np.array([2.0, 4.0]), np.full(2, np.nan))
    >>> upright = normalise(square)
    >>> upright.x.round(6).tolist(), upright.y.round(6).tolist()
    ([-0.0, 0.0], [-1.0, 1.0])
    """
    if scale not in SCALES or rotation not in ROTATIONS:
        raise UsageError(f"scale is one of {', '.join(SCALES)}; rotation is one of {', '.join(ROTATIONS)}")
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
    """How far each print is to be turned, in radians from -pi/2 to pi/2."""
    if rotation == "none":
        return np.zeros(len(prints))
    # upright is a quarter turn from level
    axis = np.arctan2(2 * _means(prints, x * y), _means(prints, x**2 - y**2)) / 2 - np.pi / 2
    if rotation == "angles":
        doubled = 2 * np.radians(prints.angles)
        known = _means(prints, np.isnan(doubled).astype(np.float64)) == 0
        directions = np.arctan2(_means(prints, np.sin(doubled)), _means(prints, np.cos(doubled))) / 2
        axis = np.where(known, directions, axis)
    # the smaller of the two turns
    return (np.pi / 2 - axis) % np.pi - np.pi / 2


@dataclass(frozen=True, slots=True)
class Grid:
    """Squares over a normalised print: `side` x `side` of them, from -reach to reach.

    Examples
    --------
    >>> Grid(side=16).squares
    256
    """

    side: int = 16
    reach: float = 1.75
    """In units of the spread; what lies beyond counts for the squares at the border."""
    edge: float = EDGE
    """A minutia nearer than this share of a square to a boundary also counts for the square beyond it."""

    @property
    def squares(self) -> int:
        """How many there are."""
        return self.side**2

    def occupy(self, prints: Prints) -> Bool:
        """Which squares each print has a minutia in: prints x squares.

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

    def _place(self, values: Float64) -> tuple[np.ndarray, np.ndarray]:
        """The square of each value along one side, and the step to the one that it is also near to."""
        places = np.clip((values + self.reach) / (2 * self.reach) * self.side, 0, self.side - 1e-9)
        squares = np.floor(places).astype(np.int64)
        inside = places - squares
        return squares, np.where(inside < self.edge, -1, np.where(inside > 1 - self.edge, 1, 0))


def choose_grid(prints: Prints, occupied: float = OCCUPIED, edge: float = EDGE) -> Grid:
    """The grid on which normalised prints have minutiae in about this share of the squares.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> one = Prints(["a"], np.array([0, 50]), *random.uniform(-1.5, 1.5, (2, 50)), np.zeros(50))
    >>> grid = choose_grid(one)
    >>> bool(abs(grid.occupy(one).mean() - 0.2) < 0.03)
    True
    """
    if not 0 <= edge <= 0.5:
        raise UsageError(f"edge {edge}: from 0 to 0.5 of a square")
    if not len(prints):
        return Grid(edge=edge)
    grids = [Grid(side, edge=edge) for side in _SIDES]
    low, high = 0, len(grids) - 1
    while low < high:  # the finer the squares, the emptier: bisect
        middle = (low + high) // 2
        if grids[middle].occupy(prints).mean() > occupied:
            low = middle + 1
        else:
            high = middle
    return grids[low]
