"""Answers as JSON: the ids and texts of matches are read a few at a time, when they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import orjson

from lookalike.errors import LookalikeError
from lookalike.index.contract import Lookup
from lookalike.index.naming import given_ids
from lookalike.index.stored_items import read_texts
from lookalike.server.problems import Problem, problem_of
from lookalike.types import Float64, Int64

TOGETHER = 16
"""Matches that are read at a time: a text may have megabytes."""
SMALL_BYTES = 1 << 16
"""Answers are written in pieces of about this size."""
Rows = Sequence[tuple[Any, dict[str, Any]]]
Job = TypeVar("Job")


class TooLongError(Exception):
    """An answer is longer than allowed."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The matches of a query; all but their numbers and similarities is still to be read."""

    lookup: Lookup
    about: dict[str, Any]
    """What the answer contains besides its matches."""
    numbers: Int64
    values: Float64
    read: Callable[[Lookup, Int64], list[dict[str, Any] | None]]
    """Reads what is shown of some items; None for those that are gone."""
    written: bytes | None = None
    """The answer, if it has been written."""


Answer = dict[str, Any] | Problem | Matched | bytes
"""Bytes are an answer as JSON."""


def ids_only(lookup: Lookup, numbers: Int64) -> list[dict[str, Any] | None]:
    """The ids of items."""
    return [{"id": id} for id in given_ids(lookup, numbers).to_pylist()]


def ids_and_texts(lookup: Lookup, numbers: Int64) -> list[dict[str, Any] | None]:
    """The ids of items, and their texts if they are stored."""
    if lookup.kind.store != "text":
        return ids_only(lookup, numbers)
    texts = read_texts(lookup, numbers)
    return [{"id": id, "text": text} for id, text in zip(given_ids(lookup, numbers).to_pylist(), texts)]


class _Shown:
    """What is shown of the matches of several answers, read a few at a time in their order."""

    def __init__(self, answers: Sequence[Matched]) -> None:
        self._first = answers[0]
        self._numbers = np.concatenate([answer.numbers for answer in answers])
        self._start, self._items = 0, list[dict[str, Any] | None]()

    def __getitem__(self, at: int) -> dict[str, Any] | None:
        if not self._start <= at < self._start + len(self._items):
            self._items = []  # before the next are read
            self._start = at
            try:
                self._items = _read_present(self._first, self._numbers[at : at + TOGETHER])
            except LookalikeError:  # perhaps about a match of another answer
                self._items = _read_present(self._first, self._numbers[at : at + 1])
        return self._items[at - self._start]


def _read_present(answer: Matched, numbers: Int64) -> list[dict[str, Any] | None]:
    """What is shown of items; a database may have lost some of them since the search."""
    try:
        return answer.read(answer.lookup, numbers)
    except KeyError:
        if len(numbers) == 1:
            return [None]
        return [item for number in numbers for item in _read_present(answer, np.array([number]))]


def write_answers(answers: Sequence[Answer], largest: int, first: int = 0) -> Iterator[bytes]:
    """The answers from the first one on as JSON, in order; at one that is longer than `largest`, `TooLongError`."""
    for run in _runs(answers[first:]):
        matched = [answer for answer in run if isinstance(answer, Matched)]
        shown = _Shown(matched) if matched else None
        at = 0
        for answer in run:
            if not isinstance(answer, Matched):
                yield _limited(answer if isinstance(answer, bytes) else orjson.dumps(as_object(answer)), largest)
            elif answer.written is not None:
                yield _limited(answer.written, largest)
                at += len(answer.numbers)
            else:
                assert shown is not None
                yield _matched(answer, shown, at, largest)
                at += len(answer.numbers)


def _runs(answers: Sequence[Answer]) -> Iterator[list[Answer]]:
    """Adjacent answers whose matches can be read together."""
    run: list[Answer] = []
    last: Matched | None = None
    for answer in answers:
        if isinstance(answer, Matched):
            if last is not None and (answer.lookup is not last.lookup or answer.read is not last.read):
                yield run
                run = []
            last = answer
        run.append(answer)
    yield run


def _matched(answer: Matched, shown: _Shown, first: int, largest: int) -> bytes:
    column = answer.lookup.kind.measure.column
    head = orjson.dumps({**answer.about, "matches": []})[:-2]
    pieces, size = [], len(head)
    for at, value in enumerate(answer.values.tolist(), first):
        item = shown[at]
        if item is None:
            continue
        id = {"id": item["id"], column: value}  # in this order
        piece = orjson.dumps({**id, **item} if len(item) > 1 else id)
        size += len(piece) + 1
        if size > largest:
            raise TooLongError
        pieces.append(piece)
    return b"%b%b]}" % (head, b",".join(pieces))


def _limited(content: bytes, largest: int) -> bytes:
    if len(content) > largest:
        raise TooLongError
    return content


def as_object(answer: dict[str, Any] | Problem) -> dict[str, Any]:
    """An answer, or an error in its place."""
    return {"error": answer.described()} if isinstance(answer, Problem) else answer


def with_small_written(answers: Sequence[Answer], places: Sequence[int]) -> list[Answer]:
    """The answers, of which those at some places are written together if they are small."""
    made = list(answers)
    pending = [at for at in places if isinstance(made[at], Matched)]
    while pending:
        pieces = write_answers([made[at] for at in pending], SMALL_BYTES)
        for done, at in enumerate(pending):
            try:
                made[at] = replace(made[at], written=next(pieces))  # type: ignore[type-var]
            except TooLongError:  # written later, by itself
                pending = pending[done + 1 :]
                break
            except LookalikeError as error:
                made[at] = problem_of(error)
                pending = pending[done + 1 :]
                break
        else:
            break
    return made


class Writing:
    """Writes the answers of one request, piece by piece. Only one thread may use it at a time.

    Parameters
    ----------
    answers
        In order.
    between, after
        What comes before each but the first, and after each.
    begun
        Whether other answers came before the first.
    alone
        Whether a problem is raised, not written in the place of the answer.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        *,
        between: bytes = b"",
        after: bytes = b"",
        begun: bool = False,
        alone: bool = False,
    ) -> None:
        self._answers, self._between, self._after = list(answers), between, after
        self._begun, self._alone = begun, alone
        self._at = 0

    def next(self, largest: int) -> bytes:
        """The next answers, one at least; nothing at the end.

        Raises
        ------
        TooLongError
            If the next answer is longer than `largest`.
        """
        pieces: list[bytes] = []
        size = 0
        try:
            for piece in write_answers(self._answers, largest, self._at):
                pieces += [self._between if self._begun else b"", piece, self._after]
                self._begun = True
                size += len(piece)
                self._at += 1
                if size >= SMALL_BYTES:
                    break
        except TooLongError:
            if not pieces:
                raise
        except LookalikeError as error:
            self.replace(problem_of(error))
            return b"".join(pieces) or self.next(largest)
        return b"".join(pieces)

    def replace(self, problem: Problem) -> None:
        """Put a problem in the place of the next answer."""
        if self._alone:
            raise problem
        self._answers[self._at] = problem


def in_parts(jobs: Iterable[Job], weigh: Callable[[Job], int], most: int) -> Iterator[list[Job]]:
    """Jobs in groups of a total weight.

    Examples
    --------
    >>> list(in_parts([3, 3, 9, 1], lambda job: job, 6))
    [[3, 3], [9], [1]]
    """
    part: list[Job] = []
    total = 0
    for job in jobs:
        weight = weigh(job)
        if part and total + weight > most:
            yield part
            part, total = [], 0
        part.append(job)
        total += weight
    if part:
        yield part
