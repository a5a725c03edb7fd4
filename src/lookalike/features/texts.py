"""Arrow text columns as the arrays that kernels read: no copy, no Python object per text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.types import Int64, UInt8

_NO_BYTES = np.zeros(1, np.uint8)


def text_arrays(texts: pa.Array) -> tuple[UInt8, Int64]:
    """The UTF-8 bytes of all texts and where each starts and ends (a null is as an empty text).

    Returns
    -------
    data : uint8[bytes], read-only
    offsets : int64[texts + 1], read-only

    Examples
    --------
    >>> data, offsets = text_arrays(pa.array(["ab", None, "c"]))
    >>> bytes(data), offsets.tolist()
    (b'abc', [0, 2, 2, 3])
    """
    if texts.type != pa.large_string():
        texts = texts.cast(pa.large_string())
    if texts.null_count:
        texts = texts.fill_null("")
    _, offset_buffer, data_buffer = texts.buffers()
    if offset_buffer is None or not len(texts):
        offsets = np.zeros(len(texts) + 1, np.int64)
    else:
        offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None and data_buffer.size else _NO_BYTES.copy()
    # Kernels are compiled for read-only arrays, which is what Arrow buffers are.
    data.flags.writeable = False
    offsets.flags.writeable = False
    return data, offsets
