"""The distinct values of a field in the forms that comparing needs: strings, words by number, numbers, dates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.types import Float64, Int32, Int64, to_numpy
from lookalike.verify.dates import Dates


def _objects(values: pa.Array) -> Any:
    """Python strings in an array of objects, so that they can be picked by number."""
    made = np.empty(len(values), object)
    made[:] = values.to_pylist()
    return made


class Values:
    """The distinct values of a column in the forms that comparing needs, each made when it is first asked for."""

    def __init__(self, values: pa.Array) -> None:
        self.stored = values

    @cached_property
    def texts(self) -> Any:
        """As Python strings, in an array of objects so that they can be picked by number."""
        return _objects(self.stored)

    @cached_property
    def lengths(self) -> Int32:
        """How many characters each value has."""
        return to_numpy(pc.utf8_length(self.stored)).astype(np.int32)

    @cached_property
    def word_lists(self) -> pa.Array:
        """The words of each value, as they follow each other."""
        return pc.split_pattern(self.stored, " ")

    @cached_property
    def ordered(self) -> Any:
        """The words in alphabetical order."""
        ordered = self.texts.copy()
        several = np.flatnonzero(self.word_counts > 1)
        ordered[several] = [" ".join(sorted(text.split(" "))) for text in self.texts[several]]
        return ordered

    @cached_property
    def word_counts(self) -> Int32:
        """How many words each value has."""
        return to_numpy(pc.list_value_length(self.word_lists)).astype(np.int32)

    @cached_property
    def words(self) -> tuple[Int64, Int32]:
        """The numbers of each value's distinct words, ascending: where each value's begin, and all of them."""
        return self._number_words(None)

    @cached_property
    def numerals(self) -> tuple[Int64, Int32]:
        """The same of words with a digit in them."""
        return self._number_words(r"\d")

    def _number_words(self, pattern: str | None) -> tuple[Int64, Int32]:
        flat = self.word_lists.flatten()
        owners = np.repeat(np.arange(len(self.word_counts), dtype=np.int64), self.word_counts)
        numbers = to_numpy(flat.dictionary_encode().indices).astype(np.int64)
        if pattern is not None:
            wanted = to_numpy(pc.cast(pc.match_substring_regex(flat, pattern), pa.int8())) == 1
            owners, numbers = owners[wanted], numbers[wanted]
        keys = np.unique(owners << 32 | numbers)
        indptr = np.searchsorted(keys >> 32, np.arange(len(self.word_counts) + 1))
        return indptr.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32)

    @cached_property
    def bytes(self) -> tuple[Any, Int64]:
        """UTF-8 of all values, and where each begins."""
        _, offsets, data = self.stored.buffers()
        first = self.stored.offset
        return np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64)[first : first + len(self.stored) + 1]

    @cached_property
    def names(self) -> Any:
        """Of e-mail addresses what precedes the @."""
        return _objects(pc.replace_substring_regex(self.stored, "@.*$", ""))

    @cached_property
    def name_numbers(self) -> Int32:
        """The same by number."""
        return to_numpy(pc.replace_substring_regex(self.stored, "@.*$", "").dictionary_encode().indices)

    @cached_property
    def endings(self) -> Int32:
        """The last seven digits of phones by number; a number like no other where there are fewer."""
        encoded = pc.utf8_slice_codeunits(self.stored, -7, None).dictionary_encode()
        numbers = to_numpy(encoded.indices).astype(np.int32)
        return np.where(self.lengths >= 7, numbers, -1 - np.arange(len(numbers), dtype=np.int32))

    @cached_property
    def numbers(self) -> Float64:
        """As floats; NaN where a value is no number."""
        plain = pc.match_substring_regex(self.stored, r"^-?\d+(?:\.\d+)?(?:e-?\d+)?$")
        return to_numpy(pc.if_else(plain, self.stored, "nan").cast(pa.float64()))

    @cached_property
    def dates(self) -> Dates:
        """In parts."""
        return Dates.parse(self.stored)
