"""Match the columns of two tables to fields: by name, and by the values they have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import zip_longest
from typing import NamedTuple

import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.linkage.fields.kinds import has_few_values, recognise_sample, take_sample
from lookalike.linkage.fields.letters import space_characters
from lookalike.linkage.fields.normalise import strip_texts, write_strings
from lookalike.linkage.fields.spec import Field
from lookalike.types import compute as pc
from lookalike.types import text_scalar

SAMPLE = 5_000
"""Distinct values of a column that are compared with those of others."""
COMMON = 0.2
"""The share of the words (or values) of the smaller column that two columns must have in common."""
CHARACTER = re.compile("[\u3040-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
"""A character that is a word of its own, as in `fields.letters`."""
WORDY = ("text", "person", "place", "address")
"""Kinds that are compared by words; the others by whole values."""


class Summary(NamedTuple):
    """The properties of a column."""

    name: str
    kind: str
    parts: set[str]
    """Words or values that occur in it."""
    few: bool = False
    """Whether all records have one of the same few values: any two columns of yes and no share both."""


def match_columns(
    left: pa.Table, right: pa.Table | None, leave_out: Collection[str], note: Callable[[str], None]
) -> list[Field]:
    """The fields of two tables (or all columns of one), except the excluded columns.

    Columns match if they have the same name apart from case and punctuation, or if they are of one kind and each is the
    other's best match by common words or values. `note` receives the matches found by values, and the unmatched
    columns.

    Examples
    --------
    >>> a = pa.table({"Name": ["red lamp", "blue chair"], "price": [3.5, 9.25]})
    >>> b = pa.table({"title": ["a red lamp", "chair, blue", "green box"], "Price": [3.0, 8.5, 2.25]})
    >>> [(one.left, one.right) for one in match_columns(a, b, (), print)]
    Name and title are treated as the same field: 100% of the words of one occur in the other
    [('Name', 'title'), ('price', 'Price')]
    """
    tables = [_summaries(table, leave_out) for table in (left, right) if table is not None]
    if right is None:
        return _some([Field(one.name) for one in tables[0]])
    others = {_plain(one.name): one for one in tables[1]}
    found = {one.name: other.name for one in tables[0] if (other := others.get(_plain(one.name))) is not None}
    rest = (
        [one for one in tables[0] if one.name not in found],
        [one for one in tables[1] if one.name not in found.values()],
    )
    for one, other, share in _by_values(*rest):
        found[one.name] = other.name
        what = "words" if one.kind in WORDY else "values"
        said = f"{share:.0%} of the {what} of one occur in the other"
        note(f"{one.name} and {other.name} are treated as the same field: {said}")
    alone = [one.name for one in tables[0] if one.name not in found]
    alone += [one.name for one in tables[1] if one.name not in found.values()]
    if alone:
        note(f"columns that only one table has are not compared, except by --fields record:text: {', '.join(alone)}")
    return _some([Field(one.name, found[one.name]) for one in tables[0] if one.name in found])


def _some(fields: list[Field]) -> list[Field]:
    if not fields:
        raise BadDataError(
            "--fields all: the tables have no columns with values in common; name them as LEFT=RIGHT, or compare whole "
            "records with --fields record:text"
        )
    return fields


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _summaries(table: pa.Table, leave_out: Collection[str]) -> list[Summary]:
    """The columns that have values."""
    found = []
    for name in table.column_names:
        column = table.column(name)
        if name in leave_out or pa.types.is_nested(column.type) or column.null_count == len(column):
            continue
        texts = write_strings(pc.unique(column), f"column {name}")
        sample = take_sample(texts, len(column) - column.null_count, most=SAMPLE)
        if len(sample.values) and not _is_nested(sample.values):
            kind, _ = recognise_sample(name, sample)
            values = (space_characters(sample.values) if kind in WORDY else sample.values).to_pylist()
            parts = {part for one in values for part in (_words(one.casefold()) if kind in WORDY else [one.casefold()])}
            found.append(Summary(name, kind, parts, has_few_values(sample)))
    return found


def _words(text: str) -> set[str]:
    """Words; single characters only with the next, since most columns of Chinese texts have the same characters.

    Examples
    --------
    >>> sorted(_words("索 尼 tv, a tv")), sorted(_words("tv a"))
    (['a', 'tv', '尼tv', '索尼'], ['a', 'tv'])
    """
    words = re.findall(r"\w+", text)
    pairs = zip_longest(words, words[1:], fillvalue="")
    return {one + other if CHARACTER.fullmatch(one) else one for one, other in pairs}


def _is_nested(values: pa.Array) -> bool:
    """Whether the values are JSON objects, as lines of JSON may have."""
    return bool(pc.all(pc.match_substring_regex(values, r"^\{.*\}$")).as_py())


def _by_values(left: list[Summary], right: list[Summary]) -> list[tuple[Summary, Summary, float]]:
    """Columns that are each other's best match by common content, best first."""
    shares = [
        (len(one.parts & other.parts) / max(1, min(len(one.parts), len(other.parts))), one, other)
        for one in left
        for other in right
        if one.kind == other.kind or {one.kind, other.kind} <= set(WORDY)
    ]
    found: list[tuple[Summary, Summary, float]] = []
    # All words of a short column may occur in a long one, so columns of similar size are matched first.
    for share, one, other in sorted(shares, key=lambda row: -_likeness(row[1], row[2])):
        taken = any(one is first or other is second for first, second, _ in found)
        if share >= COMMON and not taken and not (one.few and other.few):
            found.append((one, other, share))
    return found


def _likeness(one: Summary, other: Summary) -> float:
    """The Jaccard similarity of the words or values of two columns."""
    return len(one.parts & other.parts) / max(1, len(one.parts | other.parts))


def join_record(table: pa.Table, leave_out: Collection[str]) -> pa.Array:
    """The values of each record as one text; null if it has none. Nested values are skipped, except plain lists.

    Examples
    --------
    >>> join_record(pa.table({"id": [1, 2], "a": ["x", None], "b": [3, None]}), ["id"]).to_pylist()
    ['x 3', None]
    """
    names = [one.name for one in table.schema if one.name not in leave_out and _has_text(one.type)]
    texts = [pc.fill_null(strip_texts(write_strings(_whole(table, name), f"column {name}")), "") for name in names]
    joined = pc.binary_join_element_wise(*texts, text_scalar(" ")) if texts else pa.nulls(len(table))
    joined = pc.utf8_trim_whitespace(pc.cast(joined, pa.large_string()))
    return pc.if_else(pc.equal(joined, ""), text_scalar(None), joined)


def _has_text(kind: pa.DataType) -> bool:
    """Whether values of a type can be written as text: plain values, and lists of them."""
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return not pa.types.is_nested(inner)


def _whole(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.combine_chunks() if len(column) else pa.nulls(0, pa.large_string())
