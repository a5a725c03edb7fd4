"""The types of a kernel's arguments and result, as text: "uint8[], int64[,], (uint64[], float64), bool -> int64".

`uint8[]` is a one-dimensional array, `int64[,]` a two-dimensional one, both contiguous in memory; `uint64[..]` may have
gaps between its values. Parentheses denote a tuple. An upper-case letter stands for several types, each of which makes
a separate kernel.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

SCALARS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_TOKEN = re.compile(r"\s*([a-z]+\d*)(\[[.,]*\])?|\s*([(),])")


class Scalar(NamedTuple):
    """A number or Boolean."""

    name: str


class Array(NamedTuple):
    """An array of numbers."""

    name: str
    dimensions: int
    strided: bool


class Group(NamedTuple):
    """A tuple."""

    items: tuple[Kind, ...]


Kind = Scalar | Array | Group


def expand(texts: Sequence[str], variables: Mapping[str, Sequence[str]]) -> list[str]:
    """List all signatures that texts with variables stand for.

    Examples
    --------
    >>> expand(["E[], int64"], {"E": ("uint32", "uint64")})
    ['uint32[], int64', 'uint64[], int64']
    """
    found = []
    for text in texts:
        for chosen in itertools.product(*variables.values()):
            meaning = dict(zip(variables, chosen))
            found.append(re.sub(r"\b[A-Z]\b", lambda match: meaning[match[0]], text))  # noqa: B023
    return found


def count(texts: Sequence[str], variables: Mapping[str, Sequence[str]]) -> int:
    """The number of signatures that `expand` returns."""
    return len(texts) * math.prod(map(len, variables.values()))


def split(text: str) -> tuple[str, str]:
    """Split a signature into arguments and result; the result may be empty.

    Examples
    --------
    >>> split("uint8[], int64 -> int64"), split("int64")
    (('uint8[], int64', 'int64'), ('int64', ''))
    """
    takes, _, gives = text.partition("->")
    return takes.strip(), gives.strip()


def parse(text: str) -> tuple[Kind, ...]:
    """Parse the types of a signature.

    Examples
    --------
    >>> parse("uint8[], (int64, float64[,])")[1]
    Group(items=(Scalar(name='int64'), Array(name='float64', dimensions=2, strided=False)))
    """
    return tuple(_items(_tokens(text), ""))


def _tokens(text: str) -> Iterator[tuple[str, str, str]]:
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"signature {text!r}: cannot be read from character {at + 1}")
        at = match.end()
        yield match[1] or "", match[2] or "", match[3] or ""


def _items(tokens: Iterator[tuple[str, str, str]], closing: str) -> Iterator[Kind]:
    for name, dimensions, mark in tokens:
        if mark == "(":
            yield Group(tuple(_items(tokens, ")")))
        elif closing and mark == closing:
            return
        elif name:
            yield _plain(name, dimensions)


def _plain(name: str, dimensions: str) -> Kind:
    if name not in SCALARS:
        raise ValueError(f"{name!r} is none of {', '.join(SCALARS)}")
    if not dimensions:
        return Scalar(name)
    return Array(name, dimensions.count(",") + 1, "." in dimensions)


def flatten(kinds: Sequence[Kind]) -> Iterator[Scalar | Array]:
    """The scalars and arrays of a signature, without the enclosing tuples."""
    for kind in kinds:
        if isinstance(kind, Group):
            yield from flatten(kind.items)
        else:
            yield kind
