"""Answers are written a few matches at a time, and one that goes wrong takes no other with it."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.errors import BadDataError
from lookalike.server.problems import Problem
from lookalike.server.rendering import TOGETHER, Matched, TooLongError, Writing, with_small_written

LOOKUP = SimpleNamespace(kind=SimpleNamespace(measure=SimpleNamespace(column="similarity")))


class Store:
    """Items of 100 bytes; notes which are read together."""

    def __init__(self, gone=(), damaged=()):
        self.gone, self.damaged, self.asked = set(gone), set(damaged), []
        self.read = self._read  # always the same object

    def _read(self, lookup, numbers):
        assert lookup is LOOKUP
        self.asked.append(numbers.tolist())
        if self.damaged & {*numbers.tolist()}:
            raise BadDataError("the segment is damaged")
        if lost := self.gone & {*numbers.tolist()}:
            raise KeyError(lost.pop())
        return [{"id": int(number), "text": "x" * 100} for number in numbers]

    def matched(self, numbers, **about):
        numbers = np.array(numbers, np.int64)
        return Matched(LOOKUP, about, numbers, numbers / 1000, self.read)


def written(answers, largest=10**6):
    writing, pieces = Writing(answers, after=b"\n"), []
    while piece := writing.next(largest):
        pieces.append(piece)
    return [json.loads(line) for line in b"".join(pieces).splitlines()]


def ids(answer):
    return [one["id"] for one in answer["matches"]]


def test_matches_of_several_answers_are_read_a_few_at_a_time():
    store = Store()
    answers = [store.matched(range(5), id="q"), {"added": True}, store.matched([]), store.matched(range(100, 140))]
    first, second, third, fourth = written(answers)
    assert (first["id"], ids(first), first["matches"][3]) == (
        "q",
        [*range(5)],
        {"id": 3, "similarity": 0.003, "text": "x" * 100},
    )
    assert (second, third, ids(fourth)) == ({"added": True}, {"matches": []}, [*range(100, 140)])
    assert [len(one) for one in store.asked] == [TOGETHER, TOGETHER, 45 - 2 * TOGETHER]


def test_an_answer_that_is_too_long_is_not_read_to_its_end():
    store = Store()
    writing = Writing([store.matched(range(3)), store.matched(range(1000, 11_000)), {"a": 1}], between=b",")
    assert len(json.loads(writing.next(2000))["matches"]) == 3
    with pytest.raises(TooLongError):
        writing.next(2000)
    assert sum(map(len, store.asked)) < 5 * TOGETHER
    writing.replace(Problem(413, "too long"))
    error, last = json.loads(b"[" + writing.next(2000).removeprefix(b",") + b"]")
    assert (error["error"]["status"], last) == (413, {"a": 1})


def test_items_that_a_database_has_lost_are_left_out():
    (answer,) = written([Store(gone=[3, 4, 25]).matched(range(30))])
    assert ids(answer) == [number for number in range(30) if number not in (3, 4, 25)]


def test_an_answer_that_cannot_be_read_is_an_error_in_its_place():
    store = Store(damaged=[50])
    first, second, third = written(
        [store.matched(range(10)), store.matched(range(40, 60)), store.matched(range(70, 75))]
    )
    assert (len(ids(first)), second["error"]["status"], ids(third)) == (10, 422, [*range(70, 75)])
    with pytest.raises(Problem, match="is damaged"):
        Writing([store.matched([50])], alone=True).next(10**6)


def test_small_answers_are_written_together_and_others_later():
    store = Store()
    answers = [
        store.matched([1]),
        store.matched(range(5000)),
        Problem(422, "no"),
        store.matched([2]),
        store.matched([3]),
    ]
    made = with_small_written(answers, [0, 1, 2, 3])
    assert [one.written is not None if isinstance(one, Matched) else None for one in made] == [
        True,
        False,
        None,
        True,
        False,
    ]
    assert [ids(one) for one in written([made[0], made[3]])] == [[1], [2]]
    assert len(ids(written([made[1]])[0])) == 5000
