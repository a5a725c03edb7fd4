import errno
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from corpora import corpus
from lookalike.engine.settings import Settings
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.matching.stages import LocalStages
from reference import components, exact, greedy, holds, shingles

TEXTS = [
    *corpus(400, seed=4),
    "",
    " ... ",
    None,
    "one two",
    "One, two!",
    "one",
    "l'été à Noël",
    "L'ETE A NOEL",
]
SETS = [shingles(text or "") for text in TEXTS]

small_texts = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=7).map(" ".join), min_size=1, max_size=12
)


def keepers_of(result, name=lambda one: int(str(one).rsplit(":", 1)[1])):
    return {name(row["id"]): name(row["kept_id"]) for row in result.removed.to_pylist()}


def expected(order, threshold=Fraction(4, 5), fixed=0, measure="jaccard", sets=None):
    found = greedy(sets or SETS, order, measure, threshold, fixed)
    return {item: keeper for item, keeper in found.items() if keeper is not None}


ORDERS = {
    "first": range(len(TEXTS)),
    "last": range(len(TEXTS) - 1, -1, -1),
    "longest": sorted(range(len(TEXTS)), key=lambda i: -len(TEXTS[i] or "")),
    "shortest": sorted(range(len(TEXTS)), key=lambda i: len(TEXTS[i] or "")),
    "max:score": sorted(range(len(TEXTS)), key=lambda i: (-(i % 7) if i % 7 else 1, i)),
    "min:score": sorted(range(len(TEXTS)), key=lambda i: (i % 7 or 99, i)),
}


@pytest.mark.parametrize("keep", list(ORDERS))
@pytest.mark.parametrize("method", ["lsh", "brute", "exact"])
def test_removals_are_the_greedy_ones(keep, method):
    scores = [i % 7 or None for i in range(len(TEXTS))]
    table = pa.table({"text": TEXTS, "score": scores})
    # recall so high that nothing is missed here, so that both methods must give the very same
    result = la.dedup(table, keep=keep, method=method, recall=0.9999999)
    assert keepers_of(result) == expected(ORDERS[keep])
    for row in result.removed.to_pylist():
        assert row["similarity"] == float(exact("jaccard", SETS[row["row"]], SETS[row["kept_row"]]))
    gone = set(keepers_of(result))
    assert result.kept.column("text").to_pylist() == [t for i, t in enumerate(TEXTS) if i not in gone]
    assert result.run["counts"]["empty"] == 3


@given(small_texts, st.sampled_from(["jaccard", "dice", "cosine", "containment", "overlap"]), st.data())
@settings(max_examples=80)
def test_brute_force_is_exact_for_every_measure(texts, measure, data):
    threshold = data.draw(st.sampled_from(["2", "3"] if measure == "overlap" else ["0.5", "0.55", "0.75", "1"]))
    sets = [shingles(text, "word:1") for text in texts]
    result = la.dedup(texts, shingle="word:1", measure=measure, threshold=threshold, method="brute", threads=1)
    assert keepers_of(result) == expected(range(len(texts)), Fraction(threshold), 0, measure, sets)


@given(small_texts, st.sampled_from(["jaccard", "dice", "cosine", "containment", "overlap"]), st.data())
@settings(max_examples=80)
def test_exact_methods_find_what_brute_force_finds(texts, measure, data):
    threshold = data.draw(st.sampled_from(["2", "3"] if measure == "overlap" else ["0.5", "0.55", "0.75", "1"]))
    options = {"shingle": "word:1", "measure": measure, "threshold": threshold, "threads": 1}
    removed = la.dedup(texts, method="exact", **options).removed
    assert removed.equals(la.dedup(texts, method="brute", **options).removed)
    assert la.pairs(texts, method="exact", **options).equals(la.pairs(texts, method="brute", **options))


@given(small_texts, small_texts, st.booleans())
@settings(max_examples=60)
def test_reference_items_are_kept_and_remove_others(texts, reference, brute):
    sets = [shingles(text, "word:1") for text in reference + texts]
    result = la.dedup(
        texts, reference=reference, shingle="word:1", threshold=0.5, threads=1,
        **({"method": "brute"} if brute else {"recall": 0.9999999}),
    )  # fmt: skip
    want = expected(range(len(sets)), Fraction(1, 2), len(reference), "jaccard", sets)
    # items are numbered with the reference in front; rows count from 0 in each
    got = {(r["row"], r["kept_row"], r["similarity"]) for r in result.removed.to_pylist()}
    n = len(reference)
    assert got == {(i - n, k if k < n else k - n, float(exact("jaccard", sets[i], sets[k]))) for i, k in want.items()}
    assert result.run["counts"]["items"] == len(texts)
    assert result.kept.num_rows == len(texts) - len(want)


def test_connected_policy_removes_whole_components():
    result = la.dedup(TEXTS, policy="connected", recall=0.9999999, threshold=0.7)
    labels = components(SETS, "jaccard", Fraction(7, 10))
    assert keepers_of(result) == {i: label for i, label in enumerate(labels) if i != label}
    for row in result.removed.to_pylist():
        partner = int(row["pair_id"].rsplit(":", 1)[1])
        assert holds("jaccard", SETS[row["row"]], SETS[partner], Fraction(7, 10))
        assert row["pair_similarity"] == float(exact("jaccard", SETS[row["row"]], SETS[partner]))
        assert row["similarity"] == float(exact("jaccard", SETS[row["row"]], SETS[row["kept_row"]]))


def test_clusters_are_keepers_and_the_items_removed_for_them():
    result = la.dedup(TEXTS)
    rows = result.clusters.to_pylist()
    by_cluster = {}
    for row in rows:
        by_cluster.setdefault(row["cluster"], []).append(row)
    removed = keepers_of(result)
    assert len(rows) == len(removed) + len(set(removed.values()))
    for members in by_cluster.values():
        kept = [m["id"] for m in members if m["kept"]]
        assert len(kept) == 1
        assert all(m["size"] == len(members) > 1 for m in members)
        keeper = int(kept[0].rsplit(":", 1)[1])
        gone = {int(m["id"].rsplit(":", 1)[1]) for m in members if not m["kept"]}
        assert gone == {i for i, k in removed.items() if k == keeper}


@pytest.mark.parametrize("options", [{"bag": True}, {"shingle": "char:9"}, {"shingle": "stopword:2"}, {"seed": 99}])
def test_every_removal_is_direct_and_exact_with_other_options(options):
    result = la.dedup(TEXTS, threshold="0.6", **options)
    plain = {k: v for k, v in options.items() if k in ("shingle", "bag")}
    sets = [
        frozenset(la.shingles(text or "", plain.get("shingle", "word:5"), bag=plain.get("bag", False)))
        for text in TEXTS
    ]
    removed = keepers_of(result)
    assert len(removed) > 10
    for row in result.removed.to_pylist():
        similarity = exact("jaccard", sets[row["row"]], sets[row["kept_row"]])
        assert similarity >= Fraction(3, 5)
        assert row["similarity"] == float(similarity)
        assert row["kept_row"] not in removed


def write_jsonl(path, texts, start=0):
    lines = [json.dumps({"id": f"d{start + i}", "text": t, "n": [i, {"x": None}]}) for i, t in enumerate(texts)]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")


def outcome(folder):
    table = pq.read_table(folder / "removed.parquet", columns=["id", "kept_id", "similarity"])
    return table.to_pylist()


def test_threads_files_and_formats_change_nothing(tmp_path):
    write_jsonl(tmp_path / "all.jsonl", TEXTS)
    for k in range(3):
        write_jsonl(tmp_path / f"part{k}.jsonl", TEXTS[k * 150 : (k + 1) * 150 if k < 2 else None], k * 150)
    pq.write_table(
        pa.table({"id": [f"d{i}" for i in range(len(TEXTS))], "text": TEXTS}),
        tmp_path / "all.parquet",
        row_group_size=60,
    )
    runs = {
        "one": (["all.jsonl"], 1),
        "many": (["all.jsonl"], 4),
        "split": (["part0.jsonl", "part1.jsonl", "part2.jsonl"], 2),
        "parquet": (["all.parquet"], 2),
    }
    found = []
    for name, (files, threads) in runs.items():
        dedup_to_folder([tmp_path / f for f in files], tmp_path / name, Settings.parse(threads=threads))
        found.append(outcome(tmp_path / name))
    assert found[0]
    assert all(one == found[0] for one in found)
    kept = (tmp_path / "one/kept/all.jsonl").read_bytes().splitlines()
    gone = {row["id"] for row in found[0]}
    lines = (tmp_path / "all.jsonl").read_bytes().splitlines()
    assert kept == [line for line in lines if json.loads(line)["id"] not in gone]
    again = tmp_path / "again"
    dedup_to_folder([tmp_path / "all.jsonl"], again, Settings.parse(threads=2))
    assert (again / "removed.parquet").read_bytes() == (tmp_path / "one/removed.parquet").read_bytes()


def test_run_json_records_everything(tmp_path):
    write_jsonl(tmp_path / "in.jsonl", TEXTS)
    returned = dedup_to_folder([tmp_path / "in.jsonl"], tmp_path / "out", Settings.parse())
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert returned["seconds"].pop("publishing") > 0  # after run.json was written
    assert run == json.loads(json.dumps(returned))
    assert set(run) >= {
        "version",
        "options",
        "plan",
        "counts",
        "seconds",
        "bytes",
        "peak_memory_bytes",
        "alarms",
        "audit",
    }
    counts = run["counts"]
    assert set(counts) >= {"items", "empty", "kept", "removed", "candidates", "pairs", "rejected"}
    assert counts["items"] == len(TEXTS) == counts["kept"] + counts["removed"]
    assert counts["removed"] == pq.read_metadata(tmp_path / "out/removed.parquet").num_rows == counts["pairs"]
    assert counts["candidates"] >= counts["pairs"]
    assert (run["plan"]["bands"], run["plan"]["rows"]) == (26, 8)
    schema = pq.read_schema(tmp_path / "out/removed.parquet")
    assert schema.names == ["id", "file", "row", "kept_id", "kept_file", "kept_row", "similarity"]
    assert pq.read_schema(tmp_path / "out/clusters.parquet").names == ["id", "cluster", "size", "kept"]


def test_ids_keep_their_type_and_missing_ones_are_places(tmp_path):
    same = "one two three four five six seven"
    assert la.dedup([{"id": 7, "text": same}, {"id": 9, "text": same}]).removed["id"].to_pylist() == [9]
    assert la.dedup([{"name": "x", "text": same}, {"name": "y", "text": same}], id="name").removed[
        "kept_id"
    ].to_pylist() == ["x"]
    lines = [{"text": same}, {"id": "b", "text": same}, {"id": None, "text": same}]
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = la.dedup(path)
    assert result.removed["id"].to_pylist() == ["b", f"{path}:2"]
    assert set(result.removed["kept_id"].to_pylist()) == {f"{path}:0"}


def test_set_equal_texts_collapse_even_with_other_tokens():
    # the same set of shingles from ever longer texts: no two token sequences are equal
    result = la.dedup([" ".join(["ha"] * n) for n in range(5, 400)])
    assert result.kept.num_rows == 1
    assert set(result.removed["similarity"].to_pylist()) == {1.0}


def boilerplate(items, common=50, own=12, seed=2):
    draw = np.random.default_rng(seed)
    shared = " ".join(f"common{i}" for i in range(common))
    return [shared + " " + " ".join(f"w{n}" for n in draw.integers(0, 10**9, own)) for _ in range(items)]


@pytest.mark.parametrize("own", [8, 12, 30])
def test_boilerplate_is_refined_without_losing_pairs(own):
    texts = boilerplate(3000, own=own)
    texts += [text + " end" for text in texts[:50]]
    result = la.dedup(texts, method="lsh")
    assert keepers_of(result) == {3000 + i: i for i in range(50)}
    assert result.run["counts"]["candidates"] < 3_000_000
    if own < 30:
        alarm = result.run["alarms"][0]
        assert alarm["kind"] == "oversize_buckets"
        assert alarm["largest"] > 200


@pytest.mark.slow
@pytest.mark.parametrize("own", [7, 20, 60])
def test_200_000_documents_with_one_boilerplate(own):
    result = la.dedup(boilerplate(200_000, own=own))
    assert result.run["counts"]["removed"] == 0


@pytest.mark.slow
def test_200_000_identical_and_nearly_identical_documents():
    text = " ".join(f"w{i}" for i in range(200))
    assert la.dedup([text] * 200_000).run["counts"]["kept"] == 1
    near = la.dedup([f"{text} {i}" for i in range(200_000)])
    assert near.run["counts"]["kept"] == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"threshold": 1.5}, "threshold must be above 0 and at most 1 for jaccard, not 1.5"),
        ({"threshold": 0}, "threshold must be above 0 and at most 1 for jaccard, not 0"),
        ({"threshold": "x"}, "threshold must be a number such as 0.8, not x"),
        ({"threshold": "0.12345678901"}, "threshold 0.12345678901 has more than nine decimals"),
        ({"recall": 1, "method": "lsh"}, "recall must be below 1, since hashing can miss a pair"),
        ({"recall": 0}, "--recall must be above 0 and at most 1, not 0"),
        ({"hashes": 0}, "hashes must be a whole number from 1 to 65536, not 0"),
        ({"measure": "manhattan"}, "measure must be one of .*, not 'manhattan'"),
        ({"measure": "overlap", "threshold": 3, "method": "lsh"}, "--measure overlap: minhash cannot promise a recall"),
        ({"measure": "containment", "method": "lsh"}, "--measure containment: minhash cannot promise a recall"),
        ({"method": "guess"}, "--method must be one of auto, lsh, exact, brute, not 'guess'"),
        ({"method": "merge"}, "--method must be one of auto, lsh, exact, brute, not 'merge'"),
        ({"shingle": "word"}, "--shingle 'word': write word:5"),
        ({"threads": 0}, "--threads must be at least 1, not 0"),
        ({"seed": -1}, "--seed must be from 0 to .*, not -1"),
        ({"on_error": "ignore"}, "--on-error must be one of stop, skip, not 'ignore'"),
        ({"encoding": "utf-99"}, "--encoding 'utf-99' is not known"),
        ({"keep": "best"}, "--keep must be one of .*, not 'best'"),
        ({"policy": "all"}, "--policy must be one of direct, connected, not 'all'"),
    ],
)
def test_wrong_options_are_refused_before_any_work(tmp_path, options, says):
    path = tmp_path / "in.jsonl"
    write_jsonl(path, ["a", "b"])
    with pytest.raises(UsageError, match=f"^{says}"):
        la.dedup(path, out=tmp_path / "out", **options)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.jsonl"]


def test_bad_columns_are_named():
    with pytest.raises(BadDataError, match="body"):
        la.dedup([{"text": "a"}], column="body")
    with pytest.raises(BadDataError, match="score"):
        la.dedup([{"text": "a", "score": None}], keep="max:score")
    with pytest.raises(BadDataError, match="nothere"):
        la.dedup([{"text": "a"}], keep="max:nothere")
    with pytest.raises(UsageError, match="out="):
        la.dedup(["a"], out="somewhere")


def test_empty_input_gives_empty_output():
    result = la.dedup([])
    assert result.run["counts"]["items"] == 0
    assert result.kept.num_rows == result.removed.num_rows == result.clusters.num_rows == 0
    assert la.pairs([]).num_rows == 0
    assert len(la.sketch([])) == 0


def test_an_earlier_output_inside_the_input_is_not_input(tmp_path):
    folder = tmp_path / "fold"
    folder.mkdir()
    write_jsonl(folder / "in.jsonl", TEXTS[:20])
    first = dedup_to_folder([folder], folder / "out", Settings.parse())
    second = dedup_to_folder([folder], folder / "out", Settings.parse(), overwrite=True)
    assert first["counts"] == second["counts"]
    with pytest.raises(UsageError, match="is an input in the output folder"):
        dedup_to_folder([folder / "out/kept/in.jsonl"], folder / "out", Settings.parse(), overwrite=True)
    assert (folder / "out/run.json").exists()


def written_by(folder, out, **options):
    """The files of a run, without its times."""
    dedup_to_folder([folder], out, Settings.parse(**options))
    files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    record = json.loads(files.pop("run.json"))
    return files, {name: record[name] for name in ("counts", "written", "graph")}


@pytest.fixture
def many_files(tmp_path):
    (tmp_path / "in").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "in" / f"{number}.md").write_text((text or "") * 2, "utf-8")
    return tmp_path / "in"


def test_what_is_written_beside_kept_files_is_the_same(many_files, tmp_path, monkeypatch):
    beside = written_by(many_files, tmp_path / "beside", threads=2)
    assert {"removed.parquet", "clusters.parquet", "graph/links.parquet", "kept/0.md"} <= beside[0].keys()
    assert written_by(many_files, tmp_path / "alone", threads=1) == beside
    monkeypatch.setattr("lookalike.jobs.dedup_result.FEW_ITEMS", 0)
    assert written_by(many_files, tmp_path / "later", threads=2) == beside


@pytest.mark.parametrize("failing", ["_write_reasons", "write_kept"])
def test_an_error_on_either_thread_ends_the_run(many_files, tmp_path, monkeypatch, failing):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write_kept":
        monkeypatch.setattr(LocalStages, "write_kept", staticmethod(fail))
    else:
        monkeypatch.setattr("lookalike.jobs.dedup_result._write_reasons", fail)
    with pytest.raises(ResourceError, match="no space left"):
        dedup_to_folder([many_files], tmp_path / "out", Settings.parse(threads=2))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
