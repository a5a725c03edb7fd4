"""The pieces of the index: merging, lookups in bands and in the table, and keys that are those of batch jobs."""

import math
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.engine.digest import DigestSettings, KeyedSets, digest_block, keyed_sets
from lookalike.features.shingles import Shingling
from lookalike.index import table
from lookalike.index.batch import Batch, Change, Content
from lookalike.index.folder.pages import Pages
from lookalike.index.folder.segment import Segment
from lookalike.index.folder.segment_writer import SegmentWriter
from lookalike.index.folder.tiers import merge_groups
from lookalike.index.table import Table
from lookalike.tuning.plan import tune


def test_the_number_of_segments_and_of_copies_is_logarithmic():
    sizes, copied = [], 0
    for step in range(5000):
        sizes.append(10)
        groups = merge_groups(sizes)
        copied += sum(sum(sizes[place] for place in group) for group in groups if len(group) > 1)
        sizes = [sum(sizes[place] for place in group) for group in groups]
        assert len(sizes) <= 3 * (math.log(10 * step + 10, 4) + 1)
    assert sum(sizes) == 50_000
    assert copied <= 50_000 * (math.log(50_000, 4) + 1)


@pytest.mark.parametrize("shingle", ["word:2", "char:5", "stopword:3"])
@pytest.mark.parametrize("bag", [False, True])
def test_keys_are_those_of_the_batch_jobs(shingle, bag):
    features = pa.array(["the cat and the cat and the cat sat", "", None, "Füße 東京 the code of the land", "x"])
    settings = DigestSettings(Shingling.parse(shingle, bag=bag, language="en"), plan=tune(0.7))
    digest, found = digest_block(features, settings), keyed_sets(features, settings)
    assert found.there.tolist() == (digest.counts > 0).tolist()
    assert found.there.any()
    assert (found.keys[:, found.there] == digest.keys[:, found.there]).all()


def made(count, bands=3, values=40, seed=1):
    """Items with many equal keys, some of them empty."""
    draw = np.random.default_rng(seed)
    keys = draw.integers(0, values, (bands, count)).astype(np.uint64) * np.uint64((1 << 64) // values)
    offsets = np.arange(count + 1)
    content = Content(offsets, np.arange(count, dtype=np.uint64))
    ids = pa.array([f"item {i}" for i in range(count)], pa.large_string())
    return Batch(ids, np.arange(count), content, keys, draw.random(count) < 0.9)


def plain(batch, asked, there):
    return sorted(
        (i, j)
        for i in range(asked.shape[1])
        for j in range(len(batch))
        if there[i] and batch.there[j] and (asked[:, i] == batch.keys[:, j]).any()
    )


def pairs(found):
    return [pair for left, right in found for pair in zip(left.tolist(), right.tolist())]


@pytest.mark.parametrize("step", [1, 4, 2048])
@pytest.mark.parametrize("where", ["segment", "table"])
def test_lookups_find_every_shared_key_once(tmp_path, where, step):
    batch, other = made(150), made(60, seed=2)
    asked, there = other.keys.copy(), other.there
    asked[0, :5] = 7  # in no bucket
    if where == "segment":
        with SegmentWriter(tmp_path / "s.bin", np.uint64, step=step) as writer:
            writer.add(batch.take(np.arange(100)))
            writer.add(batch.take(np.arange(100, 150)))
            writer.finish()
        part = Segment(tmp_path / "s.bin", step=step)
    else:
        part = Table(3, np.uint64)
        for first in range(0, 150, 7):
            part.add(batch.take(np.arange(first, min(150, first + 7))))
    assert pairs(part.find(KeyedSets(None, asked, there), None)) == plain(batch, asked, there)
    if where == "segment":  # band by band, since the file does not fit
        part = Segment(tmp_path / "s.bin", Pages(1), step)
        assert pairs(part.find(KeyedSets(None, asked, there), None)) == plain(batch, asked, there)
    assert part.ids(np.array([149, 0])).to_pylist() == ["item 149", "item 0"]
    content, places = part.contents(np.array([3, 70, 149]))
    assert content.take(places).data.tolist() == [3, 70, 149]


def test_lookups_wait_while_the_table_changes(monkeypatch):
    """Keys, heads and entries are replaced one after the other when they grow."""
    batch, part, insert, asking = made(150), Table(3, np.uint64), table.kernels.insert_keys, []
    part.add(batch.take(np.arange(20)))
    asked = KeyedSets(None, batch.keys, batch.there)
    with ThreadPoolExecutor(1) as pool:

        def insert_while_asked(*arguments):
            asking.append(pool.submit(lambda: pairs(part.find(asked, None))))
            assert wait(asking, 0.05).not_done
            insert(*arguments)

        monkeypatch.setattr(table.kernels, "insert_keys", insert_while_asked)
        part.add(batch.take(np.arange(20, 150)))
        assert asking[0].result() == plain(batch, batch.keys, batch.there)


def test_changes_survive_encoding():
    batch = made(5)
    found = Change.decode(Change(np.array([3, 9]), batch, False, 7).encode(), np.uint64)
    assert (found.removed.tolist(), found.integers, found.counted) == ([3, 9], False, 7)
    assert found.batch.ids.equals(batch.ids)
    assert (found.batch.keys == batch.keys).all()
    assert (found.batch.there == batch.there).all()
    assert found.batch.content.data.tolist() == batch.content.data.tolist()


def test_large_additions_become_a_segment_and_repeated_ids_count_once(tmp_path):
    texts = [" ".join(f"w{i}x{j}" for j in range(120)) for i in range(1500)]
    rows = [{"id": f"i{n % 1400}", "text": text} for n, text in enumerate(texts)]
    with la.Index.create(tmp_path / "index", rows) as index:
        assert (len(index), index.stats()["segments"]) == (1400, 1)
        assert index.query([texts[0]]).num_rows == 0  # replaced by the later one
        assert index.query([texts[1400]])["right"].to_pylist() == ["i0"]
        index.add([{"id": "i1", "text": texts[0]}])
        assert index.query([texts[1401]]).num_rows == 0
        assert len(index) == 1400
        told = index.add(rows, if_new=True)
        # 1 to 99 are new, and replace what 1401 to 1499 resembled; these are new in turn. 0 and 1400 were there.
        assert np.flatnonzero(told["added"].to_pylist()).tolist() == [*range(1, 100), *range(1401, 1500)]
        assert index.check() == []
