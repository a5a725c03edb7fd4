"""The index behind the server: it answers queries in batches, and one thread makes changes, in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError
from lookalike.index.index import StoredIndex
from lookalike.index.kind import Kind
from lookalike.index.naming import given_ids
from lookalike.index.stored_items import find_items, read_texts
from lookalike.read import open_data
from lookalike.server.contents import Item, Question, as_column, check_kind, form_of
from lookalike.server.problems import Problem, no_item, problem_of
from lookalike.types import DEFAULT_ID

Answer = dict[str, Any] | Problem


@dataclass(frozen=True, slots=True)
class Addition:
    """An item to be added, and how."""

    item: Item
    if_new: bool
    on_conflict: str


@dataclass(frozen=True, slots=True)
class Removal:
    """An item to be removed."""

    id: str


Change = Addition | Removal


class Collection:
    """Answers queries on any thread and makes changes on one."""

    def __init__(self, index: StoredIndex) -> None:
        self.index = index

    @property
    def kind(self) -> Kind:
        """What the index stores, and how items are compared."""
        return self.index.kind

    # Queries

    def answer(self, questions: Sequence[tuple[Question, bool]]) -> list[Answer]:
        """The matches of each query; the flag says whether to include texts."""
        answers: list[Answer] = [Problem(500, "not answered")] * len(questions)
        kind = self.kind
        for form, places in _grouped(range(len(questions)), lambda at: _form(questions[at][0])):
            good = [at for at in places if not _refused(answers, at, questions[at][0].item, kind)]
            if good:
                self._answer(questions, good, form[1], answers)
        return answers

    def _answer(
        self, questions: Sequence[tuple[Question, bool]], places: list[int], threshold: Any, answers: list[Answer]
    ) -> None:
        """Answer queries of one form and threshold."""
        asked = [questions[at] for at in places]
        try:
            features = as_column([question.item for question, _ in asked])
            lookup, found = self.index.search(features, max(question.k for question, _ in asked), threshold)
            ids = given_ids(lookup, found.right).to_pylist()
            texts = read_texts(lookup, found.right) if any(wanted for _, wanted in asked) else [None] * len(ids)
        except LookalikeError as error:
            for at in places:
                answers[at] = problem_of(error)
            return
        column = lookup.kind.measure.column
        matches: list[list[dict[str, Any]]] = [[] for _ in places]
        for row, id, value, text in zip(found.left.tolist(), ids, found.similarity.tolist(), texts):
            question, wanted = asked[row]
            if len(matches[row]) < question.k:
                one = {"id": id, column: value}
                matches[row].append({**one, "text": text} if wanted and text is not None else one)
        for at, (question, _), listed in zip(places, asked, matches):
            own = {} if question.item.id is None else {"id": question.item.id}
            answers[at] = {**own, "matches": listed}

    # Changes

    def change(self, changes: Sequence[Change]) -> list[Answer]:
        """Make changes in order; adjacent changes of one kind become one transaction."""
        answers: list[Answer] = []
        for same, group in groupby(changes, _transaction):
            listed = list(group)
            answers += self._add(listed) if same[0] == "add" else self._remove(listed)  # type: ignore[arg-type]
        return answers

    def _remove(self, removals: list[Removal]) -> list[Answer]:
        ids = [one.id for one in removals]
        try:
            known = find_items(self.index.store.lookup, ids)
            self.index.remove(ids)
        except LookalikeError as error:
            return [problem_of(error)] * len(ids)
        seen: set[str] = set()
        answers: list[Answer] = []
        for id, number in zip(ids, known):
            there = number is not None and id not in seen
            seen.add(id)
            answers.append({"id": id, "removed": True} if there else no_item(id))
        return answers

    def _add(self, additions: list[Addition]) -> list[Answer]:
        answers: list[Answer] = [Problem(500, "not added")] * len(additions)
        kind = self.kind
        good = [at for at, one in enumerate(additions) if not _refused(answers, at, one.item, kind)]
        if not good:
            return answers
        try:
            for at, answer in zip(good, self._add_together([additions[at] for at in good])):
                answers[at] = answer
        except LookalikeError as error:
            if len(good) == 1:
                answers[good[0]] = _addition_problem(error, additions[good[0]])
                return answers
            for at in good:  # find out which of them failed
                answers[at] = self._add([additions[at]])[0]
        return answers

    def _add_together(self, additions: list[Addition]) -> list[Answer]:
        """Add items in one transaction."""
        first, settings = additions[0], self.kind.settings.items
        columns = {settings.column: as_column([one.item for one in additions])}
        if first.item.id is not None:
            columns[settings.id or DEFAULT_ID] = _ids([one.item.id for one in additions])
        source = open_data(pa.table(columns), settings.column)
        source.holds_vectors = form_of(first.item) == "vector"
        table = self.index.add([source], if_new=first.if_new, on_conflict=first.on_conflict, numbered=True)
        rows = table.to_pylist()
        return [row if one.item.id is None else {**row, "id": one.item.id} for one, row in zip(additions, rows)]


def _grouped(values: Iterable[int], key: Callable[[int], Any]) -> list[tuple[Any, list[int]]]:
    found: dict[Any, list[int]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return list(found.items())


def _form(question: Question) -> tuple[str, float | str | None]:
    return form_of(question.item), question.threshold


def _transaction(change: Change) -> tuple[Any, ...]:
    """A key: changes with equal keys can share a transaction."""
    if isinstance(change, Removal):
        return ("remove",)
    return "add", change.if_new, change.on_conflict, change.item.id is None, form_of(change.item)


def _refused(answers: list[Answer], at: int, item: Item, kind: Kind) -> bool:
    try:
        check_kind(item, kind)
    except Problem as problem:
        answers[at] = problem
        return True
    return False


def _addition_problem(error: LookalikeError, addition: Addition) -> Problem:
    if addition.on_conflict == "error" and isinstance(error, BadDataError) and "already exists" in str(error):
        return Problem(409, f"the index already has an item {addition.item.id!r}")
    return problem_of(error)


def _ids(given: Sequence[Any]) -> pa.Array:
    if all(isinstance(one, int) for one in given):
        return pa.array(given, pa.int64())
    return pa.array([str(one) for one in given], pa.large_string())
