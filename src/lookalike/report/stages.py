"""Time, memory and bytes of a run, by stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.report.html import Markup, join, table, tag


def about_run(run: Mapping[str, Any], command: str, where: str = "") -> Markup:
    """The resources of the run, and how to repeat it if known; `where` is a remark on the command."""
    parts = [list_stages(run)]
    if command:
        code = tag("pre", tag("code", command), tabindex="0", role="group", aria_label="Command")
        parts += [tag("p", f"To repeat the run{where}:"), code]
    return join(parts)


def list_stages(run: Mapping[str, Any]) -> Markup:
    """A table of the stages, and what the run needed altogether.

    Examples
    --------
    >>> "1.5 s" in list_stages({"seconds": {"reading": 1.5}, "bytes": {}, "peak_memory_bytes": 1e6})
    True
    """
    seconds, moved = run.get("seconds", {}), run.get("bytes", {})
    total = sum(spent for stage, spent in seconds.items() if stage != "compiling")
    words = f"The run took {show_seconds(total)} and {show_bytes(run['peak_memory_bytes'])} of memory at its peak"
    words += " on the driver" if "engine" in run else ""
    words += f" (lookalike {run['version']})." if "version" in run else "."
    rows = [
        [stage, show_seconds(spent), *(show_bytes(moved.get(stage, {}).get(way, 0)) for way in ("read", "written"))]
        for stage, spent in seconds.items()
    ]
    heads = ["stage", "time", "read", "written"]
    return join([tag("p", words), table(heads, rows, numeric=range(1, 4), caption="Time and bytes by stage")])


def show_seconds(seconds: float) -> str:
    """A duration.

    Examples
    --------
    >>> show_seconds(0.012), show_seconds(75), show_seconds(7384)
    ('0.01 s', '1 min 15 s', '2 h 03 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def show_bytes(nbytes: float) -> str:
    """A number of bytes, in decimal units.

    Examples
    --------
    >>> show_bytes(0), show_bytes(1234567), show_bytes(5e9)
    ('0', '1.2 MB', '5.0 GB')
    """
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if nbytes >= factor:
            return f"{nbytes / factor:.1f} {unit}"
    return f"{nbytes:.0f} B" if nbytes else "0"
