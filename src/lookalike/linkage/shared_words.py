"""The words that two records have in common, and in how many records each occurs, to explain links between texts.

Like `kernels.text_pairs`: also codes that one record writes as two words, and words that differ by one edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lookalike.kernels.text_pairs import SOFT_LENGTH, SOFT_PAIRS
from lookalike.linkage.fields.columns import Column
from lookalike.types import Int64, strings_to_arrow, text_scalar, to_numpy
from lookalike.types import compute as pc

SHOWN = 8
"""The most words listed for a pair, rarest first."""


def list_shared(column: Column, pairs: Sequence[tuple[int, int]]) -> list[list[tuple[str, int]]]:
    """For each pair of records, the words of a field that both have, each with its number of records, rarest first.

    A code that one record writes as two words is listed as one; a misspelt word, with the word of the other record.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> values = strings_to_arrow(["sony ps lx350h turntable", "turntabel pslx350h sony", "sony turntable"])
    >>> column = Column("title", "text", np.array([0, 1, 2, -1], np.int32), values)
    >>> list_shared(column, [(0, 1), (0, 2), (0, 3)])
    [[('turntable/turntabel', 1), ('pslx350h', 2), ('sony', 3)], [('turntable', 2), ('sony', 3)], []]
    """
    texts = [(_text(column, left), _text(column, right)) for left, right in pairs]
    found = [_common(one, other) for one, other in texts]
    misspelt = [_misspelt(one, other) for one, other in texts]
    often = _count_records(column, sorted(set().union(*found, *(two for some in misspelt for two in some))))
    return [
        sorted(
            [(word, often[word]) for word in words]
            + [("/".join(two), min(often[word] for word in two)) for two in some],
            key=lambda one: (one[1], one[0]),
        )[:SHOWN]
        for words, some in zip(found, misspelt)
    ]  # fmt: skip


def _text(column: Column, record: int) -> list[str]:
    code = int(column.codes[record])
    return [] if code < 0 else column.values[code].as_py().split()


def _common(one: list[str], other: list[str]) -> set[str]:
    """The words of both texts, and codes that one of them writes as two words."""
    words, others = set(one), set(other)
    return (words & others) | (_codes(one) & others) | (words & _codes(other))


def _codes(words: list[str]) -> set[str]:
    """Adjacent words as one word, if it has a digit."""
    return set(filter(_has_digit, map("".join, pairwise(words))))


def _misspelt(one: list[str], other: list[str]) -> list[tuple[str, str]]:
    """Words of only one text each that differ by one edit; each word at most once. None of texts with many words."""
    lone, rest = (
        [word for word in dict.fromkeys(own) if not _has_digit(word) and word not in others]
        for own, others in ((one, set(other)), (other, set(one)))
    )
    found = []
    for word in lone if len(lone) * len(rest) <= SOFT_PAIRS else ():
        near = next((two for two in rest if len(two) >= SOFT_LENGTH and _differ_by_one(word, two)), None)
        if len(word) >= SOFT_LENGTH and near is not None:
            found.append((word, near))
            rest.remove(near)
    return found


def _differ_by_one(one: str, other: str) -> bool:
    """Whether two different words become equal by one letter added, left out, replaced or exchanged with the next.

    Examples
    --------
    >>> [_differ_by_one("lamp", other) for other in ("lamps", "amp", "lamb", "lapm", "land", "lumps")]
    [True, True, True, True, False, False]
    """
    first = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    a, b = one[first:], other[first:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])


def _count_records(column: Column, words: list[str]) -> dict[str, int]:
    """In how many records each of these words occurs; codes also written as two words."""
    if not words:
        return {}
    lists = pc.split_pattern(column.values, " ")
    tokens, values = pc.list_flatten(lists), to_numpy(pc.list_parent_indices(lists)).astype(np.int64)
    places = _places(tokens, words)
    codes = [word if _has_digit(word) else "" for word in words]
    if any(codes) and len(tokens) > 1:
        two = pc.binary_join_element_wise(tokens.slice(0, len(tokens) - 1), tokens.slice(1), text_scalar(""))
        places = np.append(places, np.where(values[:-1] == values[1:], _places(two, codes), -1))
        values = np.append(values, values[:-1])
    seen = np.unique(np.stack([values[places >= 0], places[places >= 0]]), axis=1)
    records = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    counts = np.bincount(seen[1], records[seen[0]], minlength=len(words)).astype(np.int64)
    return dict(zip(words, counts.tolist()))


def _places(tokens: pa.Array, words: list[str]) -> Int64:
    """The position of each token among the words; -1 if it is not one of them."""
    return to_numpy(pc.fill_null(pc.index_in(tokens, value_set=strings_to_arrow(words)), -1)).astype(np.int64)


def _has_digit(word: str) -> bool:
    return any("0" <= sign <= "9" for sign in word)
