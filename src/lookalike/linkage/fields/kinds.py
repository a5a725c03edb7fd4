"""Recognise the kind of a field from its values; the name of the column is a hint if the values are ambiguous.

Each kind has one rule, which scores how well it fits; the best score wins. Knows patterns and shares, but not how
values are normalised or compared.
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
NEARLY = 0.9
"""The share of values, or of records, if nearly all must have a property that others have by chance."""
MISSED = 3.0
"""Standard errors by which values that occur more than twice must be fewer than expected."""

HINTS = {
    "phone": "phone telephone tel telefon mobile cell cellphone fax handy",
    "number": "price amount cost value total sum salary income weight height length width age count quantity rate "
    "balance score percent",
    "address": "address addr street strasse addresse adresse",
    "code": "id code zip zipcode postcode plz postal ssn isbn key sku ref",
    "place": "city town village suburb locality municipality district neighborhood neighbourhood borough county state "
    "province region country place birthplace ort stadt",
    "date": "date dob born birth birthday birthdate year day created",
    "text": "title description product item article book paper song album film movie tracks authors venue",
}
"""Words in column names that suggest a kind."""
LABELS = frozenset(
    word
    for listed in (*(HINTS[kind].split() for kind in ("phone", "address", "code")), *STREET_WORDS.items())
    for word in listed
    if len(word) > 2 or word in ("id", "st", "rd")
) | {"number", "num", "no", "nr"}
"""Words next to a number that are not its unit."""

# The score of a kind that most values fit. Only the order matters: in steps of at least 0.05, each score is above those
# of the kinds that the same values could also be, and above or below what they are with a hint.
CERTAIN = 1.0  # emails and dates: no other kind is written like this
MARKED = 0.75  # numbers with a unit, phone numbers with separators; below codes with a hint
SPECIFIC = 0.65  # fractions, years, very short and very few values; below codes, amounts and phone numbers with a hint
COMPACT = 0.55  # codes: whole numbers, or single words with digits; above texts with a hint
AMBIGUOUS = 0.4  # names, house numbers, whole numbers as amounts or phone numbers; below texts with a hint
FALLBACK = 0.2  # texts, whatever the values are
CALLED = 0.15  # places, and addresses without numbers: words like others, but with a hint, above names
HINT = 0.3  # what a word in the column's name adds

_STREETS = "|".join(sorted({*STREET_WORDS} - {"north", "south", "east", "west", "floor"}))
PATTERNS = {
    "email": r"^[^@\s]+@[^@\s]+$",
    "year": r"^(?:18[5-9]\d|19\d\d|20\d\d)$",
    "phone": r"^(?:\+\s*)?[\d\s()./-]{6,24}(?:\s*(?:x|ext\.?)\s*\d+)?$",
    "7 to 15 digits": r"^(?:\D*\d){7,15}\D*$",
    # Not one point, as in a latitude, unless it is where phone numbers have it: 555.0123, 0172.1234567.
    "phone mark": r"^[+(]|[\d.][-)/ ]|\.\d+\.|^\d{3}\.\d{4}$|^0\d+\.",
    # Also 3:45, a duration.
    "number": r"^\(?[-+]?\s?[$€£¥]?\s?[-+]?\d[\d,.']*(?:[eE][-+]?\d+)?\s?[%$€£¥]?\)?$|^\d{1,3}(?::[0-5]\d){1,2}$",
    "quantity": r",\d{1,2}\)?\s?[%$€£¥]?$|\.\d*[1-9]|[$€£¥%:]|^-",
    "short": r"^.{1,3}$",
    # Also addresses of pages.
    "compact": r"^[\pL\d][\pL\d/#._-]*(?: [\pL\d]{1,4})?$|^[A-Za-z]+://\S*$",
    "words": r"[\pL]{2}",
    "words and numbers": r"\d.*[\pL]{2}.*|[\pL]{2}.*\d",
    "house number": r"^\D{0,8}\d+ ?[\pL]?[\s,]+(?:[^\d\s]+[\s,]*){1,8}|[\pL.]{2,}[\s,]+\d+ ?[\pL]?$",
    "street": rf"(?i)\b(?:{_STREETS})\b",
    "few words": r"^[\pL\pM][\pL\pM'’`.-]*(?:[ ,]+[\pL\pM][\pL\pM'’`.-]*){0,3}$",
    # Several lines, or more characters than a name has: of Chinese and Japanese, seven.
    "long": rf"\n|.{{41}}|{UNSPACED}{{7}}",
}
"""What values can look like; the share of the values that do is a fact."""
_PHRASE = r"\S\s+\S|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
"""Two words, or a script that does not separate words."""


class Score(NamedTuple):
    """How well a kind fits, from 0 to 1, and why."""

    value: float = 0.0
    kind: str = ""
    why: str = ""


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


class Facts:
    """What is known of a column: hints in its name, and shares of its values, each measured when a rule first needs it.

    Examples
    --------
    >>> facts = Facts("phone number", take_sample(pa.array(["555-0123", "555-0199", "ask"], pa.large_string()), 3))
    >>> round(facts.share("phone"), 2), facts.hint("phone"), facts.hint("code")
    (0.67, 0.3, 0.0)
    """

    def __init__(self, name: str, sample: ValueSample) -> None:
        self.sample, self.values = sample, sample.values
        words = {*re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())}  # also of homeTown_2
        self.hints = {kind for kind, listed in HINTS.items() if words & set(listed.split())}
        self._shares: dict[str, float] = {}

    def share(self, pattern: str) -> float:
        """The share of the values that look like this."""
        if pattern not in self._shares:
            self._shares[pattern] = _share(self.values, PATTERNS[pattern])
        return self._shares[pattern]

    def hint(self, kind: str) -> float:
        """What the name of the column adds to the score of a kind."""
        return HINT if kind in self.hints else 0.0

    def score(self, kind: str, worth: float, share: float, why: str, least: float = MOST, named: bool = False) -> Score:
        """The score of a kind that this share of the values fits; with fewer than `least`, its name does not count."""
        if share < least:
            return Score()
        called = ", as the column's name suggests" if named and kind in self.hints else ""
        return Score(min(1.0, worth + self.hint(kind)), kind, f"{share:.0%} of the values {why}{called}")


def _email(facts: Facts) -> Score:
    return facts.score("email", CERTAIN, facts.share("email"), "have an @ between two words")


def _date(facts: Facts) -> Score:
    lower = pc.utf8_lower(facts.values)
    if _share(lower, WRITTEN) < MOST:
        return Score()
    order = find_order(lower)
    dates = f"are dates {f'in the order {ORDERS[order]}' if order else '(unclear whether day or month comes first)'}"
    iso = pc.fill_null(iso_dates(lower, order or "dmy"), "")
    share = _share(iso, REAL)
    if share < MOST:  # years without their century, such as 0056: with separators, these are still no phone numbers
        dates += f", only {share:.0%} of them in the years 1500 to 2099"
        share = _share(pc.if_else(pc.match_substring_regex(lower, r"^\d+$"), "", iso), DATE)
    if share >= MOST:
        return facts.score("date", CERTAIN, share, dates)
    return facts.score("date", SPECIFIC, facts.share("year"), "are years", NEARLY)


def _phone(facts: Facts) -> Score:
    digits = facts.share("7 to 15 digits") if facts.share("phone") >= MOST else 0.0
    marked = 0.0 if digits < MOST or are_ranges(facts.values, MOST) else facts.share("phone mark")
    return facts.score("phone", AMBIGUOUS + (MARKED - AMBIGUOUS) * marked, digits, "are 7 to 15 digits", named=True)


def _number(facts: Facts) -> Score:
    numbers, named = facts.share("number"), "number" in facts.hints
    if numbers >= MOST and facts.share("quantity") >= 1 - MOST:
        why = f"are numbers, {facts.share('quantity'):.0%} with a fraction, a sign, a currency or a colon"
        return facts.score("number", SPECIFIC, numbers, why)
    if numbers >= MOST:
        return facts.score("number", AMBIGUOUS, numbers, "are numbers", named=True)
    if facts.hints and not named:
        return Score()  # a word next to a number need not be a unit: Part 1, in a column of titles
    units, share = find_units(facts.values, MOST, LABELS, named)
    return facts.score("number", MARKED, share if units else 0.0, f"are numbers, with the unit {' or '.join(units)}")


def _code(facts: Facts) -> Score:
    if facts.share("number") >= MOST:
        return facts.score("code", COMPACT, facts.share("number"), "are numbers, which are compared digit by digit")
    if facts.share("short") >= NEARLY:
        return facts.score("code", SPECIFIC, facts.share("short"), "have at most three characters")
    if has_few_values(facts.sample):
        distinct = facts.sample.distinct
        few = "is only 1 distinct value" if distinct == 1 else f"are only {distinct} distinct values"
        return Score(SPECIFIC + facts.hint("code"), "code", f"there {few}")
    compact = pc.match_substring_regex(facts.values, pattern_for(facts.values, PATTERNS["compact"]))
    single = pc.filter(facts.values, compact)
    digits = _share(_without_common_words(single), r"\d") if len(single) >= MOST * len(facts.values) else 0.0
    return facts.score("code", COMPACT, digits * len(single) / len(facts.values), "are single words with digits")


def _address(facts: Facts) -> Score:
    """Numbers that are where house numbers would be, or words for streets; in product names they can be anywhere."""
    mixed, words = facts.share("words and numbers"), facts.share("words")
    if mixed >= MOST and (facts.share("house number") >= MOST or facts.share("street") >= MOST / 2):
        return facts.score("address", AMBIGUOUS, mixed, "are words with a house number", named=True)
    return facts.score("address", CALLED, words, f"have words, {mixed:.0%} also numbers", 0.5, named=True)


def _names(facts: Facts) -> float:
    """The share of values that are a few words of letters; 0 if more than one in twenty is longer than a name."""
    words = facts.share("few words")
    return words if words >= MOST and facts.share("long") <= 0.05 else 0.0


def _place(facts: Facts) -> Score:
    return facts.score("place", CALLED, _names(facts), "are one to four words of letters", named=True)


def _person(facts: Facts) -> Score:
    why = "are one to four words of letters, like names of people, places or companies"
    return facts.score("person", AMBIGUOUS, _names(facts), why)


def _text(facts: Facts) -> Score:
    return Score(FALLBACK + facts.hint("text"), "text", "its values fit no other kind")


RULES = {
    _email: CERTAIN,
    _date: CERTAIN,
    _phone: MARKED,
    _number: MARKED,
    _code: SPECIFIC,
    _address: AMBIGUOUS,
    _person: AMBIGUOUS,
    _text: FALLBACK,
    _place: CALLED,
}
"""The rules, and the most that each can score without a hint."""


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
    values = sample.values
    if not len(values):
        return "text", "it has no values"
    facts, best = Facts(name, sample), Score()
    for rule, most in RULES.items():
        if best.value >= min(CERTAIN, most + (HINT if facts.hints else 0.0)):
            break  # neither this rule nor a later one can exceed it
        best = max(best, rule(facts), key=lambda score: score.value)
    if best.kind == "text":
        counts = pc.count_substring_regex(space_characters(values), pattern_for(values, r"[\pL\d]+"))
        return "text", f"{best.why}; they have {pc.mean(counts).as_py():.1f} words on average"
    return best.kind, best.why
