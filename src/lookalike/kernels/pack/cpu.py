"""The kinds of processors that packs are made for, and which one this is."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from lookalike.errors import UsageError

V3 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
BASELINES = {"x86-64-v4": V4, "x86-64-v3": V3}
"""Common kinds of processors and their features, the most capable first. Packs for these are shipped."""
CHOICE = "LOOKALIKE_CPU"
"""The environment variable that selects another kind than the best, for tests: a baseline, or `native`."""


@cache
def target() -> str:
    """The kind of processor whose kernels are used."""
    runnable = runnable_baselines()
    chosen = os.environ.get(CHOICE)
    if chosen and chosen != "native":
        if chosen not in runnable:
            known = ", ".join([*runnable, "native"])
            raise UsageError(
                f"{CHOICE}={chosen}: this processor runs {known}; unset the variable or choose one of these"
            )
        return chosen
    if runnable and not chosen:
        return runnable[0]
    import platform

    import llvmlite.binding as llvm

    return f"{sys.platform}-{platform.machine()}-{llvm.get_host_cpu_name()}"


def runnable_baselines() -> list[str]:
    """The kinds of processors whose packs this one can run, the most capable first."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return []
    features = _features()
    return [name for name, needed in BASELINES.items() if features.issuperset(needed)]


def _features() -> set[str]:
    """The features of this processor that the system lets programs use, as listed by Linux."""
    try:
        with Path("/proc/cpuinfo").open() as file:
            line = next(line for line in file if line.startswith("flags"))
    except (OSError, StopIteration):
        return set()
    return set(line.split())


def numba_settings(cpu: str) -> dict[str, str]:
    """Environment variables that make Numba compile for a kind of processor."""
    return {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""} if cpu in BASELINES else {}
