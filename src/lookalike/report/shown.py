"""Items and pairs that pages show: plain values, which know neither Arrow nor HTML."""

from __future__ import annotations

from typing import Any

from lookalike.types.frozen import frozen


@frozen
class ShownItem:
    """An item that the page shows."""

    id: object
    file: str
    row: int
    content: Any = None
    """Its text, tokens or vector; None if it is not available."""


@frozen
class ShownPair:
    """Two items with their similarity or distance. In a removal, the left item is removed and the right one kept."""

    left: ShownItem
    right: ShownItem
    value: float
