"""Recognise the run.json files that lookalike wrote."""

from __future__ import annotations

import json
from typing import Any


def parse_record(content: bytes) -> dict[str, Any] | None:
    """The content of run.json, if lookalike wrote it.

    Examples
    --------
    >>> parse_record(b'{"name": "trial 7"}') is None
    True
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and {"options", "counts"} <= found.keys() else None
