"""F1 and estimated precision of links between records made of words, on known and generated data.

Known data are read from LOOKALIKE_DATA, and from packages: tariffs are downloaded (`--packages`), restaurants and books
are read from the folder LOOKALIKE_MORE if it has them. Partners are dropped so that only a share of the records has a
match. Labels are used to score only. Two tables are also linked after they were joined to one (`--joined`).

    python benchmarks/word_quality.py --shares 1,0.2,0.05 --only films,CDs
    python benchmarks/word_quality.py --only "messy albums" --records 9763 --shares 0.0615 --seeds 1,2,3,4,5
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pyarrow as pa

import lookalike as la

sys.path.insert(0, str(Path(__file__).parent))
from catalogues import KINDS, Case
from labels import label_reviewed
from messy import MESSY, NewsLanguage, join_tables
from packaged import read_books, read_tariffs

SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        text = path.read_text("latin-1")
    return list(csv.DictReader(text.splitlines(keepends=True)))


def _table(path: Path) -> pa.Table:
    return pa.Table.from_pylist([{key: value for key, value in row.items() if key} for row in read_rows(path)])


def _pairs(path: Path) -> set[tuple[str, str]]:
    return {(first, second) for first, second, *_ in (row.values() for row in read_rows(path))}


def known_cases(data: Path, packages: bool = False) -> Iterator[tuple[str, Case]]:
    """The known data sets, with all of their matches."""
    texts = data / "texts_records"
    for name, fields in (("software", "title:text,description:text,manufacturer,price"),
                         ("movies", "title:text,name:person")):  # fmt: skip
        both = _table(texts / f"{name}_a.csv"), _table(texts / f"{name}_b.csv")
        yield name, Case(*both, fields, _pairs(texts / f"{name}_truth.csv"))
    folder = data / "dblp_acm"
    both = _table(folder / "DBLP2.csv"), _table(folder / "ACM.csv")
    yield "DBLP-ACM", Case(*both, "title:text,authors:text,venue,year", _pairs(folder / "DBLP-ACM_perfectMapping.csv"))
    yield "papers", Case(_table(texts / "papers.csv"), None, "author:text,title:text,venue:text,year,pages",
                         _pairs(texts / "papers_truth.csv"))  # fmt: skip
    more = Path(os.environ.get("LOOKALIKE_MORE", "."))
    if (more / "fodors.csv").exists():  # the restaurants of Fodor's and Zagat's guides
        both = _table(more / "fodors.csv"), _table(more / "zagats.csv")
        truth = _pairs(more / "matches_fodors_zagats.csv")
        yield "restaurants", Case(*both, "name:text,addr,city,phone,type", truth)
    if (more / "books_table_A.csv.gz").exists():
        yield from read_books(more)
    if packages:
        yield "tariffs", read_tariffs()


def thin(case: Case, share: float, seed: int = 1) -> Case:
    """The case with only this share of its matches left: the others lose their right record.

    Lists of matches are not complete: what a list leaves out stays, and counts as wrong (see `separate`).
    """
    if case.right is None or share >= 1:
        return case
    draw = random.Random(seed)
    kept = {pair for pair in sorted(case.truth) if draw.random() < share}
    gone = {right for _, right in case.truth} - {right for _, right in kept}
    keep = [str(one) not in gone for one in case.right["id"].to_pylist()]
    return Case(case.left, case.right.filter(pa.array(keep)), case.fields, {p for p in case.truth if p[1] not in gone})


def separate(case: Case, share: float, seed: int = 1) -> Case:
    """Two tables of the listed records only, of which about this share has its match in the other table.

    Every entity is in both tables or in one, as drawn. A record whose match is listed rarely has another one, so that
    the list is nearly complete here. With a share of 1 all listed records are left.
    """
    if case.right is None:
        return case
    groups = _entities(case.truth)
    draw = random.Random(seed)
    both = share / (2 - share)
    kept: tuple[set[str], set[str]] = set(), set()
    for lefts, rights in groups:
        place = draw.random()
        if place < (1 + both) / 2:
            kept[0].update(lefts)
        if place < both or place >= (1 + both) / 2:
            kept[1].update(rights)
    tables = [table.filter(pa.array([str(one) in some for one in table["id"].to_pylist()]))
              for table, some in zip((case.left, case.right), kept)]  # fmt: skip
    truth = {pair for pair in case.truth if pair[0] in kept[0] and pair[1] in kept[1]}
    return Case(tables[0], tables[1], case.fields, truth)


def _entities(truth: set[tuple[str, str]]) -> list[tuple[set[str], set[str]]]:
    """The ids of each entity in both tables."""
    of: dict[tuple[int, str], tuple[set[str], set[str]]] = {}
    for left, right in sorted(truth):
        one, other = of.get((0, left), ({left}, set())), of.get((1, right), (set(), {right}))
        joined = one[0] | other[0], one[1] | other[1]
        for side in (0, 1):
            of.update({(side, name): joined for name in joined[side]})
    found = {id(group): group for group in of.values()}
    return [*found.values()]


def judge(case: Case, labels: int = 0) -> dict[str, float]:
    """Link, if wanted with the labels of as many pairs, and compare with the truth."""
    known = label_reviewed(case.left, case.right, case.fields, case.truth, labels) if labels else None
    started = time.process_time()
    result = la.link(case.left, case.right, fields=case.fields, id="id", labels=known)
    seconds = time.process_time() - started
    links = {(str(a), str(b)) for a, b in zip(result.links["left"].to_pylist(), result.links["right"].to_pylist())}
    if case.right is None:
        groups: dict[int, list[str]] = {}
        for row in result.clusters.to_pylist():
            groups.setdefault(row["cluster"], []).append(str(row["id"]))
        links = {(min(pair), max(pair)) for ids in groups.values() for pair in combinations(ids, 2)}
    truth = case.truth if case.right is not None else {(min(pair), max(pair)) for pair in case.truth}
    right = len(links & truth)
    estimate = ((result.run["labels"] if labels else result.run)["precision"] or {}).get("estimate")
    return {
        "matches": len(truth), "links": len(links), "f1": 2 * right / max(1, len(links) + len(truth)),
        "precision": right / max(1, len(links)), "recall": right / max(1, len(truth)),
        "estimate": float("nan") if estimate is None else estimate, "seconds": seconds,
    }  # fmt: skip


def cases(
    shares: list[float], records: int, only: list[str], seed: int = 1, packages: bool = False
) -> Iterator[tuple[str, float, Case]]:
    """Every data set at every share of matches; `seed` is that of the generated ones."""

    def wanted(name: str) -> bool:
        return not only or name in only

    data = os.environ.get("LOOKALIKE_DATA")
    for name, case in known_cases(Path(data), packages) if data else ():
        for share in shares if wanted(name) and case.right is not None else [1.0] * wanted(name):
            yield name, share, thin(case, share)
            if case.right is not None:
                yield f"{name}, listed", share, separate(case, share)
    for name, make in KINDS.items():
        for share in shares if wanted(name) else ():
            yield f"generated {name}", share, make(records, share, seed)
    for name, mess in MESSY.items() if data else ():
        for share in shares if wanted(f"messy {name}") else ():
            words = NewsLanguage(Path(data or "") / "articles" / "articles_2500.train", seed)
            yield f"messy {name}", share, mess(words, records, share)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--records", type=int, default=2_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="1")
    parser.add_argument(
        "--labels", type=int, default=0, help="label as many pairs first; the precision is then measured"
    )
    parser.add_argument("--packages", action="store_true", help="download data from packages as well")
    parser.add_argument("--joined", action="store_true", help="link the records of two tables in one")
    given = parser.parse_args()
    print("| data | share | matches | links | F1 | recall | precision | estimated | processor s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    shares, only = [float(one) for one in given.shares.split(",")], [one for one in given.only.split(",") if one]
    for seed in map(int, given.seeds.split(",")):
        for name, share, case in cases(shares, given.records, only, seed, given.packages):
            if given.joined and case.right is None:
                continue
            found = judge(join_tables(case) if given.joined else case, given.labels)
            shown = [f"{found[key]:.3f}" for key in ("f1", "recall", "precision", "estimate")]
            counts = [f"{share:.1%}", f"{found['matches']:,}", f"{found['links']:,}"]
            print("|", " | ".join([name, *counts, *shown, f"{found['seconds']:.1f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
