"""An index in little memory: other segments and smaller pieces, the same answers."""

import gc
import re
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lookalike.engine.memory import Budget
from lookalike.engine.settings import Settings
from lookalike.errors import ResourceError
from lookalike.index.batch import Batch, Content, last_of_each
from lookalike.index.folder.pages import Pages
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.store import Folder
from lookalike.index.index import StoredIndex
from lookalike.read import open_data

TEXTS = [" ".join(f"w{i // 2}x{j + i % 2}" for j in range(350)) for i in range(400)]
"""Pairs of near-copies."""


def made(path, rows, *, if_new=False, sets_bytes=None, **limits):
    """An index with these rows, added with this much memory for sets."""
    index = StoredIndex.create(path, Settings.parse(threshold=0.7, method="lsh"))
    folder = index.store
    assert isinstance(folder, Folder)
    if sets_bytes is not None:
        settings = folder.kind.settings
        budget = Budget(1 << 30, 0, sets_bytes=sets_bytes, **limits)
        settings = replace(settings, execution=replace(settings.execution, budget=budget))
        folder.kind = replace(folder.kind, settings=settings)
        folder.view = replace(folder.view, kind=folder.kind)
    blocks = [open_data(rows[first : first + 50], "text") for first in range(0, len(rows), 50)]
    return index, index.add(blocks, if_new=if_new)


@pytest.mark.parametrize("if_new", [False, True])
def test_segments_are_smaller_and_answers_the_same(tmp_path, if_new):
    rows = [{"id": n % 390, "text": text} for n, text in enumerate(TEXTS)]
    large, told = made(tmp_path / "large", rows, if_new=if_new)
    small, again = made(tmp_path / "small", rows, if_new=if_new, sets_bytes=1 << 13)
    assert again.equals(told)
    assert small.store.describe()["segments"] > large.store.describe()["segments"]
    asked = [open_data(TEXTS, "text")]
    small.store.view = replace(small.store.view, kind=large.store.kind)  # enough memory for the answers
    assert small.query(asked, numbered=True).equals(large.query(asked, numbered=True))
    assert len(small) == len(large)
    small.compact()
    assert small.query(asked, numbered=True).equals(large.query(asked, numbered=True))


def test_more_items_and_matches_than_fit_are_refused(tmp_path):
    rows = [{"id": n, "text": text} for n, text in enumerate(TEXTS)]
    index, _ = made(tmp_path / "index", rows)
    kind = index.kind
    budget = Budget((320 << 20) + 1000, 0, sets_bytes=1000)
    settings = replace(kind.settings, execution=replace(kind.settings.execution, budget=budget))
    index.store.kind = replace(kind, settings=settings)
    index.store.view = replace(index.store.view, kind=index.store.kind)
    with pytest.raises(ResourceError, match=r"^400 items need .* Increase it, or add some of them at a time$"):
        index.add([open_data(rows, "text")])
    index.store.kind = replace(kind, settings=settings)
    with pytest.raises(ResourceError, match=r"^400 items need .* or leave the segments as they are$"):
        index.compact()
    index.store.view = replace(index.store.view, kind=index.store.kind)
    with pytest.raises(ResourceError, match=r"^the first 400 items have 800 matches, and more do not fit"):
        index.query([open_data(TEXTS, "text")])


def batch_of(values, count):
    content = Content(np.arange(count + 1) * (len(values) // count), values)
    ids = pa.array([str(number) for number in range(count)], pa.large_string())
    return Batch(
        ids, np.zeros(count, np.int64), content, np.arange(count, dtype=np.uint64)[None, :], np.ones(count, bool)
    )


def mapped_bytes(path):
    """How much of a file this process has in memory."""
    found = re.search(rf"{path}\n(?:.*\n)*?Rss: +(\d+) kB", Path("/proc/self/smaps").read_text())
    return int(found[1]) << 10


def test_content_that_was_written_or_read_does_not_stay_in_memory(tmp_path):
    values = np.arange(2 << 20, dtype=np.uint64)
    known = weakref.ref(values)
    with SegmentWriter(tmp_path / "s.bin", np.uint64) as writer:
        writer.add(batch_of(values, 64))
        del values
        gc.collect()
        assert known() is None
        writer.finish()
    limit = 4 << 20
    pages = Pages(limit)
    segment = Segment(tmp_path / "s.bin", pages)
    assert not pages.plenty
    most = 0
    for number in range(64):
        content, [row] = segment.contents(np.array([number]))
        assert content.data[content.offsets[row] : content.offsets[row + 1]].sum() > 0
        most = max(most, mapped_bytes(tmp_path / "s.bin"))
    assert limit // 2 < most < 2 * limit


def test_the_last_of_each_id():
    ids = pa.array(["a", "b", "a", "c", "b", "a"], pa.large_string())
    assert last_of_each(ids).tolist() == [False, False, False, True, True, True]
    assert last_of_each(ids, first=True).tolist() == [True, True, False, True, False, False]
