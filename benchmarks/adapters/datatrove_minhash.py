"""datatrove: its four MinHash steps with LocalPipelineExecutor and spaCy's blank English tokenizer.

The pipeline shares work out by file, so the input is first split into one file a core, equal in bytes. Numbers are left
as they are (by default every number becomes 0, and tables of figures become duplicates). 17 buckets of 15 hashes are
what datasketch and text-dedup choose for 0.8 with 256 hashes; the default, 14 of 8, is as fast but its threshold is
0.72.
"""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
)
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from datatrove.utils.hashing import HashConfig
from datatrove.utils.text import TextNormConfig
from shared import CORES, SHINGLE_WORDS, read_arguments, report

BUCKETS, HASHES = 17, 15
WHOLE_FILE = -1  # of signature lines to buffer


def split_input(source: Path, folder: Path) -> None:
    """Write the rows of `source` to one file a core, in order, about equal in bytes."""
    table = pq.read_table(source)
    folder.mkdir(parents=True)
    ends = np.cumsum(pc.binary_length(table["text"]).to_numpy())
    bounds = np.searchsorted(ends, ends[-1] * np.arange(1, CORES) / CORES)
    starts = [0, *bounds.tolist(), len(table)]
    for part, (start, end) in enumerate(pairwise(starts)):
        pq.write_table(table.slice(start, end - start), folder / f"{part:05d}.parquet", compression="zstd")


def run_step(steps: list[PipelineStep], tasks: int, logs: Path) -> None:
    """Run one of the four steps to its end."""
    LocalPipelineExecutor(
        steps, tasks=tasks, workers=min(tasks, CORES), logging_dir=str(logs), start_method="fork"
    ).run()


def main() -> None:
    """Sign, bucket, cluster, filter."""
    arguments = read_arguments()
    work = arguments.target.with_name(arguments.target.name + ".work")
    split_input(arguments.source, work / "input")
    config = MinhashConfig(
        n_grams=SHINGLE_WORDS,
        num_buckets=BUCKETS,
        hashes_per_bucket=HASHES,
        norm_config=TextNormConfig(norm_numbers=False),
        hash_config=HashConfig(precision=64, hash_fc="xxhash"),
    )
    reader = ParquetReader(str(work / "input"))
    signatures, buckets, removals = (str(work / name) for name in ("signatures", "buckets", "removals"))
    run_step([reader, MinhashDedupSignature(signatures, config)], CORES, work / "logs1")
    bucket_step = MinhashDedupBuckets(signatures, buckets, config=config, lines_to_buffer=WHOLE_FILE)
    run_step([bucket_step], BUCKETS, work / "logs2")
    cluster_step = MinhashDedupCluster(buckets, removals, config=config, lines_to_buffer=WHOLE_FILE)
    run_step([cluster_step], 1, work / "logs3")
    writer = ParquetWriter(str(arguments.target), compression="zstd")
    run_step([reader, MinhashDedupFilter(removals), writer], CORES, work / "logs4")
    shutil.rmtree(work)
    report(f"{BUCKETS} buckets x {HASHES} hashes, xxhash64, {CORES} workers, nothing checked")


if __name__ == "__main__":
    main()
