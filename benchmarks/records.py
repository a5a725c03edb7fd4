"""Linking people of two tables: `lookalike link` against splink on DuckDB, each whole and in a process of its own.

The people are made by people.py (1,000,000 x 1,000,000 unless told; a tenth in both, typing errors in every field, one
postcode with very many rows). splink has three blocking rules (name, address, phone) in its own environment. Seconds,
memory, and precision, recall and F1 against the truth. Results go to results/records.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import peer_env
from measure import run_measured
from people import make_tables

HERE = Path(__file__).resolve().parent
FIELDS = "name,address,postcode,phone"


def judge(links: Path, truth: set[tuple[int, int]]) -> dict[str, float]:
    """Precision, recall and F1 of the pairs in a table."""
    table = pq.read_table(links, columns=["left", "right"])
    found = set(zip(map(int, table["left"].to_pylist()), map(int, table["right"].to_pylist())))
    right = len(found & truth)
    return {
        "links": len(found),
        "precision": right / max(1, len(found)),
        "recall": right / len(truth),
        "f1": 2 * right / (len(found) + len(truth)),
    }


def run(command: list[Any], links: Path, truth: set[tuple[int, int]]) -> dict[str, Any]:
    """One tool: what it cost, and how good its links are."""
    done = run_measured([str(part) for part in command])
    if done.exit_code:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return {"seconds": done.seconds, "peak_bytes": done.peak_bytes, **judge(links, truth)}


def main() -> None:
    """Make the people, run the tools, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000_000, help="of each table")
    given = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        left, right, truth_table = make_tables(given.people, given.people, 0.1)
        for name, table in (("left", left), ("right", right)):
            pq.write_table(table, folder / f"{name}.parquet")
        truth = set(zip(truth_table["left"].to_pylist(), truth_table["right"].to_pylist()))
        tables = [folder / "left.parquet", folder / "right.parquet"]
        ours = [Path(sys.executable).with_name("lookalike"), "link", *tables, "-o", folder / "out", "--fields", FIELDS]
        results["lookalike"] = run([*ours, "--quiet"], folder / "out" / "links.parquet", truth)
        if error := peer_env.install_packages(("splink",)):
            results["splink"] = {"failed": error}
        else:
            adapter = HERE / "adapters" / "records_splink.py"
            theirs = folder / "splink.parquet"
            results["splink"] = run([peer_env.PYTHON, adapter, *tables, theirs], theirs, truth)
    for tool, result in results.items():
        print(tool, json.dumps(result))
    (HERE / "results" / "records.json").write_text(json.dumps({"people": given.people, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
