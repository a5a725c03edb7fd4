"""A folder or file that may not be read, inside an input folder: it has no items and is listed among the bad lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import BadDataError
from lookalike.read.files import File
from lookalike.types import Block, Bool, Int64, ItemMemory, Items, Layout, Rejected, StoredFiles, Wanted
from lookalike.types.frozen import mutable


@mutable
class UnreadableSource:
    """A folder or file that `--on-error skip` omits entirely."""

    name: str
    kept_path: str
    """Nothing is written there."""
    file: File
    error: str
    nbytes: int = 0
    item_memory: ItemMemory | None = None
    rejected_rows: dict[int, Int64] = field(default_factory=dict)

    def column_names(self) -> Sequence[str] | None:
        """Unknown."""
        return None

    def estimate_rows(self) -> tuple[int, bool]:
        """None."""
        return 0, True

    def blocks(self) -> Iterator[Block]:
        """One block, which reports the error."""
        yield UnreadableBlock(self)

    def layout(self) -> Layout:
        """Nothing is written."""
        return Layout("files")

    def locate(self, row: int) -> tuple[str, int]:
        """It has no rows."""
        raise IndexError(row)


@mutable
class UnreadableBlock:
    """No items, and one error."""

    source: UnreadableSource
    nbytes: int = 0
    exclusive: bool = False

    def items(self, wanted: Wanted, rows: Int64 | None = None) -> Items:  # noqa: ARG002
        """No items; what could not be read is rejected."""
        source = self.source
        if not wanted.skip_errors:
            raise BadDataError(f"{source.name}: {source.error}")
        columns = {name: pa.nulls(0, pa.large_string()) for name in wanted.columns}
        return Items(pa.nulls(0, pa.large_string()), columns, [Rejected(source.name, 0, source.error, b"")])

    def kept_rows(self, keep: Bool, decoded: Any = None) -> StoredFiles:  # noqa: ARG002
        """None."""
        nowhere = np.zeros(0, np.int64)
        return StoredFiles([], np.zeros(1, np.uint8), nowhere, nowhere)
