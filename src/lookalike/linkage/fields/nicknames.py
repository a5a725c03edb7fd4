"""Nicknames: groups of names that the same person may use, from the built-in list or from a file.

A file has one group per line, names separated by spaces, such as `robert bob bobby rob`; # starts a comment. A name may
belong to several groups (bert: robert, albert). Nothing here knows how similar two records are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.columns import Column, WordGroups
from lookalike.linkage.fields.normalise import fold_texts
from lookalike.read.txt import read_small_lines
from lookalike.types import Bool, Int64, strings_to_arrow, text_scalar, to_arrow, to_numpy
from lookalike.types import compute as pc

LISTS = {"english": Path(__file__).with_name("nicknames_english.txt")}
"""The built-in lists, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Nicknames:
    """Groups of names, folded like the values of a field.

    Examples
    --------
    >>> known = Nicknames("mine", (("robert", "bob", "bert"), ("albert", "al", "bert")))
    >>> values = strings_to_arrow(["bob ross", "robert ross", "bert ross", "al ross", "ann ross"])
    >>> for coarse in known.coarsen(Column("name", "person", np.arange(5, dtype=np.int32), values)):
    ...     print(coarse.name, coarse.codes.tolist(), coarse.values.to_pylist())
    name by nickname [0, 0, 0, -1, -1] ['robert ross']
    name by nickname (2) [-1, -1, 0, 0, -1] ['albert ross']
    """

    source: str
    """The name of the list or file, as given."""
    groups: tuple[tuple[str, ...], ...]
    """The first name of each group stands for all of it."""
    _groups_of: dict[str, list[int]] = field(init=False, repr=False)
    """The groups of each name, ascending."""
    _lane_of: list[int] = field(init=False, repr=False)
    """Groups that share a name are in different lanes."""

    def __post_init__(self) -> None:
        groups_of: dict[str, list[int]] = {}
        lanes: list[int] = []
        for number, group in enumerate(self.groups):
            taken = {lanes[other] for name in group for other in groups_of.get(name, ())}
            lanes.append(next(lane for lane in range(len(lanes) + 1) if lane not in taken))
            for name in group:
                groups_of.setdefault(name, []).append(number)
        object.__setattr__(self, "_groups_of", groups_of)
        object.__setattr__(self, "_lane_of", lanes)

    def words_of(self, column: Column) -> WordGroups:
        """The words of each value of a column, numbered, and the groups of each word that is a name."""
        lists = pc.split_pattern(column.values, " ")
        words = pc.dictionary_encode(pc.list_flatten(lists))
        known, names = self._number(words.dictionary), len(self._groups_of)
        numbers = np.where(known < names, known, names + np.arange(len(known))).astype(np.int32)
        groups = list(self._groups_of.values())
        return WordGroups(
            _starts(lists),
            numbers[to_numpy(words.indices)],
            np.cumsum([0, *map(len, groups)]),
            np.array([group for own in groups for group in own], np.int32),
        )

    def coarsen(self, column: Column) -> list[Column]:
        """The column with each name replaced by the first name of its group, so that values of one group become equal.

        A name in several groups has several first names, so there is one column per lane of groups. In each column,
        values without a name of these groups, and values that equal no other value, count as missing.
        """
        lists = pc.split_pattern(column.values, " ")
        starts, names = _starts(lists), self._number(pc.list_flatten(lists))
        made = []
        for lane in range(max(self._lane_of, default=-1) + 1):
            firsts, here = self._first_names(lane)
            touched = np.logical_or.reduceat(here[names], starts[:-1]) if len(lists) else np.empty(0, np.bool_)
            chosen, of_word = pc.filter(lists, to_arrow(touched)), names[np.repeat(touched, np.diff(starts))]
            words = pc.coalesce(pc.take(firsts, to_arrow(of_word)), pc.list_flatten(chosen))
            values = pa.ListArray.from_arrays(to_arrow(_starts(chosen).astype(np.int32)), words)
            joined = pc.binary_join(values, text_scalar(" "))
            name = f"{column.name} by nickname" + (f" ({lane + 1})" if lane else "")
            coarse = _shared(column, name, np.flatnonzero(touched), joined)
            if len(coarse.values):
                made.append(coarse)
        return made

    def _number(self, words: pa.Array) -> Int64:
        """The number of each word among all names; the number after the last for other words."""
        places = pc.index_in(words, strings_to_arrow(list(self._groups_of)))
        return to_numpy(pc.fill_null(places, len(self._groups_of))).astype(np.int64)

    def _first_names(self, lane: int) -> tuple[pa.Array, Bool]:
        """The replacement of each name in a lane (null at the end, for other words), and whether it has a group there.

        A name without a group in the lane is replaced too, so that both names of a value may be nicknames.
        """
        owns = [[group for group in own if self._lane_of[group] == lane] for own in self._groups_of.values()]
        taken = [(own or other)[0] for own, other in zip(owns, self._groups_of.values())]
        firsts = strings_to_arrow([self.groups[group][0] for group in taken])
        return pa.concat_arrays([firsts, pa.nulls(1, pa.large_string())]), np.array([*map(bool, owns), False])


def _starts(lists: pa.Array) -> Int64:
    """The start of each value's words, and the end of the last one's."""
    return np.concatenate([[0], np.cumsum(to_numpy(pc.list_value_length(lists)), dtype=np.int64)])


def _shared(column: Column, name: str, values: Int64, replaced: pa.Array) -> Column:
    """A column of replacements of some values (by number), if two or more of them have the same replacement."""
    encoded = pc.dictionary_encode(replaced)
    of_value = to_numpy(encoded.indices).astype(np.int64)
    kept = np.bincount(of_value, minlength=len(encoded.dictionary)) > 1
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    of_all = np.full(len(column.values) + 1, -1, np.int32)
    of_all[values] = numbers[of_value]
    return Column(name, column.kind, of_all[column.codes], pc.filter(encoded.dictionary, to_arrow(kept)))


def read_nicknames(source: str | Path) -> Nicknames:
    """The built-in list of this name, or the groups in a file.

    Examples
    --------
    >>> known = read_nicknames("english")
    >>> next(group for group in known.groups if group[0] == "william")
    ('william', 'bill', 'billy', 'will', 'willie', 'willy', 'liam')
    """
    if not isinstance(source, str | Path):
        raise UsageError(f"--nicknames must be the name of a list or a file, not {source!r}")
    path = LISTS.get(str(source), Path(source))
    if not path.exists():
        known = ", ".join(LISTS)
        raise UsageError(f"--nicknames {source}: no such file, nor a list of that name; lists: {known}")
    lines = read_small_lines(path, "--nicknames")
    parsed = [_parse_line(line, f"--nicknames {source}, line {number}") for number, line in enumerate(lines, 1)]
    groups = tuple(group for group in parsed if group)
    if not groups:
        raise BadDataError(f"--nicknames {source}: no names found; write one group per line, such as: robert bob rob")
    return Nicknames(str(source), groups)


def _parse_line(line: str, place: str) -> tuple[str, ...]:
    """The distinct names of a line, folded; none for an empty line or a comment."""
    written = line.partition("#")[0].split()
    folded = fold_texts(strings_to_arrow(written)).to_pylist()
    for name, plain in zip(written, folded):
        if not plain or " " in plain:
            raise BadDataError(
                f"{place}: '{name}' is not a single word; separate names by spaces, such as: robert bob rob"
            )
    group = tuple(dict.fromkeys(folded))
    if len(group) == 1:
        raise BadDataError(f"{place}: '{group[0]}' is alone on its line; add its other names, or remove the line")
    return group
