"""Generated people in two tables, some of them in both, with typing errors: what `lookalike link` is measured on.

Each table has id, name, address, postcode, phone and created. The shared people are in both tables; the right-hand copy
of each of their values has an error with a given chance: a letter changed, left out, put in or swapped with the next,
names in the other order, only an initial, a word shortened, another area code, or no value at all. One postcode has far
more people than all others. A shared person's two creation dates are 10 days apart on average; those of others are
independent, within 90 days. `make_copies` makes one table instead, with several records of each person. Knows
nothing of the tools that read it.

    python benchmarks/people.py OUT --left 1000000 --right 1000000 --shared 0.1 --errors 0.5
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GIVEN, SURNAMES, STREETS, POSTCODES = 2_000, 40_000, 20_000, 10_000
DAYS, APART = 90, 10
WIDTH = 48
"""Bytes that a value can have at most."""
KINDS = ("street", "road", "avenue", "close", "lane", "crescent", "place", "court")
SHORT = {"street": "st", "road": "rd", "avenue": "ave", "crescent": "cres", "place": "pl", "court": "ct"}


def _words(draw: np.random.Generator, count: int, syllables: tuple[int, int]) -> np.ndarray:
    """Distinct words of consonants and vowels."""
    consonants, vowels = np.array(list("bcdfghjklmnprstvwz"), "S1"), np.array(list("aeiouy"), "S1")
    words: np.ndarray = np.empty(0, "S1")
    while len(words) < count:
        parts = draw.integers(*syllables, 2 * count, endpoint=True)
        made = np.zeros(2 * count, "S1")
        for syllable in range(syllables[1]):
            more = np.strings.add(draw.choice(consonants, 2 * count), draw.choice(vowels, 2 * count))
            made = np.where(parts > syllable, np.strings.add(made, more), made)
        ends = draw.choice(np.array(["", "n", "r", "s", "l", "th", "ck"], "S2"), 2 * count)
        words = np.unique(np.concatenate([words, np.strings.add(made, ends)]))
    return draw.permutation(words)[:count]


def _often(draw: np.random.Generator, choices: int, count: int) -> np.ndarray:
    """Numbers below `choices`, small ones more often than large ones, as names are."""
    return (choices * draw.random(count) ** 3).astype(np.int64)


def _joined(*parts: np.ndarray) -> np.ndarray:
    result = parts[0]
    for part in parts[1:]:
        result = np.strings.add(np.strings.add(result, b" "), part)
    return result


def _number(values: np.ndarray, digits: int = 0) -> np.ndarray:
    return np.strings.zfill(values.astype("S8"), digits) if digits else values.astype("S8")


def draw_people(draw: np.random.Generator, count: int, crowded: float) -> dict[str, np.ndarray]:
    """Different people; `crowded` is the share of those with the crowded postcode."""
    words = np.random.default_rng(7)  # the same names in every table
    given, surnames = _words(words, GIVEN, (1, 3)), _words(words, SURNAMES, (2, 4))
    streets = _words(words, STREETS, (2, 4))
    postcode = 1 + draw.integers(0, POSTCODES, count)
    postcode[draw.random(count) < crowded] = 0
    kind = np.array(KINDS, "S8")[draw.integers(0, len(KINDS), count)]
    street = _joined(streets[_often(draw, STREETS, count)], kind)
    # A town's numbers share an area code, so that the last seven digits say more than the first three.
    phone = np.strings.add(_number(200 + postcode % 97, 3), _number(draw.integers(0, 10**7, count), 7))
    return {
        "name": _joined(given[_often(draw, GIVEN, count)], surnames[_often(draw, SURNAMES, count)]),
        "address": _joined(_number(draw.integers(1, 250, count)), street),
        "postcode": _number(10_000 + postcode * 7, 5),
        "phone": phone,
    }


def _mistype(draw: np.random.Generator, values: np.ndarray, digits: bool) -> np.ndarray:
    """Change, leave out, put in, or swap one character of each value."""
    padded = np.ascontiguousarray(values.astype(f"S{WIDTH}"))
    letters = padded.view(np.uint8).reshape(len(values), WIDTH)
    length = np.strings.str_len(padded)
    place = (draw.random(len(values)) * np.maximum(length, 1)).astype(np.int64)[:, None]
    kind = draw.integers(0, 4, len(values))[:, None]
    column = np.arange(WIDTH)[None, :]
    source = column + ((kind == 1) & (column >= place)) - ((kind == 2) & (column > place))
    source = source + ((kind == 3) & (column == place)) - ((kind == 3) & (column == place + 1))
    swappable = (place + 1 < length[:, None]) | (kind != 3)
    source = np.where(swappable, source, column)
    changed = np.take_along_axis(letters, np.clip(source, 0, WIDTH - 1), axis=1)
    low, high = (ord("0"), ord("9")) if digits else (ord("a"), ord("z"))
    new = draw.integers(low, high + 1, len(values), np.uint8)[:, None]
    changed = np.where((column == place) & ((kind == 0) | (kind == 2)), new, changed)
    return np.ascontiguousarray(changed).view(f"S{WIDTH}")[:, 0]


def _err_in_name(draw: np.random.Generator, names: np.ndarray) -> np.ndarray:
    given, _, surname = np.strings.partition(names, b" ")
    kind = draw.integers(0, 10, len(names))
    swapped, initial = _joined(surname, given), _joined(given.astype("S1"), surname)
    return np.select([kind == 0, kind == 1], [swapped, initial], _mistype(draw, names, False))


def _err_in_address(draw: np.random.Generator, addresses: np.ndarray) -> np.ndarray:
    short = addresses
    for word, shortened in SHORT.items():
        short = np.strings.replace(short, f" {word}".encode(), f" {shortened}".encode())
    kind = draw.integers(0, 4, len(addresses))
    return np.select([kind == 0, kind == 1], [short, _mistype(draw, short, False)], _mistype(draw, addresses, False))


def _err_in_phone(draw: np.random.Generator, phones: np.ndarray) -> np.ndarray:
    last = np.strings.slice(phones, 3, 10) if hasattr(np.strings, "slice") else _last_seven(phones)
    other = np.strings.add(_number(200 + draw.integers(0, 97, len(phones)), 3), last)
    kind = draw.integers(0, 5, len(phones))
    return np.select([kind == 0, kind == 1], [other, np.zeros(len(phones), "S1")], _mistype(draw, phones, True))


def _last_seven(phones: np.ndarray) -> np.ndarray:
    letters = np.ascontiguousarray(phones.astype("S10")).view(np.uint8).reshape(-1, 10)
    return np.ascontiguousarray(letters[:, 3:]).view("S7")[:, 0]


def err(draw: np.random.Generator, people: dict[str, np.ndarray], errors: float) -> dict[str, np.ndarray]:
    """A copy of people, in which each value has an error with this chance (postcodes with a third of it)."""
    made = {
        "name": _err_in_name(draw, people["name"]),
        "address": _err_in_address(draw, people["address"]),
        "postcode": _mistype(draw, people["postcode"], True),
        "phone": _err_in_phone(draw, people["phone"]),
    }
    chances = {"postcode": errors / 3}
    count = len(people["name"])
    return {
        field: np.where(draw.random(count) < chances.get(field, errors), made[field], people[field]) for field in made
    }


def make_tables(
    left: int, right: int, shared: float, errors: float = 0.5, crowded: float = 0.065, seed: int = 1
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Two tables in random order, and the ids that are the same person: columns left and right."""
    draw = np.random.default_rng(seed)
    both = int(shared * min(left, right))
    one, other = draw_people(draw, left, crowded), draw_people(draw, right - both, crowded)
    copies = err(draw, {field: values[:both] for field, values in one.items()}, errors)
    other = {field: np.concatenate([copies[field], other[field]]) for field in one}
    days = draw.integers(0, DAYS + 1, left)
    apart = draw.geometric(1 / (APART + 1), both) - 1
    sign = np.where(draw.random(both) < 0.5, -1, 1)
    other_days = np.concatenate([days[:both] + sign * apart, draw.integers(0, DAYS + 1, right - both)])
    places = draw.permutation(left), draw.permutation(right)
    tables = [_table(one, days, places[0]), _table(other, other_days, places[1])]
    where = [np.argsort(place)[:both] for place in places]
    return tables[0], tables[1], pa.table({"left": where[0], "right": where[1]})


def make_copies(
    people: int, copies: tuple[int, int] = (2, 8), errors: float = 0.5, relatives: float = 0.3, seed: int = 1
) -> tuple[pa.Table, np.ndarray]:
    """One table in random order with several records of each person, and the person of each record.

    A share of the people are `relatives`: they live with another one and have the surname and the phone in common.
    """
    draw = np.random.default_rng(seed)
    one = draw_people(draw, people, crowded=0.065)
    of, like = draw.integers(0, people, (2, int(relatives * people)))
    given, _, surname = np.strings.partition(one["name"], b" ")
    one["name"][of] = _joined(given[of], surname[like])
    for field in ("address", "postcode", "phone"):
        one[field][of] = one[field][like]
    person = draw.permutation(np.repeat(np.arange(people), draw.integers(*copies, people, endpoint=True)))
    records = err(draw, {field: values[person] for field, values in one.items()}, errors)
    days = draw.integers(0, DAYS + 1, len(person))
    return _table(records, days, np.arange(len(person))), person


def _table(people: dict[str, np.ndarray], days: np.ndarray, order: np.ndarray) -> pa.Table:
    columns = {field: _strings(values[order]) for field, values in people.items()}
    first = np.datetime64("2020-01-01", "D")
    created = pa.array((first + days[order]).astype("datetime64[D]"))
    return pa.table({"id": np.arange(len(order)), **columns, "created": created})


def _strings(values: np.ndarray) -> pa.Array:
    return pa.array(values, pa.binary(), mask=values == b"").cast(pa.string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=Path, help="folder for left.parquet, right.parquet and truth.parquet")
    parser.add_argument("--left", type=int, default=1_000_000)
    parser.add_argument("--right", type=int, default=1_000_000)
    parser.add_argument("--shared", type=float, default=0.1, help="of the smaller table")
    parser.add_argument("--errors", type=float, default=0.5, help="share of a shared person's values with an error")
    parser.add_argument("--crowded", type=float, default=0.065, help="share of people with the crowded postcode")
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args())
    out = options.pop("out")
    out.mkdir(parents=True, exist_ok=True)
    for name, table in zip(("left", "right", "truth"), make_tables(**options)):
        pq.write_table(table, out / f"{name}.parquet")


if __name__ == "__main__":
    main()
