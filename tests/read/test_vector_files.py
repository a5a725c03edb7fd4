"""Files of vectors: what is read, what is refused, and that kept rows are as they were."""

import io

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import BadDataError
from lookalike.read import open_inputs
from lookalike.types import Wanted
from lookalike.write import open_kept


def opened(path):
    [source] = open_inputs([path])
    return source


def vectors_in(source):
    return [row for block in source.blocks() for row in block.items(Wanted("text")).features.to_pylist()]


def write_vecs(path, rows):
    with path.open("wb") as file:
        for row in rows:
            file.write(np.int32(len(row)).tobytes() + np.asarray(row).tobytes())


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "int32", "uint8", "int64", "bool"])
def test_npy_of_any_numbers(tmp_path, kind):
    rows = np.arange(-6, 6).reshape(4, 3).astype(kind)
    np.save(tmp_path / "a.npy", rows)
    source = opened(tmp_path / "a.npy")
    assert vectors_in(source) == rows.tolist()
    assert (source.estimate_rows(), source.column_names(), source.locate(2)[1]) == ((4, True), ["text"], 2)
    assert source.holds_vectors


def test_rows_in_the_order_of_columns_are_read_by_rows(tmp_path):
    rows = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "a.npy", rows)
    assert vectors_in(opened(tmp_path / "a.npy")) == rows.tolist()


@pytest.mark.parametrize(("suffix", "kind"), [(".fvecs", np.float32), (".bvecs", np.uint8)])
def test_vectors_after_their_dimension(tmp_path, suffix, kind):
    rows = np.arange(12).reshape(4, 3).astype(kind)
    path = tmp_path / f"a{suffix}"
    write_vecs(path, rows)
    assert vectors_in(opened(path)) == rows.tolist()
    path.write_bytes(b"")
    assert vectors_in(opened(path)) == []


@pytest.mark.parametrize(
    ("rows", "extra", "says"),
    [
        ([[1, 2], [1, 2, 3], [1, 2]], b"", "row 1: dimension 3; the vectors before it have dimension 2"),
        ([[1, 2], [1, 2]], b"\x02\x00\x00\x00\x01", "row 2: the file ends within it"),
        ([[]], b"", "row 0: does not start with the dimension"),
        ([], b"\x01", "row 0: does not start with the dimension"),
    ],
)
def test_bad_records_are_named(tmp_path, rows, extra, says):
    path = tmp_path / "a.fvecs"
    write_vecs(path, [np.array(row, np.float32) for row in rows])
    path.write_bytes(path.read_bytes() + extra)
    with pytest.raises(BadDataError, match=f"a.fvecs: {says}"):
        vectors_in(opened(path))


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.arange(3.0), "save a matrix of numbers"),
        (np.zeros((2, 2, 2)), "save a matrix of numbers"),
        (np.zeros((2, 0)), "dimension 0"),
        (np.array([["a"]]), "save a matrix of numbers"),
        (np.zeros((2, 2), ">f8"), "save them as float32 or float64"),
        (np.zeros((2, 2), np.complex64), "save a matrix of numbers"),
        (np.zeros((2, 2), np.longdouble), "save them as float32 or float64"),
    ],
)
def test_other_arrays_are_refused(tmp_path, array, says):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(BadDataError, match=f"a.npy: .*{says}"):
        vectors_in(opened(tmp_path / "a.npy"))


def test_nothing_in_a_file_is_run(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{"x": 1}]], object), allow_pickle=True)
    with pytest.raises(BadDataError, match=r"a\.npy: has an array of shape \(1, 1\), type object"):
        vectors_in(opened(tmp_path / "a.npy"))
    (tmp_path / "b.npy").write_bytes(b"no array at all")
    with pytest.raises(BadDataError, match=r"b\.npy"):
        vectors_in(opened(tmp_path / "b.npy"))


@pytest.mark.parametrize("rows", [0, 1, 9, 11, 100_001])
def test_kept_rows_are_a_file_that_numpy_reads(tmp_path, rows):
    given = np.random.default_rng(1).standard_normal((rows + 3, 5)).astype(np.float32)
    np.save(tmp_path / "a.npy", given)
    source = opened(tmp_path / "a.npy")
    kept = np.arange(rows + 3) < rows
    with open_kept(tmp_path, source) as writer:
        first = 0
        for block in source.blocks():
            writer.write(block.kept_rows(kept[first : first + block.length]))
            first += block.length
    raw = (tmp_path / "kept" / "a.npy").read_bytes()
    assert np.array_equal(np.load(io.BytesIO(raw)), given[:rows])
    assert len(raw) % 64 == (rows * 20) % 64  # the numbers begin where NumPy wants them


def test_packed_bits_of_fixed_width_are_bytes(tmp_path):
    import pyarrow.parquet as pq

    column = pa.array([b"ab", None, b"cd", b"ef"], pa.binary(2))[1:]
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    assert vectors_in(opened(tmp_path / "a.parquet")) == [None, [99, 100], [101, 102]]


def test_a_file_of_python_2_is_read_in_silence(tmp_path):
    """Its numbers have an L at their end; NumPy warns of it, and warnings are errors here."""
    np.save(tmp_path / "a.npy", np.eye(3, dtype=np.float32))
    data = (tmp_path / "a.npy").read_bytes().replace(b"(3, 3), } ", b"(3L, 3), }")
    (tmp_path / "a.npy").write_bytes(data)
    assert la.pairs(tmp_path / "a.npy", measure="euclidean", threshold=2).num_rows == 3
