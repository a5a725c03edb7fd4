"""How large the texts of a Parquet file are when they are decoded.

The footer gives the size of a column chunk as encoded. A dictionary stores each value once, so a chunk of a megabyte
can hold gigabytes of text. The header of the dictionary states its size and number of values, and thereby their average
length.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lookalike.read.files import File
from lookalike.read.parquet.footer import Footer
from lookalike.types import ReadLimits
from lookalike.types.thrift import read_struct

HEADER_BYTES = 256
"""More than the header of a dictionary takes: it has no smallest and largest value."""
_PAGE_BYTES, _DICTIONARY, _VALUES = 2, 7, 1
"""Numbers of fields: the size of a page decompressed, what is special to a dictionary, its number of values."""


def decoded_sizes(file: File, footer: Footer, limits: ReadLimits) -> list[int]:
    """The approximate size of each row group when decoded. Of a URL, headers are not read: that takes many requests."""
    sizes: list[int] = footer.group_bytes.tolist()
    if file.system is not None:
        return sizes
    with file.reading(), file.open() as opened:
        for group, more in _repeated(opened, footer, limits):
            sizes[group] += more
    return sizes


def _repeated(file: pa.NativeFile, footer: Footer, limits: ReadLimits) -> Iterator[tuple[int, int]]:
    """By how much a chunk of texts is larger when decoded, if values of an average length are repeated.

    Chunks that stay small even if they are a single value, repeated in each row, are left out.
    """
    chunks = footer.chunks
    most = chunks.values * chunks.nbytes.astype(np.float64)
    for group, column in np.argwhere((chunks.text_dictionaries > 0) & (most > limits.parquet_bytes)).tolist():
        file.seek(int(chunks.text_dictionaries[group, column]))
        try:
            fields, _ = read_struct(file.read(HEADER_BYTES))
            values = fields[_DICTIONARY].value[_VALUES].value
            decoded = int(chunks.values[group, column]) * fields[_PAGE_BYTES].value // max(1, values)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # damaged: left to Arrow
        yield group, max(0, decoded - int(chunks.nbytes[group, column]))
