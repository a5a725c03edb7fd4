"""Compare some sets independently of all others: sets in, decisions or similar pairs out, no open files.

A task is to a cluster what a batch of candidates is to the engine on one machine. The sets of a task are one or more
whole connected parts of the candidates, or two blocks of a part that is too large for one task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.candidates.bands import join_band
from lookalike.candidates.brute import all_together
from lookalike.candidates.buckets import concatenate, group_prints
from lookalike.engine.digest import keys_of_sets
from lookalike.engine.run import Run, open_run
from lookalike.engine.settings import Settings
from lookalike.engine.stores.pairs import PAIR, PairStore
from lookalike.kernels.index import keep_first
from lookalike.matching.batches import prints_of
from lookalike.matching.comparable import Comparable, EqualSets
from lookalike.matching.decide import decide_part
from lookalike.matching.decisions import BatchDecisions, Links, mark_copied
from lookalike.matching.join import JoinOptions, narrow_buckets
from lookalike.matching.list_pairs import ListedPart, Similar, similar_sets
from lookalike.matching.refine import Refined, merge_refined
from lookalike.types import Bool, Int64, Sets
from lookalike.verify.measures import Measure


@dataclass(slots=True)
class TaskSets:
    """The sets of a task, in any order."""

    places: Int64
    """The place of each set in the order of priority."""
    sets: Sets
    copied: Bool
    """Whether a later item that is not a reference item has the same sequence of tokens."""
    other: Bool
    """Whether it belongs to the second of two collections."""
    earlier: Bool | None = None
    """In a part cut into blocks: whether it is in the earlier of two blocks, which are compared only with each
    other."""

    def __len__(self) -> int:
        return len(self.places)


def solve_sets(given: TaskSets, settings: Settings, references: int = 0, *, connected: bool = False) -> BatchDecisions:
    """Decide whole connected parts; places below `references` hold reference items.

    Examples
    --------
    >>> sets = Sets(np.array([0, 4, 8]), np.array([1, 2, 3, 4, 1, 2, 3, 5], np.uint64))
    >>> no = np.zeros(2, np.bool_)
    >>> given = TaskSets(np.array([7, 9]), sets, no, no)
    >>> decided = solve_sets(given, Settings.parse(threshold=0.6, method="brute", threads=1))
    >>> decided.keeper[0].places.tolist(), decided.keeper[0].to.tolist()
    ([9], [7])
    """
    matching, batch = settings.matching, BatchDecisions()
    with open_run(settings) as run:
        found = assemble(given, settings, whole=True)
        copied = given.copied[np.argsort(given.places)]
        if found.equal is not None:
            batch.equal.append(found.equal)
            ordered = np.sort(given.places)
            numbered = EqualSets(*(np.searchsorted(ordered, places) for places in found.equal))
            mark_copied(copied, numbered, int(np.searchsorted(ordered, references)))
        refined = narrow_buckets(run, found)
        reference = found.places < references
        decided = decide_part(
            found, matching, int(np.count_nonzero(reference)), ~reference | copied[_numbers(given, found)],
            connected=connected,
            threads=run.workers.threads, each=run.workers.map,
        )  # fmt: skip
    batch.add(found, decided, refined, matching.measure, connected=connected)
    return batch


def list_sets(given: TaskSets, settings: Settings, *, two_sided: bool = False, by_band: bool = False) -> ListedPart:
    """List the similar pairs of sets; with `two_sided`, only pairs between the two collections are needed."""
    with open_run(settings) as run:
        found = assemble(given, settings, whole=given.earlier is None, by_band=by_band)
        apart = given.other[np.argsort(given.places)][_numbers(given, found)] if two_sided else None
        listed = _listed(run, found, apart, by_band)
        own = Similar(found.places, found.places, found.own_values(settings.matching.measure))
    similar, compared, refined = listed
    return ListedPart(similar, own, [] if found.equal is None else [found.equal], compared, refined)


def _listed(run: Run[Settings], found: Comparable, apart: Bool | None, by_band: bool) -> tuple[Similar, int, Refined]:
    parts = [Similar(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    total, all_refined = 0, Refined()
    for similar, compared, refined in similar_sets(run, found, apart, JoinOptions(), by_band=by_band):
        parts.append(similar)
        total, all_refined = total + compared, merge_refined([all_refined, refined])
    return Similar(*(np.concatenate(columns) for columns in zip(*parts))), total, all_refined


def _numbers(given: TaskSets, found: Comparable) -> Int64:
    return np.searchsorted(np.sort(given.places), found.places)


def assemble(given: TaskSets, settings: Settings, *, whole: bool, by_band: bool = False) -> Comparable:
    """The sets by priority, with the buckets that they share; in `whole` parts, equal sets appear once."""
    kind = settings.items.vectors
    by_place = np.argsort(given.places)
    if given.earlier is not None:
        by_place = np.lexsort((given.places, ~given.earlier))
    equal = None
    if whole:
        by_place, equal = _collapse(given, by_place, settings)
    begins, ends = given.sets.indptr[:-1][by_place], given.sets.indptr[1:][by_place]
    found = Comparable(
        given.places[by_place], concatenate([]), begins, ends, given.sets.elements, equal=equal, kind=kind
    )
    found.earlier = 0 if given.earlier is None else int(np.count_nonzero(given.earlier))
    numbers = np.arange(len(found), dtype=np.int32)
    if settings.matching.method != "lsh":
        found.buckets = all_together(numbers.astype(np.int64))
        return found
    keys, _ = keys_of_sets(given.sets, settings.digesting)
    bands = [join_band(np.ascontiguousarray(band[by_place]), numbers) for band in keys]
    found.buckets, found.bands = (concatenate([]), bands) if by_band else (concatenate(bands), ())
    return found


def _collapse(given: TaskSets, by_place: Int64, settings: Settings) -> tuple[Int64, EqualSets | None]:
    """The first of each group of equal sets, by priority; the two collections are kept separate."""
    prints = prints_of(given.sets, settings.items.vectors)[:, by_place] + given.other[by_place].astype(np.uint64)
    same = group_prints(*np.ascontiguousarray(prints))
    copies = np.flatnonzero(same != np.arange(len(same)))
    if not len(copies):
        return by_place, None
    places = given.places[by_place]
    return np.delete(by_place, copies), EqualSets(places[copies], places[same[copies]])


def pairs_by_later(similar: Similar, measure: Measure) -> np.ndarray:
    """Pairs of places as rows for `decide_by_pairs`: the later set, on the left, is removed if the other is kept."""
    later, earlier, value = similar
    if measure.name == "containment":  # containment of left in right: only the later set can be removed
        chosen = later > earlier
        later, earlier, value = later[chosen], earlier[chosen], value[chosen]
    rows = np.empty(len(later), PAIR)
    rows["left"], rows["right"], rows["similarity"] = np.maximum(later, earlier), np.minimum(later, earlier), value
    return rows


def decide_by_pairs(pairs: PairStore, places: int, references: int) -> Links:
    """Decide from all similar pairs, sorted by their later set, in one pass with one flag per place.

    Reference items are always kept, but which earlier item each resembles is recorded as well, for their copies.
    """
    kept = np.ones(places, np.bool_)
    found = [Links(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for rows in pairs.sorted():
        later, earlier = rows["left"].astype(np.int64), rows["right"].astype(np.int64)
        sought = later >= references
        keep_first(earlier[sought], later[sought], kept)
        going = np.flatnonzero(kept[earlier])
        going = going[np.concatenate([[True], later[going][1:] != later[going][:-1]])] if len(going) else going
        found.append(Links(later[going], earlier[going], np.ascontiguousarray(rows["similarity"][going])))
    return Links(*(np.concatenate(columns) for columns in zip(*found)))
