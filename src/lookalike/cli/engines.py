"""`--engine` and `--master`: where the work of a command is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.engine.progress import Progress
    from lookalike.engine.settings import Settings
    from lookalike.matching.stages import Stages


_MASTERS = "local[2], spark://HOST:7077, yarn or k8s://https://HOST:PORT"
_MASTER = (
    r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[\d+\s*,\s*\d+\s*,\s*\d+\]"
    r"|spark://[^\s,:]+:\d+(,[^\s,:]+:\d+)*|yarn|k8s://\S+|sc://\S+"
)


def take_engine(options: dict[str, Any]) -> str | None:
    """Take both options out of the others; returns the master of a Spark cluster, None for this machine."""
    engine, master = options.pop("engine"), options.pop("master")
    if engine not in ("local", "spark"):
        raise UsageError(f"--engine must be local or spark, not {engine!r}")
    if engine == "local" and master is not None:
        raise UsageError("--master requires --engine spark")
    if engine == "spark" and not master:
        raise UsageError(f"--engine spark needs --master: {_MASTERS}")
    if master is not None and not re.fullmatch(_MASTER, master):
        raise UsageError(f"--master {master}: not the address of a Spark cluster; give {_MASTERS}")
    return None if engine == "local" else str(master)


def check_cluster(master: str | None, local_only: dict[str, bool], unshared: dict[str, bool]) -> None:
    """Refuse options of the local engine, and on several machines files that only one of them sees.

    Both name the options that are affected; `unshared` also says what to do instead.
    """
    if master is None:
        return
    for name in [name for name, given in local_only.items() if given]:
        raise UsageError(f"--engine spark: {name} works only with --engine local")
    for advice in [advice for advice, needed in unshared.items() if needed and not master.startswith("local")]:
        raise UsageError(f"--master {master}: {advice} that all machines see")


@contextmanager
def open_stages(master: str | None, settings: Settings, progress: Progress) -> Iterator[Stages]:
    """The engine: a Spark session is started here, and stopped at the end."""
    if master is None:
        from lookalike.matching.stages import LOCAL

        yield LOCAL
        return
    from lookalike.spark.stages import SparkStages

    with _timed_session(master, settings, progress) as session:
        yield SparkStages(session, master)


@contextmanager
def _timed_session(master: str, settings: Settings, progress: Progress) -> Iterator[Any]:
    """A Spark session; starting and stopping Java takes seconds, which are stages of the run."""
    from lookalike.spark.session import open_session

    with ExitStack() as stack:
        with progress.stage("starting Spark"):
            session = stack.enter_context(open_session(master, settings.execution.budget.total_bytes))
        try:
            yield session
        finally:
            with progress.stage("stopping Spark"):
                stack.close()


@contextmanager
def open_digesting(master: str | None, index: str, settings: Settings, progress: Progress) -> Iterator[Any]:
    """A function that reads and digests the items of an index on a cluster; None for this process.

    Its work files are next to the index, where all machines must be able to see them.
    """
    if master is None:
        yield None
        return
    import tempfile

    from lookalike.spark.indexing import IndexDigesting
    from lookalike.types import TEMPORARY

    beside = None if "://" in index else Path(index).absolute().parent
    with (
        tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=beside) as folder,
        _timed_session(master, settings, progress) as session,
    ):
        yield IndexDigesting(session, Path(folder), settings, progress)
