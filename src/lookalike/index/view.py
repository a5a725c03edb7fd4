"""A snapshot of the items of an index: its parts, and which of their items have been removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import KeyedSets, keyed_text
from lookalike.index.batch import Content, id_keys, no_items, pieces_of
from lookalike.index.kind import Kind
from lookalike.index.matches import Matches
from lookalike.index.part import Part, StoredSets, fetch_sets
from lookalike.index.question import LONGEST, Question, borrow_question, return_question
from lookalike.kernels import index as kernels
from lookalike.kernels.questions import compare_found
from lookalike.matching.vectors import values_of_pairs
from lookalike.types import Bool, Float64, Int64, Sets, bytes_to_arrow, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen
from lookalike.verify.measures import Measure

FEW = 32
"""Up to this many pairs are compared without checking their sizes, and ids are read one by one."""
MOST_HELD = 1 << 20
"""Matches that are held before all but the best are dropped: thousands of copies may resemble each of many items."""
MOST_LATE = 1 << 12
"""So many removed items are listed before they are marked: marking them copies a byte for each item."""
SCANNED = 1 << 12
"""The search for the next item that has not been removed checks this many at a time."""


@frozen
class View:
    """Parts in input order; items are numbered across all parts. A view never changes, so threads can share it.

    Examples
    --------
    >>> from lookalike.engine.settings import Settings
    >>> len(View(Kind.create(Settings.parse(method="lsh"), "sets")))
    0
    """

    kind: Kind
    parts: tuple[Part, ...] = ()
    gone: Bool = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Which items have been removed, but for the latest; longer than there are items."""
    late: Int64 = field(default_factory=no_items)
    """The numbers, ascending, of the items that were removed since `gone` was made: to change it is to copy it."""
    removed: int = 0
    """How many items have been removed."""
    integers: bool = True
    """Whether all ids were integers."""

    def __len__(self) -> int:
        return self.total - self.removed

    @property
    def total(self) -> int:
        """The number of items, removed ones included."""
        return sum(len(part) for part in self.parts)

    def with_parts(self, parts: Sequence[Part], *, integers: bool = True) -> View:
        """A view of other parts that start with the same items."""
        total, gone = sum(len(part) for part in parts), self.gone
        if total > len(gone):
            gone = np.zeros(max(64, 2 * total), np.bool_)
            gone[: len(self.gone)] = self.gone
        return replace(self, parts=tuple(parts), gone=gone, integers=self.integers and integers)

    def without(self, numbers: Int64) -> View:
        """A view without some items."""
        fresh = numbers[~self.are_gone(numbers)]
        if not len(fresh):
            return self
        late = np.unique(np.concatenate([self.late, fresh]))
        removed, gone = self.removed + len(late) - len(self.late), self.gone
        if len(late) > MOST_LATE:
            gone, late = gone.copy(), no_items()
            gone[self.late] = gone[fresh] = True
        return replace(self, gone=gone, late=late, removed=removed)

    def replaced(self, place: int, count: int, parts: Sequence[Part], dead: Sequence[Bool]) -> View:
        """A view in which some parts in a row are replaced by others; `dead` are the removed items of these."""
        before = sum(len(part) for part in self.parts[:place])
        after = before + sum(len(part) for part in self.parts[place : place + count])
        gone = self.gone.copy()
        gone[self.late] = True
        gone = np.concatenate([gone[:before], *dead, gone[after:]])
        all_parts = (*self.parts[:place], *parts, *self.parts[place + count :])
        total = sum(len(part) for part in all_parts)
        removed = int(np.count_nonzero(gone[:total]))
        return replace(self, parts=all_parts, gone=gone, late=no_items(), removed=removed)

    def are_gone(self, numbers: Int64) -> Bool:
        """Which of these items have been removed."""
        gone: Bool = self.gone[numbers]
        if len(self.late):
            places = np.minimum(np.searchsorted(self.late, numbers), len(self.late) - 1)
            gone = gone | (self.late[places] == numbers)
        return gone

    def _without_late(self, matches: Matches) -> Matches:
        """Matches from a kernel, which knows `gone` only."""
        if not len(self.late) or not len(matches.right):
            return matches
        return matches.take(np.flatnonzero(~self.are_gone(matches.right)))

    def each(self) -> Iterator[tuple[int, Part]]:
        """The parts, each with the number of its first item."""
        first = 0
        for part in self.parts:
            yield first, part
            first += len(part)

    def alive(self, first: int, part: Part) -> Int64:
        """The items of a part that have not been removed, numbered within it."""
        alive = ~self.gone[first : first + len(part)]
        low, high = np.searchsorted(self.late, [first, first + len(part)])
        alive[self.late[low:high] - first] = False
        return np.flatnonzero(alive)

    def count_alive(self, first: int, part: Part) -> int:
        """How many items of a part have not been removed."""
        low, high = np.searchsorted(self.late, [first, first + len(part)])
        return len(part) - int(np.count_nonzero(self.gone[first : first + len(part)])) - int(high - low)

    def search(self, asked: KeyedSets, measure: Measure, k: int | None = None) -> Matches:
        """All similar items that share a bucket with the queried items, or at least the best `k` of each."""
        found: list[Matches] = []
        for first, part in self.each():
            for left, right in part.find(asked, measure):
                stored = part.stored_sets(len(left)) if self.kind.holds_sets else None
                if stored is not None:
                    compared = self._compare_stored(asked.sets, left, right, stored, first, measure)
                    found += [self._without_late(matches) for matches in compared]
                else:
                    kept = ~self.are_gone(first + right)
                    pieces = self._compare(asked.sets, left[kept], part, right[kept], measure)
                    found += [piece._replace(right=piece.right + first) for piece in pieces]
                if k is not None and sum(len(some.left) for some in found) > MOST_HELD:
                    found = [Matches.joined(found).best_first(measure, k)[0]]
        return Matches.joined(found)

    def ask(self, text: str, measure: Measure) -> list[tuple[float, int]]:
        """`search` for one text, in fewer steps: similarities and numbers."""
        found = self._ask(text, measure) if self.kind.holds_sets and len(text) <= LONGEST else None
        if found is None:
            _, right, similarity = self.search(keyed_text(text, self.kind.digesting), measure)
            return list(zip(similarity.tolist(), right.tolist()))
        return found

    def _ask(self, text: str, measure: Measure) -> list[tuple[float, int]] | None:
        """The result of `ask`; None if it takes the steps of `search`."""
        question = borrow_question(self.kind.digesting)
        found = self._compare_with(question, measure) if question.take(text) else []
        return_question(question)
        return found

    def _compare_with(self, question: Question, measure: Measure) -> list[tuple[float, int]] | None:
        found: list[tuple[float, int]] = []
        first, arguments = 0, measure.arguments
        for part in self.parts:
            if count := len(part):
                kept = part.ask(question, arguments, self.gone, first)
                if kept is None:
                    return None
                if kept:
                    found += question.matches(kept, first, measure)
                first += count
        return found if not len(self.late) else [match for match in found if not self._is_late(match[1])]

    def _is_late(self, number: int) -> bool:
        place = int(np.searchsorted(self.late, number))
        return place < len(self.late) and int(self.late[place]) == number

    def _compare_stored(
        self, asked: Sets, left: Int64, right: Int64, stored: StoredSets, first: int, measure: Measure
    ) -> list[Matches]:
        """Compare pairs with stored sets without copying them; the first of them has the number `first`."""
        overlaps, sizes = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
        kept, why = compare_found(
            left, right, asked.indptr, asked.elements, stored.offsets, stored.data, stored.file, *stored.begins,
            self.gone, first, *measure.arguments, overlaps, sizes,
        )  # fmt: skip
        stored.stopped_at(why)
        if not kept:
            return []
        left = left[:kept]
        own = asked.indptr[left + 1] - asked.indptr[left]
        return [Matches(left, right[:kept] + first, measure.of_overlaps(overlaps[:kept], own, sizes[:kept]))]

    def _compare(self, asked: Sets, left: Int64, part: Part, right: Int64, measure: Measure) -> Iterator[Matches]:
        """Compare pairs; if there are many, piece by piece."""
        text = self.kind.store == "text"
        pieces = [slice(0, len(left))] if 0 < len(left) <= FEW else pieces_of(part.sizes(right))
        for piece in pieces:
            yield compare(self.kind, asked, left[piece], part, right[piece], measure, text=text)

    def find_ids(self, ids: pa.Array) -> tuple[Int64, Int64]:
        """The rows whose id the index has, and the numbers of those items."""
        keys = id_keys(ids)
        rows, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for first, part in self.each():
            left, right = part.find_ids(keys)
            kept = ~self.are_gone(first + right)
            left, right = left[kept], right[kept]
            if len(left):
                same = pc.equal(part.ids(right), ids.take(to_arrow(left)))
                equal = to_numpy(same.cast(pa.uint8())).astype(np.bool_)
                rows.append(left[equal])
                numbers.append(right[equal] + first)
        return np.concatenate(rows), np.concatenate(numbers)

    def ids(self, numbers: Int64) -> pa.Array:
        """The ids of items, as text."""
        if len(numbers) <= FEW:
            return bytes_to_arrow(self.few_ids(numbers.tolist()))
        order = np.argsort(numbers, kind="stable")
        back = np.empty(len(numbers), np.int64)
        back[order] = np.arange(len(numbers))
        return self._ids_ascending(numbers[order]).take(to_arrow(back))

    def few_ids(self, numbers: Sequence[int]) -> list[bytes]:
        """The ids of a few items, in UTF-8."""
        return [self._id(number) for number in numbers]

    def _id(self, number: int) -> bytes:
        for first, part in self.each():
            if number < first + len(part):
                return part.id(number - first)
        raise IndexError(number)

    def _ids_ascending(self, numbers: Int64) -> pa.Array:
        pieces = []
        for first, part in self.each():
            low, high = np.searchsorted(numbers, [first, first + len(part)])
            if high > low:
                pieces.append(part.ids(numbers[low:high] - first))
        return pa.concat_arrays(pieces) if pieces else pa.nulls(0, pa.large_string())

    def numbers(self) -> Int64:
        """The numbers of all items, ascending."""
        numbers = np.flatnonzero(~self.gone[: self.total])
        return numbers[~self.are_gone(numbers)] if len(self.late) else numbers

    def content(self, numbers: Int64) -> Content:
        """The stored content of items (ascending)."""
        found = [Content(np.zeros(1, np.int64), np.empty(0, self.kind.dtype))]
        for first, part in self.each():
            low, high = np.searchsorted(numbers, [first, first + len(part)])
            if high > low:
                content, places = part.contents(numbers[low:high] - first)
                found.append(content.take(places))
        return Content.joined(found)

    def times(self, numbers: Int64) -> Int64:
        """When items (ascending) were added: microseconds since 1970."""
        found = [np.empty(0, np.int64)]
        for first, part in self.each():
            low, high = np.searchsorted(numbers, [first, first + len(part)])
            if high > low:
                found.append(part.times[numbers[low:high] - first])
        return np.concatenate(found)

    def content_bytes(self) -> int:
        """The size in bytes of the content of all items, including removed ones."""
        return sum(part.content_bytes() for part in self.parts)

    def older_than(self, limit: int) -> Int64:
        """The numbers of items that were added before a time (microseconds since 1970)."""
        found = [np.empty(0, np.int64)]
        for first, part in self.each():
            alive = self.alive(first, part)
            found.append(alive[part.times[alive] < limit] + first)
        return np.concatenate(found)

    def next_from(self, number: int) -> int | None:
        """The smallest number of an item that is not below this one."""
        for first in range(max(0, number), self.total, SCANNED):
            numbers = np.arange(first, min(first + SCANNED, self.total))
            alive = numbers[~self.are_gone(numbers)]
            if len(alive):
                return int(alive[0])
        return None


def compare(kind: Kind, asked: Sets, left: Int64, part: Part, right: Int64, measure: Measure, *, text: bool) -> Matches:
    """The pairs that reach the threshold, with their exact similarity; `text` if the part stores texts."""
    sets, places = fetch_sets(part, right, kind.digesting, text)
    if kind.settings.items.vectors:
        values = _vector_values(kind, asked, left, sets, places, measure)
        good = measure.reached_by(values)
        return Matches(left[good], right[good], values[good])
    overlaps = np.empty(len(left), np.int64)
    kernels.overlaps_across(
        left, places, asked.indptr, asked.elements, sets.indptr, sets.elements, *measure.arguments, overlaps
    )
    good = overlaps >= 0
    left, right, places, overlaps = left[good], right[good], places[good], overlaps[good]
    sizes = asked.indptr[left + 1] - asked.indptr[left], sets.indptr[places + 1] - sets.indptr[places]
    return Matches(left, right, measure.of_overlaps(overlaps, *sizes))


def _vector_values(kind: Kind, asked: Sets, left: Int64, sets: Sets, places: Int64, measure: Measure) -> Float64:
    vectors = kind.settings.items.vectors
    assert vectors is not None
    distinct, which = np.unique(places, return_inverse=True)
    words = sets.elements[sets.indptr[distinct][:, None] + np.arange(vectors.words)]
    begins = np.concatenate([asked.indptr[:-1], len(asked.elements) + vectors.words * np.arange(len(distinct))])
    rows = vectors.as_rows(begins, begins + vectors.words, np.concatenate([asked.elements, words.ravel()]))
    return values_of_pairs(vectors, measure, rows, left, len(asked) + which.astype(np.int64))
