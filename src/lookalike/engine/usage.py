"""The resources of this process: memory, and bytes read and written. Knows nothing about the job."""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

_STATM = Path("/proc/self/statm")
_STATUS = Path("/proc/self/status")
_IO = Path("/proc/self/io")


def peak_memory_bytes() -> int:
    """The peak resident memory of this process so far; without the module `resource`, only that of Arrow's buffers.

    Examples
    --------
    >>> peak_memory_bytes() > 1_000_000
    True
    """
    # On Linux, a process inherits the peak that `resource` reports from the process that started it.
    with suppress(OSError, IndexError):
        return int(_STATUS.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return int(pa.default_memory_pool().max_memory())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def resident_bytes() -> int:
    """The resident memory of this process now; on systems that do not report it, its peak.

    Examples
    --------
    >>> resident_bytes() > 1_000_000
    True
    """
    try:
        return int(_STATM.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return peak_memory_bytes()


def moved_bytes() -> dict[str, int] | None:
    """Bytes that this process has read and written so far; None on systems that do not count them.

    System calls are counted, whether or not they reach a disk: mapped files do not count, pipes do.

    Examples
    --------
    >>> moved_bytes() is None or moved_bytes()["read"] > 0
    True
    """
    try:
        fields = dict(line.split(": ") for line in _IO.read_text().splitlines())
    except OSError:
        return None
    return {"read": int(fields["rchar"]), "written": int(fields["wchar"])}
