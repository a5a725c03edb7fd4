"""The same dedup on both engines: generated documents of about 500 bytes, on this machine and on `local[N]`.

The time to start Spark's JVM is not counted. Writes results/spark.json, with the seconds of every stage, and
a chart of them. Run by `make bench-spark`; `--items N` for other sizes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.matching.stages import LOCAL, Stages
from lookalike.spark.session import open_session
from lookalike.spark.stages import SparkStages
from scale import write_corpus

HERE = Path(__file__).parent


def measure(path: Path, out: Path, stages: Stages) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    started = time.perf_counter()
    record = dedup_to_folder([path], out, Settings.parse(method="lsh"), stages=stages)
    seconds = time.perf_counter() - started
    print(f"{stages.name:6} {seconds:7.1f} s  {record['seconds']}", flush=True)
    removed = (out / "removed.parquet").read_bytes()
    shutil.rmtree(out)
    return {"seconds": round(seconds, 2), "stages": record["seconds"], "engine": record.get("engine"), "out": removed}


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    bars = [
        (f"{row['items'] / 1e6:g} million, {name}", row[name]["stages"]) for row in rows for name in ("local", "spark")
    ]
    ends = [0.0] * len(bars)
    for stage in dict.fromkeys(stage for _, stages in bars for stage in stages):
        widths = [stages.get(stage, 0.0) for _, stages in bars]
        if max(widths) >= 0.5:
            axes.barh([name for name, _ in bars], widths, left=ends, label=stage)
            ends = [end + width for end, width in zip(ends, widths)]
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", default="600000,2000000", help="documents of 500 bytes: 300 MB and 1 GB")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--scratch", type=Path, default=Path("bench-scratch"))
    parser.add_argument("--results", type=Path, default=HERE / "results" / "spark.json")
    parser.add_argument("--plot", type=Path, default=HERE.parent / "docs" / "images" / "spark.svg")
    given = parser.parse_args()
    rows = []
    with open_session(given.master, 4 << 30) as session:
        for items in map(int, given.items.split(",")):
            path = given.scratch / f"scale-{items}.parquet"
            write_corpus(path, items)
            local = measure(path, given.scratch / "local", LOCAL)
            spark = measure(path, given.scratch / "spark", SparkStages(session, given.master))
            assert local.pop("out") == spark.pop("out"), "the results differ"
            ratio = spark["seconds"] / local["seconds"]
            print(f"{items:,} documents: {ratio:.2f} times the local engine", flush=True)
            rows.append(
                {"items": items, "master": given.master, "ratio": round(ratio, 2), "local": local, "spark": spark}
            )
    given.results.write_text(json.dumps(rows, indent=2) + "\n")
    plot(rows, given.plot)


if __name__ == "__main__":
    main()
