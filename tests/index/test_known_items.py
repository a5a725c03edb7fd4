"""Adding items that the index already has, with if_new: many at once, with the results of one by one."""

import random

import pytest

import lookalike as la
from lookalike.index import additions

WORDS = [f"w{number}" for number in range(30)]


def draw_rows(draw, count):
    """Few texts under few ids, so that items are known, changed, repeated and empty."""
    texts = [" ".join(draw.choices(WORDS, k=6)) for _ in range(12)] + [""]
    return [{"id": draw.randrange(count), "text": draw.choice(texts)} for _ in range(count)]


def shown(index):
    return sorted(index._index.ids().to_pylist())


@pytest.mark.parametrize("on_conflict", ["replace", "skip"])
@pytest.mark.parametrize("seed", range(4))
def test_a_block_is_decided_as_its_items_one_by_one(tmp_path, seed, on_conflict):
    draw = random.Random(seed)
    first, second = draw_rows(draw, 20), draw_rows(draw, 40)
    options = {"threshold": 0.5, "shingle": "word:1", "id": "id"}
    with (
        la.Index.create(tmp_path / "a", first, **options) as one,
        la.Index.create(tmp_path / "b", first, **options) as other,
    ):
        for rows in (second, first, second):
            together = one.add(rows, if_new=True, on_conflict=on_conflict).to_pylist()
            alone = [other.add([row], if_new=True, on_conflict=on_conflict).to_pylist()[0] for row in rows]
            assert together == alone
            assert shown(one) == shown(other)


def test_known_items_are_decided_together(tmp_path, monkeypatch):
    """One by one, two million of them took hours, and more memory than allowed."""
    blocks = []
    found = additions.find_new
    monkeypatch.setattr(additions, "find_new", lambda *given: blocks.append(1) or found(*given))
    rows = [{"id": number, "text": f"a{number} b{number} c{number}"} for number in range(200)]
    with la.Index.create(tmp_path / "index", rows) as index:
        assert index.add(rows, if_new=True)["added"].to_pylist() == [False] * 200
    assert len(blocks) == 1
