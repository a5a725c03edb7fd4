"""What this process uses: memory, and bytes read and written. Knows nothing of the job."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")
_IO = Path("/proc/self/io")


def peak_memory_bytes() -> int:
    """The largest resident memory that this process has had.

    Examples
    --------
    >>> peak_memory_bytes() > 1_000_000
    True
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def resident_bytes() -> int:
    """The memory that this process has now; where the system does not tell, the most it has had.

    Examples
    --------
    >>> resident_bytes() > 1_000_000
    True
    """
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_memory_bytes()


def moved_bytes() -> dict[str, int] | None:
    """Bytes that this process has read and written so far; None where the system does not count them.

    The calls are counted, whether or not a disk was needed: mapped files do not count, pipes do.

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
