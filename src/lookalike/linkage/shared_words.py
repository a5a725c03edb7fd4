"""The words that two records have in common, and in how many records each occurs, to explain links between texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.linkage.fields.columns import Column
from lookalike.types import compute as pc
from lookalike.types import strings_to_arrow, to_numpy

SHOWN = 8
"""The most words listed for a pair, rarest first."""


def list_shared(column: Column, pairs: Sequence[tuple[int, int]]) -> list[list[tuple[str, int]]]:
    """For each pair of records, the words of a field that both have, each with its number of records, rarest first.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["sony pslx350h turntable", "turntable pslx350h", "sony turntable"])
    >>> column = Column("title", "text", np.array([0, 1, 2, -1], np.int32), values)
    >>> list_shared(column, [(0, 1), (0, 3)])
    [[('pslx350h', 2), ('turntable', 3)], []]
    """
    found = [_words(column, left) & _words(column, right) for left, right in pairs]
    often = _count_records(column, sorted(set().union(*found)))
    return [
        sorted(((word, often[word]) for word in words), key=lambda one: (one[1], one[0]))[:SHOWN] for words in found
    ]


def _words(column: Column, record: int) -> set[str]:
    code = int(column.codes[record])
    return set() if code < 0 else set(column.values[code].as_py().split())


def _count_records(column: Column, words: list[str]) -> dict[str, int]:
    """In how many records each of these words occurs."""
    if not words:
        return {}
    lists = pc.split_pattern(column.values, " ")
    places = to_numpy(pc.fill_null(pc.index_in(pc.list_flatten(lists), value_set=strings_to_arrow(words)), -1))
    values = to_numpy(pc.list_parent_indices(lists)).astype(np.int64)
    seen = np.unique(np.stack([values[places >= 0], places[places >= 0].astype(np.int64)]), axis=1)
    records = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    counts = np.bincount(seen[1], records[seen[0]], minlength=len(words)).astype(np.int64)
    return dict(zip(words, counts.tolist()))
