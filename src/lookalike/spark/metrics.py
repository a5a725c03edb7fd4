"""The resources that the tasks of a run have used, as reported by Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lookalike.spark.jobs import stages_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def measure_stages(session: SparkSession, tags: Iterable[str]) -> dict[str, Any]:
    """Tasks, bytes shuffled and spilled, and skew: slowest task / median task of the most uneven stage.

    Only the jobs with these tags count: a session can run others at the same time.
    """
    try:
        context: Any = session.sparkContext
        store = context._jsc.sc().statusStore()
        quantiles = context._gateway.new_array(context._jvm.double, 2)
        quantiles[0], quantiles[1] = 0.5, 1.0
        stages = store.stageList(None, False, True, quantiles, None)
        ours = stages_of(context, tags)
        found = [one for one in (stages.apply(number) for number in range(stages.size())) if one.stageId() in ours]
        skew = max((_skew(one) for one in found), default=1.0)
    except Exception:  # it is not part of the result
        return {}
    return {
        "tasks": sum(one.numCompleteTasks() for one in found),
        "failed_tasks": sum(one.numFailedTasks() for one in found),
        "shuffle_bytes": sum(one.shuffleWriteBytes() for one in found),
        "spill_bytes": sum(one.diskBytesSpilled() for one in found),
        "skew": round(skew, 2),
    }


def _skew(stage: Any) -> float:
    """The time of the slowest task of a stage divided by the median; 1 if unknown."""
    told = stage.taskMetricsDistributions()
    if not told.isDefined():
        return 1.0
    median, slowest = (told.get().executorRunTime().apply(k) for k in range(2))
    return float(slowest) / float(median) if median > 0 else 1.0
