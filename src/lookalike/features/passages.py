"""Find the passages that two texts share, to show users why the texts are similar.

Slow and readable, like `plain`: the same shingles, with their positions in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lookalike.features.plain import pieces
from lookalike.features.shingles import Shingling
from lookalike.features.stopwords import stop_words
from lookalike.kernels.folding import OWN, WORD

Span = tuple[int, int]
"""From the first character to the one after the last."""


class PlacedShingle(NamedTuple):
    """A shingle, and the characters of the text that it covers."""

    shingle: str
    start: int
    end: int


class SharedPassage(NamedTuple):
    """A stretch of consecutive shingles that both texts have."""

    left: Span
    right: Span


class Comparison(NamedTuple):
    """What two texts have in common."""

    shared: int
    """Distinct shingles (in bags, with repeats) that both have."""
    left_only: int
    right_only: int
    passages: list[SharedPassage]
    left_spans: list[Span]
    """All characters of the left text that shared shingles cover."""
    right_spans: list[Span]


def _folded(text: str) -> list[tuple[str, Span]]:
    """Tokens with their places."""
    found: list[tuple[str, Span]] = []
    run, start, end = "", 0, 0
    for place, original in enumerate(text + " "):
        for char, kind in pieces(original):
            if kind == WORD:
                start = start if run else place
                run, end = run + char, place + 1
                continue
            if run:
                found.append((run, (start, end)))
                run = ""
            if kind == OWN:
                found.append((char, (place, place + 1)))
    return found


def placed_shingles(text: str, shingling: Shingling) -> list[PlacedShingle]:
    """The shingles of a text in order, with their places.

    Examples
    --------
    >>> placed_shingles("Füße, 2 Rosen", Shingling("word", 2))
    [PlacedShingle(shingle='fusse 2', start=0, end=7), PlacedShingle(shingle='2 rosen', start=6, end=13)]
    """
    tokens = _folded(text)
    width = shingling.width
    if not tokens:
        return []
    if shingling.kind == "char":
        return _characters(tokens, width)
    last = max(1, len(tokens) - width + 1)
    starts: Iterable[int] = range(last)
    if shingling.kind == "stopword":
        stops = {one for word in stop_words(shingling.language) for one, _ in _folded(word)[:1]}
        starts = [at for at in range(len(tokens) - width + 1) if tokens[at][0] in stops]
    return [_window(tokens[at : at + width]) for at in starts]


def _window(tokens: Sequence[tuple[str, Span]]) -> PlacedShingle:
    return PlacedShingle(" ".join(one for one, _ in tokens), tokens[0][1][0], tokens[-1][1][1])


def _characters(tokens: Sequence[tuple[str, Span]], width: int) -> list[PlacedShingle]:
    """Windows of characters; each character has the position of its whole token."""
    joined = " ".join(one for one, _ in tokens)
    places: list[Span] = []
    for token, (start, end) in tokens:
        exact = len(token) == end - start
        places += [(start + at, start + at + 1) if exact else (start, end) for at in range(len(token))]
        places.append((end, end))
    count = max(1, len(joined) - width + 1)
    windows = [(at, min(at + width, len(joined)) - 1) for at in range(count)]
    return [PlacedShingle(joined[at : at + width], places[at][0], places[last][1]) for at, last in windows]


def compare_texts(left: str, right: str, shingling: Shingling) -> Comparison:
    """What two texts share, and where.

    Examples
    --------
    >>> found = compare_texts("so a rose is a rose", "a rose is a rose, yes", Shingling("word", 3))
    >>> found.shared, found.left_only, found.right_only, found.left_spans, found.right_spans
    (3, 1, 1, [(3, 19)], [(0, 16)])
    """
    one, other = placed_shingles(left, shingling), placed_shingles(right, shingling)
    counts, others = _counted(one, shingling.bag), _counted(other, shingling.bag)
    shared = sum((counts & others).values())
    both = counts.keys() & others.keys()
    return Comparison(
        shared,
        sum(counts.values()) - shared,
        sum(others.values()) - shared,
        _passages(one, other),
        _covered(one, both),
        _covered(other, both),
    )


def _counted(listed: Sequence[PlacedShingle], bag: bool) -> Counter[str]:
    names = [one.shingle for one in listed]
    return Counter(names if bag else set(names))


def _covered(listed: Sequence[PlacedShingle], shared: Iterable[str]) -> list[Span]:
    known = set(shared)
    spans: list[Span] = []
    for one in listed:
        if one.shingle in known:
            if spans and one.start <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(spans[-1][1], one.end)
            else:
                spans.append((one.start, one.end))
    return spans


def _passages(left: Sequence[PlacedShingle], right: Sequence[PlacedShingle]) -> list[SharedPassage]:
    """The longest stretch that starts with each shingle, from left to right, except stretches inside another."""
    places: dict[str, list[int]] = {}
    for at, one in enumerate(right):
        places.setdefault(one.shingle, []).append(at)
    found, at = [], 0
    while at < len(left):
        lengths = [(_stretch(left, at, right, start), -start) for start in places.get(left[at].shingle, ())[:FIRST]]
        if not lengths:
            at += 1
            continue
        length, start = max(lengths)
        last = -start + length - 1
        found.append(SharedPassage((left[at].start, left[at + length - 1].end), (right[-start].start, right[last].end)))
        at += length
    return found


FIRST = 20
"""Places of a shingle that are tried."""


def _stretch(left: Sequence[PlacedShingle], at: int, right: Sequence[PlacedShingle], start: int) -> int:
    length = 0
    while at + length < len(left) and start + length < len(right):
        if left[at + length].shingle != right[start + length].shingle:
            break
        length += 1
    return length
