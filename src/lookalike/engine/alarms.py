"""Alarms: what a user should check before trusting a result.

They are made once, with the record of a run; the terminal and the report repeat what the record has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lookalike.types.wording import count

Alarm = dict[str, Any]
"""`kind` and `text`, a sentence without its full stop; for some kinds, also the numbers in it."""
FEW = 20
"""Collections and files with fewer items raise no alarm about shares."""
MOST = 12
"""Alarms that are shown; run.json has all."""
MANY_REJECTED = 0.01
WIDE = 0.05
"""How far the interval of a measured recall may reach below the target; if 60 of 60 pairs are found, it is from 94%."""


def show_alarms(alarms: Sequence[Alarm]) -> list[str]:
    """The texts of the first alarms, and how many more there are.

    Examples
    --------
    >>> show_alarms([{"kind": "rejected", "text": "1 bad line or file was left out"}] * 14)[-2:]
    ['1 bad line or file was left out', '2 more alarms are listed in run.json']
    """
    shown = [str(alarm["text"]) for alarm in alarms[:MOST]]
    more = len(alarms) - len(shown)
    return [*shown, f"{count(more, 'more alarm')} {'is' if more == 1 else 'are'} listed in run.json"] if more else shown


def about_rejected(rejected: int, items: int) -> list[Alarm]:
    """An alarm if some of the input could not be read; with its share if that is large.

    Examples
    --------
    >>> about_rejected(2, 1000)[0]["text"]
    '2 bad lines or files were left out'
    >>> about_rejected(1, 24)[0]["text"]
    '1 bad line or file was left out (4.0% of the input)'
    """
    if not rejected:
        return []
    share = rejected / (items + rejected)
    text = f"{count(rejected, 'bad line or file', 'bad lines or files')} {'was' if rejected == 1 else 'were'} left out"
    text += f" ({share:.1%} of the input)" if share > MANY_REJECTED else ""
    return [{"kind": "rejected", "rejected": rejected, "text": text}]


def about_components(largest: int, items: int) -> list[Alarm]:
    """An alarm if one component has most of the items that are in pairs.

    Examples
    --------
    >>> about_components(30, 40)[0]["text"]
    'one component has 30 of the 40 items in pairs. Boilerplate, or too low a threshold?'
    >>> about_components(4, 4)
    []
    """
    if largest <= FEW or 2 * largest <= items:
        return []
    text = f"one component has {largest:,} of the {items:,} items in pairs. Boilerplate, or too low a threshold?"
    return [{"kind": "large_component", "size": largest, "text": text}]


def is_wide(audit: dict[str, Any]) -> bool:
    """Whether the interval of the measured recall is too wide to say that the target was nearly reached.

    Examples
    --------
    >>> is_wide({"interval": [0.34, 1.0], "wanted": 0.99}), is_wide({"interval": [0.97, 1.0], "wanted": 0.99})
    (True, False)
    """
    return bool(audit["interval"][0] < audit["wanted"] - WIDE)
