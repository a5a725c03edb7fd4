"""Vectors and bit strings through pairs, dedup, neighbors and the audit, against plain NumPy."""

from dataclasses import replace
from itertools import combinations
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from cramped import dedup_cramped, pairs_cramped
from lookalike.candidates.brute import all_together
from lookalike.engine.digest import band_keys
from lookalike.engine.method import choose
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.workers import Workers
from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.features.vectors import words_of
from lookalike.jobs.pairs import find_similar_pairs, pairs_of_files
from lookalike.matching import refine as refining
from lookalike.matching.join import JoinOptions
from lookalike.matching.vectors import near_pairs
from lookalike.read import open_data
from lookalike.tuning.plan import tune
from lookalike.types import VectorKind
from lookalike.verify.measures import Measure
from lookalike.verify.pairs import all_pairs, list_pairs_of_band

MEASURES = ("cosine", "euclidean", "hamming")


def values_of(measure, rows):
    """All cosines or distances, in 64 bits; NaN where there is none."""
    if measure == "hamming":
        bits = np.unpackbits(rows, axis=1).astype(np.int64)
        return (bits[:, None, :] != bits[None, :, :]).sum(-1).astype(float)
    rows = rows.astype(np.float64)
    if measure == "euclidean":
        return np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(-1))
    with np.errstate(invalid="ignore"):
        unit = rows / np.sqrt((rows**2).sum(1))[:, None]
    return unit @ unit.T


def pairs_of(measure, values, threshold, slack=0.0):
    near = values <= threshold + slack if measure != "cosine" else values >= threshold - slack
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(near, 1)))}


def found_by(table):
    return dict(zip(zip(table["left"].to_pylist(), table["right"].to_pylist()), table.columns[2].to_pylist()))


def near_copies(measure, count, seed, dimension=24, noise=0.15):
    """Vectors of which every second is a noisy copy of the one before."""
    draw = np.random.default_rng(seed)
    if measure == "hamming":
        rows = draw.integers(0, 256, (count, 2 * dimension), dtype=np.uint8)
        rows[1::2] = rows[::2][: len(rows[1::2])]
        for i in range(1, count, 2):
            for bit in draw.choice(16 * dimension, draw.integers(0, 12), replace=False):
                rows[i, bit // 8] ^= 1 << (bit % 8)
        return rows
    rows = draw.standard_normal((count, dimension)).astype(np.float32)
    rows[1::2] = rows[::2][: len(rows[1::2])] + noise * draw.standard_normal((count // 2, dimension))
    return rows


THRESHOLDS = {"cosine": 0.985, "euclidean": 0.8, "hamming": 8}


@pytest.mark.parametrize("measure", MEASURES)
def test_comparing_all_finds_every_pair_with_its_value(measure):
    rows = near_copies(measure, 700, seed=3)
    values = values_of(measure, rows)
    got = found_by(la.pairs(rows, measure=measure, threshold=THRESHOLDS[measure], recall=1))
    assert pairs_of(measure, values, THRESHOLDS[measure], -1e-9) <= set(got)
    assert set(got) <= pairs_of(measure, values, THRESHOLDS[measure], 1e-9)
    assert len(got) > 50
    for pair, value in got.items():
        assert value == pytest.approx(values[pair], abs=1e-12)
    assert la.pairs(rows, measure=measure, threshold=THRESHOLDS[measure], method="exact").column_names[2] == (
        "similarity" if measure == "cosine" else "distance"
    )


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("recall", [0.7, 0.95])
def test_bands_find_as_many_as_they_promise_and_nothing_else(measure, recall):
    found = wanted = 0
    expected = 0.0
    for seed in range(6):
        rows = near_copies(measure, 800, seed)
        everything = found_by(la.pairs(rows, measure=measure, threshold=THRESHOLDS[measure], recall=1))
        options = {"measure": measure, "threshold": THRESHOLDS[measure], "recall": recall, "method": "lsh"}
        got = found_by(la.pairs(rows, seed=seed, **options))
        assert set(got) <= set(everything)
        assert all(got[pair] == everything[pair] for pair in got)
        _, plan = plan_of(rows, **options, seed=seed)
        expected += float(np.sum(plan.curve(np.array(list(everything.values())))))
        found, wanted = found + len(got), wanted + len(everything)
    assert wanted > 500
    assert found >= recall * wanted - 4 * np.sqrt(wanted * recall * (1 - recall))
    assert abs(found - expected) < 4 * np.sqrt(wanted * 0.25 * 6)  # pairs of one seed hang together a little


def plan_of(rows, **options):
    settings, _ = choose([open_data(rows, "text")], Settings.parse(**options))
    return settings, settings.matching.plan


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MEASURES),
    st.integers(1, 9),
    st.lists(st.lists(st.integers(-2, 2), min_size=9, max_size=9), max_size=14),
    st.sampled_from(["0.25", "0.5", "0.75", "1"]),
    st.booleans(),
)
def test_small_collections_equal_brute_force(measure, dimension, numbers, threshold, wide):
    rows = np.array(numbers, np.int64).reshape(-1, 9)[:, :dimension]
    if measure == "hamming":
        rows = (rows % 4).astype(np.uint8)
        threshold = round(4 * float(threshold))
    else:
        rows = rows.astype(np.float64 if wide else np.float32)
        threshold = 4 * float(threshold) if measure == "euclidean" else float(threshold)
    values = values_of(measure, rows) if len(rows) else np.zeros((0, 0))
    if measure == "cosine":
        values = np.nan_to_num(values, nan=-5.0)
    got = found_by(la.pairs(rows, measure=measure, threshold=threshold, recall=1))
    assert pairs_of(measure, values, threshold, -1e-9) <= set(got) <= pairs_of(measure, values, threshold, 1e-9)
    removed = la.dedup(rows, measure=measure, threshold=threshold, recall=1).removed
    gone = dict(zip(removed["row"].to_pylist(), removed["kept_row"].to_pylist()))
    kept = []
    for i in range(len(rows)):  # the first kept one that is near, by the pairs that were found
        keeper = next((j for j in kept if (j, i) in got), None)
        assert gone.get(i) == keeper
        if keeper is None:
            kept.append(i)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("method", ["lsh", "brute"])
def test_threads_and_memory_change_nothing(measure, method):
    rows = near_copies(measure, 1500, seed=8)
    rows[100:140] = rows[7]
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method, "recall": 0.9}
    want, kept = la.pairs(rows, **options), la.dedup(rows, **options)
    assert want.num_rows > 450
    assert la.pairs(rows, threads=1, **options).equals(want)
    few = {"sets_bytes": 60_000}  # some hundred vectors at a time
    assert pairs_cramped(rows, few, **options).equals(want)
    assert dedup_cramped(rows, few, **options).removed.equals(kept.removed)
    other = la.pairs(pa.table({"text": pa.chunked_array([want_rows(rows[:999]), want_rows(rows[999:])])}), **options)
    assert other.equals(want)


def want_rows(rows):
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


@pytest.mark.parametrize("measure", ["cosine", "euclidean"])
@pytest.mark.parametrize("earlier", [0, 250])
def test_the_size_of_blocks_changes_nothing(measure, earlier):
    rows = np.random.default_rng(8).permutation(near_copies(measure, 700, seed=8).astype(np.float64))
    kind, wanted = VectorKind(24, "float64"), replace(Measure.parse(measure, THRESHOLDS[measure]), of_vectors=True)
    begins = np.arange(0, rows.size, 24)
    found = []
    for side in (2048, 100):
        with Workers(2) as workers:
            parts = list(near_pairs(kind, wanted, (begins, begins + 24, rows.ravel()), earlier, workers, side))
        found.append({(int(i), int(j)) for part in parts for i, j in zip(part.left, part.right)})
    assert found[0] == found[1]
    assert len(found[0]) > 50


@pytest.mark.parametrize("earlier", [0, 37])
def test_a_killed_comparison_resumes_where_it_stopped(earlier):
    rows = np.random.default_rng(5).permutation(near_copies("cosine", 60, seed=5))
    begins = np.arange(0, rows.size, rows.shape[1])
    given = VectorKind(rows.shape[1], str(rows.dtype)), replace(Measure.parse("cosine", 0.5), of_vectors=True)
    with Workers(2) as workers:

        def compared(first):
            parts = near_pairs(*given, (begins, begins + rows.shape[1], rows.ravel()), earlier, workers, 17, first)
            return [(part.reached, part.left.tolist(), part.right.tolist()) for part in parts]

        whole = compared(0)
        assert sum(len(left) for _, left, _ in whole) > 20
        for place, (reached, *_) in enumerate(whole):
            assert compared(reached) == whole[place + 1 :]


def test_the_choice_does_not_depend_on_how_the_input_is_cut():
    rows = near_copies("cosine", 5000, seed=4)
    halves = [open_data(rows[:1700], "text"), open_data(rows[1700:], "text")]
    options = Settings.parse(measure="cosine", threshold=0.9)
    assert choose(halves, options) == choose([open_data(rows, "text")], options)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("count", [2, 60, 3000])
def test_tune_prints_the_plan_that_every_job_uses(measure, count, tmp_path):
    options = {"measure": measure, "threshold": THRESHOLDS[measure], "recall": 0.95, "hashes": 128}
    plan = tune(**options, bits=384 if measure == "hamming" else None).to_dict()
    rows = near_copies(measure, count, seed=count)
    assert la.dedup(rows, method="lsh", **options).run["plan"] == plan
    np.save(tmp_path / "rows.npy", rows)
    settings = Settings.parse(method="lsh", **options)
    assert pairs_of_files([tmp_path / "rows.npy"], settings, tmp_path, Progress())[1]["plan"] == plan


def test_auto_compares_all_pairs_if_no_plan_reaches_the_recall():
    bits = near_copies("hamming", 200, seed=1)
    options = {"measure": "hamming", "threshold": 370, "hashes": 8}
    assert plan_of(bits, **options)[0].matching.method == "brute"
    with pytest.raises(UsageError, match=r"set hashes to 16 or more.*or use --method brute"):
        la.pairs(bits, method="lsh", **options)


@pytest.mark.parametrize("method", ["auto", "lsh"])
@pytest.mark.parametrize("threshold", [384, 385, 10_000])
def test_every_pair_is_within_as_many_bits_as_there_are(method, threshold):
    bits = near_copies("hamming", 40, seed=1)
    assert la.pairs(bits, measure="hamming", threshold=threshold, method=method).num_rows == 780


@pytest.mark.parametrize("method", ["auto", "lsh", "brute"])
def test_at_distance_0_only_equal_items_are_found(method):
    for measure in ("euclidean", "hamming"):
        rows = near_copies(measure, 60, seed=2)
        rows[40] = rows[3]
        got = found_by(la.pairs(rows, measure=measure, threshold=0, method=method))
        assert got == dict.fromkeys(pairs_of(measure, values_of(measure, rows), 0), 0.0)
        assert (3, 40) in got
        assert la.dedup(rows, measure=measure, threshold=0, method=method).removed["row"].to_pylist() == sorted(
            {j for _, j in got}
        )
    rows = near_copies("cosine", 60, seed=2)
    rows[40] = rows[3]
    assert (3, 40) in found_by(la.pairs(rows, measure="cosine", threshold=1, method=method))


@pytest.mark.parametrize("measure", MEASURES)
def test_two_collections(measure):
    rows = near_copies(measure, 400, seed=5)
    one, other = rows[:150], rows[150:]
    one[3] = other[9]
    options = {"measure": measure, "threshold": THRESHOLDS[measure]}
    values = values_of(measure, np.concatenate([one, other]))
    want = {(i, j - 150) for i, j in pairs_of(measure, values, THRESHOLDS[measure]) if i < 150 <= j}
    assert (3, 9) in want
    for method in ("brute", "lsh"):
        got = found_by(la.pairs(one, against=other, method=method, recall=0.9999, **options))
        assert set(got) == want


@pytest.mark.parametrize("policy", ["direct", "connected"])
@pytest.mark.parametrize("measure", MEASURES)
def test_removed_vectors_name_a_kept_one_with_their_exact_value(measure, policy):
    rows = near_copies(measure, 600, seed=6)
    rows[50:55] = rows[10]
    values = values_of(measure, rows)
    result = la.dedup(rows, measure=measure, threshold=THRESHOLDS[measure], policy=policy)
    column = "similarity" if measure == "cosine" else "distance"
    assert len(result.removed) > 50
    for one in result.removed.to_pylist():
        assert one[column] == pytest.approx(values[one["row"], one["kept_row"]], abs=1e-12)
        partner = int(one["pair_id"].rsplit(":", 1)[1]) if policy == "connected" else one["kept_row"]
        assert (min(partner, one["row"]), max(partner, one["row"])) in pairs_of(
            measure, values, THRESHOLDS[measure], 1e-9
        )
    assert len(result.kept) == 600 - len(result.removed)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("bounded", [False, True])
def test_neighbours_are_the_nearest_ties_in_input_order(measure, bounded):
    rows = near_copies(measure, 700, seed=7, dimension=5)
    rows[300:310] = rows[20]
    values = values_of(measure, rows)
    np.fill_diagonal(values, np.inf if measure != "cosine" else -np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(700), values.shape), values.round(9) * (-1) ** (measure == "cosine")))
    threshold = {"cosine": 0.99, "euclidean": 0.4, "hamming": 12}[measure]
    found = la.neighbors(rows, k=4, measure=measure, **({"threshold": threshold} if bounded else {}))
    got = {}
    for left, right, value in zip(found["left"].to_pylist(), found["right"].to_pylist(), found.columns[2].to_pylist()):
        assert value == pytest.approx(values[left, right], abs=1e-12)
        got.setdefault(left, []).append(right)
    for i in range(700):
        want = order[i][:4].tolist()
        if bounded:
            want = [
                j for j in want if (values[i, j] >= threshold if measure == "cosine" else values[i, j] <= threshold)
            ]
        assert [values[i, j].round(9) for j in got.get(i, [])] == [values[i, j].round(9) for j in want]
        same = [j for j in got.get(i, []) if values[i, j] == (0 if measure != "cosine" else 1)]
        assert same == sorted(same)


def test_the_audit_measures_what_the_bands_lose(tmp_path):
    rows = near_copies("cosine", 4000, seed=9)
    rows[5] = 0
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    options = {"measure": "cosine", "threshold": 0.97, "method": "lsh", "recall": 0.8}
    audit = la.dedup(rows, audit=4000, **options).run["audit"]
    everything = la.pairs(rows, **{**options, "method": "brute"}).num_rows
    assert audit["pairs"] == everything
    got = la.pairs(rows, **options).num_rows
    assert audit["found"] == got
    assert audit["interval"][0] <= audit["predicted"] <= audit["interval"][1]
    la.dedup(path, out=tmp_path / "out", **options)
    from lookalike.engine.progress import Progress
    from lookalike.jobs.audit import audit_folder

    assert audit_folder(tmp_path / "out", 4000, Progress())["found"] == got


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[1.0, 2.0], [1.0, float("nan")]], r"row 1: column 'text' holds nan"),
        ([[1.0, 2.0], [float("inf"), 1.0]], r"row 1: .*holds inf"),
        ([[1.0, 2.0], [1e80, 1.0]], r"row 1: .*below 1e70"),
        ([[1.0, 2.0], None, [1.0]], r"row 2: .*has 1 values; those before it have 2"),
        ([[1.0, 2.0], [1.0, None]], r"row 1: .*a null in a list"),
        ([[], [1.0]], r"row 0: .*has no numbers"),
    ],
)
@pytest.mark.parametrize("call", [la.pairs, la.dedup, la.neighbors])
def test_bad_vectors_are_named_by_their_row(call, rows, says):
    with pytest.raises(BadDataError, match=says):
        call(rows, measure="euclidean", threshold=1)


def test_a_signaling_nan_is_named_by_its_row():
    rows = np.ones((5, 2), np.float32)
    rows.view(np.uint32)[3, 1] = 0x7F800001  # calculating with it raises a warning, which is an error in tests
    with pytest.raises(BadDataError, match="row 3: column 'text' holds nan"):
        la.pairs(rows, measure="euclidean", threshold=1)


def test_items_that_are_not_vectors_are_refused_with_advice():
    with pytest.raises(BadDataError, match="vectors are lists of numbers"):
        la.pairs(["a text"], measure="euclidean", threshold=1)
    with pytest.raises(BadDataError, match="lists of uint8"):
        la.pairs([[1.5]], measure="hamming", threshold=1)
    with pytest.raises(BadDataError, match="choose --measure cosine"):
        la.pairs([[1.5], [2.5]])
    with pytest.raises(UsageError, match="one vector per row"):
        la.pairs(np.zeros(3), measure="cosine")
    with pytest.raises(UsageError, match="merge works on sets"):
        la.pairs(np.ones((3, 2)), measure="euclidean", threshold=1, method="merge")
    rows, options = open_data(np.eye(3), "text"), Settings.parse(measure="cosine", method="exact")
    with pytest.raises(UsageError, match="--index prefix is for sets"):
        find_similar_pairs([rows], options, Progress(), (), JoinOptions("prefix"))
    with pytest.raises(UsageError, match="largest distance"):
        la.pairs(np.ones((3, 2)), measure="euclidean", threshold=-1)
    with pytest.raises(UsageError, match="whole number of bits"):
        la.pairs(np.ones((3, 2), np.uint8), measure="hamming", threshold=1.5)
    with pytest.raises(UsageError, match="recall must be below 1"):
        la.pairs(np.ones((3, 2)), measure="euclidean", threshold=1, method="lsh", recall=1)
    with pytest.raises(ResourceError, match="GiB"):
        la.neighbors(np.ones((400_000, 64)), measure="euclidean", memory="512MiB")


def test_zero_vectors_and_nulls_are_similar_to_nothing():
    rows = [[0.0, 0.0], [0.0, 0.0], None, [1.0, 1.0], [2.0, 2.0]]
    assert found_by(la.pairs(rows, measure="cosine", threshold=0.5)) == {(3, 4): pytest.approx(1)}
    result = la.dedup(rows, measure="cosine", threshold=0.5)
    assert result.run["counts"]["empty"] == 3
    assert result.removed["row"].to_pylist() == [4]
    near = la.neighbors(rows, measure="cosine", k=3)
    assert sorted(zip(near["left"].to_pylist(), near["right"].to_pylist())) == [(3, 4), (4, 3)]
    assert found_by(la.pairs(rows, measure="euclidean", threshold=0)) == {(0, 1): 0.0}


def test_cosine_of_whole_numbers_is_of_sets_in_lists_and_of_vectors_in_matrices():
    rows = [[1, 2, 3], [3, 2, 1]]
    assert found_by(la.pairs(rows, measure="cosine", threshold=0.9)) == {(0, 1): 1.0}
    assert found_by(la.pairs(np.array(rows), measure="cosine", threshold=0.1))[0, 1] == pytest.approx(10 / 14)


def test_equal_vectors_are_not_compared_in_another_order():
    rows = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert la.pairs(rows, measure="euclidean", threshold=0.1).num_rows == 0


def test_more_similar_vectors_than_a_chunk_has_room_for():
    rows = np.random.default_rng(3).standard_normal((300, 4)) * 0.001 + 1
    kind, wanted = VectorKind(4, "float64"), replace(Measure.parse("cosine", 0.9), of_vectors=True)
    sets = words_of(rows, np.ones(300, bool), kind)
    given = kind.as_rows(sets.indptr[:-1], sets.indptr[1:], sets.elements)
    parts = list(list_pairs_of_band(all_together(np.arange(300)), given, wanted.arguments, room=1, chunk=100))
    assert max(len(part.left) for part in parts) <= 300
    found = all_pairs(iter(parts))
    assert sorted(zip(found.left.tolist(), found.right.tolist())) == list(combinations(range(300), 2))


def test_many_repeated_pairs_go_to_disk_and_are_returned_once():
    rows = np.random.default_rng(3).standard_normal((200, 4)) * 0.001 + 1
    want = la.pairs(rows, measure="cosine", threshold=0.9, method="lsh")
    assert pairs_cramped(rows, {"sets_bytes": 50_000}, measure="cosine", threshold=0.9, method="lsh").equals(want)
    assert want.num_rows == 200 * 199 // 2


def test_large_buckets_of_vectors_are_compared_as_they_are(monkeypatch):
    monkeypatch.setattr(refining, "join_prefixes", None)  # must not be asked
    rows = np.random.default_rng(3).standard_normal((900, 6)) * 0.0001 + 1
    result = la.dedup(rows, measure="cosine", threshold=0.99, method="lsh")
    assert len(result.removed) == 899


def descriptors(path):
    return np.fromfile(path, np.float32).reshape(-1, 129)[:, 1:].astype(np.float64)


class TestSift:
    """10,000 image descriptors of 128 numbers."""

    @pytest.mark.parametrize(("measure", "threshold"), [("cosine", 0.95), ("euclidean", 150)])
    def test_pairs_equal_brute_force(self, data_folder, measure, threshold):
        path = data_folder / "vectors" / "input_vectors.fvecs"
        wide = descriptors(path)
        if measure == "cosine":
            wide /= np.linalg.norm(wide, axis=1, keepdims=True)
        near = set()
        for low in range(0, len(wide), 1000):
            some, others = wide[low : low + 1000], wide[low:]  # only pairs i < j
            products = some @ others.T
            if measure == "euclidean":
                close = (some**2).sum(1)[:, None] + (others**2).sum(1) - 2 * products <= threshold**2
            else:
                close = products >= threshold
            near |= {(int(i) + low, int(j) + low) for i, j in zip(*np.nonzero(close)) if i < j}
        got = la.pairs(path, measure=measure, threshold=threshold, recall=1)
        rows = {tuple(int(one.rsplit(":", 1)[1]) for one in (a, b)) for a, b in
                zip(got["left"].to_pylist(), got["right"].to_pylist())}  # fmt: skip
        assert len(rows ^ near) <= 2  # right at the threshold, rounding may decide
        assert len(rows) > 1000
        some = la.pairs(path, measure=measure, threshold=threshold, recall=0.9, method="lsh")
        assert some.num_rows >= ceil(0.9 * len(rows))

    def test_the_hundred_nearest_are_those_that_are_known(self, data_folder):
        names = "groundtruth.ivecs", "queries.fvecs", "input_vectors.fvecs"
        truth, asked, others = (data_folder / "vectors" / name for name in names)
        truth = np.fromfile(truth, np.int32).reshape(-1, 101)[:, 1:]
        found = la.neighbors(asked, against=others, k=100, measure="euclidean")
        base, queries = descriptors(others), descriptors(asked)
        want = np.sqrt(((base[truth] - queries[:, None, :]) ** 2).sum(-1))  # of equally near ones either may be named
        assert np.abs(found["distance"].to_numpy().reshape(100, 100) - want).max() < 1e-9


def test_kept_rows_keep_their_format(tmp_path):
    rows = near_copies("euclidean", 60, seed=2)
    np.save(tmp_path / "rows.npy", rows)
    record = np.concatenate([np.full((60, 1), 24, np.int32).view(np.float32), rows], axis=1)
    record.tofile(tmp_path / "rows.fvecs")
    pq.write_table(pa.table({"id": range(60), "text": want_rows(rows)}), tmp_path / "rows.parquet")
    names = ["rows.npy", "rows.fvecs", "rows.parquet"]
    kept = []
    for name in names:
        la.dedup(tmp_path / name, out=tmp_path / f"out-{name}", measure="euclidean", threshold=0.8)
        kept.append(tmp_path / f"out-{name}" / "kept" / name)
    matrix = np.load(kept[0])
    assert 30 <= len(matrix) < 60
    assert (np.fromfile(kept[1], np.float32).reshape(-1, 25)[:, 1:] == matrix).all()
    assert pq.read_table(kept[2])["text"].to_pylist() == matrix.tolist()
    both = la.dedup([tmp_path / "rows.npy", tmp_path / "rows.fvecs"], measure="euclidean", threshold=0)
    assert len(both.removed) == 60


def pairs_at(measure, threshold, count, seed):
    """Two matrices whose rows are just at the threshold from each other."""
    draw = np.random.default_rng(seed)
    if measure == "hamming":
        one = draw.integers(0, 2, (count, 128), dtype=np.uint8)
        other = one.copy()
        for row in other:
            row[draw.choice(128, threshold, replace=False)] ^= 1
        words = [np.packbits(bits, axis=1, bitorder="little").view(np.uint64) for bits in (one, other)]
        return words[0], words[1]
    one = draw.standard_normal((count, 32))
    aside = draw.standard_normal((count, 32))
    if measure == "euclidean":
        return one, one + threshold * aside / np.linalg.norm(aside, axis=1, keepdims=True)
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    aside -= (aside * one).sum(1, keepdims=True) * one
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    return one, threshold * one + np.sqrt(1 - threshold**2) * aside


@pytest.mark.parametrize("recall", [0.6, 0.9, 0.99])
@pytest.mark.parametrize(
    ("measure", "threshold"), [("cosine", 0.7), ("cosine", 0.95), ("euclidean", 2), ("hamming", 9)]
)
def test_pairs_right_at_the_threshold_are_found_as_often_as_the_plan_says(measure, threshold, recall):
    kind = VectorKind(128, "bits") if measure == "hamming" else VectorKind(32, "float64")
    plan = tune(threshold, recall, measure=measure, bits=128 if measure == "hamming" else None)
    assert recall <= plan.recall
    assert plan.rows > 1
    found = []
    for seed in range(8):  # other pairs with other functions, since one set of functions favours some directions
        one, other = pairs_at(measure, threshold, 500, seed)
        keys = [band_keys(rows, plan, kind, seed) for rows in (one, other)]
        found.append((keys[0] == keys[1]).any(axis=0))
    share = np.mean(found)
    spread = 5 * np.sqrt(plan.recall * (1 - plan.recall) / 4000) + 0.004
    assert abs(share - plan.recall) < spread


def test_integers_of_more_than_53_bits_are_rounded():
    whole = np.array([[2**60 + 1, 3], [2**60, 3], [-(2**62), 5]], np.int64)
    found = la.pairs(whole, measure="euclidean", threshold=1)
    assert list(zip(found["left"].to_pylist(), found["right"].to_pylist())) == [(0, 1)]


def test_products_of_large_numbers_of_32_bits_do_not_overflow():
    large = np.array([[3e30, 3e30], [3e30, -3e30], [-3e30, 3e30], [3e30, 3e30]], np.float32)
    found = la.pairs(large, measure="euclidean", threshold=1)  # warnings are errors here
    assert list(zip(found["left"].to_pylist(), found["right"].to_pylist())) == [(0, 3)]
