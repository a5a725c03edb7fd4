"""The memory that a linking run needs: columns, signatures, candidate pairs. Runs that do not fit are refused early."""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.engine.execution import Execution
from lookalike.errors import ResourceError
from lookalike.kernels.compile import MODE
from lookalike.linkage.blocking.find import RECORD_SLOTS, default_budget, word_budget
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.partners import CLUSTERED, PARTNERS, WORDY, find_lacked, is_distinct, most_proposed

START_BYTES = 200 << 20
"""Memory of Python, its libraries and kernels, independent of the tables."""
COMPILER_BYTES = 250 << 20
"""Further memory if kernels are compiled in this process instead of loaded."""
PAIR_BYTES = 38
"""Per candidate pair during scoring: both records, groups, pattern, score, probability, and temporary arrays."""
BAND_BYTES = 60 + 8
"""Per record: its positions in the blocks of fifteen bands, and a flag for each."""
FIELD_BYTES = 48
"""Per pair and field that is compared by words."""
TRIGRAM_BYTES = 40
"""Per byte of text: its trigrams, their weights, and which records have them."""
ORDER_BYTES = 12
"""Per record: its row, its number by content, and the group of records equal to it."""
KEY_BYTES = 40
"""Per record and thread that sorts keys."""


def start_bytes() -> int:
    """Memory that is needed independently of the tables."""
    return START_BYTES + (0 if MODE == "pack" else COMPILER_BYTES)


def expect_bytes(columns: Sequence[Column], table_bytes: int, threads: int, two_tables: bool = False) -> int:
    """The expected peak memory of a run over these columns.

    Examples
    --------
    >>> import numpy as np
    >>> from lookalike.types import strings_to_arrow
    >>> column = Column("name", "person", np.zeros(1000, np.int32), strings_to_arrow(["ann"]))
    >>> 1e5 < expect_bytes([column], 10_000, 2) - start_bytes() < 1e7
    True
    """
    records, fields = len(columns[0]), len(columns)
    values = sum(len(column.values) for column in columns)
    texts: list[int] = [column.values.nbytes for column in columns]
    held = table_bytes + sum(texts) + (4 * fields + ORDER_BYTES) * records
    pairs = default_budget(records, two_tables)
    # Pairs are 8-byte words; up to a quarter of them are new and sorted separately.
    finding = 10 * pairs + records * (4 * RECORD_SLOTS + BAND_BYTES + KEY_BYTES * threads) + 8 * values
    # For the field being compared: its hashed words, and its text with sorted words.
    comparing = (PAIR_BYTES + fields) * pairs + 3 * max(texts)
    return start_bytes() + held + max(finding, comparing, _word_bytes(columns, two_tables))


def _word_bytes(columns: Sequence[Column], two_tables: bool) -> int:
    """For fields of kind text: all pairs with those that words propose, the words they share, and the trigrams."""
    if all(column.kind != "text" for column in columns):
        return 0
    wordy = [column for column in columns if column.kind in WORDY]
    texts: list[int] = [column.values.nbytes for column in wordy]
    texts += [column.values.nbytes for others in find_lacked(columns).values() for column in others]
    records = len(columns[0])
    pairs = word_budget(records) if two_tables else default_budget(records)
    pairs += most_proposed(records, PARTNERS, two_tables) * sum(map(is_distinct, wordy))
    pairs += most_proposed(records, PARTNERS if two_tables else CLUSTERED, two_tables)
    return int(pairs * (PAIR_BYTES + FIELD_BYTES * len(columns)) + TRIGRAM_BYTES * sum(texts))


def check_records(records: int, fields: int, execution: Execution) -> None:
    """Refuse tables that cannot fit even without their texts, before they are read."""
    pairs = default_budget(records, two_tables=True)  # one table has at least as many
    needed = start_bytes() + 4 * records * fields + (PAIR_BYTES + fields) * pairs
    _check(needed, "at least", records, execution)


def check_columns(columns: Sequence[Column], table_bytes: int, execution: Execution, two_tables: bool) -> int:
    """Refuse columns that do not fit; return the memory that they need."""
    needed = expect_bytes(columns, table_bytes, execution.threads, two_tables)
    _check(needed, "about", len(columns[0]), execution)
    return needed


def _check(needed: int, how: str, records: int, execution: Execution) -> None:
    limit = execution.budget.total_bytes
    if needed > limit:
        raise ResourceError(
            f"{records:,} records need {how} {needed / 2**30:.1f} GiB; --memory is {limit / 2**30:.1f} GiB. "
            "Increase --memory, or link the records in parts (for example, by region)"
        )
