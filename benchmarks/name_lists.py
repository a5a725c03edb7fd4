"""F1 and estimated precision of links between 50 pairs of real lists of names, from the package autofj (MIT).

Each pair has a list of the names of some kind of thing (amphibians, elections, stadiums) and a list of other names of
some of them, both from DBpedia, with the known matches. Partners are removed from the first list, so that only a share
of the other one has a match. Labels are used to score only, except with `--labels N`: then the N pairs of `--review`
are labelled, and the precision is the one that is measured on them. The lists are downloaded once, to `.data/`.

    python benchmarks/name_lists.py --shares 1,0.2,0.05,0 --only Device,Song
    python benchmarks/name_lists.py --shares 0.2,0.05 --labels 60
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import random
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
from catalogues import Case
from labels import label_reviewed
from mixtures import judge, link_by_tfidf, link_ours
from packaged import download

PACKAGE, VERSION = "autofj", "0.0.6"
WITHIN = 0.1
"""The error of the estimated precision that counts as large."""


def read_lists(wheel: Path) -> Iterator[tuple[str, Case]]:
    """Each pair of lists, with all of its matches."""
    with zipfile.ZipFile(wheel) as package:

        def rows(name: str, part: str) -> list[dict[str, str]]:
            with package.open(f"{PACKAGE}/benchmark/{name}/{part}.csv") as file:
                return list(csv.DictReader(io.TextIOWrapper(file, "utf-8")))

        for name in sorted(path.split("/")[2] for path in package.namelist() if path.endswith("/gt.csv")):
            truth = {(row["id_l"], row["id_r"]) for row in rows(name, "gt")}
            tables = (pa.Table.from_pylist(rows(name, part)) for part in ("left", "right"))
            yield name, Case(*tables, "title", truth)


def thin(case: Case, share: float, seed: int) -> Case:
    """The case with about this share of its matches left: the others lose their left record."""
    draw = random.Random(seed)
    kept = {pair for pair in sorted(case.truth) if draw.random() < share}
    gone = {left for left, _ in case.truth} - {left for left, _ in kept}
    left = case.left.filter(pa.array([one not in gone for one in case.left["id"].to_pylist()]))
    return Case(left, case.right, case.fields, {pair for pair in case.truth if pair[0] not in gone})


def measure(case: Case, labels: int = 0) -> dict[str, float]:
    """Links, F1, estimated (or measured) and true precision, its interval, and the F1 of TF-IDF."""
    known = label_reviewed(case.left, case.right, case.fields, case.truth, labels) if labels else None
    links, run = link_ours(case, case.fields, known)
    f1, precision = judge(links, case.truth)
    found = (run["labels"] if labels else run)["precision"] if links else None
    low, high = (found["low"], found["high"]) if found else (math.nan, math.nan)
    return {
        "matches": len(case.truth), "links": len(links), "f1": f1, "true": precision,
        "estimate": found["estimate"] if found else math.nan, "low": low, "high": high,
        "tfidf": judge(link_by_tfidf(case), case.truth)[0],
    }  # fmt: skip


def summarise(share: float, runs: list[dict[str, float]]) -> str:
    """A row of the table over all pairs of lists."""
    linked = [one for one in runs if one["links"] and not math.isnan(one["estimate"])]
    errors = [one["estimate"] - one["true"] for one in linked]
    holds = sum(one["low"] - 0.005 <= one["true"] <= one["high"] + 0.005 for one in linked)
    figures = [
        f"{share:.0%}", f"{len(runs)}", f"{_mean(one['f1'] for one in runs):.3f}",
        f"{_mean(one['tfidf'] for one in runs):.3f}", f"{len(linked)}",
        f"{_mean(error**2 for error in errors) ** 0.5:.3f}", f"{_mean(errors):+.3f}",
        f"{sum(abs(error) > WITHIN for error in errors)}", f"{holds / max(1, len(linked)):.0%}",
        f"{sum(one['links'] * (1 - one['true']) for one in runs):,.0f}",
    ]  # fmt: skip
    return f"| {' | '.join(figures)} |"


def _mean(values: Iterable[float]) -> float:
    some = list(values)
    return sum(some) / max(1, len(some))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shares", default="1,0.5,0.2,0.1,0.05,0")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labels", type=int, default=0, help="label as many pairs first")
    parser.add_argument("--each", action="store_true", help="print a line for every pair of lists, too")
    given = parser.parse_args()
    only = [one for one in given.only.split(",") if one]
    cases = [(name, case) for name, case in read_lists(download(PACKAGE, VERSION)) if not only or name in only]
    print("| share | pairs of lists | F1 | TF-IDF | linked | error | bias | above 0.1 | interval holds | wrong links |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for share in map(float, given.shares.split(",")):
        runs = []
        for name, case in cases:
            runs.append(measure(thin(case, share, given.seed), given.labels))
            if given.each:
                print(f"{name:30} {share:5.0%} " + " ".join(f"{key} {value:.3g}" for key, value in runs[-1].items()))
        print(summarise(share, runs), flush=True)


if __name__ == "__main__":
    main()
