"""Generated products of two catalogues, of which it is known which are the same, and how well links agree with that."""

import importlib.util
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def make_products(left, right, shared, seed=1):
    """Two tables from benchmarks/products.py."""
    spec = importlib.util.spec_from_file_location("products", BENCHMARKS / "products.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_products(left, right, shared, seed)


def judge_products(links, left, right):
    """F1, precision and recall of links."""
    ids = [{name[1:] for name in table["id"].to_pylist()} for table in (left, right)]
    truth = len(ids[0] & ids[1])
    hits = sum(a[1:] == b[1:] for a, b in zip(links["left"].to_pylist(), links["right"].to_pylist()))
    return 2 * hits / max(1, len(links) + truth), hits / max(1, len(links)), hits / truth
