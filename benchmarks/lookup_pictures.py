"""Pictures of the pages on faces, fingerprints and Hamming LSH: python benchmarks/lookup_pictures.py [FOLDER]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lookalike.families import Cells
from lookalike.lecture import Halving, Sets, chance_to_meet, hamming_candidates, pyramid, shuffle_rows
from lookalike.lookup import choose_grid, draw_prints, find_prints, normalise, recapture

BLUE, GREEN, RED, GREY, INK = "#3b75af", "#519e3e", "#c44e52", "#b8b8b8", "#222222"


def plain(axes: Any) -> Any:
    """Only the left and lower axis."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def faces() -> Figure:
    """The cells of one function with the edge rule, and how often items share a cell."""
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_cells(plain(left))
    distances = np.linspace(0, 1.6, 161)
    for edge, colour in ((0.0, BLUE), (0.1, GREEN), (0.25, RED)):
        family = Cells(1.0, r=3, edge=edge)
        right.plot(distances, [family.probability(d) for d in distances], color=colour, label=f"edge {edge:g}")
        measured = np.arange(0.05, 1.6, 0.1)
        right.plot(measured, [_shared(family, d) for d in measured], "o", color=colour, ms=4)
    plain(right).set(
        xlabel="difference in each of 3 measurements, in widths", ylabel="probability of sharing a cell",
        title="One function: formula (lines), 2,000 draws (dots)",
    )  # fmt: skip
    right.legend(frameon=False)
    return figure


def _draw_cells(axes: Any) -> None:
    """Heights and weights, the ranges of a function, and a probe near an edge."""
    random = np.random.default_rng(2)
    height = random.normal(175, 7, 400)
    people = np.stack([height, 75 + 0.9 * (height - 175) + random.normal(0, 8, 400)], axis=1)
    family, probe = Cells([8.0, 10.0], r=2, edge=0.15, seed=4), np.array([[175.0, 78.0]])
    columns, starts = family.chosen(0, 2)
    starts = starts[np.argsort(columns)]
    lines = [(np.arange(-60, 60) - start) * width for start, width in zip(starts, family.widths)]
    inside = [line[(line > low) & (line < high)] for line, (low, high) in zip(lines, ((150, 200), (40, 112)))]
    probe[0] = inside[0][3] + 0.6, inside[1][3] + 5  # just beyond an edge
    hashed = family.hash(np.concatenate([probe, people]), 1)
    met = hashed.agree(0, np.zeros(400, np.int64), np.arange(1, 401))
    for x in inside[0]:
        axes.axvline(x, color=GREY, lw=0.8)
    for y in inside[1]:
        axes.axhline(y, color=GREY, lw=0.8)
    for step in (0, 1):
        corner = (inside[0][3 - step], inside[1][3])
        axes.add_patch(Rectangle(corner, 8, 10, color=GREEN, alpha=0.22 - 0.1 * step, lw=0))
    axes.plot(*people[~met].T, "o", color=GREY, ms=3, label="not compared")
    axes.plot(*people[met].T, "o", color=GREEN, ms=4, label="compared")
    axes.plot(*probe[0], "*", color=RED, ms=13, label="probe: near an edge, in two cells")
    axes.set(xlim=(150, 200), ylim=(40, 116), xlabel="height in cm", ylabel="weight in kg",
             title="One function: cells of two measurements")  # fmt: skip
    axes.legend(frameon=True, fontsize=8, loc="upper left")


def _shared(family: Cells, distance: float) -> float:
    """The share of 100 functions x 20 pairs that say yes at a distance."""
    items = np.random.default_rng(1).normal(0, 50, (20, 9))
    hashed = family.hash(np.concatenate([items, items + distance]), 100)
    return float(np.mean([hashed.agree(k, np.arange(20), np.arange(20, 40)).mean() for k in range(100)]))


def fingerprints() -> Figure:
    """A print and its second capture, before and after normalisation, and what that gains."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    before, after, gain = figure.subplots(1, 3)
    gallery = draw_prints(200)
    again = recapture(gallery, rotation=25)
    for axes, one, other in ((before, gallery, again), (after, normalise(gallery), normalise(again))):
        for prints, colour, mark in ((one, BLUE, "o"), (other, RED, "x")):
            own = prints.owners == 4
            axes.plot(prints.x[own], prints.y[own], mark, color=colour, ms=5)
        axes.set_aspect("equal")
    before.set(title="Captured twice: moved, turned,\na tenth missing, a tenth false", xlabel="pixels")
    _draw_squares(after, normalise(gallery), normalise(again))
    after.set(title="Normalised, on the grid: squares of both\nprints dark, of one of them light")
    kinds = (("none", "none"), ("axis", "main axis"), ("angles", "ridges"))
    shares = [_found_first(again, gallery, kind) for kind, _ in kinds]
    bars = gain.bar([name for _, name in kinds], shares, color=[GREY, BLUE, GREEN])
    gain.bar_label(bars, [f"{share:.0%}" for share in shares])
    plain(gain).set(ylim=(0, 1), title="Right match first, of 200 probes,\nby kind of rotation")
    return figure


def _draw_squares(axes: Any, one: Any, other: Any) -> None:
    grid = choose_grid(one)
    width = 2 * grid.reach / grid.side
    squares = grid.occupy(one)[4].astype(int) + grid.occupy(other)[4]
    for square in np.flatnonzero(squares):
        row, column = divmod(int(square), grid.side)
        corner = (column * width - grid.reach, row * width - grid.reach)
        axes.add_patch(Rectangle(corner, width, width, color=GREEN, alpha=0.15 if squares[square] == 1 else 0.5, lw=0))
    for line in np.linspace(-grid.reach, grid.reach, grid.side + 1):
        axes.axvline(line, color=GREY, lw=0.3)
        axes.axhline(line, color=GREY, lw=0.3)
    axes.set(xlim=(-grid.reach, grid.reach), ylim=(-grid.reach, grid.reach))


def _found_first(probes: Any, gallery: Any, rotation: str) -> float:
    found = find_prints(probes, gallery, rotation=rotation, threshold=1e-9, k=1)
    return float((found.left == found.right).sum()) / len(probes)


def hamming_lsh() -> Figure:
    """The pyramid of twelve sets, and how likely pairs are to meet by similarity."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    levels, chances = figure.subplots(1, 2, width_ratios=(1.5, 1))
    _draw_pyramid(levels)
    sets, similar = _planted(400)
    left = np.arange(0, 800, 2)
    middles = np.arange(0.125, 1, 0.05)
    groups = [np.flatnonzero(np.abs(similar - middle) <= 0.025) for middle in middles]
    for bands, rows, colour in ((10, 10, BLUE), (40, 16, GREEN)):
        promised, found = np.zeros(400), np.zeros(400)
        for seed in range(10):
            halving = Halving(bands, rows, seed=seed)
            promised += chance_to_meet(sets, left, left + 1, halving) / 10
            found += _met(sets, halving) / 10
        chances.plot(middles, [promised[group].mean() for group in groups], color=colour,
                     label=f"{bands} bands of {rows} rows")  # fmt: skip
        chances.plot(middles, [found[group].mean() for group in groups], "o", color=colour, ms=4)
    plain(chances).set(xlabel="Jaccard similarity of two sets", ylabel="probability of sharing a bucket",
                       ylim=(0, 1.03), title="Promised (lines), found (dots)")  # fmt: skip
    chances.legend(frameon=False, loc="lower right")
    return figure


def _draw_pyramid(axes: Any) -> None:
    """Matrices side by side, columns of medium density in colour."""
    random = np.random.default_rng(3)
    rows = [np.sort(random.choice(64, size, replace=False)) for size in (2, 3, 5, 8, 12, 20)]
    indptr = np.cumsum([0, *map(len, rows)])
    at = 0.0
    for level in pyramid(shuffle_rows(Sets(indptr, np.concatenate(rows).astype(np.uint64)), seed=1)):
        if level.rows < 4:
            break
        medium = Halving().is_medium(level.densities)
        height = 1 / level.rows
        for item in range(len(rows)):
            colour = BLUE if medium[item] else GREY
            for one in level.ones[level.indptr[item] : level.indptr[item + 1]].tolist():
                axes.add_patch(Rectangle((at + item, 1 - (one + 1) * height), 0.9, height * 0.92, color=colour, lw=0))
        axes.add_patch(Rectangle((at - 0.1, 0), len(rows) + 0.1, 1, fill=False, color=INK, lw=0.8))
        axes.text(at + len(rows) / 2, -0.02, f"{level.rows} rows", ha="center", va="top", fontsize=9)
        at += len(rows) + 1.2
    axes.set(xlim=(-0.4, at - 0.8), ylim=(-0.08, 1.02), xticks=[], yticks=[],
             title="Six sets, halved again and again: 20% to 80% full is blue")  # fmt: skip
    axes.set_frame_on(False)


def _planted(pairs: int) -> tuple[Sets, Any]:
    """Pairs of sets of 30 to 300 of 4,000 elements and of all similarities; and these."""
    random = np.random.default_rng(1)
    rows, similar = [], np.empty(pairs)
    for number in range(pairs):
        size, similarity = int(random.integers(30, 300)), random.uniform(0.1, 0.97)
        shared = round(2 * size * similarity / (1 + similarity))
        elements = random.choice(4000, 2 * size - shared, replace=False)
        rows += [np.sort(elements[:size]), np.sort(elements[size - shared :])]
        similar[number] = shared / (2 * size - shared)
    return Sets(np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.uint64)), similar


def _met(sets: Sets, halving: Halving) -> Any:
    """Which of the planted pairs are in a common bucket."""
    buckets = hamming_candidates(sets, halving)
    owner = np.repeat(np.arange(len(buckets)), buckets.sizes)
    keys = np.unique(owner * (len(sets) // 2) + buckets.members // 2, return_counts=True)
    met = np.zeros(len(sets) // 2)
    met[keys[0][keys[1] == 2] % (len(sets) // 2)] = 1
    return met


PICTURES = {"faces": faces, "fingerprints": fingerprints, "hamming-lsh": hamming_lsh}


def draw(folder: Path, suffix: str = ".svg") -> list[Path]:
    """Draw all of them into a folder; the same code gives the same bytes."""
    drawn = []
    with rc_context({"svg.hashsalt": "lookalike", "font.size": 10, "axes.titlesize": 11}):
        for name, make in PICTURES.items():
            path = folder / f"{name}{suffix}"
            metadata = {"Date": None, "Creator": None} if suffix == ".svg" else {"Software": None}
            make().savefig(path, dpi=110, metadata=metadata)
            drawn.append(path)
    return drawn


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images"
    for picture in draw(target):
        print(picture)
