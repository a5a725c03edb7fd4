"""What the tasks of a run have used, as Spark counts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def measure_stages(session: SparkSession) -> dict[str, Any]:
    """Tasks, bytes shuffled and spilled, and skew: how much longer the slowest task of a stage took than the median.

    Empty for Spark Connect, which does not tell.
    """
    try:
        context: Any = session.sparkContext
        store = context._jsc.sc().statusStore()
        stages = store.stageList(None, False, False, context._gateway.new_array(context._jvm.double, 0), None)
        found = [stages.apply(number) for number in range(stages.size())]
    except Exception:
        return {}
    return {
        "tasks": sum(one.numCompleteTasks() for one in found),
        "failed_tasks": sum(one.numFailedTasks() for one in found),
        "shuffle_bytes": sum(one.shuffleWriteBytes() for one in found),
        "spill_bytes": sum(one.diskBytesSpilled() for one in found),
    }
