"""Two items side by side: how similar they are, and the passages that they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import item_sets
from lookalike.features.passages import compare_texts
from lookalike.index.kind import Kind
from lookalike.index.stored_items import read_items, stored_set
from lookalike.server.contents import ContentReader
from lookalike.server.problems import Problem
from lookalike.server.routes import number_of
from lookalike.server.state import ServerState
from lookalike.types import Sets

COMPARED_CHARACTERS = 400_000
"""For texts that are longer in total, shared passages are not searched for."""


def compare(state: ServerState, given: Any) -> dict[str, Any]:
    """The answer of /v1/compare."""
    if not isinstance(given, dict) or given.keys() != {"left", "right"}:
        raise Problem(422, 'give two texts, or items by id: {"left": "...", "right": {"id": "..."}}')
    kind = state.index.kind
    if kind.settings.items.vectors is not None or (not kind.decided and kind.measure.of_vectors):
        raise Problem(422, "the index holds vectors; only texts can be compared here")
    (left, one), (right, other) = (_side(state, given[side], side) for side in ("left", "right"))
    found = describe_overlap(kind, one, other)
    passages: list[dict[str, Any]] = []
    spans: dict[str, Any] = {"left_shared": [], "right_shared": []}
    if left is not None and right is not None and len(left) + len(right) <= COMPARED_CHARACTERS:
        texts = compare_texts(left, right, kind.settings.items.shingling)
        spans = {"left_shared": texts.left_spans, "right_shared": texts.right_spans}
        passages = [
            {"left": passage.left, "right": passage.right, "text": left[passage.left[0] : passage.left[1]]}
            for passage in texts.passages
        ]
    return {**found, "passages": passages, **spans}


def describe_overlap(kind: Kind, one: Sets, other: Sets) -> dict[str, Any]:
    """Similarity, and how many elements are shared or in one set only; similarity is null if a set is empty."""
    shared = len(np.intersect1d(one.elements, other.elements, assume_unique=True))
    sizes = len(one.elements), len(other.elements)
    value = None
    if all(sizes):
        numbers = [np.array([number], np.int64) for number in (shared, *sizes)]
        value = float(kind.measure.of_overlaps(*numbers)[0])
    return {"similarity": value, "shared": shared, "left_only": sizes[0] - shared, "right_only": sizes[1] - shared}


def _side(state: ServerState, given: Any, side: str) -> tuple[str | None, Sets]:
    """The text, if there is one, and the set of one side."""
    contents: ContentReader = state.contents
    if isinstance(given, str):
        text = contents.text(given)
        return text, item_sets(pa.array([text], pa.large_string()), state.index.kind.digesting)
    if not isinstance(given, dict) or given.keys() != {"id"} or not isinstance(given["id"], str | int):
        raise Problem(422, f'{side} is a text, or {{"id": "..."}} for an item of the index')
    lookup = state.index.store.lookup
    number = number_of(lookup, str(given["id"]))
    return read_items(lookup, [number])[0].text, stored_set(lookup, number)
