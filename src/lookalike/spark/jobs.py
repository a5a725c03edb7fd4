"""One job of a session: recognised by a tag, so that it can be followed and ended without touching any other.

The session may be somebody else's, with other jobs in it.
"""

from __future__ import annotations

import signal
import threading
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Job(Protocol):
    """A job of a session; its methods may be called while it runs."""

    def collect(self, rows: DataFrame) -> pa.Table:
        """Run the job, and return its rows."""
        ...

    def cancel(self) -> None:
        """End it, if it has started."""
        ...

    def tasks_done(self, step: int) -> int:
        """How many tasks of a step are finished; step 0 distributes the input of the first."""
        ...


def new_job(session: SparkSession, tags: list[str]) -> Job:
    """Prepare a job, and add its tag to a list."""
    tags.append(f"lookalike-{uuid.uuid4().hex}")
    context = context_of(session)
    return ConnectJob(session, tags[-1]) if context is None else ClassicJob(context, tags[-1])


def context_of(session: SparkSession) -> Any:
    """The Spark context; None for Spark Connect, which has none."""
    try:
        return session.sparkContext
    except Exception:
        return None


class Stage(NamedTuple):
    """A stage of a job; a step of a job is one stage of tasks."""

    number: int
    done: int
    running: int


def tasks_done(stages: Iterable[Stage], step: int) -> int:
    """How many tasks of a step are finished, if stages have numbers in the order of the steps.

    A stage without tasks done or running has not begun, or it is the twin of an earlier one whose outcome is used.

    Examples
    --------
    >>> stages = [Stage(7, 3, 2), Stage(4, 8, 0), Stage(6, 0, 0), Stage(8, 0, 0)]
    >>> [tasks_done(stages, step) for step in range(3)]
    [8, 3, 0]
    """
    begun = sorted(stage for stage in stages if stage.done or stage.running)
    return begun[step].done if step < len(begun) else 0


class ClassicJob:
    """A job in a Spark context of this process."""

    def __init__(self, context: Any, tag: str) -> None:
        self._context, self._tag = context, tag

    def collect(self, rows: DataFrame) -> pa.Table:
        """See `Job`."""
        self._context.addJobTag(self._tag)  # for the jobs of this thread
        try:
            return _collect(rows)
        finally:
            self._context.removeJobTag(self._tag)

    def cancel(self) -> None:
        """See `Job`."""
        self._context.cancelJobsWithTag(self._tag)

    def tasks_done(self, step: int) -> int:
        """See `Job`."""
        tracker = self._context.statusTracker()
        found = [tracker.getStageInfo(number) for number in stages_of(self._context, [self._tag])]
        return tasks_done([Stage(one.stageId, one.numCompletedTasks, one.numActiveTasks) for one in found if one], step)


def stages_of(context: Any, tags: Iterable[str]) -> set[int]:
    """The numbers of the stages of the jobs with any of these tags, as far as Spark remembers them."""
    tracker = context._jsc.sc().statusTracker()  # that of Python does not know tags
    jobs = [context.statusTracker().getJobInfo(job) for tag in tags for job in tracker.getJobIdsForTag(tag)]
    return {stage for job in jobs if job is not None for stage in job.stageIds}


class ConnectJob:
    """A job on a Spark Connect server, which reports its progress."""

    def __init__(self, session: SparkSession, tag: str) -> None:
        self._session, self._tag = session, tag
        self._stages: list[Stage] = []

    def collect(self, rows: DataFrame) -> pa.Table:
        """See `Job`."""
        here = threading.get_ident()

        def note(stages: Iterable[Any], **_: Any) -> None:
            if threading.get_ident() == here:  # handlers are called about all jobs of the session
                self._stages = [Stage(one.stage_id, one.num_completed_tasks, 0) for one in stages]

        self._session.registerProgressHandler(note)  # type: ignore[arg-type]
        self._session.addTag(self._tag)  # for the jobs of this thread
        try:
            return _collect(rows)
        finally:
            self._session.removeTag(self._tag)
            self._session.removeProgressHandler(note)  # type: ignore[arg-type]

    def cancel(self) -> None:
        """See `Job`."""
        self._session.interruptTag(self._tag)

    def tasks_done(self, step: int) -> int:
        """See `Job`."""
        return tasks_done(self._stages, step)


def _collect(rows: DataFrame) -> pa.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rows.toArrow()


@contextmanager
def interrupts_end_only_this() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt and do nothing else: PySpark's handler cancels all jobs of the context."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_of_pyspark(handler):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _is_of_pyspark(handler: Any) -> bool:
    return str(getattr(handler, "__module__", "")).startswith("pyspark.")
