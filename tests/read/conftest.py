"""Fixtures of the read room."""

from __future__ import annotations

import pytest

from lookalike.read import documents, parquet, streams, tables


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that every test crosses their borders."""
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    monkeypatch.setattr(parquet, "BLOCK_ROWS", 3)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 64)
    monkeypatch.setattr(documents, "BLOCK_FILES", 3)
