"""Recognise the kind of a field from its values; the name of the column is a hint if the values are ambiguous.

Knows patterns and shares, but not how values are normalised or compared.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.kernels.sets import hash_strings
from lookalike.linkage.fields.dates import DATE, ORDERS, REAL, WRITTEN, find_order, iso_dates
from lookalike.linkage.fields.letters import UNSPACED, pattern_for, space_characters
from lookalike.linkage.fields.normalise import STREET_WORDS, can_be_numbered, strip_texts, write_strings
from lookalike.linkage.fields.numbers import are_ranges, find_units
from lookalike.types import Int32, text_arrays, to_arrow
from lookalike.types import compute as pc

SAMPLE = 20_000
"""Distinct values examined."""
MOST = 0.8
"""The share of values that must fit a pattern; the others are treated as typing errors."""

MISSED = 3.0
"""Standard errors by which values that occur more than twice must be fewer than expected."""
NEARLY = 0.9
"""The share of records whose name must be (nearly) their own, so that it can be compared by its letters alone."""

HINTS = {
    "phone": "phone telephone tel telefon mobile cell cellphone fax handy",
    "number": "price amount cost value total sum salary income weight height length width age count quantity rate "
    "balance score percent",
    "address": "address addr street strasse addresse adresse",
    "code": "id code zip zipcode postcode plz postal number no nr num ssn isbn key sku ref",
    "place": "city town village suburb locality municipality district neighborhood neighbourhood borough county state "
    "province region country place birthplace ort stadt",
    "date": "date dob born birth birthday birthdate year day created",
    "text": "title description product item article book paper song album film movie tracks authors venue",
}
"""Words in column names that suggest a kind."""
NO_PHONES = frozenset(HINTS["code"].split()) - {"number", "no", "nr", "num"}
"""Words in column names that phone numbers do not have."""
LABELS = frozenset(
    word
    for listed in (*(HINTS[kind].split() for kind in ("phone", "address", "code")), *STREET_WORDS.items())
    for word in listed
    if len(word) > 2 or word in ("no", "nr", "id", "st", "rd")
)
"""Words next to a number that are not its unit."""

_EMAIL = r"^[^@\s]+@[^@\s]+$"
_PHONE = r"^(?:\+\s*)?[\d\s()./-]{6,24}(?:\s*(?:x|ext\.?)\s*\d+)?$"
_PHONE_MARKS = r"^\+|^\(|\d[-. )/]+\d"
_DECIMAL = r"^[-+]?(?:0|[1-9]\d*)\.\d+$"
"""A number with a point, such as a latitude; 7 digits of a phone number can look the same."""
_LOCAL_PHONE = r"^\d{3}\.\d{4}$"
_DIGITS = r"^\d+(?:\.0+)?$"
_NUMBER = r"^\(?[-+]?\s?[$€£¥]?\s?[-+]?\d[\d,.']*(?:[eE][-+]?\d+)?\s?[%$€£¥]?\)?$|^\d{1,3}(?::[0-5]\d){1,2}$"
"""Also 3:45, a duration."""
_FRACTION = r"[.,]\d{1,2}\)?\s?[%$€£¥]?$|\d\.\d*[1-9]|[$€£¥%:]|^-"
_PAGE = r"(?i)^[a-z]+://\S*\d\S*$"
_CODE = r"^[\pL\d][\pL\d/#._-]*(?: [\pL\d]{1,4})?$"
_WORDS = r"^[\pL\pM][\pL\pM'’`.-]*(?:[ ,]+[\pL\pM][\pL\pM'’`.-]*){0,3}$"
_LONG_RUN = rf"{UNSPACED}{{7}}"
"""More Chinese or Japanese characters than a name has."""
_NUMBER_AND_WORDS = r"\d.*[\pL]{2}.*|[\pL]{2}.*\d"
_HOUSE_NUMBER = r"^\D{0,8}\d+ ?[\pL]?[\s,]+(?:[^\d\s]+[\s,]*){1,8}|[\pL.]{2,}[\s,]+\d+ ?[\pL]?$"
_STREET = r"(?i)\b(?:" + "|".join(sorted({*STREET_WORDS} - {"north", "south", "east", "west", "floor"})) + r")\b"


_PHRASE = r"\S\s+\S|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
"""Two words, or a script that does not separate words."""


def has_phrases(values: pa.Array) -> bool:
    """Whether at least half of the values have more than one word; otherwise, words say no more than whole values.

    Examples
    --------
    >>> has_phrases(pa.array(["Ann", "Mary Ann", "Bob"])), has_phrases(pa.array(["Ann Lee", "Bob"]))
    (False, True)
    """
    return _share(values, _PHRASE) >= 0.5


def names_records(codes: Int32, most: int) -> bool:
    """Whether nearly every value belongs to at most this many records, as the name of a place does, but no surname.

    `codes` are the numbers of the values of all records, -1 for none.

    Examples
    --------
    >>> names_records(np.array([0, 1, 2, -1]), 1), names_records(np.array([0, 0, 1, 1]), 1)
    (True, False)
    """
    known = codes[codes >= 0]
    shared = np.bincount(known)[known]
    return bool(len(known)) and float((shared <= most).mean()) >= NEARLY


def count_values(codes: Int32) -> tuple[int, int, int]:
    """The number of values that occur once, twice, and more often.

    Examples
    --------
    >>> count_values(np.array([0, 0, 1, 2, 2, 2, -1]))
    (1, 1, 1)
    """
    often = np.bincount(codes[codes >= 0])
    return int((often == 1).sum()), int((often == 2).sum()), int((often > 2).sum())


def occur_twice(codes: Int32) -> bool:
    """Whether so many values occur twice, and so few more often, that records must be listed twice.

    If 2,000 of 4,000 different values occurred twice by chance, hundreds would occur three times. `codes` are the
    numbers of the values of all records of one table, -1 for none.

    Examples
    --------
    >>> pairs, draws = np.arange(400) // 2, np.random.default_rng(1).integers(0, 300, 300)
    >>> occur_twice(np.append(pairs, np.arange(200, 400))), occur_twice(draws), occur_twice(np.arange(9))
    (True, False, False)
    """
    once, twice, more = count_values(codes)
    # By chance, values occur k times in the proportions of rate**k / k! (Poisson), with the rate 2 * twice / once.
    expected = 2 * twice**2 / (3 * max(1, once))
    return bool(more + MISSED * np.sqrt(expected) < expected)


def _share(values: pa.Array, pattern: str) -> float:
    """The share of values that match the pattern."""
    return float(pc.mean(pc.match_substring_regex(values, pattern_for(values, pattern))).as_py() or 0.0)


def _percent(share: float) -> str:
    return f"{share:.0%} of the values"


def _words_of(name: str) -> set[str]:
    """The words of a column's name.

    Examples
    --------
    >>> sorted(_words_of("homeTown_2"))
    ['home', 'town']
    """
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def _hints(words: set[str]) -> set[str]:
    """The kinds that the words of a column's name suggest; `no phone` if they speak against one."""
    found = {kind for kind, listed in HINTS.items() if words & set(listed.split())}
    return found | {"no phone"} if words & NO_PHONES and "phone" not in found else found


class ValueSample(NamedTuple):
    """Some of a column's distinct values as texts, and its numbers of rows and distinct values (without nulls)."""

    values: pa.Array
    rows: int
    distinct: int

    @classmethod
    def joined(cls, samples: list[ValueSample], most: int = SAMPLE) -> ValueSample:
        """The samples of a field's columns as one; its number of distinct values is at most the sum of theirs."""
        values = pc.unique(pa.concat_arrays([sample.values for sample in samples]))
        rows, distinct = (sum(sample[place] for sample in samples) for place in (1, 2))
        return cls(values, rows, min(distinct, len(values)) if distinct <= most else distinct)


def take_sample(texts: pa.Array, rows: int, distinct: bool = False, *, most: int = SAMPLE) -> ValueSample:
    """At most `most` distinct values of a column, drawn by their contents: the order of the rows does not matter.

    Parameters
    ----------
    texts : large_string
        The values as texts.
    rows : int
        The number of rows that have one.
    distinct : bool
        Whether all texts differ.

    Examples
    --------
    >>> sample = take_sample(pa.array(["3", " 4", "n/a", "4"], pa.large_string()), 5)
    >>> sample.values.to_pylist(), sample.rows, sample.distinct
    (['3', '4'], 5, 2)
    """
    stripped = strip_texts(texts)
    if distinct and pc.all(pc.equal(stripped, texts), min_count=0).as_py():  # the usual case
        known = pc.drop_null(stripped)
    else:
        known = pc.unique(pc.drop_null(stripped))
    return ValueSample(_draw(known, most), rows, len(known))


def _draw(values: pa.Array, most: int) -> pa.Array:
    """The values with the smallest hashes, at most `most` of them."""
    if len(values) <= most:
        return values
    drawn = np.argpartition(hash_strings(*text_arrays(values)), most)[:most]
    return pc.take(values, to_arrow(np.sort(drawn)))


def _as_dates(values: pa.Array, hints: set[str]) -> str:
    """The reason why these are dates; "" if they are not."""
    lower = pc.utf8_lower(values)
    if _share(lower, WRITTEN) < MOST:
        return ""
    order = find_order(lower)
    known = f"in the order {ORDERS[order]}" if order else "(unclear whether day or month comes first)"
    iso = pc.fill_null(iso_dates(lower, order or "dmy"), "")
    share = _share(iso, REAL)
    if share >= MOST:
        return f"{_percent(share)} are dates {known}"
    # Years that have lost their century, such as 0056: with separators, these are still no phone numbers.
    odd = _share(pc.if_else(pc.match_substring_regex(lower, r"^\d+$"), "", iso), DATE)
    if odd >= MOST:
        return f"{_percent(odd)} are dates {known}, only {share:.0%} of them in the years 1500 to 2099"
    years = _share(values, r"^(?:18[5-9]\d|19\d\d|20\d\d)$")
    if years >= 0.98 and ("date" in hints or "code" not in hints):
        return f"{_percent(years)} are years"
    return ""


def _as_digits(values: pa.Array, hints: set[str]) -> tuple[str, str] | None:
    """Recognise phones, numbers and numeric codes."""
    share = _share(values, _PHONE)
    decimal = "phone" not in hints and _share(values, _DECIMAL) >= MOST and _share(values, _LOCAL_PHONE) < MOST
    if share >= MOST and not decimal:
        digits = _share(pc.replace_substring_regex(values, r"\D", ""), r"^\d{7,15}$")
        marked = _share(values, _PHONE_MARKS) >= 0.5 and not are_ranges(values, MOST)
        if digits >= MOST and ("phone" in hints or (marked and "no phone" not in hints)):
            return "phone", f"{_percent(digits)} are 7 to 15 digits" + ", as the column's name suggests" * (
                "phone" in hints
            )
    share = _share(values, _NUMBER)
    if share >= MOST:
        fractions = _share(values, _FRACTION)
        if fractions >= 0.2 and _share(values, _DIGITS) < MOST:
            return (
                "number",
                f"{_percent(share)} are numbers, {fractions:.0%} with a fraction, a sign, a currency or a colon",
            )
        if "number" in hints and "code" not in hints:
            return "number", f"{_percent(share)} are numbers, as the column's name suggests"
        return "code", f"{_percent(share)} are whole numbers, which are compared digit by digit"
    return _as_measures(values, hints)


def _as_measures(values: pa.Array, hints: set[str]) -> tuple[str, str] | None:
    """Recognise numbers with a unit or a currency."""
    named = "number" in hints and "code" not in hints
    if hints and not named:
        return None
    units, share = find_units(values, MOST, LABELS, named)
    return ("number", f"{_percent(share)} are numbers, with the unit {' or '.join(units)}") if units else None


def _as_words(sample: ValueSample, hints: set[str]) -> tuple[str, str]:
    """Recognise codes with letters, addresses, names and texts."""
    values = sample.values
    short = _share(values, r"^.{1,3}$")
    if short >= 0.9:
        return "code", f"{_percent(short)} have at most three characters"
    if has_few_values(sample):
        few = "is only 1 distinct value" if sample.distinct == 1 else f"are only {sample.distinct} distinct values"
        return "code", f"there {few}"
    pages = _share(values, _PAGE)
    if pages >= MOST:
        return "code", f"{_percent(pages)} are addresses of pages with numbers"
    single = pc.filter(values, pc.match_substring_regex(values, pattern_for(values, _CODE)))
    codes = _share(_without_common_words(single), r"\d") * len(single) / len(values)
    if codes >= MOST and "address" not in hints:
        return "code", f"{_percent(codes)} are single words with digits"
    mixed = _share(values, _NUMBER_AND_WORDS)
    worded = _share(values, r"[\pL]{2}")
    if "address" in hints and worded >= 0.5:
        return "address", f"{_percent(worded)} have words, {mixed:.0%} also numbers, as the column's name suggests"
    if mixed >= MOST and "text" not in hints and _looks_like_addresses(values):
        return "address", f"{_percent(mixed)} are words with a house number"
    names = _share(values, _WORDS) - _share(values, _LONG_RUN)
    if names >= MOST and "text" not in hints and _share(values, r"^.{1,40}$") >= 0.95:
        letters = f"{_percent(names)} are one to four words of letters"
        if "place" in hints:
            return "place", f"{letters}, as the column's name suggests"
        return "person", f"{letters}, like names of people, places or companies"
    counts = pc.count_substring_regex(space_characters(values), pattern_for(values, r"[\pL\d]+"))
    words = float(pc.mean(counts).as_py())
    return "text", f"its values fit no other kind; they have {words:.1f} words on average"


def has_few_values(sample: ValueSample) -> bool:
    """Whether a column has at most three values, which many records share."""
    return sample.distinct <= 3 and sample.rows >= 10 * sample.distinct


def _without_common_words(values: pa.Array) -> pa.Array:
    """The values without the words that most of them have, which do not distinguish them.

    Examples
    --------
    >>> _without_common_words(pa.array(["python3-click", "python3-rich", "py3c"])).to_pylist()
    ['-click', '-rich', 'py3c']
    """
    words = pc.list_flatten(pc.split_pattern_regex(values, pattern_for(values, r"[^\pL\d]+")))
    counts = pc.value_counts(words)
    common = pc.filter(counts.field("values"), pc.greater(counts.field("counts"), len(values) / 2))
    listed = "|".join(re.escape(one) for one in common.to_pylist() if one)
    return pc.replace_substring_regex(values, rf"\b(?:{listed})\b", "") if listed else values


def _looks_like_addresses(values: pa.Array) -> bool:
    """Whether the numbers in most values are where house numbers would be; in product names they can be anywhere.

    Examples
    --------
    >>> [_looks_like_addresses(pa.array(one)) for one in (["12 Main St", "Am Markt 7"], ["lamp a60 9w e27"])]
    [True, False]
    """
    return _share(values, _HOUSE_NUMBER) >= MOST or _share(values, _STREET) >= MOST / 2


def recognise(name: str, values: pa.Array | pa.ChunkedArray) -> tuple[str, str]:
    """The kind of a column, and the reason.

    Examples
    --------
    >>> recognise("born", pa.array(["1990-04-03", "1951-12-24"]))
    ('date', '100% of the values are dates in the order year-month-day')
    >>> recognise("surname", pa.array(["Smith", "O'Brien", "van der Berg", "Zoë"]))[0]
    'person'
    """
    distinct = pc.unique(values) if can_be_numbered(values.type) else values
    distinct = distinct.combine_chunks() if isinstance(distinct, pa.ChunkedArray) else distinct
    sample = take_sample(write_strings(distinct, f"column {name}"), len(values) - values.null_count)
    return recognise_sample(name, sample)


def recognise_sample(name: str, sample: ValueSample) -> tuple[str, str]:
    """The kind of a column, from a sample of its values; see `recognise`.

    Examples
    --------
    >>> recognise_sample("contact", take_sample(pa.array(["ann@a.com"], pa.large_string()), 1))[0]
    'email'
    """
    values, hints = sample.values, _hints(_words_of(name))
    if not len(values):
        return "text", "it has no values"
    mails = _share(values, _EMAIL)
    if mails >= MOST:
        return "email", f"{_percent(mails)} have an @ between two words"
    dates = _as_dates(values, hints)
    if dates:
        return "date", dates
    return _as_digits(values, hints) or _as_words(sample, hints)
