"""Numbers as people write them: with separators, a currency or a unit.

Knows no list of units: in a column of numbers, the same few short words or signs stand before or after most of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from decimal import Decimal
from functools import reduce
from typing import NamedTuple

import pyarrow as pa

from lookalike.linkage.fields.letters import pattern_for
from lookalike.types import compute as pc

LONGEST_AFFIX = 30
"""The most characters before or after a number that is read; there is at most one word on each side."""
LONGEST_PHRASE = 6
"""Up to this many characters may be several words: sq ft."""
LONGEST_UNIT = 8
"""The most characters of a unit by which a column is recognised."""
MOST_UNITS = 5
"""The most units by which a column is recognised."""
LEAST_VALUES = 5
"""The fewest different values for each unit."""
SAME_LENGTH = 4
"""Whole numbers that all have this many digits, or all have some larger number of them, may be postcodes."""

CANONICAL = r"^-?\d+(?:\.\d+)?(?:e-?\d+)?$"
"""Matches numbers in normal form."""
_CLOCK = r"\d{1,9}(?::[0-5]\d){1,2}"
_AFTER = r"(?:\D|(?<=[^\W\d_])\d(?!\w))*"
"""No other number; also m2."""
_ONE_NUMBER = re.compile(
    rf"""(?P<before>\D*?)
    (?P<sign>(?<![^\W_])[-+−])?\s*
    (?P<number>[0-9](?:[0-9\s.,'’_]*[0-9])?[.,]?(?:[eE][-+]?[0-9]{{1,4}}(?!\w))?|(?<![^\W_])[.,][0-9]+)
    (?P<after>{_AFTER})
    """,
    re.VERBOSE,
)
_WORD = r"[^\W\d_]+"
_SIMPLE = r"^\D{0,12}\d[\d.,'’\s\pZ]*(?:\D{0,12}|\D{0,11}[\pL]\d)$"
_PLACED = re.compile(rf"(\D*?)[-+−]?((?:\d{{1,3}}(?:[.,'’\s]\d{{3}})+|\d+)(?:[.,]\d*)?)({_AFTER})")
_RANGE = r"^[1-9]\d{0,4}\s?[-–]\s?[1-9]\d{0,4}$"


def canonical_number(text: str, mark: str = ".") -> str | None:
    """A number in plain decimal notation, without unit and separators; None if the text has no number or several.

    A duration or a time of day (3:45) is the number of its last units.

    Examples
    --------
    >>> canonical_number("$ 1,234.50"), canonical_number("1.234,50 Kč", ","), canonical_number("1e3")
    ('1234.5', '1234.5', '1000')
    >>> canonical_number("3:45"), canonical_number("1:00:05"), canonical_number("3000-3500")
    ('225', '3605', None)
    """
    if re.fullmatch(_CLOCK, text, re.ASCII):
        return str(reduce(lambda total, part: 60 * total + int(part), text.split(":"), 0))
    found = _ONE_NUMBER.fullmatch(text)
    if not found or not (_can_be_unit(found["before"]) and _can_be_unit(found["after"])):
        return None
    plain = re.sub(r"[\s'’_]", "", found["number"]).replace("," if mark == "." else ".", "").replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)(?i:e[+-]?\d{1,4})?", plain, re.ASCII):
        return None
    signed = found["sign"] or found["before"].lstrip()[:1]
    negative = signed in ("-", "−") or (text.startswith("(") and text.endswith(")"))
    return _write(Decimal(plain), negative)


def _can_be_unit(affix: str) -> bool:
    """Whether a number with this before or after it can be read; not that of 12 Main Street.

    Examples
    --------
    >>> [_can_be_unit(affix) for affix in ("", " €/Monat", " sq ft", " Main Street")]
    [True, True, True, False]
    """
    short = len(affix.strip()) <= LONGEST_PHRASE
    return short or (len(affix) <= LONGEST_AFFIX and len(re.findall(_WORD, affix)) <= 1)


def _write(number: Decimal, negative: bool) -> str:
    if not number:
        return "0"
    written = number.as_tuple()
    digits = "".join(map(str, written.digits)).lstrip("0")
    exponent = int(written.exponent) + len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    if abs(exponent) > 40:  # written out, it could be arbitrarily long
        return f"{'-' * negative}{digits}e{exponent}"
    return format(Decimal((int(negative), tuple(map(int, digits)), exponent)), "f")


def find_mark(values: pa.Array) -> str:
    """The decimal mark of the numbers of a column, "," or "."; "" if it remains ambiguous.

    Examples
    --------
    >>> [find_mark(pa.array(texts, pa.large_string())) for texts in (["1.234,5"], ["1,234", "2"], ["0,5"], ["7"])]
    [',', '.', ',', '']
    >>> find_mark(pa.array(["1 234,50 Kč"], pa.large_string()))
    ','
    """
    spaced = r"(\d)[\s\pZ'’](\d{3})"
    if pc.any(pc.match_substring_regex(values, spaced)).as_py():
        values = pc.replace_substring_regex(values, spaced, r"\1\2")

    def count(pattern: str) -> int:
        return int(pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0)

    affix = rf"\D{{0,{LONGEST_AFFIX}}}"
    commas = count(
        rf"^{affix}(\d*,\d{{1,2}}|\d+,\d{{4,}}|\d{{1,3}}(\.\d{{3}})+,\d+|\d{{1,3}}(\.\d{{3}}){{2,}}){affix}$"
    )
    points = count(rf"^{affix}(\d*\.\d+|\d{{1,3}}(,\d{{3}})+(\.\d*)?){affix}$")
    return "" if commas == points == 0 else "," if commas > points else "."


class _Placed(NamedTuple):
    """A number in a value, and what stands before and after it."""

    before: str
    after: str
    number: str

    @classmethod
    def find(cls, text: str) -> _Placed | None:
        """None if there is not one number, or if letters are joined to it as in a code: A12, PS-12, 12/B."""
        found = _PLACED.fullmatch(text)
        if found is None or re.search(r"[^\W_]$|[-_/#]$", found[1]) or re.search(r"^[-_/#]\w", found[3]):
            return None
        return cls(found[1].strip(), found[3].strip(), found[2])

    @property
    def words(self) -> list[str]:
        return re.findall(_WORD, f"{self.before} {self.after}".casefold())


def find_units(values: pa.Array, most: float, labels: Collection[str], named: bool) -> tuple[list[str], float]:
    """The units of a column of numbers, the most frequent first, and the share of values with one of them or none.

    There are no units if it is not a column of numbers, or if few have a unit.

    Parameters
    ----------
    values : large_string
        Different values.
    most : float
        The share of the values that must have one of the units, or none.
    labels : collection of str
        Words that are no units: they say that an address, a code or a phone number follows.
    named : bool
        Whether the name of the column suggests numbers; then few values are enough, and units may be two words.

    Examples
    --------
    >>> prices = ["99 EUR", "1,250 EUR", "80 EUR", "9.50 EUR", "100"]
    >>> find_units(pa.array(prices), 0.8, (), False), find_units(pa.array(["12 Elm", "9 Oak"]), 0.8, (), False)
    ((['EUR'], 1.0), ([], 0.0))
    """
    if float(pc.mean(pc.match_substring_regex(values, pattern_for(values, _SIMPLE))).as_py() or 0) < most:
        return [], 0.0
    placed = [one for one in map(_Placed.find, values.to_pylist()) if one is not None]
    counts = Counter((one.before, one.after) for one in placed if _is_unit(one, labels, named))
    allowed = MOST_UNITS if named else min(MOST_UNITS, len(values) // LEAST_VALUES)
    ranked = sorted(counts.items(), key=lambda unit: (-unit[1], unit[0]))  # the order of the values does not matter
    kept = dict(ranked[: allowed + 1 if ("", "") in counts else allowed])
    units = [" ".join(filter(None, unit)) for unit in kept if any(unit)]
    with_unit = sum(count for unit, count in kept.items() if any(unit))
    share = sum(kept.values()) / len(values)
    lettered = len(units) > 1 and all(len(unit) == 1 and unit.isalpha() for unit in units)  # 12A, 12B
    if share < most or with_unit < 0.2 * len(values) or lettered:
        return [], 0.0
    return (units, share) if named or not _are_codes([one.number for one in placed]) else ([], 0.0)


def _is_unit(placed: _Placed, labels: Collection[str], named: bool) -> bool:
    sides = placed.before, placed.after
    short = all(len(side) <= LONGEST_UNIT and _can_be_unit(side) for side in sides)
    short &= named or not any(re.search(r"\s", side) for side in sides)
    return short and not any(word in labels for word in placed.words)


def _are_codes(numbers: list[str]) -> bool:
    """Whether numbers seem to be postcodes or the numbers of things: with leading zeros, or all of the same length."""
    lengths = Counter(len(number) if number.isdigit() else 0 for number in numbers)
    length, often = lengths.most_common(1)[0]
    zeros = sum(bool(re.match(r"0\d", number)) for number in numbers)
    return zeros > 0.05 * len(numbers) or (length >= SAME_LENGTH and often > 0.98 * len(numbers))


def are_ranges(values: pa.Array, most: float) -> bool:
    """Whether values are ranges such as 3000-3500, of which the second number is at most three times the first.

    Examples
    --------
    >>> are_ranges(pa.array(["3000-3500", "950-1050"]), 0.8), are_ranges(pa.array(["555-0123", "555-8123"]), 0.8)
    (True, False)
    """
    some = pc.filter(values, pc.match_substring_regex(values, _RANGE)).to_pylist()
    if len(some) < most * len(values):
        return False
    ends = (tuple(map(int, re.findall(r"\d+", text))) for text in some)
    return sum(first <= last <= 3 * first for first, last in ends) >= most * len(values)
