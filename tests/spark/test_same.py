"""Spark gives what the local engine gives, byte for byte, however the work is cut into tasks."""

import gzip
import random
from dataclasses import replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import SMALL, dedup_on_both, make_texts, pairs_on_both, write_lines
from lookalike.cli.main import run
from lookalike.jobs.dedup import DedupOptions

pytestmark = pytest.mark.xdist_group("spark")


def test_formats_policies_and_references(session, tmp_path):
    texts = make_texts(420)
    folder = tmp_path / "in"
    folder.mkdir()
    write_lines(folder / "a.jsonl", texts[:120])
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(write_lines(tmp_path / "b.jsonl", texts[120:180]).read_bytes()))
    rows = {"id": [f"p{k}" for k in range(100)], "text": texts[180:280], "n": list(range(100))}
    pq.write_table(pa.table(rows), folder / "c.parquet", row_group_size=10)
    quoted = "".join(f'"{k}\nx","{text}",{k}\n' for k, text in enumerate(texts[280:340]))
    (folder / "d.csv").write_text("id,text,n\n" + quoted)
    for k, text in enumerate(texts[340:380]):
        (folder / "pages").mkdir(exist_ok=True)
        (folder / "pages" / f"{k:02}.html").write_text(f"<p>{text}</p>")
    reference = write_lines(tmp_path / "old.jsonl", texts[380:])
    made = dedup_on_both(session, tmp_path, [folder], reference=[reference], threshold=0.6, method="lsh")
    assert made[1]["counts"]["removed"] > 50
    assert made[0]["counts"] == made[1]["counts"]
    assert made[0]["alarms"] == made[1]["alarms"]
    assert made[1]["engine"]["tasks"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("rules", [("longest", "direct"), ("max:n", "connected")])
def test_keep_rules(session, tmp_path, rules):
    path = write_lines(tmp_path / "a.jsonl", make_texts(200, seed=5))
    made = dedup_on_both(session, tmp_path, [path], options=DedupOptions(*rules), threshold=0.7, method="lsh")
    assert made[0]["counts"] == made[1]["counts"]


@pytest.mark.slow
def test_part_larger_than_a_task(session, tmp_path):
    """One part of all items, cut into blocks: its pairs are decided in one pass."""
    path = write_lines(tmp_path / "a.jsonl", make_texts(150, seed=7, copies=0.95))
    reference = write_lines(tmp_path / "old.jsonl", make_texts(170, seed=7, copies=0.95)[130:])
    sizes = replace(SMALL, task_sets_bytes=30_000)
    made = dedup_on_both(session, tmp_path, [path], sizes, reference=[reference], threshold=0.5, method="lsh")
    assert made[1]["counts"]["removed"] > 50


@pytest.mark.slow
def test_connected_by_the_cluster(session, tmp_path):
    """If union-find does not fit on the driver: a chain of items, each similar to the next, takes several rounds."""
    words = [[f"w{first + k}" for k in range(12)] for first in range(40)]
    texts = [*map(" ".join, words), *make_texts(30, seed=12)]
    path = write_lines(tmp_path / "a.jsonl", texts)
    sizes = replace(SMALL, union_bytes=100)
    options = {"threshold": 0.7, "shingle": "word:1", "method": "lsh"}
    made = dedup_on_both(session, tmp_path, [path], sizes, options=DedupOptions("last", "connected"), **options)
    assert made[1]["counts"]["removed"] > 30


CROWDED = replace(SMALL, part_bytes=60_000, least_part_bytes=60_000, task_sets_bytes=100_000, long_run=1)


def make_boilerplate(number=350, seed=11):
    """Items that share most of their words and little else, among them near copies and copies of each other."""
    draw = random.Random(seed)
    common = " ".join(f"c{k}" for k in range(60))
    tails = [" ".join(f"t{draw.randrange(10**6)}" for _ in range(30)) for _ in range(number)]
    for k in range(0, number, 7):
        words = tails[draw.randrange(number)].split()
        words[draw.randrange(30)] = "changed"
        tails[k] = " ".join(words) if k % 2 else tails[draw.randrange(number)]
    return [f"{common} {tail}" for tail in tails]


@pytest.mark.slow
def test_boilerplate_is_refined_on_the_cluster(session, tmp_path):
    """Long runs make one part of all items, which is too large for a task; what rare shingles connect is not."""
    path = write_lines(tmp_path / "a.jsonl", make_boilerplate())
    matching = {"threshold": 0.75, "recall": 0.9999, "method": "lsh"}
    rules = DedupOptions("longest", "connected")
    made = dedup_on_both(session, tmp_path, [path], CROWDED, options=rules, **matching)
    assert made[1]["counts"]["removed"] > 40
    assert 200 < made[1]["alarms"][0]["items"] <= 350
    (tmp_path / "pairs").mkdir()
    local, spark = pairs_on_both(session, tmp_path / "pairs", [path], CROWDED, **matching)
    assert len(local[0]) > 40
    assert spark[1]["alarms"][0]["kind"] == "oversize_buckets"


def make_vectors(number=120):
    draw = np.random.default_rng(1)
    found = draw.normal(size=(number, 16)).astype(np.float32)
    found[number // 2 :] = found[: number // 2] + 0.05 * draw.normal(size=(number // 2, 16))
    return found


@pytest.mark.slow
def test_vectors(session, tmp_path):
    vectors = make_vectors()
    np.save(tmp_path / "bits.npy", np.packbits(vectors > 0, axis=1))
    options = {"measure": "hamming", "threshold": "2", "method": "lsh"}
    local, _ = pairs_on_both(session, tmp_path, [tmp_path / "bits.npy"], **options)
    assert len(local[0]) > 30
    (tmp_path / "more").mkdir()
    table = pa.table({"v": list(map(list, vectors)), "n": [k % 7 for k in range(len(vectors))]})
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=40)
    rules = DedupOptions("max:n", "connected")
    options = {"measure": "cosine", "threshold": "0.95", "method": "lsh", "column": "v"}
    made = dedup_on_both(session, tmp_path / "more", [tmp_path / "v.parquet"], options=rules, **options)
    assert made[1]["counts"]["removed"] > 50


def test_sets_of_elements(session, tmp_path):
    sets = [sorted({int(word[1:]) for word in text.split()}) for text in make_texts(200, seed=8)]
    (tmp_path / "s.dat").write_text("".join(" ".join(map(str, one)) + "\n" for one in sets if one))
    local, _ = pairs_on_both(session, tmp_path, [tmp_path / "s.dat"], measure="overlap", threshold="12")
    assert len(local[0]) > 30


@pytest.mark.slow
def test_lines_of_text_zstd_and_repeated_shingles(session, tmp_path):
    texts = make_texts(160, seed=10)
    (tmp_path / "l.txt").write_text("".join(f"{text}\n" for text in texts[:80]))
    stored = write_lines(tmp_path / "z.jsonl", texts[80:]).read_bytes()
    (tmp_path / "z.jsonl.zst").write_bytes(pa.compress(stored, "zstd", asbytes=True))
    inputs = [tmp_path / "l.txt", tmp_path / "z.jsonl.zst"]
    made = dedup_on_both(session, tmp_path, inputs, method="lsh", threshold="0.6", shingle="char:5", bag=True)
    assert made[1]["counts"]["removed"] > 30


def test_pairs_between_two_collections(session, tmp_path):
    one, two = (write_lines(tmp_path / f"{k}.jsonl", make_texts(90, seed=9)[k::2]) for k in range(2))
    local, spark = pairs_on_both(session, tmp_path, [one], against=[two], threshold=0.5, method="lsh")
    assert len(local[0]) > 10
    assert local[1]["counts"] == spark[1]["counts"]


def test_exact_method_of_small_input(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(60, seed=3))
    made = dedup_on_both(session, tmp_path, [path], threshold=0.4)
    assert made[1]["options"]["method"] == "exact"


def test_nothing_and_little(session, tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    one = write_lines(tmp_path / "one.jsonl", ["a single item of some words"])
    made = dedup_on_both(session, tmp_path, [tmp_path / "none.jsonl", one], method="lsh")
    assert made[1]["counts"]["kept"] == 1


def test_bad_lines_are_set_aside(session, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", make_texts(100, seed=4))
    lines = path.read_text().splitlines()
    for at in (3, 40, 41, 90):
        lines.insert(at, "{broken")
    path.write_text("\n".join(lines) + "\n")
    made = dedup_on_both(session, tmp_path, [path], method="lsh", on_error="skip")
    assert made[1]["counts"]["rejected"] == 4


def test_an_index_gives_the_same_answers(session, tmp_path):
    paths = [write_lines(tmp_path / f"{k}.jsonl", make_texts(80, seed=k)) for k in range(2)]
    paths[0].write_text("{broken\n" + paths[0].read_text())
    asked = str(write_lines(tmp_path / "asked.jsonl", make_texts(100, seed=1)))
    for name, engine in {"local": [], "spark": ["--engine", "spark", "--master", "local[2]"]}.items():
        options = ["--threshold", "0.5", "--on-error", "skip", "--quiet", *engine]
        assert run(["index", "create", str(tmp_path / name), *map(str, paths), *options]) == 0
        answers = ["-o", str(tmp_path / f"{name}.csv"), "--quiet"]
        assert run(["index", "query", str(tmp_path / name), asked, *answers]) == 0
    assert (tmp_path / "local.csv").read_text() == (tmp_path / "spark.csv").read_text()
    assert (tmp_path / "local.csv").read_text().count("\n") > 50


numbers = count()
TINY = replace(SMALL, compared_bytes=500, long_run=1)
TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12).map(" ".join), max_size=25)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=TEXTS,
    old=TEXTS,
    keep=st.sampled_from(["first", "last", "longest", "shortest", "max:n", "min:n"]),
    policy=st.sampled_from(["direct", "connected"]),
    threshold=st.sampled_from(["0.3", "0.5", "0.8", "1"]),
    matching=st.sampled_from(
        [("jaccard", "lsh"), ("dice", "lsh"), ("cosine", "lsh"), ("jaccard", "exact"), ("containment", "exact")]
    ),
    shingle=st.sampled_from(["word:1", "word:2", "char:3"]),
    bag=st.booleans(),
    sizes=st.sampled_from([SMALL, TINY, replace(TINY, union_bytes=0)]),
)
def test_any_small_corpus(session, tmp_path, texts, old, keep, policy, threshold, matching, shingle, bag, sizes):
    folder = tmp_path / str(next(numbers))
    folder.mkdir()
    path, other = write_lines(folder / "a.jsonl", [*texts, "x"]), write_lines(folder / "old.jsonl", old)
    options = {"measure": matching[0], "method": matching[1], "shingle": shingle, "bag": bag, "threshold": threshold}
    rules = DedupOptions(keep, policy)
    dedup_on_both(session, folder, [path], sizes, options=rules, reference=[other] if old else [], **options)
    (folder / "pairs").mkdir()
    pairs_on_both(session, folder / "pairs", [path], sizes, **options)
