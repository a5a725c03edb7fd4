"""The index answers as the batch jobs do."""

import json

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la

WORDS = [f"w{i}" for i in range(60)]


def texts_with_copies(count, seed, length=40):
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        if made and draw.random() < 0.5:
            words = made[draw.integers(len(made))].split()
            for _ in range(draw.integers(0, 4)):
                words[draw.integers(len(words))] = WORDS[draw.integers(len(WORDS))]
            made.append(" ".join(words))
        else:
            made.append(" ".join(draw.choice(WORDS, length)))
    made[count // 3], made[count // 2] = "", "..."
    return made


def triples(table, name="similarity"):
    return sorted(zip(*(table[column].to_pylist() for column in ("left", "right", name))))


def lists_of(texts, number):
    return [[number(word) for word in text.split()] for text in texts]


KINDS = {
    "text": lambda texts: texts,
    "tokens": lambda texts: lists_of(texts, str),
    "integers": lambda texts: lists_of(texts, lambda word: int(word.strip("w.") or 0)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine"])
def test_query_lists_the_pairs_of_the_join(place, kind, measure):
    items, asked = (KINDS[kind](texts_with_copies(count, 3)) for count in (300, 330))
    options = {"threshold": 0.7, "shingle": "word:2", "measure": measure, "recall": 0.9}
    with la.Index.create(place, items[:200], **options) as index:
        index.add(items[200:])
        found = index.query(asked, k=None)
        again = index.query(asked, k=None, threshold="0.85")
        alone = {row: index.query([asked[row]], k=None) for row in range(0, len(asked), 11)}
    joined = la.pairs(asked, against=items, method="lsh", **options)
    assert joined.num_rows > 300
    assert triples(found) == triples(joined)
    assert triples(again) == [row for row in triples(joined) if row[2] >= 0.85]
    listed = found.to_pylist()
    for row, answer in alone.items():
        assert answer.schema == found.schema
        assert answer.to_pylist() == [{**one, "left": 0} for one in listed if one["left"] == row]


@pytest.mark.parametrize("measure", ["jaccard", "cosine"])
@pytest.mark.parametrize("store", ["sets", "text"])
@pytest.mark.parametrize("step", [1, 37, 1000])
def test_add_if_new_keeps_what_dedup_keeps(place, store, step, measure):
    items, stream = texts_with_copies(150, 5), texts_with_copies(260, 5)
    options = {"threshold": 0.7, "shingle": "word:2", "recall": 0.9, "measure": measure}
    stream = stream[100:]  # some were seen, some are new, some are copies of each other
    told = []
    with la.Index.create(place, items, store=store, **options) as index:
        for first in range(0, len(stream), step):
            told += index.add(stream[first : first + step], if_new=True).to_pylist()
        assert index.check() == []
        assert len(index) == len(items) + sum(row["added"] for row in told)
    kept = la.dedup(
        [{"id": f"s{i}", "text": t} for i, t in enumerate(stream)], reference=items, method="lsh", **options
    )
    names = {f"s{i}" for i, row in enumerate(told) if row["added"]}
    assert names == set(kept.kept["id"].to_pylist())
    assert 5 < len(names) < len(stream) - 5
    assert all((row["match"] is None) == row["added"] for row in told)


def test_boilerplate_in_large_buckets(place):
    """Batch jobs refine buckets of more than 200 items; which pairs are candidates must not depend on that."""
    draw = np.random.default_rng(3)
    shared = [f"b{n}" for n in range(45)]
    texts = [" ".join([*shared, *(f"u{n}" for n in draw.integers(0, 5000, 15))]) for _ in range(700)]
    options = {"threshold": 0.6, "shingle": "word:1", "recall": 0.9}
    items, asked = texts[:600], texts[600:]
    joined = la.pairs(asked, against=items, method="lsh", **options)
    with la.Index.create(place, items, **options) as index:
        assert triples(index.query(asked, k=None)) == triples(joined)
        index.compact()  # items in the log are not counted
        assert index.stats()["largest_bucket"] > 200
        assert index.stats()["oversize_buckets"] > 5
        told = index.add(asked, if_new=True)["added"].to_pylist()
    assert 1000 < joined.num_rows < 60_000 * 0.97  # not all of them share a bucket
    kept = la.dedup([{"id": n, "text": t} for n, t in enumerate(asked)], reference=items, method="lsh", **options)
    assert [n for n, new in enumerate(told) if new] == kept.kept["id"].to_pylist()


def test_a_match_is_the_most_similar_item_at_that_moment(place):
    text = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    near, nearer = " ".join([*text[:-3], "x", "y", "z"]), " ".join([*text[:-1], "z"])
    with la.Index.create(place, threshold=0.3, shingle="word:1") as index:
        rows = [{"id": name, "text": t} for name, t in [("far", "q r s"), ("near", near), ("exact", nearer)]]
        index.add(rows)
        found = index.add([{"id": "new", "text": " ".join(text)}], if_new=True).to_pylist()
        ranked = index.query([" ".join(text)]).to_pylist()
    assert (found[0]["added"], found[0]["match"]) == (False, "exact")
    assert [(row["right"], row["rank"]) for row in ranked] == [("exact", 1), ("near", 2)]


@pytest.mark.parametrize(
    ("measure", "threshold"), [("cosine", 0.9), ("euclidean", 1.5), ("hamming", 12)], ids=["cosine", "euclid", "bits"]
)
def test_vectors_and_bit_strings(place, measure, threshold):
    draw = np.random.default_rng(2)
    if measure == "hamming":
        rows = draw.integers(0, 256, (400, 16)).astype(np.uint8)
        rows[200:] = rows[:200]
        rows[200:, 0] ^= draw.integers(0, 256, 200).astype(np.uint8)
    else:
        rows = draw.normal(size=(400, 12)).astype(np.float32)
        rows[200:] = rows[:200] + draw.normal(size=(200, 12)) * 0.2
        rows[7] = 0
    items, asked = rows[:250], rows[150:]
    options = {"measure": measure, "threshold": threshold}
    with la.Index.create(place, **options) as index:
        index.add(items[:240])
        index.add(items[240:])
        found = index.query(asked, k=None)
        index.compact()
        assert index.query(asked, k=None).equals(found)
        assert index.check() == []
    with la.Index.open(place, read_only=True) as index:
        assert index.query(asked, k=None).equals(found)
    joined = la.pairs(asked, against=items, method="lsh", **options)
    name = "similarity" if measure == "cosine" else "distance"
    assert joined.num_rows > 150
    assert triples(found, name) == triples(joined, name)


def test_new_vectors(place):
    draw = np.random.default_rng(4)
    rows = draw.normal(size=(120, 8))
    rows[60:] = rows[:60] + draw.normal(size=(60, 8)) * 0.1
    with la.Index.create(place, measure="euclidean", threshold=0.6) as index:
        told = index.add(rows, if_new=True)
    kept = la.dedup(rows, measure="euclidean", threshold=0.6, method="lsh")
    assert told["added"].to_pylist().count(True) == kept.kept.num_rows < 120
    assert told.column_names == ["id", "added", "match", "distance"]


def test_ids_stay_integers_and_rows_without_ids_are_named_by_their_place(place, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps({"id": 7 + i, "text": f"a b c d e f {i}"}) + "\n" for i in range(3)))
    bare = tmp_path / "bare.jsonl"
    bare.write_text(json.dumps({"text": "a b c d e f 0"}) + "\n")
    with la.Index.create(place, path, threshold=0.9, shingle="word:1") as index:
        found = index.query(bare)
        assert found.to_pylist() == [{"left": f"{bare}:0", "right": 7, "similarity": 1.0, "rank": 1}]
        assert index.query(path)["left"].type == pa.int64()
        index.add([{"id": "x", "text": "1 2 3"}])
        assert index.query(bare)["right"].to_pylist() == ["7"]  # mixed with strings, integers are text: as in pairs
        assert index.remove([7, "x"]) == 2
        assert len(index) == 2


def test_a_less_strict_threshold_is_refused(place):
    with la.Index.create(place, ["a b c"], threshold=0.8) as index:
        with pytest.raises(la.UsageError, match=r"0\.5 is below that of the index, 0\.8"):
            index.query(["a b c"], threshold=0.5)
        assert index.query(["a b c"], threshold=0.8).num_rows == 1


def test_queries_that_an_index_cannot_answer_are_refused(tmp_path):
    with pytest.raises(la.UsageError, match="must be one of jaccard, dice, cosine, euclidean, hamming, not 'overlap'"):
        la.Index.create(tmp_path / "none", measure="overlap", threshold=3)
    with la.Index.create(tmp_path / "index", ["a b c"]) as index:
        for k in (0, 2.5, "3", True):
            for asked in (["a b c"], ["a b c", "d"]):
                with pytest.raises(la.UsageError, match="whole number of at least 1"):
                    index.query(asked, k=k)


def test_the_first_items_match_each_other(place):
    rows = [{"id": "a", "text": "one two three"}, {"id": "b", "text": "one two three"}]
    with la.Index.create(place) as index:
        assert index.add(rows, if_new=True)["match"].to_pylist() == [None, "a"]
