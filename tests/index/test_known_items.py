"""Adding items that the index already has, with if_new: many at once, with the results of one by one."""

import random

import pytest

import lookalike as la
from lookalike.index import additions, view

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


def test_only_the_best_matches_are_held(tmp_path, monkeypatch):
    """Each of many items resembles thousands of copies: all of these pairs took gigabytes."""
    rows = [{"id": number, "text": "a b c d e" + " f" * (number % 3)} for number in range(60)]
    with la.Index.create(tmp_path / "index", rows, threshold=0.5, shingle="word:1") as index:
        usual = [index.query(rows, k=k).to_pylist() for k in (1, 7)]
        monkeypatch.setattr(view, "MOST_HELD", 100)
        most = []
        joined = view.Matches.joined
        monkeypatch.setattr(
            view.Matches, "joined", lambda some: most.append(sum(len(one.left) for one in some)) or joined(some)
        )
        assert [index.query(rows, k=k).to_pylist() for k in (1, 7)] == usual
    assert len(most) > 2  # joined more than once for each query
