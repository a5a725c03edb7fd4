"""What a linking run will hold in memory: columns, signatures, candidate pairs. What does not fit is refused early."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.errors import ResourceError
from lookalike.linkage.blocking.find import RECORD_SLOTS, default_budget
from lookalike.types import Column

START_BYTES = 400 << 20
"""What Python, its libraries and compiled kernels take, whatever the tables."""
PAIR_BYTES = 38
"""Of a candidate pair while it is scored: both records, groups, pattern, score, probability, and what lies between."""
BAND_BYTES = 60 + 8
"""Of a record: its places in the blocks of fifteen bands, and whether it is left over in each."""
KEY_BYTES = 40
"""Of a record whose keys a thread is putting in order."""


def expect_bytes(columns: Sequence[Column], table_bytes: int, threads: int) -> int:
    """About how much a run over these columns holds at once, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("name", "person", np.zeros(1000, np.int32), strings_to_arrow(["ann"]))
    >>> START_BYTES < expect_bytes([column], 10_000, 2) < 1.01 * START_BYTES
    True
    """
    records, fields = len(columns[0]), len(columns)
    values = sum(len(column.values) for column in columns)
    texts: list[int] = [column.values.nbytes for column in columns]
    held = table_bytes + sum(texts) + 4 * records * fields
    pairs = default_budget(records)
    # Pairs are words of 8 bytes; a quarter of them may be new and is sorted apart.
    finding = 10 * pairs + records * (4 * RECORD_SLOTS + BAND_BYTES + KEY_BYTES * threads) + 8 * values
    # Of the field that is compared: its words by hash, its text in other order.
    comparing = (PAIR_BYTES + fields) * pairs + 3 * max(texts)
    return START_BYTES + held + max(finding, comparing)


def check_records(records: int, fields: int, memory_bytes: int) -> None:
    """Refuse tables that surely do not fit, before they are read: even without their texts."""
    needed = START_BYTES + 4 * records * fields + (PAIR_BYTES + fields) * default_budget(records)
    _check(needed, "at least", records, memory_bytes)


def check_columns(columns: Sequence[Column], table_bytes: int, threads: int, memory_bytes: int) -> int:
    """Refuse what will not fit; return how much it will take."""
    needed = expect_bytes(columns, table_bytes, threads)
    _check(needed, "about", len(columns[0]), memory_bytes)
    return needed


def _check(needed: int, how: str, records: int, memory_bytes: int) -> None:
    if needed > memory_bytes:
        raise ResourceError(
            f"{records:,} records need {how} {needed / 2**30:.1f} GiB; --memory is {memory_bytes / 2**30:.1f} GiB. "
            "Give more, or link the records in parts (those of one region, for example)"
        )
