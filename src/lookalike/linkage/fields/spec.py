"""Which columns are compared: the fields as a user names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field as made_by
from typing import Any, NamedTuple

import pyarrow as pa

from lookalike.errors import UsageError
from lookalike.types.frozen import frozen

ALL = "all"
"""Stands for all columns, if it is the only field."""
RECORD = "record"
"""Stands for all values of a record as one text, if no column has this name."""
MOST_LEVELS = 12
NAMED = ("person", "place")
"""Kinds of names. Places have no nicknames, and are not exchanged with people."""
KINDS = (*NAMED, "text", "code", "phone", "email", "date", "number", "address")


class ColumnNames(NamedTuple):
    """The name of a column in each of the two tables."""

    left: str
    right: str


def parse_names(text: str) -> ColumnNames:
    """The names of a column in both tables, from NAME or LEFT=RIGHT.

    Examples
    --------
    >>> parse_names("surname = last_name")
    ColumnNames(left='surname', right='last_name')
    """
    left, equals, right = text.partition("=")
    return ColumnNames(left.strip(), right.strip() if equals else left.strip())


Comparator = Callable[[pa.Array, pa.Array], Any]
"""Takes two arrays of values in normal form, and returns the similarity of each pair."""


@frozen
class Field:
    """A field to compare: its column in each table, its kind, and how its values are compared.

    Parameters
    ----------
    left : str
        The column: "NAME", or "LEFT=RIGHT" if the tables use different names.
    right : str, optional
        The column of the right table, if it has another name.
    kind : str, optional
        person, place, text, address, code, phone, email, date or number; recognised from the values if omitted.
    levels : dict or sequence, optional
        Levels of agreement instead of those of the kind. Names with the smallest similarity of each, as in
        {"very similar": 0.9, "similar": 0.6}; before them comes "equal", after them "different". With a `compare` that
        returns numbers of levels: their names, the best first.
    compare : callable, optional
        A function of two Arrow arrays of strings (values in normal form, neither is null) that returns their
        similarity, from 0 to 1 (null or NaN for no evidence), or the number of a level (1 is the best, 0 is no
        evidence). Of two tables, the first array has values of the left one. Without a function, texts are compared by
        their trigrams, and numbers by their relative difference.

    Examples
    --------
    >>> Field("surname=last_name", kind="person").right
    'last_name'
    >>> Field("title", kind="text", levels={"similar": 0.5, "very similar": 0.8}).level_names
    ('equal', 'very similar', 'similar', 'different')

    A comparison of your own, for part numbers of which the first three characters are the series:

    >>> import pyarrow.compute as pc
    >>> def same_series(left, right):
    ...     return pc.equal(pc.utf8_slice_codeunits(left, 0, 3), pc.utf8_slice_codeunits(right, 0, 3))
    >>> Field("part", kind="code", levels={"same series": 1.0}, compare=same_series).level_names
    ('equal', 'same series', 'different')
    """

    left: str
    right: str = ""
    kind: str = ""
    """One of KINDS; empty until it is known."""
    why: str = ""
    levels: Mapping[str, float] | Sequence[str] | None = None
    compare: Comparator | None = made_by(default=None, compare=False)

    def __post_init__(self) -> None:
        names = parse_names(self.left)
        object.__setattr__(self, "left", names.left)
        object.__setattr__(self, "right", self.right or names.right)
        if self.levels is not None:
            object.__setattr__(self, "levels", check_levels(names.left, self.levels, self.compare is not None))
        elif self.compare is not None:
            raise UsageError(f"field {names.left}: compare= needs levels=, the names of its levels or cut-offs")

    @property
    def name(self) -> str:
        """The name of the field in results."""
        return self.left

    @property
    def level_names(self) -> tuple[str, ...]:
        """The names of the levels that the user defined, from level 1; none if there are none."""
        if isinstance(self.levels, Mapping):
            return ("equal", *self.levels, "different")
        return tuple(self.levels or ())


def check_levels(
    name: str, levels: Mapping[str, float] | Sequence[str], compared: bool
) -> Mapping[str, float] | tuple[str, ...]:
    """The levels of a field as defined by a user, the best first."""
    names = list(levels)
    if not all(isinstance(one, str) and one for one in names) or len(set(names)) < len(names):
        raise UsageError(f"field {name}: levels= needs names that differ, not {names}")
    if not 1 <= len(names) <= MOST_LEVELS:
        raise UsageError(f"field {name}: levels= takes 1 to {MOST_LEVELS} levels, not {len(names)}")
    if not isinstance(levels, Mapping):
        if not compared or len(names) < 2:
            raise UsageError(f"field {name}: levels= needs a cut-off for each name, such as {{'similar': 0.8}}")
        return tuple(names)
    cuts = list(levels.values())
    if not all(isinstance(cut, int | float) and 0 < cut <= 1 for cut in cuts) or len(set(cuts)) < len(cuts):
        raise UsageError(f"field {name}: cut-offs must differ, above 0 and at most 1, not {cuts}")
    if {"equal", "different"} & set(names):
        raise UsageError(f"field {name}: the levels 'equal' and 'different' exist already; choose other names")
    return dict(sorted(levels.items(), key=lambda one: -one[1]))


def parse_fields(fields: str | Iterable[str | Field]) -> list[Field]:
    """The fields to compare, from a text or a list: NAME or LEFT=RIGHT, each optionally followed by :KIND.

    Examples
    --------
    >>> [(f.left, f.right, f.kind) for f in parse_fields("name,surname=last_name,zip:code,born=dob:date")]
    [('name', 'name', ''), ('surname', 'last_name', ''), ('zip', 'zip', 'code'), ('born', 'dob', 'date')]
    """
    parts = fields.split(",") if isinstance(fields, str) else list(fields)
    found = [part if isinstance(part, Field) else _parse_field(part) for part in parts]
    if not found:
        raise UsageError("--fields: name at least one column, or all")
    seen: set[str] = set()
    for field in found:
        if field.kind and field.kind not in KINDS:
            raise UsageError(f"field {field.name}: unknown kind '{field.kind}'; kinds are {', '.join(KINDS)}")
        if field.name in seen:
            raise UsageError(f"--fields: '{field.name}' is named twice")
        seen.add(field.name)
    return found


def _parse_field(part: str) -> Field:
    names, colon, kind = part.rpartition(":") if ":" in part else (part, "", "")
    kind = kind.strip()
    if colon and kind not in KINDS:
        raise UsageError(f"--fields: '{part.strip()}': unknown kind '{kind}'; kinds are {', '.join(KINDS)}")
    left, right = parse_names(names)
    if not left or not right:
        raise UsageError(f"--fields: '{part.strip()}' names no column; write NAME, NAME:KIND or LEFT=RIGHT:KIND")
    return Field(left, right, kind, "as specified" if kind else "")
