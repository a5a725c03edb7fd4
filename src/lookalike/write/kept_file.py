"""Common base of files of surviving rows: they are completed at the end, and some can be continued."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self


class Saved(NamedTuple):
    """How much of a file has been saved."""

    nbytes: int
    """The size of the file at that point."""
    blocks: int
    """Whole blocks of rows in it."""
    skip: int = 0
    """Bytes of the next block that are in it too."""
    lines_bytes: int = 0
    """The number of bytes that have been compressed ..."""
    crc32: int = 0
    """... and its checksum."""


class Encoders(NamedTuple):
    """Threads that encode, compress and write."""

    submit: Callable[..., Future[Any]]
    """Starts a call on one of them."""
    threads: int
    nbytes: int
    """How much may wait for them."""


class KeptFile:
    """Receives the results of `Block.kept_rows` in input order; completed at the end of a `with` block."""

    def write(self, stored: Any) -> None:
        """Add the surviving rows of the next block."""
        raise NotImplementedError

    def save(self) -> Saved | None:
        """Pass everything to the system; return where the file can be continued, None if it must be rewritten."""
        return None

    def close(self) -> None:
        """Complete the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        # an error on closing (a full disk again) must not hide the first one
        with suppress(Exception):
            self.close()
