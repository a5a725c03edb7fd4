"""Parse ages such as "90d" and "12h"."""

from __future__ import annotations

import re

from lookalike.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_age(text: str | float) -> float:
    """Seconds, from "90d", "12h", "30m", "2w" or a number of seconds.

    Examples
    --------
    >>> parse_age("1.5h"), parse_age(10)
    (5400.0, 10.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", str(text))
    if not match:
        raise UsageError(f"--older-than must be a time such as 90d, 12h or 30m, not {text!r}")
    return float(match[1]) * _UNITS[match[2] or "s"]
