"""Convert JSON values to checked items and queries, and to the columns that the index accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from lookalike.index.kind import Kind
from lookalike.server.options import Limits
from lookalike.server.problems import Problem
from lookalike.types import strings_to_arrow

NAMES = ("text", "tokens", "vector", "bits")
"""The fields that hold an item, by what it is."""
LONGEST_ID_BYTES = 1 << 14
"""Percent-encoded, an id of this length still fits the head of a request."""
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


def parse_json(body: bytes | bytearray) -> Any:
    """A JSON document: UTF-8, finite numbers, no lone surrogates."""
    if not body:
        raise Problem(422, "the body is empty; send JSON")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(422, f"the body is not valid JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Item:
    """The content to compare, as one of `NAMES`, and its id if it has one."""

    name: str
    value: Any
    id: str | int | None = None

    @property
    def length(self) -> int:
        """Characters, numbers or tokens."""
        return 0 if self.value is None else len(self.value)


@dataclass(frozen=True, slots=True)
class Question:
    """An item, how many matches at most, and how similar they must be."""

    item: Item
    k: int
    threshold: float | str | None


class ContentReader:
    """Checks requests against the limits and the index."""

    def __init__(self, column: str, limits: Limits) -> None:
        self._column, self._limits = column, limits

    def item(self, given: Any) -> Item:
        """An item; unknown fields are ignored."""
        if not isinstance(given, dict):
            raise Problem(422, f'an item is an object such as {{"id": ..., "text": ...}}, not {_kind(given)}')
        names = [name for name in NAMES if name in given]
        if self._column not in NAMES and self._column in given:
            names.append(self._column)
        if len(names) != 1:
            wrong = "has none of" if not names else "has more than one of"
            raise Problem(422, f"the object {wrong} the fields {', '.join(self.names)}; give one")
        name, value = self._checked(names[0], given[names[0]])
        return Item(name, value, _checked_id(given.get("id")))

    def new_item(self, given: Any) -> Item:
        """An item to be added; its id must not be so long that no request can name it."""
        item = self.item(given)
        if isinstance(item.id, str) and len(item.id.encode()) > LONGEST_ID_BYTES:
            raise Problem(413, f"an id is longer than {LONGEST_ID_BYTES:,} bytes")
        return item

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that may hold an item."""
        return NAMES if self._column in NAMES else (*NAMES, self._column)

    def question(self, given: Any, defaults: Mapping[str, Any]) -> Question:
        """A query."""
        item = self.item(given)
        known = {*self.names, "id", "k", "threshold"}
        if unknown := sorted(given.keys() - known):
            raise Problem(422, f"unknown field {unknown[0]!r}; a query has {', '.join(sorted(known))}")
        threshold = given.get("threshold", defaults["threshold"])
        if isinstance(threshold, bool) or not isinstance(threshold, int | float | str | None):
            raise Problem(422, f"a threshold is a number such as 0.8, not {_kind(threshold)}")
        return Question(item, self.k(given.get("k", defaults["k"])), threshold)

    def k(self, given: Any) -> int:
        """How many matches are wanted."""
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= self._limits.k:
            raise Problem(422, f"k must be an integer from 1 to {self._limits.k}, not {_short(given)}")
        return given

    def text(self, given: Any) -> str:
        """One text, within the limit."""
        if not isinstance(given, str):
            raise Problem(422, f"a text is a string, not {_kind(given)}")
        if len(given) > self._limits.text_bytes or len(given.encode()) > self._limits.text_bytes:
            raise Problem(413, f"a text is longer than {self._limits.text_bytes:,} bytes; split it")
        return given

    def _checked(self, name: str, value: Any) -> tuple[str, Any]:
        if value is None:
            return "text" if name == self._column else name, None
        if name == "bits":
            return "bits", _bits(value)
        if name == "vector":
            return "vector", _numbers(value)
        if isinstance(value, list):
            return _list_of(name, value)
        if name == "tokens":
            raise Problem(422, f"tokens are a list of strings or of integers, not {_kind(value)}")
        return "text", self.text(value)


def _list_of(name: str, value: list[Any]) -> tuple[str, Any]:
    if name == "text":
        raise Problem(422, "a text is a string, not a list; use the field tokens or vector")
    if all(type(one) is str for one in value):
        return "tokens", value
    if all(type(one) is int for one in value):
        return ("tokens" if name == "tokens" else "vector"), _integers(value)
    if name == "tokens":
        raise Problem(422, "tokens are a list of strings or of integers, all of one kind")
    return "vector", _numbers(value)


def _integers(value: list[int]) -> list[int]:
    if not all(SMALLEST <= one <= LARGEST for one in value):
        raise Problem(422, "integers must fit 64 bits; use strings")
    return value


def _numbers(value: Any) -> list[float]:
    if not isinstance(value, list) or not value or not all(type(one) in (int, float) for one in value):
        raise Problem(422, "a vector is a list of numbers that is not empty")
    return [float(one) for one in value]


def _bits(value: Any) -> list[bool]:
    if isinstance(value, str) and value and not value.strip("01"):
        return [one == "1" for one in value]
    if isinstance(value, list) and value and all(one in (0, 1) and type(one) in (int, bool) for one in value):
        return [bool(one) for one in value]
    raise Problem(422, 'bits are a string such as "0110", or a list of 0 and 1, that is not empty')


def _checked_id(given: Any) -> str | int | None:
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, int):
        raise Problem(422, f"an id is a string or an integer of 64 bits, not {_kind(given)}")
    if not SMALLEST <= given <= LARGEST:
        raise Problem(422, "an id is an integer that does not fit 64 bits; give it as a string")
    return given


def _kind(given: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(given), "a number"
    )


def _short(given: Any) -> str:
    if isinstance(given, str):
        return f"{given[:40]!r}"
    return str(given)[:40] if isinstance(given, int | float) and not isinstance(given, bool) else _kind(given)


def check_kind(item: Item, kind: Kind) -> None:
    """Refuse an item of another kind than the index holds."""
    if item.value is None or (not kind.decided and kind.measure.name == "cosine"):
        return
    vectors = kind.settings.items.vectors
    if not kind.decided:
        wanted: tuple[str, ...] = ("bits",) if kind.measure.name == "hamming" else ("vector",)
    elif vectors is None:
        wanted = ("text",) if kind.store == "text" else ("text", "tokens")
    else:
        wanted = ("bits",) if vectors.scalar == "bits" else ("vector",)
    if item.name not in wanted:
        raise Problem(422, f"the index holds {' or '.join(_PLURALS[name] for name in wanted)}; give {wanted[0]}")
    if vectors is not None and len(item.value) != vectors.dimension:
        raise Problem(422, f"{item.name} has {len(item.value)} values; those of the index have {vectors.dimension}")
    if item.name == "vector" and not _finite(item.value, vectors.scalar if vectors else "float64"):
        raise Problem(422, "a number of the vector is too large")


_PLURALS = {"text": "texts", "tokens": "token sets", "vector": "vectors", "bits": "bit strings"}


def _finite(values: Sequence[float], scalar: str) -> bool:
    from lookalike.features.vectors import LARGEST_NUMBER

    return bool((np.abs(np.array(values)) <= min(LARGEST_NUMBER, float(np.finfo(scalar).max))).all())


def form_of(item: Item) -> str:
    """The form of an item (text, strings, integers, vector, bits); items of one form can share a column."""
    if item.name == "tokens" and item.value and isinstance(item.value[0], int):
        return "integers"
    return item.name


_TYPES = {
    "text": pa.large_string(),
    "tokens": pa.large_list(pa.large_string()),
    "integers": pa.large_list(pa.int64()),
    "vector": pa.large_list(pa.float64()),
    "bits": pa.large_list(pa.bool_()),
}


def as_column(items: Sequence[Item]) -> pa.Array:
    """Items of one form as a column."""
    values, form = [item.value for item in items], form_of(items[0])
    if form == "text" and None not in values:
        return strings_to_arrow(values)  # `pa.array` imports pandas, which takes as long as the rest of the start
    return pa.array(values, _TYPES[form])
