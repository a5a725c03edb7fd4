import itertools
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from cramped import cramp, dedup_cramped, pairs_cramped
from lookalike.candidates.bands import key_ranges
from lookalike.candidates.parts import connected_parts, pack_parts
from lookalike.engine.memory import BASE_BYTES, ITEM_BYTES, JOIN_BYTES, Budget, machine_memory, parse_memory
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.stores.sets import SetStore
from lookalike.engine.stores.work import WorkFolder
from lookalike.errors import ResourceError, UsageError
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.jobs.pairs import pairs_of_files
from lookalike.types import Buckets, Sets

TEXTS = corpus(260, seed=12)


def room(nbytes, ranges=1):
    """So little that sets go to disk, are compared in many batches, and bands are joined in ranges of keys."""
    return {"sets_bytes": nbytes, "set_buffer_bytes": 5000, "ranges": ranges}


OPTIONS = [
    {},
    {"keep": "longest"},
    {"keep": "last", "measure": "dice"},
    {"reference": TEXTS[:40]},
    {"reference": TEXTS[150:230] + TEXTS[:40]},
    {"method": "brute"},
    {"method": "exact"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_neither_batches_nor_blocks_nor_ranges_change_anything(options):
    calm = la.dedup(TEXTS, **options)
    assert calm.run["counts"]["removed"] > 50
    for nbytes, ranges in ((150_000, 2), (40_000, 3), (12_000, 7)):
        tight = dedup_cramped(TEXTS, room(nbytes, ranges), threads=2, **options)
        assert tight.removed.equals(calm.removed)
        assert tight.clusters.equals(calm.clusters)
        # which pairs rare elements bring together depends on what is looked at together; the similar ones are the same
        aside = {"candidates", "pairs"} if options.get("method") == "exact" else set()
        assert {k: v for k, v in tight.run["counts"].items() if k not in aside} == {
            k: v for k, v in calm.run["counts"].items() if k not in aside
        }


def test_whole_clusters_need_whole_parts():
    calm = la.dedup(TEXTS, policy="connected")
    assert dedup_cramped(TEXTS, room(150_000), policy="connected").removed.equals(calm.removed)
    with pytest.raises(ResourceError, match="--policy direct"):
        dedup_cramped(TEXTS, room(6_000), policy="connected")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "brute", "measure": "containment"},
        {"method": "exact"},
        {"method": "exact", "measure": "containment"},
        {"method": "exact", "measure": "overlap", "threshold": 20},
        {"method": "merge", "measure": "cosine"},
        {"method": "exact", "against": TEXTS[80:200]},
    ],
)
def test_batches_and_blocks_change_no_pairs(options):
    texts = TEXTS[:100] if options.get("method") == "merge" else TEXTS  # DuckDB is started for each two blocks
    calm = la.pairs(texts, **options)
    assert calm.num_rows > 30
    for nbytes in (40_000, 12_000):
        assert pairs_cramped(texts, room(nbytes, 4), **options).equals(calm)


def test_a_bucket_larger_than_memory_is_compared_in_blocks():
    stamp = "all of these pages begin with the very same words of the house that nobody reads at all "
    draw = np.random.default_rng(3)
    words = ["".join(chr(c) for c in draw.integers(97, 123, 5)) for _ in range(4000)]
    texts = [stamp * 3 + " ".join(draw.choice(words, 12)) for _ in range(400)]
    texts += [text + " more" for text in texts[::10]]
    calm = la.dedup(texts)
    tight = dedup_cramped(texts, room(50_000))
    assert tight.removed.equals(calm.removed)
    assert len(calm.removed) >= 40


def test_input_that_cannot_fit_is_refused_with_advice():
    with pytest.raises(ResourceError, match="--memory"):
        dedup_cramped(TEXTS, room(1_000))
    with pytest.raises(ResourceError, match="--reference"):
        Budget.split(BASE_BYTES + (1 << 20)).check_items(1_000_000)
    Budget.split(2 << 30).check_items(12_000_000)
    with pytest.raises(ResourceError, match="split"):
        Budget.split(1 << 50).check_items(1 << 31)


def test_an_item_that_is_too_large_is_named(tmp_path):
    texts = [f"{'long ' * (one == 7)}" + " ".join(f"w{k}" for k in range(200 if one == 7 else 20)) for one in range(10)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    settings = cramp(Settings.parse(method="brute"), sets_bytes=1000)
    with pytest.raises(ResourceError, match=r"in\.jsonl: row 7: its set takes .*--memory"):
        dedup_to_folder([tmp_path / "in.jsonl"], tmp_path / "out", settings)


def test_pairs_put_digests_on_disk_if_there_is_no_memory_for_them(tmp_path):
    texts = corpus(300, seed=3)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    found = []
    for nbytes in (1 << 30, 1000):
        spool = tmp_path / f"spool{nbytes}"
        spool.mkdir()
        settings = cramp(Settings.parse(method="lsh"), unsaved_bytes=nbytes)
        pairs, _ = pairs_of_files([tmp_path / "in.jsonl"], settings, spool, Progress())
        found.append(pa.concat_tables(pairs.tables()))
        assert any(spool.rglob("digests-*.arrow")) == (nbytes == 1000)
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_a_band_that_does_not_fit_is_joined_in_ranges():
    assert Budget.split(4 << 30).joining_ranges(1_000_000, 2) == 1
    free = (1 << 30) - BASE_BYTES - ITEM_BYTES * 10_000_000
    assert Budget.split(1 << 30).joining_ranges(10_000_000, 2) == -(-2 * JOIN_BYTES * 10_000_000 // free)
    for count in (1, 2, 3, 7):
        ranges = key_ranges(count)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == 2**64 - 1
        assert all(one[1] + 1 == other[0] for one, other in itertools.pairwise(ranges))


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=20), st.booleans(), st.data())
def test_a_store_returns_what_was_added(rows, disk, data):
    rows = [sorted(set(row)) for row in rows]
    blocks = np.array([data.draw(st.integers(0, 2 if disk else 0)) for _ in rows], np.int32)
    cut = data.draw(st.integers(0, len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        work = WorkFolder(Path(folder), {}, resume=False) if disk else None
        store = SetStore(3 if disk else 1, "sets", work)
        with store:
            for low, high in ((0, cut), (cut, len(rows))):
                indptr = np.cumsum([0, *map(len, rows[low:high])]).astype(np.int64)
                elements = np.array([v for row in rows[low:high] for v in row], np.uint64)
                store.add(Sets(indptr, elements), blocks[low:high], np.arange(low, high))
        for block in range(3 if disk else 1):
            found = store.read(block)
            assert [one.tolist() for one in found] == [row for row, of in zip(rows, blocks) if of == block]


@given(st.lists(st.sets(st.integers(0, 14), min_size=2, max_size=4), min_size=1, max_size=8), st.integers(1, 30))
def test_parts_are_whole_or_cut_and_fit(groups, limit):
    lists = [sorted(group) for group in groups]
    buckets = Buckets(np.cumsum([0, *map(len, lists)]), np.array([m for one in lists for m in one], np.int32))
    members = np.unique(buckets.members).astype(np.int64)
    part_of = connected_parts([buckets], 15)
    assert all(len({part_of[m] for m in one}) == 1 for one in lists)
    part_of = part_of[members]
    nbytes = np.arange(1, len(members) + 1)
    weights = {head: nbytes[part_of == head].sum() for head in part_of.tolist()}
    if any(weights[part_of[k]] > limit and nbytes[k] > limit // 2 for k in range(len(members))):
        with pytest.raises(ResourceError, match=r"item \d+: its set takes .* Increase --memory"):
            pack_parts(part_of, nbytes, limit)
        return
    packing = pack_parts(part_of, nbytes, limit)
    assert [block for batch in packing.batches for block in batch] == list(range(packing.blocks))
    batch_of = {block: k for k, batch in enumerate(packing.batches) for block in batch}
    for head in weights:
        assert len({batch_of[block] for block in packing.block_of[part_of == head].tolist()}) == 1
    for batch in packing.batches:
        held = [nbytes[packing.block_of == block].sum() for block in batch]
        assert max(held) <= (limit if len(batch) == 1 else limit // 2)
        rising = [members[packing.block_of == block] for block in batch]
        assert all(one.max() < other.min() for one, other in itertools.pairwise(rising))


@pytest.mark.parametrize("wrong", ["", "much", "-1GiB", "4 gigs", "100MB", 5])
def test_sizes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match="--memory"):
        parse_memory(wrong)


def test_the_default_is_half_of_the_memory():
    assert parse_memory(None) == max(512 << 20, machine_memory() // 2)
    assert la.dedup(["a"], memory="3GiB").run["options"]["memory_bytes"] == 3 << 30
