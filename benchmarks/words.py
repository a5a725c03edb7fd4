"""Records made of words: lookalike, and TF-IDF of character trigrams with mutual best partners, in the same minute.

    python benchmarks/words.py [--data FOLDER] [--products 2000]

Needs scikit-learn. FOLDER (default: LOOKALIKE_DATA) has texts_records; without it, only generated products are linked.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import lookalike as la
from products import make_products

Links = set[tuple[str, str]]


class Catalogues(NamedTuple):
    """Two tables with ids, the fields to compare, and the pairs that are the same."""

    name: str
    left: pa.Table
    right: pa.Table
    fields: list[str]
    truth: Links


def read(path: Path) -> pa.Table:
    """A CSV file, every value a text."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def catalogues(folder: Path | None, products: int) -> Iterator[Catalogues]:
    """Everything that is linked."""
    left, right = make_products(products, products, 0.3)
    ids = [{name[1:] for name in table["id"].to_pylist()} for table in (left, right)]
    truth = {(f"a{number}", f"b{number}") for number in ids[0] & ids[1]}
    yield Catalogues("generated products", left, right, ["title:text", "description:text", "maker", "price"], truth)
    if folder is None or not (folder / "texts_records").exists():
        print("no texts_records in LOOKALIKE_DATA: only generated products are linked", file=sys.stderr)
        return
    real = {"software": "title:text,description:text,manufacturer,price", "movies": "title:text,name:person"}
    for name, fields in real.items():
        tables = [read(folder / "texts_records" / f"{name}_{part}.csv") for part in ("a", "b", "truth")]
        truth = set(zip(tables[2]["left"].to_pylist(), tables[2]["right"].to_pylist()))
        yield Catalogues(name, tables[0], tables[1], fields.split(","), truth)


def link_ours(given: Catalogues) -> Links:
    """The links of lookalike."""
    links = la.link(given.left, given.right, given.fields, id="id").links
    return set(zip(links["left"].to_pylist(), links["right"].to_pylist()))


def best_by_tfidf(left: list[str], right: list[str] | None) -> list[tuple[int, int]]:
    """The best partners by TF-IDF of trigrams, where that is mutual: places of two lists, or in one (right is None)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    other = left if right is None else right
    made = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True).fit(left + (right or []))
    score = (made.transform(left) @ made.transform(other).T).toarray()
    if right is None:
        score[range(len(left)), range(len(left))] = -1
    best, back = score.argmax(1).tolist(), score.argmax(0).tolist()
    return [(i, j) for i, j in enumerate(best) if back[j] == i and score[i, j] > 0 and (right is not None or i < j)]


def link_by_tfidf(given: Catalogues) -> Links:
    """The best partners by the words of all fields but price and description."""
    names = [field.partition(":")[0] for field in given.fields]
    columns = [name for name in names if name not in ("price", "description")]
    texts = [[" ".join(row[name] for name in columns) for row in side.to_pylist()] for side in given[1:3]]
    ids = [side["id"].to_pylist() for side in given[1:3]]
    return {(ids[0][i], ids[1][j]) for i, j in best_by_tfidf(*texts)}


TOOLS: dict[str, Callable[[Catalogues], Links]] = {"lookalike": link_ours, "TF-IDF, mutual best": link_by_tfidf}


def main() -> None:
    """Print a table of F1 and processor time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = os.environ.get("LOOKALIKE_DATA")
    parser.add_argument("--data", type=Path, default=Path(known) if known else None)
    parser.add_argument("--products", type=int, default=2000)
    given = parser.parse_args()
    print("| data | tool | F1 | precision | recall | seconds of processor |\n| --- | --- | --- | --- | --- | --- |")
    for one in catalogues(given.data, given.products):
        for tool, link in TOOLS.items():
            start = time.process_time()
            found = link(one)
            seconds, hits = time.process_time() - start, len(found & one.truth)
            shares = 2 * hits / (len(found) + len(one.truth)), hits / max(1, len(found)), hits / len(one.truth)
            print(
                f"| {one.name} | {tool} | " + " | ".join(f"{x:.3f}" for x in shares) + f" | {seconds:.1f} |", flush=True
            )


if __name__ == "__main__":
    main()
