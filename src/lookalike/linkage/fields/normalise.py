"""Convert values to the normal form of their kind, so that the same thing is always written the same way.

Works on all distinct values of a column at once, without knowledge of records or other columns. Placeholders for a
missing value (n/a, unknown, 0000000) become null.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.features.unicode import folding_table
from lookalike.kernels.values import LETTER_BITS, LONGEST_WORD, fold_words, replace_words
from lookalike.linkage.fields.dates import find_order, iso_dates
from lookalike.linkage.fields.letters import plain_letters, space_characters
from lookalike.linkage.fields.numbers import canonical_number, find_mark
from lookalike.types import Int64, UInt8, strings_to_arrow, text_arrays, text_scalar
from lookalike.types import compute as pc

PLACEHOLDERS = strings_to_arrow(
    [
        *("-", "--", "---", ".", "?", "??", "xxx", "xxxx", "n/a", "n.a.", "n.a", "n / a", "#n/a", "<na>", "nan", "nat"),
        *("none", "(none)", "[none]", "null", "(null)", "<null>", "nil", "none@none.com", "undefined", "unspecified"),
        *("missing", "unknown", "unk", "not known", "not given", "not available", "not applicable", "no data"),
        *("tbd", "tba"),
    ]
)
"""In lower case; "NA" counts only in capitals, because Na is also a name."""
FILLER = rf"^(?:00+|9{{5,}}|{'|'.join(f'{digit}{{7,}}' for digit in range(1, 9))}|0?123456789|1234567890|1234567)$"
"""Dummy codes and phones: one digit repeated, or the digits in order."""
NO_DATE = r"^(?:0000|9999)"
_NONE = text_scalar(None)

# Country calling codes of one and two digits; all others have three.
_SHORT_COUNTRIES = r"1|7|20|27|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
_COUNTRY = rf"^(?:\+|00)\s*(?:{_SHORT_COUNTRIES}|\d\d\d)[^\d]*(?:\(0\))?"
_EXTENSION = r"\s*(?:ext\.?|extension|x|#)\s*\d{1,6}\s*$"
_NATIONAL = r"^(?:[1-9()\s/-]|0[1-9()\s/-]|0$)[\d\s()/-]*$"
"""Phones without a country code, an extension or a point."""
_TWO_DIGITS = "|".join(f"{digit}[{'0123456789'.replace(digit, '')}]" for digit in "23456789")
_DONE = {
    "code": rf"^(?:[1-9]|(?:1[03-9]|{_TWO_DIGITS})\d*|[a-z][a-z0-9]*)$",
    "phone": rf"^(?:{_TWO_DIGITS})\d*$",
    "email": r"^[a-z0-9._+-]+@[a-z0-9.-]+$",
}
"""Matches most values that are already normal: checking is faster than normalising. No filler begins with two
different digits."""
_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_WHOLE = r"^(?:0|-?[1-9]\d{0,17})$"
_CANONICAL = r"^(?:0|-?[1-9]\d{0,17}(?:\.\d{0,17}[1-9])?|-?0\.\d{0,17}[1-9])$"
STREET_WORDS = {
    "street": "st", "str": "st", "avenue": "ave", "av": "ave", "road": "rd", "boulevard": "blvd", "drive": "dr",
    "lane": "ln", "court": "ct", "place": "pl", "crescent": "cres", "cr": "cres", "terrace": "tce", "ter": "tce",
    "square": "sq", "highway": "hwy", "parkway": "pkwy", "circuit": "cct", "close": "cl", "parade": "pde",
    "apartment": "apt", "suite": "ste", "floor": "fl", "north": "n", "south": "s", "east": "e", "west": "w",
    "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw", "saint": "st",
}  # fmt: skip
"""Words of addresses that are often abbreviated."""


def _replace(values: pa.Array, pattern: str, by: str) -> pa.Array:
    return pc.replace_substring_regex(values, pattern, by)


def _change(values: pa.Array, function: Callable[[pa.Array], pa.Array], where: pa.Array) -> pa.Array:
    """Apply a function to the values selected by `where`; leave the others unchanged."""
    chosen = pc.filter(values, where)
    if not len(chosen):
        return values
    return function(values) if len(chosen) == len(values) else pc.replace_with_mask(values, where, function(chosen))


def _unlike(values: pa.Array, pattern: str) -> pa.Array:
    """Which values are not null and do not match."""
    return pc.fill_null(pc.invert(pc.match_substring_regex(values, pattern)), False)


def _write(values: pa.Array, write: Callable[..., int], *tables: Any) -> pa.Array:
    """The texts that a kernel writes, one per value; null stays null."""
    data, offsets = text_arrays(values)
    out, ends = np.empty(int(offsets[-1] - offsets[0]), np.uint8), np.empty(len(offsets), np.int64)
    length = write(data, offsets, *tables, out, ends)
    if length > len(out):  # the buffer was too small
        out = np.empty(length, np.uint8)
        write(data, offsets, *tables, out, ends)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(out[:length])]
    written = pa.Array.from_buffers(pa.large_string(), len(values), buffers)
    return pc.if_else(pc.is_valid(values), written, _NONE) if values.null_count else written


def fold_texts(values: pa.Array) -> pa.Array:
    """Folded texts, words separated by single spaces; apostrophes are dropped, because O'Brien is also written OBrien.

    Examples
    --------
    >>> fold_texts(pa.array(["  Zoë  O'Brien-Smith ", None, "--", "Łódź"], pa.large_string())).to_pylist()
    ['zoe obrien smith', None, '', 'lodz']
    """
    return _write(plain_letters(values), fold_words, *folding_table())


def decode_entities(values: pa.Array) -> pa.Array:
    """Texts with the characters that HTML entities stand for.

    Examples
    --------
    >>> decode_entities(pa.array(["Caf&eacute; &amp; Bar", "AT&T", None], pa.large_string())).to_pylist()
    ['Café & Bar', 'AT&T', None]
    """

    def decode(some: pa.Array) -> pa.Array:
        return strings_to_arrow([html.unescape(text) for text in some.to_pylist()])

    return _change(values, decode, pc.fill_null(pc.match_substring_regex(values, _ENTITY), False))


def strip_texts(values: pa.Array) -> pa.Array:
    """Texts without surrounding whitespace; null for placeholders of a missing value.

    Examples
    --------
    >>> strip_texts(pa.array([" a ", "N/A", "NA", "Na", ""], pa.large_string())).to_pylist()
    ['a', None, None, 'Na', None]
    """
    stripped = pc.utf8_trim_whitespace(values)
    none = pc.is_in(pc.utf8_lower(stripped), PLACEHOLDERS)
    none = pc.or_(none, pc.is_in(stripped, strings_to_arrow(["", "NA"])))
    return pc.if_else(none, _NONE, stripped)


def write_strings(values: pa.Array, place: str) -> pa.Array:
    """Values of any plain type as large_string: whole numbers without a point, ISO dates, lists joined by spaces.

    Examples
    --------
    >>> write_strings(pa.array([60302.0, None]), "column zip").to_pylist()
    ['60302', None]
    """
    if isinstance(values.type, pa.BaseExtensionType):  # such as JSON
        values = values.storage
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values = pc.binary_join(_cast(values, pa.list_(pa.large_string()), place), text_scalar(" "))
    elif pa.types.is_timestamp(kind):
        values = pc.cast(pc.cast(values, pa.timestamp("us", kind.tz), safe=False), pa.date32(), safe=False)
    elif pa.types.is_floating(kind):
        values = pc.cast(values, pa.float64())
        values = pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))
        whole = pc.and_(pc.equal(pc.trunc(values), values), pc.less(pc.abs(values), 2.0**53))
        if pc.all(whole, min_count=0).as_py():
            values = pc.cast(values, pa.int64())
    elif pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
    return _cast(values, pa.large_string(), place)


def can_be_numbered(kind: pa.DataType) -> bool:
    """Whether Arrow can find the distinct values of a column as it is; otherwise, of its values as strings."""
    return not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType))


def _cast(values: pa.Array, kind: pa.DataType, place: str) -> pa.Array:
    try:
        return pc.cast(values, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadDataError(
            f"{place}: values of type {values.type} cannot be compared as a field of a record ({error}); "
            "give a column of text, numbers or dates"
        ) from None


CONVENTIONAL = ("date", "number")
"""Kinds whose values can be read only by a convention that all values of a column share."""


def find_convention(kind: str, values: pa.Array) -> str:
    """The convention of a column: the order of its dates, or the decimal mark of its numbers; "" if unclear."""
    if kind == "date":
        return find_order(pc.utf8_lower(values))
    return find_mark(values) if kind == "number" else ""


def _drop_fillers(values: pa.Array) -> pa.Array:
    """Replace dummy codes and phones by null."""
    filler = pc.match_substring_regex(_replace(values, r"[-\s.()/]+", ""), FILLER)
    return pc.if_else(filler, _NONE, values)


def _pack(values: pa.Array) -> pa.Array:
    """Keep letters and digits only, folded."""
    return pc.replace_substring(fold_texts(values), " ", "")


def _normal_code(values: pa.Array) -> pa.Array:
    whole = _replace(_drop_fillers(values), r"^(\d+)\.0+$", r"\1")  # a whole number that was once stored as a float
    return _replace(_pack(whole), r"^0+(\d+)$", r"\1")


def _digits_of_national(values: pa.Array) -> pa.Array:
    """The digits of phones like _NATIONAL, which are digits and separators only."""
    digits = _pack(values)
    return pc.if_else(pc.match_substring_regex(digits, FILLER), _NONE, digits)


def _digits_of_other(values: pa.Array) -> pa.Array:
    lower = _replace(_replace(pc.utf8_lower(_drop_fillers(values)), r"^(\d+)\.0+$", r"\1"), _EXTENSION, "")
    return _replace(_replace(lower, _COUNTRY, ""), r"\D+", "")


def _normal_phone(values: pa.Array) -> pa.Array:
    other = _unlike(values, _NATIONAL)
    digits = _change(_change(values, _digits_of_national, pc.invert(other)), _digits_of_other, other)
    # In North America the country code is also written without a plus sign; elsewhere a zero precedes the area code.
    return _replace(_replace(digits, r"^1([2-9]\d{9})$", r"\1"), "^0+", "")


def _normal_email(values: pa.Array) -> pa.Array:
    return _replace(_replace(pc.utf8_lower(values), r"\s+", ""), "^mailto:|^<|>$", "")


def _normal_date(values: pa.Array, order: str) -> pa.Array:
    lower = _replace(pc.utf8_lower(values), r"\s+", " ")
    digits = _replace(lower, r"\D", "")
    other = pc.if_else(pc.equal(digits, text_scalar("")), fold_texts(lower), digits)
    return pc.coalesce(iso_dates(lower, order or "dmy"), other)


def _normal_number(values: pa.Array, mark: str) -> pa.Array:
    done = _WHOLE
    if mark != ",":  # trailing zeros are removed here, so that few values are left for the loop
        values = _replace(_replace(values, r"^(-?\d+\.\d*[1-9])0+$", r"\1"), r"^(-?\d+)\.0*$", r"\1")
        done = _CANONICAL

    def written(text: str) -> str:
        return canonical_number(text, mark or ".") or " ".join(text.casefold().split())

    def write_each(odd: pa.Array) -> pa.Array:
        return strings_to_arrow([written(text) for text in odd.to_pylist()])

    return _change(values, write_each, _unlike(values, done))


@cache
def _short_words() -> tuple[Int64, UInt8, Int64]:
    """Words of addresses and their abbreviations, in the form that replace_words takes."""

    def key(word: str) -> int:
        assert re.fullmatch(f"[a-z]{{1,{LONGEST_WORD}}}", word)
        return reduce(lambda packed, letter: packed << LETTER_BITS | ord(letter) - 96, word, 0)

    keys, words = zip(*sorted((key(word), short) for word, short in STREET_WORDS.items()))
    return np.array(keys, np.int64), *text_arrays(strings_to_arrow(words))


def _normal_address(values: pa.Array) -> pa.Array:
    return _write(fold_texts(values), replace_words, *_short_words())


def normalise(kind: str, values: pa.Array, convention: str = "") -> pa.Array:
    """Values in the normal form of their kind; null for missing values.

    Parameters
    ----------
    kind : str
        One of KINDS.
    values : large_string
        As given.
    convention : str
        From find_convention, possibly of the other table's column.

    Examples
    --------
    >>> normalise("phone", pa.array(["+44 (0)20 7946 0958", "020 7946 0958", "0000000"], pa.large_string())).to_pylist()
    ['2079460958', '2079460958', None]
    >>> normalise("address", pa.array(["12 North Main Street"], pa.large_string())).to_pylist()
    ['12 n main st']
    """
    values = strip_texts(values)
    if kind in ("person", "place", "text"):
        normal = fold_texts(decode_entities(values))
        normal = space_characters(normal) if kind == "text" else normal
    elif kind == "address":
        normal = _normal_address(decode_entities(values))
    elif kind == "date":
        normal = _normal_date(values, convention)
    elif kind == "number":
        normal = _normal_number(values, convention)
    else:
        written = {"code": _normal_code, "phone": _normal_phone, "email": _normal_email}[kind]
        normal = _change(values, written, _unlike(values, _DONE[kind]))
    none = pc.equal(normal, text_scalar(""))
    if kind == "date":
        none = pc.or_(none, pc.match_substring_regex(normal, NO_DATE))
    return pc.if_else(none, _NONE, normal)
