"""Generated products of two catalogues, of which it is known which are the same, and how well links agree with that."""

import importlib.util
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def make_products(left, right, shared, seed=1):
    """Two tables from benchmarks/products.py."""
    return _load("products").make_products(left, right, shared, seed)


def make_variants(records, share, seed, variants, divided):
    """Two tables and their matches from benchmarks/catalogues.py."""
    return _load("catalogues").make_variants(records, share, seed, variants, divided)


def _load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # data classes look their module up
    spec.loader.exec_module(module)
    return module


def make_word(draw, syllables):
    """A word that can be pronounced."""
    return "".join(
        draw.choice("bdfgklmnprst") + draw.choice(("a", "e", "i", "o", "un", "ar")) for _ in range(syllables)
    )


def judge_products(links, left, right):
    """F1, precision and recall of links."""
    ids = [{name[1:] for name in table["id"].to_pylist()} for table in (left, right)]
    truth = len(ids[0] & ids[1])
    hits = sum(a[1:] == b[1:] for a, b in zip(links["left"].to_pylist(), links["right"].to_pylist()))
    return 2 * hits / max(1, len(links) + truth), hits / max(1, len(links)), hits / truth
