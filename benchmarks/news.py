"""How well shingles tell articles from the pages around them: figures, and the picture docs/images/news.svg.

Run as `python benchmarks/news.py` with LOOKALIKE_DATA set to the folder that holds `pages`.
"""

import os
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import lookalike as la

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from planting import best_f1, load_pages, plant, split  # noqa: E402

SEEDS = (1, 2, 3)
THRESHOLDS = (0.3, 0.5, 0.7)
RATIOS = (0.5, 0.7)
SHINGLES = ("word:3", "word:5", "char:9", "stopword:2", "stopword:3", "stopword:5")
DRAWN = {"word:5": "#4c72b0", "stopword:3": "#c44e52"}


def alike(texts, shingle, ratio):
    """1 where two sets are of similar length, else 0."""
    sizes = la.kernel(texts, shingle=shingle, measure="overlap").diagonal()
    return np.minimum.outer(sizes, sizes) >= ratio * np.maximum.outer(sizes, sizes)


def measure(pages):
    """A line for each kind of shingle, means over the seeds."""
    print("| shingles | best F1 | at | " + " | ".join(f"kept at {t}, wrong" for t in THRESHOLDS) + " |")
    print("| --- " * (3 + len(THRESHOLDS)) + "|")
    planted = [plant(pages, seed) for seed in SEEDS]
    for shingle in SHINGLES:
        parts = [split(la.kernel(texts, shingle=shingle)) for texts in planted]
        f1, at = np.mean([best_f1(*part) for part in parts], axis=0)
        kept = [np.mean([np.mean(same >= t) for same, _ in parts]) for t in THRESHOLDS]
        wrong = [np.mean([np.sum(others >= t) for _, others in parts]) for t in THRESHOLDS]
        cells = " | ".join(f"{100 * k:.0f}%, {w:.0f}" for k, w in zip(kept, wrong))
        print(f"| `{shingle}` | {f1:.2f} | {at:.2f} | {cells} |")
    for ratio in RATIOS:
        parts = [split(la.kernel(texts, shingle="stopword:3") * alike(texts, "stopword:3", ratio)) for texts in planted]
        f1, at = np.mean([best_f1(*part) for part in parts], axis=0)
        kept = np.mean([np.mean(same > 0) for same, _ in parts])
        print(f"stopword:3 with length ratio {ratio}: best F1 {f1:.2f} at {at:.2f}; {100 * kept:.0f}% may be compared")


def compare(pages):
    """The best F1 for pages in any language."""
    for shingle in DRAWN:
        f1 = np.mean([best_f1(*split(la.kernel(plant(pages, seed), shingle=shingle)))[0] for seed in SEEDS])
        print(f"{len(pages)} pages, in any language: {shingle} best F1 {f1:.2f}")


def draw(pages, target):
    """The distributions, for one seed."""
    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "news", "svg.fonttype": "none"}
    import matplotlib.pyplot as plt

    texts = plant(pages, SEEDS[0])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, (shingle, colour) in zip(axes, DRAWN.items()):
        same, others = split(la.kernel(texts, shingle=shingle))
        bins = np.linspace(0, 1, 26)
        # pairs with nothing in common but boilerplate are most of the others: only those that matter are drawn
        axis.hist(same, bins, color=colour, alpha=0.75, label="same article, other surroundings")
        axis.hist(others[others >= 0.1], bins, color="#555555", alpha=0.6, label="other article (from 0.1 on)")
        f1, at = best_f1(same, others)
        axis.axvline(at, color="black", linewidth=1, linestyle="--")
        axis.set_title(f"{shingle}: best F1 {f1:.2f} at {at:.2f}")
        axis.set_xlabel("Jaccard similarity of two pages")
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("pairs of pages")
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    found = load_pages(Path(os.environ["LOOKALIKE_DATA"]) / "pages")
    measure(found)
    compare(load_pages(Path(os.environ["LOOKALIKE_DATA"]) / "pages", every=True))
    draw(found, HERE.parent / "docs" / "images" / "news.svg")
