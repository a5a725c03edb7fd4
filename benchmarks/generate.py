"""Generated documents: words of five letters, one document in twenty a near-copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

WORDS, LETTERS = 80, 5
BATCH = 100_000


def vocabulary(draw: np.random.Generator, size: int = 50_000) -> np.ndarray:
    """Words of five letters and a space, as rows of bytes."""
    letters = draw.integers(ord("a"), ord("z") + 1, (size, LETTERS), np.uint8)
    return np.hstack([letters, np.full((size, 1), ord(" "), np.uint8)])


def batches(items: int, seed: int = 1, length: int = WORDS, batch: int = BATCH) -> Iterator[pa.Table]:
    """Tables of documents of `length` words; every twentieth copies an earlier one of its batch and changes a word."""
    draw = np.random.default_rng(seed)
    words = vocabulary(draw)
    for first in range(0, items, batch):
        count = min(batch, items - first)
        chosen = (len(words) * draw.random((count, length)) ** 2).astype(np.int64)
        copies = np.arange(20, count, 20)
        chosen[copies] = chosen[(copies * draw.random(len(copies))).astype(np.int64)]
        chosen[copies, draw.integers(0, length, len(copies))] = draw.integers(0, len(words), len(copies))
        data = words[chosen].reshape(-1)
        offsets = np.arange(count + 1, dtype=np.int64) * length * (LETTERS + 1)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        text = pa.Array.from_buffers(pa.large_string(), count, buffers)
        yield pa.table({"id": np.arange(first, first + count), "text": text})
