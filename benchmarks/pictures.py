"""Pictures for the pages on applications: docs/images/kernel.svg and, with LOOKALIKE_DATA, baskets.svg."""

import os
import random
from pathlib import Path

import matplotlib as mpl
import numpy as np

import lookalike as la

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
    axis.set_xlabel("Jaccard similarity with the nearest of the other goods")
    axis.set_ylabel(f"goods (of {len(nearest)})")
    save(figure, "baskets.svg")


if __name__ == "__main__":
    draw_kernel()
    if "LOOKALIKE_DATA" in os.environ:
        draw_baskets(Path(os.environ["LOOKALIKE_DATA"]))
