"""Spark: the same dedup on both engines, on one worker and on two, and similar pairs next to those of Spark MLlib.

- `engines`: generated documents of about 500 bytes on the local engine and on `local[N]`, with seconds by stage.
- `workers`: such documents, in eight files, on one standalone worker and on two, each with a core of its own.
- `mllib`: similar pairs of source files found on this machine, by `lookalike pairs` and by MinHashLSH of Spark MLlib.

The time to start Spark's JVM is not counted. Writes results/spark.json and a chart. Run by `make bench-spark`; `--only`
runs a part, and leaves the figures of the others as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import mllib
from corpus import gather_corpus
from exact import load_answer
from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.matching.stages import LOCAL, Stages
from lookalike.spark.session import open_session
from lookalike.spark.stages import Sizes, SparkStages
from scale import write_corpus

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
from standalone import standalone  # noqa: E402

WORKER_FILES = 8


def measure(path: Path, out: Path, stages: Stages, settings: Settings) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    started = time.perf_counter()
    record = dedup_to_folder([path], out, settings, stages=stages)
    seconds = time.perf_counter() - started
    print(f"{stages.name:6} {seconds:7.1f} s  {record['seconds']}", flush=True)
    removed = (out / "removed.parquet").read_bytes()
    shutil.rmtree(out)
    return {"seconds": round(seconds, 2), "stages": record["seconds"], "engine": record.get("engine"), "out": removed}


def compare_engines(items: list[int], master: str, memory: str, scratch: Path) -> list[dict[str, Any]]:
    """Seconds of both engines, by number of documents."""
    rows = []
    settings = Settings.parse(method="lsh", memory=memory)
    with open_session(master, settings.execution.budget.total_bytes) as session:
        _warm_up(session, master, scratch)
        for number in items:
            path = scratch / f"scale-{number}.parquet"
            write_corpus(path, number)
            local = measure(path, scratch / "local", LOCAL, settings)
            spark = measure(path, scratch / "spark", SparkStages(session, master), settings)
            assert local.pop("out") == spark.pop("out"), "the results differ"
            ratio = round(spark["seconds"] / local["seconds"], 2)
            print(f"{number:,} documents: {ratio} times the local engine", flush=True)
            rows.append({"items": number, "master": master, "ratio": ratio, "local": local, "spark": spark})
    return rows


def compare_workers(items: int, scratch: Path) -> dict[str, Any]:
    """Seconds on one worker of a standalone cluster, and on two; each has one core of this machine for itself."""
    folder = scratch / f"scale-{items}-in-{WORKER_FILES}"
    for number in range(WORKER_FILES):
        write_corpus(folder / f"{number}.parquet", items // WORKER_FILES, seed=number)
    found = {}
    settings = Settings.parse(method="lsh", memory="2GiB")
    for workers in (1, 2):
        with (
            standalone(scratch.resolve() / "cluster", workers, "2g", pinned=True) as (master, _),
            open_session(master, 2 << 30) as session,
        ):
            _warm_up(session, master, scratch)
            found[workers] = measure(folder, scratch / "spark", SparkStages(session, master), settings)
    assert found[1].pop("out") == found[2].pop("out"), "the results differ"
    ratio = round(found[2]["seconds"] / found[1]["seconds"], 2)
    print(f"two workers: {ratio} times the time of one", flush=True)
    return {"items": items, "ratio": ratio, "one": found[1], "two": found[2]}


def _warm_up(session: Any, master: str, scratch: Path) -> None:
    """Start the Python workers and let the JVM load its classes."""
    path = scratch / "scale-20000.parquet"
    write_corpus(path, 20_000)
    stages = SparkStages(session, master, Sizes(least_part_bytes=1 << 20))
    measure(path, scratch / "spark", stages, Settings.parse(method="lsh"))


def compare_mllib(files: list[int], master: str, scratch: Path, limit: float) -> list[dict[str, Any]]:
    """Seconds, missed and wrong pairs of both, by number of files."""
    from pyspark.sql import SparkSession

    found = []
    os.environ["PYSPARK_PYTHON"] = sys.executable
    SparkSession.builder.master(master).config("spark.driver.memory", mllib.HEAP).getOrCreate()  # MLlib needs more
    with open_session(master, 16 << 30) as session:
        _warm_up(session, master, scratch)
        for corpus in map(gather_corpus, files):
            answer = load_answer(corpus.parquet, mllib.THRESHOLD)
            rows = mllib.compare(session, master, corpus.parquet, answer, scratch, limit)
            size = {"items": corpus.items, "megabytes": round(corpus.text_bytes / 1e6)}
            found.append({**size, "truth": answer.count_pairs(), "rows": rows})
    return found


def plot(found: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    bars = [
        (f"{row['items'] / 1e6:g} million, {name}", row[name]["stages"])
        for row in found.get("engines", ())
        for name in ("local", "spark")
    ]
    if workers := found.get("workers"):
        names = {"one": "one worker", "two": "two workers"}
        bars += [(f"{workers['items'] / 1e6:g} million, {told}", workers[key]["stages"]) for key, told in names.items()]
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


def record(path: Path, **figures: object) -> dict[str, Any]:
    """Put figures beside those that are there."""
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **figures}, indent=2) + "\n")
    return {**before, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["engines", "workers", "mllib"])
    parser.add_argument("--items", default="600000,2000000", help="documents of 500 bytes: 300 MB and 1 GB")
    parser.add_argument("--worker-items", type=int, default=2_000_000, help="documents for one worker and two")
    parser.add_argument("--files", default="2000,20000", help="source files for MLlib")
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which MLlib is stopped")
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--scratch", type=Path, default=Path("bench-scratch"))
    parser.add_argument("--results", type=Path, default=HERE / "results" / "spark.json")
    parser.add_argument("--plot", type=Path, default=HERE.parent / "docs" / "images" / "spark.svg")
    given = parser.parse_args()
    if given.only in (None, "engines"):
        rows = compare_engines([int(one) for one in given.items.split(",")], given.master, given.memory, given.scratch)
        record(given.results, engines=rows)
    if given.only in (None, "workers"):
        record(given.results, workers=compare_workers(given.worker_items, given.scratch))
    if given.only in (None, "mllib"):
        files = [int(one) for one in given.files.split(",")]
        record(given.results, mllib=compare_mllib(files, given.master, given.scratch, given.limit))
    plot(record(given.results), given.plot)


if __name__ == "__main__":
    main()
