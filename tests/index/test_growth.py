"""Indexes that grow through many merges, of texts, sets, vectors and bits, in a folder and in a database."""

import numpy as np
import pytest

import lookalike as la
from corpora import vocabulary
from lookalike.index.folder import store

WORDS = vocabulary(8000, seed=3)


def texts(draw, count):
    """Documents of 30 to 400 words of all lengths, some of them with accents, so that no length in bytes is special."""
    found = []
    for _ in range(count):
        words = [WORDS[n] for n in draw.integers(0, len(WORDS), int(draw.integers(30, 400)))]
        found.append(" ".join(words) + "é" * int(draw.integers(0, 4)))
    return found


def token_sets(draw, count):
    return [draw.integers(0, 1 << 40, int(draw.integers(1, 300))).tolist() for _ in range(count)]


def vectors(draw, count):
    return [row.tolist() for row in draw.normal(size=(count, 37))]


def bits(draw, count):
    return [row.tolist() for row in draw.integers(0, 2, (count, 131)).astype(bool)]


def near(kind, item, draw):
    """A copy of an item that differs a little."""
    if kind is texts:
        words = item.split()
        words[int(draw.integers(len(words)))] = "changed"
        return " ".join(words)
    if kind is vectors:
        return [value + 0.001 for value in item]
    if kind is bits:
        return [not item[0], *item[1:]]
    return item


KINDS = {
    "texts": (texts, {"store": "text", "threshold": 0.6}),
    "sets of texts": (texts, {"threshold": 0.6}),
    "token sets": (token_sets, {"threshold": 0.6}),
    "vectors": (vectors, {"measure": "cosine", "threshold": 0.99}),
    "bits": (bits, {"measure": "hamming", "threshold": 2}),
}


def grow(place, kind, options, rounds, count, draw):
    """Add, replace, remove and ask, in rounds; then the index has what a dictionary has, and finds copies of it."""
    known = {}
    with la.Index.create(place, **options) as index:
        for number in range(rounds):
            new = {f"{number}-{n}": item for n, item in enumerate(kind(draw, count))}
            again = dict(zip([*known][:: 2 * count], kind(draw, 3)))
            index.add([{"id": name, "text": item} for name, item in {**new, **again}.items()])
            for name in again:
                del known[name]  # the latest addition comes last
            known |= {**new, **again}
            gone = [*known][number::97]
            assert index.remove(gone) == len(gone)
            for name in gone:
                del known[name]
            check(index, kind, known, draw)
        index.compact()
        check(index, kind, known, draw)
        assert index.check() == []
        return index.stats()


def check(index, kind, known, draw):
    names = [*known]
    assert index._index.ids().to_pylist() == names
    asked = [names[int(n)] for n in draw.integers(0, len(names), 10)]
    found = index.query([near(kind, known[name], draw) for name in asked], k=1)
    assert found["right"].to_pylist() == asked  # recall is high at these similarities
    if index.store.kind.store == "text":
        assert index.get(asked)["text"].to_pylist() == [known[name] for name in asked]


@pytest.mark.parametrize("name", KINDS)
def test_an_index_grows_through_many_merges(place, name, monkeypatch):
    monkeypatch.setattr(store, "LOG_ITEMS", 30)
    kind, options = KINDS[name]
    grow(place, kind, {"recall": 0.9999, **options}, rounds=10, count=70, draw=np.random.default_rng(7))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_an_index_grows_for_a_long_time(place, name):
    kind, options = KINDS[name]
    grow(place, kind, {"recall": 0.9999, **options}, rounds=40, count=1500, draw=np.random.default_rng(8))
