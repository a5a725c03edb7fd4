"""A query of one text: its keys and elements, in arrays that each thread allocates once and uses again."""

from __future__ import annotations

import threading

import numpy as np

from lookalike.engine.digest import DigestSettings
from lookalike.kernels.chunks import CHUNK_BYTES
from lookalike.kernels.compile import bind
from lookalike.kernels.shingles import work_space
from lookalike.kernels.single import DISTINCT, key_text
from lookalike.types import Int64, UInt64
from lookalike.verify.measures import Measure

ROOM = 1 << 12
"""Shared buckets, of all items, and blocks that are checked at a time; for more, `View.search` is used."""
LETTERS = 1 << 13
"""The first size of a text in bytes; it doubles when a text is longer."""
LONGEST = CHUNK_BYTES // 4
"""The most characters of a text, since it is not split into chunks; for longer ones, `View.search` is used."""
PADDING = 72
"""Bytes after the text that kernels may load."""
MOST = 8
"""Questions with different settings that a thread keeps."""


class Question:
    """A text, as `View.ask` compares it with the items of an index.

    Examples
    --------
    >>> from lookalike.features.shingles import Shingling
    >>> from lookalike.tuning.plan import tune
    >>> question = Question(DigestSettings(Shingling("word", 2), plan=tune(0.8)))
    >>> question.take("a rose is a rose"), question.take("...")
    (True, False)
    """

    def __init__(self, settings: DigestSettings) -> None:
        self.settings = settings
        assert settings.plan is not None
        self._keys: UInt64 = np.empty(settings.plan.bands, np.uint64)
        self._sketch: UInt64 = np.empty(settings.plan.used_hashes, np.uint64)
        self._counts: Int64 = np.zeros(2, np.int64)
        self._spans: Int64 = np.empty((2, settings.plan.bands), np.int64)
        self._found: Int64 = np.empty((3, ROOM), np.int64)
        self._blocks: Int64 = np.empty(ROOM, np.int64)
        self._sums: UInt64 = np.empty(ROOM, np.uint64)
        self._make_room(LETTERS)

    def _make_room(self, letters: int) -> None:
        """Allocate what depends on the length of the text; memory that is never written costs nothing."""
        self._room, settings = letters, self.settings
        plan = settings.plan
        assert plan is not None
        kind, width, bag, folding, stop_words = settings.shingling.arguments()
        data = np.zeros(letters + PADDING, np.uint8)
        self._data = data.data
        edge, tokens, elements, work = work_space(data, np.array([0, letters]), kind, width, CHUNK_BYTES)
        self._key = bind(
            key_text, kind, width, bag, folding, stop_words, np.uint64(settings.seed), plan.rows, data, edge, tokens,
            elements, work, self._sketch, self._keys, self._counts,
        )  # fmt: skip
        self.of_table = self._keys, elements, self._counts, work, self._found, self._blocks, self._sums
        """The last arguments of `single.ask_table`."""
        self.of_segment = (*self.of_table[:4], self._spans, *self.of_table[4:])
        """The last arguments of `single.ask_segment`."""

    def take(self, text: str) -> bool:
        """Compute the keys of a text; False if it is empty."""
        data = text.encode()
        length = len(data)
        if length > self._room:
            self._make_room(2 * length)
        self._data[:length] = data
        return self._key(length) > 0  # type: ignore[no-any-return]

    def matches(self, kept: int, first: int, measure: Measure) -> list[tuple[float, int]]:
        """The similarities and numbers of the items that a kernel found in a part whose first item has this number."""
        own = int(self._counts[DISTINCT])
        return [
            (measure.of_overlap(overlap, own, size), number + first)
            for number, overlap, size in zip(*self._found[:, :kept].tolist())
        ]


class _Questions(threading.local):
    """The questions that a thread keeps, by the identity of their settings."""

    def __init__(self) -> None:
        self.known: dict[int, Question] = {}


_of_thread = _Questions()


def borrow_question(settings: DigestSettings) -> Question:
    """Take a question of this thread for these settings, or a new one: code that interrupts this gets another one."""
    return _of_thread.known.pop(id(settings), None) or Question(settings)


def return_question(question: Question) -> None:
    """Keep a question for the next query; it keeps its settings, so no others can have the same identity."""
    known = _of_thread.known
    if len(known) >= MOST:
        known.clear()
    known[id(question.settings)] = question
