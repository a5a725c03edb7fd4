"""`--engine` and `--master`: where the work of a command is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.engine.settings import Settings
    from lookalike.matching.stages import Stages


def take_engine(options: dict[str, Any]) -> str | None:
    """Take both options out of the others; returns the master of a Spark cluster, None for this machine."""
    engine, master = options.pop("engine"), options.pop("master")
    if engine not in ("local", "spark"):
        raise UsageError(f"--engine must be local or spark, not {engine!r}")
    if engine == "local" and master is not None:
        raise UsageError("--master goes with --engine spark")
    if engine == "spark" and not master:
        raise UsageError("--engine spark needs --master: local[2], spark://HOST:7077, yarn or k8s://https://HOST:PORT")
    return None if engine == "local" else str(master)


@contextmanager
def open_stages(master: str | None, settings: Settings) -> Iterator[Stages]:
    """The engine: a Spark session is started here, and stopped at the end."""
    if master is None:
        from lookalike.matching.stages import LOCAL

        yield LOCAL
        return
    from lookalike.spark.session import open_session
    from lookalike.spark.stages import SparkStages

    with open_session(master, settings.execution.budget.total_bytes) as session:
        yield SparkStages(session, master)


@contextmanager
def open_digesting(master: str | None, index: str, settings: Settings, progress: Progress) -> Iterator[Any]:
    """What reads and digests the items of an index on a cluster; None for this process.

    Its work files are beside the index, which all machines must see.
    """
    if master is None:
        yield None
        return
    import tempfile

    from lookalike.spark.indexing import IndexDigesting
    from lookalike.spark.session import open_session
    from lookalike.types import TEMPORARY

    beside = None if "://" in index else Path(index).absolute().parent
    with (
        tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=beside) as folder,
        open_session(master, settings.execution.budget.total_bytes) as session,
    ):
        yield IndexDigesting(session, Path(folder), settings, progress)
