"""Which columns are compared: the fields as a user names them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lookalike.errors import UsageError
from lookalike.types.frozen import frozen

KINDS = ("person", "text", "code", "phone", "email", "date", "number", "address")


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


@frozen
class Field:
    """A field to compare: its column in the left and in the right table, its kind, and the reason for that kind.

    Examples
    --------
    >>> Field("surname", "last_name", "person").name
    'surname'
    """

    left: str
    right: str
    kind: str = ""
    """One of KINDS; empty until it is known."""
    why: str = ""

    @property
    def name(self) -> str:
        """The name of the field in results."""
        return self.left


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
        raise UsageError("--fields: name at least one column")
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
