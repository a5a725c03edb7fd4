"""From items to sets: texts by shingling, token lists as they are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError, UsageError
from lookalike.features.stopwords import stop_words
from lookalike.features.unicode import folding_table
from lookalike.kernels import minhash as sketching
from lookalike.kernels import sets as set_kernels
from lookalike.kernels import shingles as kernels
from lookalike.kernels.chunks import CHUNK_BYTES
from lookalike.kernels.hashing import LARGEST
from lookalike.types import Int64, Sets, UInt32, UInt64, distinct, text_arrays, to_arrow, to_numpy, words_in
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

KINDS = {
    "word": kernels.WORD_SHINGLES,
    "char": kernels.CHAR_SHINGLES,
    "stopword": kernels.STOPWORD_SHINGLES,
}
LARGEST_WIDTH = 1000


@frozen
class Shingling:
    """The kind of shingles.

    Examples
    --------
    >>> Shingling.parse("char:9")
    Shingling(kind='char', width=9, bag=False, language='en')
    """

    kind: str
    width: int
    bag: bool = False
    language: str = "en"

    @classmethod
    def parse(cls, spec: str, *, bag: bool = False, language: str = "en") -> Shingling:
        """Read `word:5`, `char:9` or `stopword:3`."""
        if not isinstance(spec, str):
            raise UsageError(f"--shingle {spec!r}: write word:5, char:9 or stopword:3")
        kind, colon, width = spec.partition(":")
        if kind not in KINDS or not colon or not width.isascii() or not width.isdigit():
            raise UsageError(f"--shingle {spec!r}: write word:5, char:9 or stopword:3")
        if not 1 <= int(width) <= LARGEST_WIDTH:
            raise UsageError(f"--shingle {spec!r}: the number must be from 1 to {LARGEST_WIDTH}")
        stop_words(language)  # an unknown language is reported now, not after reading
        return cls(kind, int(width), bool(bag), language)

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the kernels: kind, width, bag, folding table, stop words."""
        stops = stop_word_table(self.language) if self.kind == "stopword" else _NO_WORDS
        return KINDS[self.kind], self.width, self.bag, tuple(folding_table()), stops


def _open_addressing(tokens: UInt64) -> UInt64:
    """A hash table for the kernels: its length a power of two, at most half full, LARGEST means empty."""
    slots = 8
    while slots < 2 * len(tokens):
        slots *= 2
    table = np.full(slots, LARGEST, np.uint64)
    for token in tokens.tolist():
        at = token & (slots - 1)
        while table[at] != LARGEST:
            at = (at + 1) & (slots - 1)
        table[at] = token
    table.flags.writeable = False
    return table


_NO_WORDS = _open_addressing(np.empty(0, np.uint64))


@functools.cache
def stop_word_table(language: str) -> UInt64:
    """The hashes of the folded stop words of a language (for "don't", the token "don")."""
    data, offsets = text_arrays(pa.array(sorted(stop_words(language)), pa.large_string()))
    hashes = kernels.hash_words(data, offsets, tuple(folding_table()))
    return _open_addressing(distinct(hashes[hashes != LARGEST]))


def shingle_texts(texts: pa.Array, shingling: Shingling) -> Sets:
    """The set of shingles of every text.

    Examples
    --------
    >>> shingle_texts(pa.array(["a rose is a rose is a rose", ""]), Shingling("word", 3)).sizes.tolist()
    [3, 0]
    """
    data, offsets = text_arrays(texts)
    rows = np.arange(len(texts), dtype=np.int64)
    return Sets(*kernels.shingle_texts(data, offsets, rows, *shingling.arguments(), CHUNK_BYTES))


ELEMENTS = pa.large_list(pa.field("lookalike element", pa.binary(8)))
"""The type of items that are sets already, as an index stores them: elements are hashed, distinct and sorted."""


def as_elements(sets: Sets) -> pa.Array:
    """Sets as a column of items; `hash_lists` gives them back.

    Examples
    --------
    >>> lists = as_elements(Sets(np.array([0, 2, 2]), np.array([3, 8], np.uint64)))
    >>> hash_lists(lists).elements.tolist(), hash_lists(lists.slice(1)).sizes.tolist()
    ([3, 8], [0])
    """
    words = pa.Array.from_buffers(pa.binary(8), len(sets.elements), [None, pa.py_buffer(sets.elements)])
    return pa.LargeListArray.from_arrays(to_arrow(sets.indptr), words, type=ELEMENTS)


def _sets_in(lists: pa.Array) -> Sets:
    """The sets from which `as_elements` made a column."""
    indptr: Int64 = to_numpy(lists.offsets)
    buffer, first = lists.values.buffers()[1], lists.values.offset
    elements = np.empty(0, np.uint64) if buffer is None else words_in(buffer, np.uint64, -1, 8 * first)
    return Sets(indptr - indptr[0], elements[indptr[0] : indptr[-1]])


def hash_lists(lists: pa.Array, bag: bool = False) -> Sets:
    """Token lists as sets: each distinct string or integer is an element (a null list is empty).

    Examples
    --------
    >>> hash_lists(pa.array([["a", "b", "a"], None, ["b"]])).sizes.tolist()
    [2, 0, 1]
    """
    if lists.type == ELEMENTS and lists.type.value_field.name == ELEMENTS.value_field.name:
        return _sets_in(lists)
    lists = pc.cast(lists, pa.large_list(lists.type.value_type))
    if lists.null_count:
        lists = lists.fill_null([])
    indptr: Int64 = to_numpy(lists.offsets)
    elements = _hash_tokens(lists.values)[indptr[0] : indptr[-1]]
    indptr = indptr - indptr[0]
    if bag:
        set_kernels.number_row_repeats(indptr, elements)
    return Sets(*set_kernels.distinct_rows(indptr, elements))


def _hash_tokens(tokens: pa.Array) -> UInt64:
    if tokens.null_count:
        raise BadDataError("a token list holds a null; leave nulls out of the lists")
    if pa.types.is_integer(tokens.type):
        values = to_numpy(tokens if tokens.type == pa.uint64() else pc.cast(tokens, pa.int64()))
        return set_kernels.hash_integers(values.view(np.uint64))  # type: ignore[no-any-return]
    if pa.types.is_string(tokens.type) or pa.types.is_large_string(tokens.type) or pa.types.is_null(tokens.type):
        return set_kernels.hash_strings(*text_arrays(tokens))  # type: ignore[no-any-return]
    raise BadDataError(
        f"token lists hold strings or integers, not {tokens.type}; for vectors choose --measure cosine, euclidean or "
        "hamming"
    )


def is_list(features: pa.Array) -> bool:
    """Whether the items are token lists rather than texts."""
    kind = features.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def sets_of(features: pa.Array, shingling: Shingling) -> Sets:
    """The sets of a column of texts or of token lists."""
    if is_list(features):
        return hash_lists(features, shingling.bag)
    return shingle_texts(features, shingling)


def sketch_features(features: pa.Array, shingling: Shingling, seed: int, hashes: int) -> UInt32:
    """Fast Similarity Sketches of a column of texts or token lists: uint32, items x hashes."""
    values = np.empty((len(features), hashes), np.uint32)
    if is_list(features):
        sets = hash_lists(features, shingling.bag)
        sketching.sketch_sets(sets.indptr, sets.elements, np.uint64(seed), values)
    else:
        data, offsets = text_arrays(features)
        sketching.sketch_texts(data, offsets, *shingling.arguments(), np.uint64(seed), values, CHUNK_BYTES)
    return values
