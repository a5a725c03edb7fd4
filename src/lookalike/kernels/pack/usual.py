"""The kernels that a job usually needs, so that they are compiled together, not when each is first called.

`usual.txt` lists them, one kernel per line with the jobs that call it; those that take longest to compile come first. A
job that calls other kernels waits for each of these, so the list affects only how fast the first run is.
`tests/kernels/test_usual.py` compares it with the calls of small jobs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("usual.txt")


@cache
def _jobs_of_units() -> dict[str, frozenset[str]]:
    found = {}
    for line in LIST.read_text("ascii").splitlines():
        unit, _, jobs = line.partition(":")
        found[unit] = frozenset(jobs.strip().split(", "))
    return found


def usual_units(jobs: tuple[str, ...]) -> list[str]:
    """The kernels that some jobs usually call, job by job; those that take longest to compile come first."""
    return list(dict.fromkeys(unit for job in jobs for unit, users in _jobs_of_units().items() if job in users))
