"""The distinct values of a field in the forms that comparisons need: characters, hashed words, numbers, dates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.kernels.agreement import LONG_TEXTS
from lookalike.kernels.characters import count_characters, find_characters, number_characters
from lookalike.kernels.value_words import hash_words, order_words
from lookalike.linkage.fields.dates import Dates
from lookalike.linkage.fields.numbers import CANONICAL
from lookalike.types import Float64, Int64, UInt8, UInt64, text_arrays, to_numpy
from lookalike.types import compute as pc

ASCII = 128
NAME_CHARACTERS = 256
"""The most characters of a name that are compared: the time grows with the square of the length."""


class Strings:
    """Texts as numbered characters: ASCII characters keep their codes, others follow in the order of Unicode.

    Examples
    --------
    >>> strings = Strings(pa.array(["ab", "漢é"], pa.large_string()))
    >>> strings.chars.tolist(), strings.offsets.tolist(), strings.alphabet
    ([97, 98, 129, 128], [0, 2, 4], 130)
    """

    def __init__(self, texts: pa.Array) -> None:
        data, ends = text_arrays(texts)
        self.chars: Any = data
        """uint8, or uint32 if there are more than 256 distinct characters."""
        self.offsets = ends
        """The start of each text, and the end of the last one."""
        self.alphabet = 2 * ASCII
        """The number of distinct characters."""
        if not pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
            self._number(data, ends)

    def _number(self, data: UInt8, ends: Int64) -> None:
        found = np.zeros(0x110000, np.bool_)
        find_characters(data, ends, found)
        found[:ASCII] = True
        numbers = np.cumsum(found, dtype=np.uint32) - np.uint32(1)
        self.alphabet = int(found.sum())
        self.offsets = np.empty(len(ends), np.int64)
        count_characters(data, ends, self.offsets)
        self.chars = np.empty(int(self.offsets[-1]), np.uint8 if self.alphabet <= 2 * ASCII else np.uint32)
        number_characters(data, ends, numbers, self.offsets, self.chars)
        # Read-only, like texts of ASCII: kernels are compiled once for both.
        self.chars.flags.writeable = self.offsets.flags.writeable = False

    @property
    def longest(self) -> int:
        """The length of the longest text, in characters."""
        return int(np.diff(self.offsets).max(initial=0))


class Values:
    """The distinct values of a column in the forms that comparisons need, each computed on first use."""

    def __init__(self, values: pa.Array) -> None:
        self.stored = values

    @cached_property
    def strings(self) -> Strings:
        """As characters."""
        return Strings(self.stored)

    @cached_property
    def names(self) -> Strings:
        """As characters; long values are cut."""
        if self.strings.longest <= NAME_CHARACTERS:
            return self.strings
        return Strings(pc.utf8_slice_codeunits(self.stored, 0, NAME_CHARACTERS))

    @cached_property
    def texts(self) -> Strings:
        """As characters; very long values are cut, since they are compared by their words, which are not cut."""
        if self.strings.longest <= LONG_TEXTS:
            return self.strings
        return Strings(pc.utf8_slice_codeunits(self.stored, 0, LONG_TEXTS))

    @cached_property
    def words(self) -> tuple[Int64, UInt64]:
        """Hashes of each value's distinct words: the start of each value's, and all hashes."""
        chars, offsets = self.strings.chars, self.strings.offsets
        stretch = chars[offsets[0] : offsets[-1]]
        indptr = np.empty(len(offsets), np.int64)
        words = np.empty(int(np.count_nonzero(stretch == ord(" "))) + len(offsets) - 1, np.uint64)
        hash_words(chars, offsets, indptr, words)
        return indptr, words

    @cached_property
    def ordered(self) -> Any:
        """The characters of `texts`, with the words of each value sorted alphabetically; long texts are blank."""
        chars, offsets = self.texts.chars, self.texts.offsets
        if self.texts.longest >= LONG_TEXTS:  # these are compared by their words, and sorting takes quadratic time
            chars = chars.copy()
            for value in np.flatnonzero(np.diff(offsets) >= LONG_TEXTS).tolist():
                chars[offsets[value] : offsets[value + 1]] = 0
            chars.flags.writeable = False
        ordered = chars.copy()
        order_words(chars, offsets, ordered)
        return ordered

    @cached_property
    def numbers(self) -> Float64:
        """As floats; NaN for values that are not numbers."""
        plain = pc.match_substring_regex(self.stored, CANONICAL)
        return to_numpy(pc.cast(pc.if_else(plain, self.stored, "nan"), pa.float64()))

    @cached_property
    def dates(self) -> Dates:
        """As years, months and days."""
        return Dates.parse(self.stored)

    @cached_property
    def digits(self) -> Strings:
        """Dates without their hyphens."""
        return Strings(pc.replace_substring(self.stored, "-", ""))
