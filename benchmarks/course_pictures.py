"""Pictures for the course, in docs/images: curves, constructions, hyperplanes, lines, indexes, grid and cells."""

from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np

from lookalike.families import And, Hyperplanes, Lines, MinHash, Or, fixed_point
from lookalike.lecture import buckets_of, buckets_to_probe, partner_lengths

mpl.use("Agg")
mpl.rcParams |= {"svg.hashsalt": "course", "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False}
import matplotlib.pyplot as plt  # noqa: E402

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
BLUE, RED, GREEN, GREY = "#2a6f97", "#c8553d", "#4f8f4f", "#8a8a8a"


def save(figure, name):
    figure.tight_layout()
    figure.savefig(IMAGES / f"course-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def draw_minhash():
    """The estimate from 16, 64 and 256 hashes, over many seeds."""
    a, b = set(range(100)), set(range(50, 150))
    figure, axis = plt.subplots(figsize=(7, 3))
    for hashes, color in ((16, GREY), (64, BLUE), (256, RED)):
        found = [MinHash(hashes, seed=s).signatures([a, b]).similarity(0, 1) for s in range(1, 401)]
        axis.hist(found, np.linspace(0, 0.8, 41), histtype="step", color=color, lw=2, label=f"{hashes} hashes")
    axis.axvline(1 / 3, color="black", ls="--", lw=1)
    axis.set_xlabel("estimate of a Jaccard similarity of 1/3")
    axis.set_ylabel("of 400 seeds")
    axis.legend(frameon=False)
    save(figure, "minhash")


def draw_curves():
    """S-curves of the book's plans and of the one for threshold 0.8."""
    p = np.linspace(0, 1, 201)
    figure, axis = plt.subplots(figsize=(7, 4))
    plans = ((1, 1, GREY), (10, 5, GREEN), (20, 5, BLUE), (26, 8, RED))
    for bands, rows, color in plans:
        curve = Or(And(MinHash(), rows), bands)
        axis.plot(
            p,
            [curve.curve(x) for x in p],
            color=color,
            lw=2,
            label=f"{bands} bands of {rows} rows" if bands > 1 else "one minhash value",
        )
    axis.set_xlabel("Jaccard similarity")
    axis.set_ylabel("probability of becoming a candidate pair")
    axis.legend(frameon=False)
    save(figure, "curves")


def draw_areas():
    """False negatives and false positives of 10 bands of 5 rows at threshold 0.6."""
    p = np.linspace(0, 1, 401)
    y = np.array([Or(And(MinHash(), 5), 10).curve(x) for x in p])
    figure, axis = plt.subplots(figsize=(7, 3.6))
    axis.plot(p, y, color="black", lw=1.5)
    axis.fill_between(p, y, 0, where=p <= 0.6, color=GREEN, alpha=0.4, label="false positives: work")
    axis.fill_between(p, y, 1, where=p >= 0.6, color=BLUE, alpha=0.4, label="false negatives: loss")
    axis.axvline(0.6, color=RED, lw=1, ls="--", label="threshold")
    axis.set_xlabel("Jaccard similarity")
    axis.set_ylabel("probability of becoming a candidate pair")
    axis.legend(frameon=False, loc="upper left")
    save(figure, "areas")


def draw_constructions():
    """AND lowers, OR raises, both together steepen; the cascade more so."""
    p = np.linspace(0, 1, 201)
    or_and = And(Or(MinHash(), 4), 4)
    shown = {
        "AND of 4": (And(MinHash(), 4), GREY),
        "OR of 4": (Or(MinHash(), 4), GREEN),
        "AND, then OR": (Or(And(MinHash(), 4), 4), BLUE),
        "OR, then AND": (or_and, "#b48a00"),
        "the cascade of both": (Or(And(or_and, 4), 4), RED),
    }
    figure, axis = plt.subplots(figsize=(8, 4))
    axis.plot(p, p, color="black", lw=0.8, ls=":")
    for name, (family, color) in shown.items():
        axis.plot(p, [family.curve(x) for x in p], color=color, lw=2, label=name)
        crossing = fixed_point(family)
        if crossing is not None:
            axis.plot(crossing, crossing, "o", color=color)
    axis.set_xlabel("one function says yes with probability p")
    axis.set_ylabel("the construction says yes")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "constructions")


def draw_hyperplanes():
    """Two vectors, random planes between them, and the share of functions that agree."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    random = np.random.default_rng(4)
    x, y = np.array([1, 0.15]), np.array([0.55, 0.85])
    for normal in random.standard_normal((14, 2)):
        side = np.sign(normal @ x) == np.sign(normal @ y)
        along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
        left.plot(*np.outer([-1.1, 1.1], along).T, color=GREY if side else RED, lw=1)
    for vector, name in ((x, "x"), (y, "y")):
        left.annotate("", vector, (0, 0), arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 2.5})
        left.text(*(1.08 * vector), name, color=BLUE)
    left.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", xticks=[], yticks=[])
    left.set_title("red planes separate x and y", fontsize=10)
    angles = np.arange(0, 181, 15)
    items = np.array([[np.cos(np.radians(a)), np.sin(np.radians(a))] for a in angles])
    buckets = Hyperplanes().hash(items, 4000).buckets
    right.plot(angles, 1 - angles / 180, color="black", lw=1, label="1 - angle/180")
    right.plot(angles, (buckets[:, :1] == buckets).mean(axis=0), "o", color=BLUE, label="4,000 planes")
    right.set(xlabel="angle in degrees", ylabel="share of planes that agree", xticks=range(0, 181, 45))
    right.legend(frameon=False)
    save(figure, "hyperplanes")


def draw_lines():
    """Points on a line that is cut into buckets, and the probability by distance."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    direction = np.array([np.cos(0.4), np.sin(0.4)])
    across = np.array([-direction[1], direction[0]])
    for n in range(-3, 4):
        left.plot(*(np.outer([-0.12, 0.12], across) + n * direction).T, color="black", lw=1)
    left.plot(*np.outer([-3.4, 3.4], direction).T, color="black", lw=1)
    for point, color in (((-1.3, 1.4), BLUE), ((-0.9, 1.7), BLUE), ((1.9, -0.8), RED)):
        foot = (direction @ point) * direction
        left.plot(*zip(point, foot), color=color, lw=1, ls=":")
        left.plot(*point, "o", color=color)
    left.set(aspect="equal", xticks=[], yticks=[])
    left.set_title("near points mostly fall into the same bucket", fontsize=10)
    k = np.linspace(0.01, 4, 200)
    for name, line, color in (
        ("independent normals", Lines(1), BLUE),
        ("a direction in the plane", Lines(1, direction="unit"), GREEN),
    ):
        right.plot(k, [line.probability(x) for x in k], color=color, lw=2, label=name)
    right.plot([0.5, 2], [1 / 2, 1 / 3], "x", color=RED, label="bounds 1/2 and 1/3")
    right.set(xlabel="distance in bucket widths", ylabel="probability of one bucket")
    right.legend(frameon=False)
    save(figure, "lines")


def draw_indexes():
    """What each of the four indexes of exact joins leaves of 3,200 strings, for one probe."""
    random, distance = np.random.default_rng(3), Fraction(1, 5)
    symbols = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    probe = "".join(sorted(random.choice(symbols, 10, replace=False)))
    strings = {"".join(sorted(random.choice(symbols, n, replace=False))) for n in range(7, 15) for _ in range(400)}
    strings |= {"".join(sorted(set(probe) - {probe[n]} | {"e"})) for n in range(10)}
    left = {"all": len(strings), "length": sum(len(one) in partner_lengths(len(probe), distance) for one in strings)}
    for index in ("prefix", "position", "suffix"):
        asked = set(buckets_to_probe(probe, distance, index))
        near = [one for one in strings if len(one) in partner_lengths(len(probe), distance)]
        left[index] = sum(bool(asked & set(buckets_of(one, distance, index))) for one in near)
    shared = [len(set(one) & set(probe)) for one in strings]
    left["similar"] = sum(5 * c >= 4 * (len(one) + len(probe) - c) for one, c in zip(strings, shared))
    figure, axis = plt.subplots(figsize=(7, 3))
    bars = axis.barh(list(left), list(left.values()), color=[GREY, BLUE, BLUE, BLUE, BLUE, RED])
    axis.bar_label(bars, [f"{value:,}" for value in left.values()], padding=4)
    axis.invert_yaxis()
    axis.set_xlabel("strings left to compare")
    save(figure, "indexes")


def draw_grid():
    """A grid on a fingerprint, its occupied squares, and two triples."""
    random = np.random.default_rng(9)
    points = np.clip(random.normal(5, 1.9, (26, 2)), 0.05, 9.95)
    figure, axis = plt.subplots(figsize=(4.6, 4.6))
    occupied = {tuple(square) for square in np.floor(points).astype(int)}
    for x, y in occupied:
        axis.add_patch(plt.Rectangle((x, y), 1, 1, color=BLUE, alpha=0.18))
    ordered = sorted(occupied)
    for triple, color in (((ordered[2], ordered[9], ordered[15]), GREEN), (((1, 8), ordered[5], ordered[12]), RED)):
        for x, y in triple:
            axis.add_patch(plt.Rectangle((x + 0.06, y + 0.06), 0.88, 0.88, fill=False, color=color, lw=2.5))
    axis.plot(*points.T, "k.", ms=5)
    axis.set(xlim=(0, 10), ylim=(0, 10), aspect="equal", xticks=range(11), yticks=range(11))
    axis.tick_params(labelbottom=False, labelleft=False)
    axis.grid(color=GREY, lw=0.5)
    axis.set_title("the green triple has this print in its bucket, the red one does not", fontsize=8)
    save(figure, "grid")


def draw_cells():
    """The cells of two measurements, a point, and the neighbour cell that it is near."""
    figure, axis = plt.subplots(figsize=(6, 3.6))
    axis.set(xticks=np.arange(9.5, 45, 7), yticks=np.arange(-0.5, 20, 5), xlim=(9.5, 44.5), ylim=(-0.5, 19.5))
    axis.grid(color=GREY, lw=0.8)
    axis.add_patch(plt.Rectangle((23.5, 4.5), 7, 5, color=BLUE, alpha=0.3))
    axis.add_patch(plt.Rectangle((23.5, 9.5), 7, 5, color=BLUE, alpha=0.1))
    axis.plot(27, 9, "o", color=RED)
    axis.annotate("(27, 9)", (27, 9), (31.5, 11), color=RED, arrowprops={"arrowstyle": "-", "color": RED})
    axis.set(xlabel="first measurement", ylabel="second measurement")
    axis.set_title("the cell of the point, and the adjacent one that it is close to", fontsize=9)
    save(figure, "cells")


if __name__ == "__main__":
    for draw in [value for name, value in sorted(globals().items()) if name.startswith("draw_")]:
        draw()
