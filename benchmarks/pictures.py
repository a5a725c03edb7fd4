"""Pictures for the pages on applications, in docs/images: kernel, vectors, link and, with LOOKALIKE_DATA, baskets."""

import os
import random
from pathlib import Path

import matplotlib as mpl
import numpy as np

import lookalike as la
import people
from lookalike.families import And, Hyperplanes, Or

mpl.use("Agg")
mpl.rcParams |= {"svg.hashsalt": "pictures", "svg.fonttype": "none"}
import matplotlib.pyplot as plt  # noqa: E402

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def save(figure, name):
    figure.tight_layout()
    figure.savefig(IMAGES / name, metadata={"Date": None})


def draw_kernel():
    """The matrix of generated texts (docs/kernel.md), sorted by kind."""
    draw = random.Random(5)
    phrases = [(f"noun{i}", f"verb{i}") for i in range(60)]

    def text(kind):
        chosen = draw.choices(phrases, k=12)
        return " ".join(" ".join(one if (draw.random() < 0.7) == kind else one[::-1]) for one in chosen)

    texts = [text(kind) for kind in [True] * 60 + [False] * 60]
    figure, axes = plt.subplots(1, 2, figsize=(8, 4))
    for axis, shingle in zip(axes, ("word:1", "word:2")):
        values = la.kernel(texts, shingle=shingle)
        np.fill_diagonal(values, 0)  # else the diagonal alone is seen
        axis.imshow(values, cmap="Greys", interpolation="none")
        axis.set_title(f"Jaccard, {shingle}")
        axis.set_xticks([30, 90], ["first kind", "second kind"])
        axis.set_yticks([])
    save(figure, "kernel.svg")


def draw_baskets(folder):
    """How similar each good is to its nearest."""
    goods = la.transpose(folder / "baskets" / "T10I4D100K.dat")
    nearest = la.neighbors(goods, k=1, id="id")["similarity"].to_numpy()
    figure, axis = plt.subplots(figsize=(7, 3))
    axis.hist(nearest, np.linspace(0, 1, 41), color="#4c72b0")
    axis.set_xlabel("Jaccard similarity with the nearest other product")
    axis.set_ylabel(f"products (of {len(nearest)})")
    save(figure, "baskets.svg")


def draw_vectors():
    """The share of pairs found at each cosine, beside what the plan promises (docs/vectors.md)."""
    draw = np.random.default_rng(3)
    cosines = np.repeat(np.linspace(0.5, 0.99, 50), 4000)
    one = draw.standard_normal((len(cosines), 64))
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    across = draw.standard_normal(one.shape)
    across -= (across * one).sum(1, keepdims=True) * one
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    other = cosines[:, None] * one + np.sqrt(1 - cosines[:, None] ** 2) * across
    plan = la.tune(threshold=0.95, recall=0.95, measure="cosine")
    bands = Or(And(Hyperplanes(seed=1), plan.rows), plan.bands)
    pairs = np.arange(len(cosines))
    hashed = bands.hash(np.concatenate([one, other]), bands.functions)
    met = bands.decide(hashed, pairs, pairs + len(cosines))
    found = met.reshape(50, -1).mean(1)
    places = np.linspace(0.5, 1, 200)
    curve = plan.curve(places)
    figure, axis = plt.subplots(figsize=(7, 3.5))
    spread = 2.58 * np.sqrt(curve * (1 - curve) / 4000)
    axis.fill_between(places, curve - spread, curve + spread, color="#cccccc")
    axis.plot(places, curve, color="#4c72b0", label="promised")
    axis.plot(cosines[::4000], found, "o", markersize=3, color="#c44e52", label="found")
    axis.set_xlabel("cosine of a pair")
    axis.set_ylabel("share of pairs found")
    axis.legend(loc="upper left", frameon=False)
    save(figure, "vectors.svg")


def _pair_keys(pairs):
    """One number per pair of ids."""
    return pairs["left"].to_numpy().astype(np.int64) * 100_000 + pairs["right"].to_numpy().astype(np.int64)


def draw_link():
    """Scores of pairs of generated people, and the share of valid ones from each score on (docs/link.md)."""
    left, right, truth = people.make_tables(5_000, 5_000, 0.3, errors=1.0, seed=6)
    found = la.link(
        left, right, fields="name,postcode", validate="created", one_to_one="no", probability=1e-7, id="id"
    )  # all pairs that are worth drawing
    scores = found.links["score"].to_numpy()
    valid = np.isin(_pair_keys(found.links), _pair_keys(truth))
    rows = [row for row in found.run["validation"] if row["cut"] > -20]
    cuts = [row["cut"] for row in rows]
    figure, axes = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
    bins = np.linspace(-20, scores.max(), 60)
    axes[0].hist([scores[valid], scores[~valid]], bins, stacked=True, color=["#4c72b0", "#cccccc"],
                 label=["the same person", "not"])  # fmt: skip
    axes[0].set_yscale("log")
    axes[0].set_ylabel("candidate pairs")
    axes[0].legend(frameon=False, loc="upper center")
    axes[1].fill_between(
        cuts, [row["low"] for row in rows], [row["high"] for row in rows], color="#dddddd", label="interval"
    )
    axes[1].plot(cuts, [row["precision"] for row in rows], color="#4c72b0", label="estimated by creation dates")
    axes[1].plot(cuts, [valid[scores >= cut].mean() for cut in cuts], "o", markersize=3, color="#c44e52",
                 label="true")  # fmt: skip
    axes[1].set_xlabel("score of a pair, in bits")
    axes[1].set_ylabel("valid from there on")
    axes[1].legend(frameon=False, loc="lower right")
    save(figure, "link.svg")


if __name__ == "__main__":
    draw_kernel()
    draw_vectors()
    draw_link()
    if "LOOKALIKE_DATA" in os.environ:
        draw_baskets(Path(os.environ["LOOKALIKE_DATA"]))
