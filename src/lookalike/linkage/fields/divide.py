"""Divides one text into parts of its words, which can agree or differ like fields.

A single field cannot show which agreement is more than chance: that needs a second one to compare with. The words of a
text are such fields. Each word always belongs to the same part, by its first letters, which are rarely misspelt.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

from lookalike.linkage.fields.columns import Column
from lookalike.types import Int64, text_scalar, to_arrow, to_numpy
from lookalike.types import compute as pc

PARTS = 4
"""Three fields are the fewest that show which of them depend on each other; one more may be missing."""
LETTERS = 4
"""Words with the same first letters belong to the same part."""


def divide_text(column: Column, parts: int = PARTS) -> list[Column]:
    """The parts of a text as fields of their own; one without words is missing.

    Examples
    --------
    >>> from lookalike.types import strings_to_arrow
    >>> texts = strings_to_arrow(["red lamp", "red lamps"])
    >>> found = divide_text(Column("title", "text", np.array([0, 1, -1], np.int32), texts), 2)
    >>> [(one.name, one.values.to_pylist(), one.codes.tolist()) for one in found]
    [('title (part 1)', ['lamp', 'lamps'], [0, 1, -1]), ('title (part 2)', ['red'], [0, 0, -1])]
    """
    lists = pc.split_pattern(column.values, " ")
    words, starts = lists.flatten(), to_numpy(lists.offsets).astype(np.int64)
    stems = pc.dictionary_encode(pc.utf8_slice_codeunits(words, 0, LETTERS))
    part_of = np.array([zlib.crc32(stem.encode()) % parts for stem in stems.dictionary.to_pylist()], np.int64)
    own = part_of[to_numpy(stems.indices)]
    return [_part(column, number, words, starts, own) for number in range(parts)]


def _part(column: Column, number: int, words: pa.Array, starts: Int64, own: Int64) -> Column:
    mine = own == number
    ends = np.append(0, np.cumsum(mine))[starts]
    chosen = pc.take(words, to_arrow(np.flatnonzero(mine)))
    texts = pc.binary_join(pa.LargeListArray.from_arrays(to_arrow(ends), chosen), text_scalar(" "))
    encoded = pc.dictionary_encode(pc.if_else(pc.equal(texts, ""), text_scalar(None), texts))
    numbers = np.append(to_numpy(pc.fill_null(encoded.indices, -1)).astype(np.int32), np.int32(-1))
    return Column(f"{column.name} (part {number + 1})", "text", numbers[column.codes], encoded.dictionary)
