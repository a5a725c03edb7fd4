"""The index behind the server: it answers queries in batches, and one thread makes changes, in groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, LookalikeError
from lookalike.index.contract import Lookup
from lookalike.index.index import StoredIndex
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.index.stored_items import find_items
from lookalike.read import open_data
from lookalike.server.contents import Item, Question, as_column, check_kind, form_of
from lookalike.server.problems import Problem, no_item, problem_of
from lookalike.server.rendering import Answer, Matched, ids_and_texts, ids_only, with_small_written
from lookalike.types import DEFAULT_ID


class Asked(NamedTuple):
    """A query, and how it is answered."""

    question: Question
    with_text: bool
    alone: bool = False
    """Whether it is all that its request asks: if its answer is small, it is written together with others."""


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

    def answer(self, queries: Sequence[Asked]) -> list[Answer]:
        """The matches of each query."""
        answers: list[Answer] = [Problem(500, "not answered")] * len(queries)
        kind = self.kind
        for form, places in _grouped(range(len(queries)), lambda at: _form(queries[at].question)):
            good = [at for at in places if not _refused(answers, at, queries[at].question.item, kind)]
            if good:
                self._answer(queries, good, form[1], answers)
        return with_small_written(answers, [at for at, query in enumerate(queries) if query.alone])

    def _answer(self, queries: Sequence[Asked], places: list[int], threshold: Any, answers: list[Answer]) -> None:
        """Answer queries of one form and threshold."""
        asked = [queries[at] for at in places]
        try:
            features = as_column([query.question.item for query in asked])
            lookup, matches = self.index.search(features, max(query.question.k for query in asked), threshold)
        except LookalikeError as error:
            for at in places:
                answers[at] = problem_of(error)
            return
        edges = np.searchsorted(matches.left, np.arange(len(asked) + 1)).tolist()
        for at, query, low, high in zip(places, asked, edges, edges[1:]):
            answers[at] = _matched(lookup, query, matches, slice(low, min(high, low + query.question.k)))

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


def _matched(lookup: Lookup, query: Asked, matches: Matches, rows: slice) -> Matched:
    """The matches of one query, copied: those of the others need not stay in memory."""
    about = {} if query.question.item.id is None else {"id": query.question.item.id}
    read = ids_and_texts if query.with_text else ids_only
    return Matched(lookup, about, matches.right[rows].copy(), matches.similarity[rows].copy(), read)


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
