"""Small tables of the kinds that commands are for, and odd values in them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]


class Random(random.Random):
    """A source of chance that also knows which tables suit the command."""

    tables: Sequence[Callable[[Random], list[Row]]] = ()

    def rows(self) -> list[Row]:
        """A table, mostly one that suits the command."""
        suited = self.tables if self.tables and self.random() < 0.85 else TABLES
        return self.choice(suited)(self)


WORDS = "the old river flows past seven hills to a grey sea while quick brown foxes sleep beneath one bridge".split()  # noqa: SIM905
ODD_WORDS = ["naïve", "数据", "ﬁ", "\u0301", "🦊", "\u202e", "O'Neil", "a\tb", 'say "x"', "", "x" * 3000, "１２"]
NAMES = [
    "Robert Ross",
    "Bob Ross",
    "Anna Lee",
    "Lee, Anna",
    "Jürgen Groß",
    "María-José",
    "",
    "X Æ A-12",
    "van der Berg",
]
DATES = ["1999-12-31", "31.12.1999", "2000-02-30", "", "12/31/99", "0001-01-01", "99999-01-01"]


def text(some: Random) -> str:
    """A few words; sometimes odd ones, sometimes none."""
    words = some.choices(WORDS, k=some.choice((0, 1, 5, 12, 30)))
    if some.random() < 0.15:
        words.insert(some.randint(0, len(words)), some.choice(ODD_WORDS))
    return " ".join(words)


def _near(rows: list[Row], some: Random) -> list[Row]:
    """The rows and copies of some of them."""
    return rows + some.choices(rows, k=3) if rows else rows


def texts(some: Random) -> list[Row]:
    """Documents with ids."""
    rows = [{"id": f"r{number}", "text": text(some), "n": number} for number in range(some.choice((0, 1, 2, 9, 40)))]
    return _near(rows, some)


def lists(some: Random) -> list[Row]:
    """Sets of words or of numbers."""
    words, size = some.random() < 0.5, some.choice((0, 1, 7))
    one: Callable[[], Any] = (lambda: some.choice(WORDS)) if words else (lambda: some.choice((-1, 0, 5, 7, 2**40)))
    return _near([{"text": [one() for _ in range(some.randint(0, size))]} for _ in range(some.choice((1, 9)))], some)


def people(some: Random) -> list[Row]:
    """Records."""

    def one(number: int) -> Row:
        return {
            "id": number,
            "name": some.choice(NAMES),
            "text": f"{some.randint(1, 99)} {some.choice(WORDS)} street",
            "phone": f"+49 {some.randint(100, 999)} {some.randint(1000, 9999)}",
            "born": some.choice(DATES),
            "n": some.choice((None, number, -0.5, 1e300)),
        }

    return _near([one(number) for number in range(some.choice((0, 1, 2, 12, 60)))], some)


def numbers(some: Random) -> list[Row]:
    """Measurements of people."""
    width = some.choice((1, 3, 8))
    rows = [{f"m{j}": some.gauss(0, 1) for j in range(width)} for _ in range(some.choice((1, 2, 12)))]
    return _near([{"id": f"p{number}", **row} for number, row in enumerate(rows)], some)


def minutiae(some: Random) -> list[Row]:
    """Fingerprints."""
    rows: list[Row] = []
    for owner in range(some.choice((1, 2, 5))):
        for _ in range(some.choice((1, 2, 30))):
            rows.append(
                {"print": owner, "x": some.randint(0, 400), "y": some.randint(0, 400), "angle": 2 * some.random()}
            )
    return rows


def vectors(some: Random) -> list[Row]:
    """Lists of numbers."""
    width = some.choice((1, 4, 9))
    return _near([{"text": [some.gauss(0, 1) for _ in range(width)]} for _ in range(some.choice((1, 9)))], some)


TABLES = (texts, texts, lists, people, people, numbers, minutiae, vectors)
ODD_VALUES = (
    None,
    True,
    0,
    -1,
    2**53,
    2**63,
    2**64 - 1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\x00",
    "\ud800",
    "\u2028",
    [],
    [None],
    [[]],
    [1, "a"],
    [["a"]],
    {},
    {"a": None},
    {"text": "a"},
    "x" * 70_000,
    ["a"] * 3000,
    "1e999",
    "-",
    "NaN",
    "null",
    [1.5, float("nan")],
)


def odd(rows: list[Row], some: Random) -> list[Row]:
    """The rows, with odd values in some places, and sometimes missing or additional columns."""
    rows = [dict(row) for row in rows]
    for row in some.choices(rows, k=some.choice((1, 2, 5))) if rows else []:
        name = some.choice([*row, "extra"])
        row[name] = some.choice(ODD_VALUES)
        if some.random() < 0.2:
            del row[name]
    return rows
