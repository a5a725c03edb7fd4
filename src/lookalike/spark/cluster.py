"""Run tasks on a cluster: one task per input row, rows out, with progress and errors that users understand."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike import errors
from lookalike.engine.progress import Progress
from lookalike.errors import LookalikeError, ResourceError, UsageError
from lookalike.spark.jobs import Job, context_of, interrupts_end_only_this, new_job
from lookalike.spark.pieces import SCHEMA, Written, raise_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

REPORT_SECONDS = 0.2
"""How often Spark is asked for progress, and a job that was cancelled whether it has ended."""
_NO_PYTHON = re.compile(r'Cannot run program ("[^"]+")')
_MISSING = re.compile(r"\bModuleNotFoundError: No module named ('[\w.]+')")
_OURS = re.compile(r"\blookalike\.errors\.(BadDataError|ResourceError|UsageError): (.+)")


class Cluster:
    """A session, the work folder that all machines share, and what the tasks have used."""

    def __init__(self, session: SparkSession, folder: Path, progress: Progress, tags: list[str] | None = None) -> None:
        self.session, self.folder, self._progress = session, folder, progress
        self._tags = [] if tags is None else tags
        """Of all jobs, for `lookalike.spark.metrics`."""

    def tasks(self, given: list[Any]) -> DataFrame:
        """One task per object; a task receives its object pickled, in the column `given`."""
        payload = [pickle.dumps(one) for one in given]
        table = pa.table({"task": pa.array(range(len(given)), pa.int32()), "given": pa.array(payload, pa.binary())})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = self.session.createDataFrame(table)
        return self.send(rows, "task", len(given))

    def send(self, rows: DataFrame, column: str, partitions: int) -> DataFrame:
        """Send each row to the partition whose number is in a column."""
        from pyspark.sql.functions import col

        return rows.repartitionById(max(1, partitions), col(column))

    def map(self, rows: DataFrame, step: Step, schema: str) -> DataFrame:
        """Add a step to a job: batches of rows in, batches of rows out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning about the version of pandas, which is not used
            return rows.mapInArrow(step, schema)

    def run(self, rows: DataFrame, step: Step, sizes: list[int] | None = None, measured: int = 1) -> list[Written]:
        """Run the last step of a job, whose tasks write pieces, and return the pieces.

        Progress is measured by the finished tasks of one step: each stands for one of `sizes`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        job, last = new_job(self.session, self._tags), self.map(rows, step, SCHEMA)
        # The main thread only waits: an exception of a signal handler would leave an answer unread that Spark has sent.
        with interrupts_end_only_this(), ThreadPoolExecutor(2) as pool:
            future = pool.submit(job.collect, last)
            try:
                if sizes:
                    self._follow(pool, job, future, sizes, measured)
                found = future.result()
            except KeyboardInterrupt:
                while not wait([future], REPORT_SECONDS).done:  # it may not have started when it is cancelled first
                    pool.submit(job.cancel).result()
                raise
            except LookalikeError:
                raise
            except Exception as error:
                raise_failure(self.folder)
                raise describe_failure(str(error) or type(error).__name__) from error
        raise_failure(self.folder)
        columns = [found.column(name).to_pylist() for name in ("name", "bytes", "crc32")]
        return [Written(*one) for one in zip(*columns)]

    def _follow(self, pool: ThreadPoolExecutor, job: Job, future: Future[Any], sizes: list[int], measured: int) -> None:
        """Report progress until the job is finished."""
        done = 0
        while not wait([future], REPORT_SECONDS).done:
            finished = pool.submit(job.tasks_done, measured).result()
            self._progress.advance(sum(sizes[done:finished]))
            done = max(done, finished)
        self._progress.advance(sum(sizes[done:]))


def count_slots(session: SparkSession) -> int:
    """The approximate number of tasks that run at the same time."""
    context = context_of(session)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    from pyspark.sql.functions import spark_partition_id

    found = session.range(1 << 16).select(spark_partition_id()).toArrow()  # this frame has one partition per slot
    return max(1, len(found.column(0).unique()))


def describe_failure(told: str) -> LookalikeError:
    r"""Spark's error about a failed task as one line without the stack; errors of lookalike unchanged.

    Examples
    --------
    >>> describe_failure("Job aborted\nlookalike.errors.BadDataError: a.jsonl:3: not valid JSON\n\tat java")
    BadDataError('a.jsonl:3: not valid JSON')
    >>> describe_failure("Job aborted\n  File x.py\nValueError: no such thing\n\tat java")
    ResourceError('Spark failed: ValueError: no such thing')
    >>> describe_failure('java.io.IOException: Cannot run program "env/python": error=2, No such file or directory')
    UsageError('executors cannot run "env/python"; set PYSPARK_PYTHON to a Python that all machines have')
    >>> print(describe_failure("ModuleNotFoundError: No module named 'lookalike'"))
    the Python of the executors has no 'lookalike': install lookalike there, or set PYSPARK_PYTHON to one that has it
    """
    if ours := _OURS.search(told):
        return getattr(errors, ours[1])(ours[2])  # type: ignore[no-any-return]
    if python := _NO_PYTHON.search(told):
        return UsageError(f"executors cannot run {python[1]}; set PYSPARK_PYTHON to a Python that all machines have")
    if missing := _MISSING.search(told):
        return UsageError(
            f"the Python of the executors has no {missing[1]}: install lookalike there, or set PYSPARK_PYTHON to one "
            "that has it"
        )
    lines = [line.strip().removeprefix("Caused by: ") for line in told.split("\n") if line.strip()]
    telling = [line for line in lines if "Error:" in line or "Exception:" in line] or lines[:1]
    return ResourceError(f"Spark failed: {telling[-1]}")


def payloads(batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
    """The objects given to the tasks of a partition."""
    for batch in batches:
        for given in batch.column("given"):
            yield pickle.loads(given.as_py())  # noqa: S301 (from the driver, as the code that runs here)
