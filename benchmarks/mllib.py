"""Similar pairs by MinHashLSH of Spark MLlib, next to `lookalike pairs` on the same session.

The pipeline is the one of its documentation: words, n-grams of five words, a hashed binary vector, and
`approxSimilarityJoin` of the files with themselves. It has one row per hash table and an OR over tables: three tables
find a pair at 0.8 with probability 0.992. Vectors and hashes are cached. Thousands of files share the hash of a
licence, and one task would compare them all: Spark may split such a task, which it does not do by default at this size.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from exact import ExactAnswer
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.jobs.pairs import pairs_of_files
from lookalike.spark.stages import SparkStages

THRESHOLD = "0.8"
TABLES = 3
FEATURES = 1 << 22
"""Places in the hashed vector: more make collisions, and so wrong pairs, rarer."""
HEAP = "8g"
SETTINGS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1MB",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1MB",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "64",
}
"""While MLlib runs; lookalike needs its own."""


def find_with_mllib(session: Any, parquet: Path, limit_seconds: float) -> np.ndarray | None:
    """Pairs of rows, the smaller first; None if it takes longer than the limit."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql.functions import col, size

    before = {name: session.conf.get(name) for name in SETTINGS}
    _set(session, SETTINGS)
    texts = pq.read_table(parquet, columns=["text"])["text"].to_pylist()
    rows = session.createDataFrame(pa.table({"row": range(len(texts)), "text": texts})).repartition(16)
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"[^\p{L}\p{M}\p{N}]+").transform(rows)
    grams = NGram(n=5, inputCol="words", outputCol="grams").transform(words).where(size("grams") > 0)
    hashed = HashingTF(numFeatures=FEATURES, binary=True, inputCol="grams", outputCol="features").transform(grams)
    chosen = hashed.select("row", "features")
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=1).fit(chosen)
    keyed = model.transform(chosen).persist()
    joined = model.approxSimilarityJoin(keyed, keyed, 1 - float(THRESHOLD) + 1e-9, distCol="distance")
    pairs = joined.select(col("datasetA.row").alias("left"), col("datasetB.row").alias("right")).where("left < right")
    timer = threading.Timer(limit_seconds, session.sparkContext.cancelAllJobs)
    timer.start()
    try:
        found = pairs.toArrow()
    except Exception as error:
        if timer.is_alive():
            raise
        print(f"MLlib was stopped after {limit_seconds:.0f} s: {str(error).splitlines()[0]}", flush=True)
        return None
    finally:
        timer.cancel()
        keyed.unpersist()
        _set(session, before)
    return np.stack([found["left"].to_numpy(), found["right"].to_numpy()], axis=1)


def _set(session: Any, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)


def find_with_lookalike(session: Any, master: str, parquet: Path, scratch: Path) -> np.ndarray:
    """The same from `lookalike pairs` by lsh."""
    scratch.mkdir(parents=True, exist_ok=True)
    settings = Settings.parse(method="lsh", threshold=THRESHOLD)
    found, _ = pairs_of_files([parquet], settings, scratch, Progress(), stages=SparkStages(session, master))
    rows = [
        np.stack([table["left"].to_numpy(), table["right"].to_numpy()], axis=1) for table in found.tables(ids=False)
    ]
    return np.concatenate(rows)


def judge(found: np.ndarray, answer: ExactAnswer) -> dict[str, int]:
    """Pairs found, missed and wrong: less similar than the threshold."""
    groups = np.sort(answer.groups[found], axis=1)
    known = {(int(left), int(right)) for left, right in np.sort(answer.pairs, axis=1).tolist()}
    right = sum(one == other or (one, other) in known for one, other in groups.tolist() if one >= 0)
    return {"pairs": len(found), "missed": answer.count_pairs() - right, "wrong": len(found) - right}


def processor_seconds() -> float:
    """User and system time of this process, of Spark's and of its Python workers, ended ones included."""
    parents, times = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            times[int(stat.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(times[pid] for pid in ours)


def compare(session: Any, master: str, parquet: Path, answer: ExactAnswer, scratch: Path, limit: float) -> list[Any]:
    """A row for each of the two: seconds, processor seconds of all processes, and what it found."""
    rows = []
    for name in ("lookalike pairs", "MLlib MinHashLSH"):
        started, used = time.perf_counter(), processor_seconds()
        if name.startswith("MLlib"):
            found = find_with_mllib(session, parquet, limit)
        else:
            found = find_with_lookalike(session, master, parquet, scratch / "pairs")
        seconds = round(time.perf_counter() - started, 1)
        processor = round(processor_seconds() - used, 1)
        told = {"missed": "", "wrong": "", "pairs": ""} if found is None else judge(found, answer)
        rows.append(
            {"tool": name, "seconds": seconds, "processor_seconds": processor, "finished": found is not None, **told}
        )
        print(rows[-1], flush=True)
    return rows
