"""Large buckets of segments: their items are found by rare elements, and no pair is lost."""

import dataclasses

import pytest

import lookalike as la
from corpora import boilerplate
from lookalike.engine.digest import keyed_sets
from lookalike.index.folder import segment_writer
from lookalike.index.folder.segment import Segment
from lookalike.index.refining import Refining
from lookalike.index.stores import check_store
from lookalike.types import strings_to_arrow

THRESHOLDS = {"jaccard": 0.75, "dice": 0.86, "cosine": 0.86}


def triples(table):
    return sorted(zip(*(table[column].to_pylist() for column in ("left", "right", "similarity"))))


@pytest.mark.parametrize(
    ("measure", "store"), [("jaccard", "sets"), ("jaccard", "text"), ("dice", "sets"), ("cosine", "text")]
)
def test_answers_are_those_of_the_join(place, measure, store):
    """Items of large buckets that were refined, and items that were added to them later."""
    texts = boilerplate(900)
    items, asked = texts[:700], texts[600:]
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "shingle": "word:1", "recall": 0.9}
    with la.Index.create(place, items[:600], store=store, **options) as index:
        index.compact()
        index.add(items[600:])
        index.remove([550])
        stats = index.stats()
        found = triples(index.query(asked, k=None))
        alone = [(row, *rest) for row in range(90, 110) for _, *rest in triples(index.query([asked[row]], k=None))]
        assert index.check() == []
    assert stats["oversize_buckets"] > 0
    assert stats["refined_items"] > 200
    joined = [row for row in triples(la.pairs(asked, against=items, method="lsh", **options)) if row[1] != 550]
    assert found == joined
    assert alone == [row for row in joined if 90 <= row[0] < 110]
    assert 100 < len(joined) < 100_000


@pytest.fixture
def crowd(tmp_path):
    """An index with one large bucket after the other, and its segment."""
    texts = boilerplate(900, draw_from=100_000)
    with la.Index.create(tmp_path / "index", texts, threshold=0.8, shingle="word:1") as index:
        index.compact()
        yield texts, index, index.store.view.parts[0]


def ask(index, part, texts):
    asked = keyed_sets(strings_to_arrow(texts), index.store.kind.digesting)
    found = list(part.find(asked, index.store.kind.measure))
    return sorted(pair for left, right in found for pair in zip(left.tolist(), right.tolist()))


def test_few_items_of_a_large_bucket_are_compared(crowd):
    texts, index, part = crowd
    every = Segment(part.file.path)
    every.crowd = None
    few, all_of_them = ask(index, part, texts[:100]), ask(index, every, texts[:100])
    assert set(few) <= set(all_of_them)
    assert len(few) < len(all_of_them) / 4  # most of them in small buckets


def test_rare_elements_in_several_pieces_are_those_in_one(crowd, monkeypatch):
    texts, index, part = crowd
    before = ask(index, part, texts)
    small = dataclasses.replace(Refining.of(index.store.kind), memory_bytes=100_000)
    monkeypatch.setattr(Refining, "of", lambda _: small)
    index.compact()
    index.remove([0])
    index.compact()
    part = index.store.view.parts[0]
    assert len(part.crowd.bands) > 2
    assert [(left, right + 1) for left, right in ask(index, part, texts)] == [pair for pair in before if pair[1]]
    assert index.check() == []


def test_an_item_that_is_not_found_by_its_rare_elements_is_damage(crowd, monkeypatch):
    _, index, _ = crowd
    monkeypatch.setattr(segment_writer, "mark_crowded", lambda keys, numbers, marks: marks[:800].fill(True))
    index.remove([0])
    index.compact()
    [wrong] = check_store(index.store.path)
    assert "rare elements" in wrong


def test_segments_without_rare_elements_are_read(crowd, monkeypatch):
    texts, index, _ = crowd
    right = triples(index.query(texts[1:], k=None))
    monkeypatch.setattr(Refining, "of", lambda _: None)
    index.remove([0])
    index.compact()
    assert index.stats()["refined_items"] == 0
    assert triples(index.query(texts[1:], k=None)) == [row for row in right if row[1]]


def test_new_items_of_a_crowd_are_those_that_dedup_keeps(tmp_path):
    """All are in one large bucket: among those of one call, in the log, and in a segment."""
    texts = boilerplate(1500, draw_from=100_000)
    options = {"threshold": 0.8, "shingle": "word:1"}
    with la.Index.create(tmp_path / "index", **options) as index:
        parts = [index.add(texts[first : first + 500], if_new=True) for first in (0, 500)]
        index.compact()
        parts.append(index.add(texts[1000:], if_new=True))
        assert index.stats()["refined_items"] > 500
    added = [
        text
        for part, first in zip(parts, (0, 500, 1000))
        for text, new in zip(texts[first:], part["added"].to_pylist())
        if new
    ]
    kept = la.dedup(texts, method="lsh", **options).kept.column(0).to_pylist()
    assert added == kept
    assert 1000 < len(kept) < 1500


def test_a_log_of_many_items_becomes_a_segment(tmp_path):
    """Its buckets are not refined, so it must stay small, however short its items are."""
    texts = boilerplate(4200, own=3)
    with la.Index.create(tmp_path / "index", threshold=0.9, shingle="word:5") as index:
        for first in range(0, 4200, 600):
            index.add(texts[first : first + 600])
        index.store.settle()
        stats = index.stats()
        assert stats["segments"] == 1
        assert stats["log"]["items"] == 0
