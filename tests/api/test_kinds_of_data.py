"""Every function takes the same data in every form: paths, tables, data frames, datasets, lists, arrays."""

from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import BadDataError, LookalikeError, UsageError

# Imported where they are used: collecting the tests would take a third longer.
FORMS = {
    "list of dicts": lambda rows, folder: rows,
    "Arrow table": lambda rows, folder: pa.Table.from_pylist(rows),
    "Arrow batch": lambda rows, folder: pa.RecordBatch.from_pylist(rows),
    "pandas": lambda rows, folder: import_module("pandas").DataFrame(rows),
    "polars": lambda rows, folder: import_module("polars").DataFrame(rows),
    "DuckDB": lambda rows, folder: import_module("duckdb").from_arrow(pa.Table.from_pylist(rows)),
    "dataset": lambda rows, folder: import_module("datasets").Dataset.from_list(rows),
    "str": lambda rows, folder: str(written(rows, folder)),
    "Path": lambda rows, folder: written(rows, folder),
    "list of Path": lambda rows, folder: [written(rows, folder)],
    "tuple of Path": lambda rows, folder: (written(rows, folder),),
}
IN_MEMORY = [form for form in FORMS if "str" not in form and "Path" not in form]
TEXTS = [
    "one two three four five six seven eight",
    "one two three four five six seven eight nine",
    "quite another text of words",
]
ROWS = [
    {"id": f"item {n}", "text": text, "set": text.split(), "vector": [1.0, n, 2.0 * n]} for n, text in enumerate(TEXTS)
]


def written(rows, folder):
    path = folder / "given.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.fixture(params=FORMS)
def data(request, tmp_path):
    return FORMS[request.param](ROWS, tmp_path)


def test_texts_sets_and_vectors(data):
    assert la.dedup(data, threshold=0.7).run["counts"]["removed"] == 1
    assert la.pairs(data, threshold=0.7)["similarity"].to_pylist() == [0.8]
    assert la.pairs(data, "set", threshold=0.7)["similarity"].to_pylist() == [8 / 9]
    assert la.pairs(data, threshold=0.7, id="id").select(["left", "right"]).to_pylist() == [
        {"left": "item 0", "right": "item 1"}
    ]
    assert la.neighbors(data, 1, "set", id="id")["right"].to_pylist() == ["item 1", "item 0"]
    assert la.neighbors(data, 1, "vector", measure="cosine", id="id")["right"].to_pylist()[0] == "item 1"
    assert la.sketch(data, hashes=16).values.shape == (3, 16)
    assert la.transpose(data, "set").num_rows == 14
    assert la.link(data, fields=["text:text"]).run["counts"]["left"] == 3


def test_two_collections(data):
    assert la.dedup(data, reference=data).run["counts"]["removed"] == 3
    assert la.pairs(data, against=data, threshold=0.7).num_rows == 5
    assert la.neighbors(data, 1, against=data)["similarity"].to_pylist() == [1, 1, 1]
    np.testing.assert_allclose(la.kernel(data, data, column="set")[:2, :2], [[1, 8 / 9], [8 / 9, 1]])
    assert la.link(data, data, ["text:text"]).run["counts"]["right"] == 3


def test_a_matrix_of_sets_and_of_vectors(data):
    np.testing.assert_allclose(la.kernel(data)[0], [1, 0.8, 0])
    vectors = np.array([row["vector"] for row in ROWS])
    wanted = la.kernel(vectors, measure="cosine")
    assert wanted[0, 1] == pytest.approx(1 / np.sqrt(6))
    np.testing.assert_allclose(la.kernel(data, column="vector", measure="cosine"), wanted)
    np.testing.assert_allclose(la.kernel(vectors, data, column="vector", measure="cosine"), wanted)
    np.testing.assert_allclose(la.kernel(vectors.tolist(), measure="cosine"), wanted)
    # sets have a cosine, too
    assert la.kernel(data, column="set", measure="cosine")[0, 1] == pytest.approx(8 / np.sqrt(72))
    with pytest.raises(UsageError, match="b must hold vectors"):
        la.kernel(vectors, data, column="set", measure="cosine")


@pytest.mark.parametrize("form", FORMS)
def test_hamming_lsh(form, tmp_path):
    sets = [list(range(100)), list(range(5, 105)), list(range(200, 300))]
    wanted = la.hamming_lsh(sets)
    assert wanted.num_rows == 1
    given = FORMS[form]([{"set": one} for one in sets], tmp_path)
    assert la.hamming_lsh(given, column="set").equals(wanted)


def test_values_that_are_not_sets():
    with pytest.raises(BadDataError, match="not lists"):
        la.hamming_lsh(pa.table({"text": ["a b"]}))
    with pytest.raises(UsageError, match="cannot be read as items"):
        la.hamming_lsh([["a"], [1]])
    assert la.hamming_lsh([]).num_rows == 0


PEOPLE = np.random.default_rng(1).normal(170, 10, (60, 12))


def people(rows, form, folder):
    """Persons with a name and some measurements."""
    named = [{"name": f"person {n}", **{f"m{at}": float(x) for at, x in enumerate(row)}} for n, row in rows]
    return FORMS[form](named, folder)


@pytest.mark.parametrize("form", FORMS)
def test_faces(form, tmp_path):
    (tmp_path / "probes").mkdir()
    gallery = people(enumerate(PEOPLE), form, tmp_path)
    probes = people([(99, PEOPLE[7] + 0.01)], form, tmp_path / "probes")
    wanted = la.faces(PEOPLE[[7]] + 0.01, PEOPLE).to_pylist()
    assert wanted == [{"left": 0, "right": 7, "score": 12, "rank": 1}]
    assert la.faces(probes, gallery, id="name").to_pylist() == [wanted[0] | {"left": "person 99", "right": "person 7"}]
    some = la.faces(probes, gallery, id="name", columns=["m*"], without=["m1?"])
    assert some["score"].to_pylist() == [10]
    if form in IN_MEMORY:
        assert la.faces(probes, gallery).to_pylist() == wanted
        assert la.faces(probes, PEOPLE).to_pylist() == wanted


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.ndarray.tolist,
        lambda rows: pa.array(rows.tolist()),
        lambda rows: import_module("polars").Series(rows.tolist()),
    ],
)
def test_faces_without_names(form):
    twice = np.concatenate([PEOPLE, PEOPLE[:1] + 0.01])
    assert la.faces(form(twice))["right"].to_pylist() == [60, 0]
    with pytest.raises(UsageError, match="named columns"):
        la.faces(form(twice), id="name")


def test_columns_of_the_gallery_are_found_by_name():
    table = pa.table({f"m{at}": PEOPLE[:, at] for at in range(12)})
    turned = table.select(table.column_names[::-1])
    assert la.faces(table.slice(5, 1), turned)["right"].to_pylist() == [5]
    with pytest.raises(BadDataError, match="gallery: no column 'm0'"):
        la.faces(table, table.drop_columns("m0"))
    with pytest.raises(BadDataError, match="probes: row 0, column m0: the value is missing"):
        la.faces(pa.table({"m0": pa.array([None], pa.float64())}))


PRINTS = np.random.default_rng(1).uniform(0, 300, (12, 40, 2))


@pytest.mark.parametrize("form", FORMS)
def test_fingerprints(form, tmp_path):
    (tmp_path / "probes").mkdir()
    rows = [{"y": y, "x": x, "print": f"finger {n}"} for n, one in enumerate(PRINTS.tolist()) for x, y in one]
    gallery = FORMS[form](rows, tmp_path)
    probe = FORMS[form]([row | {"print": "latent"} for row in rows[120:160]], tmp_path / "probes")
    wanted = la.fingerprints([PRINTS[3]], list(PRINTS), triples=200).to_pylist()
    assert wanted == [{"left": 0, "right": 3, "score": 1.0, "rank": 1}]
    assert la.fingerprints(probe, gallery, triples=200).to_pylist() == [
        wanted[0] | {"left": "latent", "right": "finger 3"}
    ]
    assert la.fingerprints(PRINTS[[3]], gallery, triples=200)["right"].to_pylist() == ["finger 3"]
    if form in IN_MEMORY:  # a table for each print; its columns go by name
        tables = [FORMS[form]([{"y": y, "x": x} for x, y in one], tmp_path) for one in PRINTS.tolist()]
        assert la.fingerprints(tables[3:4], tables, triples=200).to_pylist() == wanted
        assert la.fingerprints(tables[3], tables, triples=200).to_pylist() == wanted


def test_a_list_of_str_is_texts_and_a_list_of_path_is_files(tmp_path):
    path = written(ROWS, tmp_path)
    assert la.dedup([str(path)]).run["counts"]["items"] == 1
    assert la.dedup([path]).run["counts"]["items"] == 3
    with pytest.raises(UsageError, match="only the command line"):
        la.pairs("-")


def test_categories_of_polars_are_texts_and_ids():
    pl = import_module("polars")
    kind = pl.Categorical
    rows = pl.DataFrame({"id": pl.Series(["p", "q"], dtype=kind), "text": pl.Series(["a b c d e f"] * 2, dtype=kind)})
    assert la.pairs(rows, id="id").to_pylist() == [{"left": "p", "right": "q", "similarity": 1.0}]
    assert la.dedup(rows, id="id").kept["id"].to_pylist() == ["p"]


class Name(pa.ExtensionType):
    """A type that is defined in Python has no hash."""

    def __init__(self):
        super().__init__(pa.string(), "tests.name")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, kind, stored):
        return cls()


def test_types_that_users_define_are_texts_and_ids():
    ids, texts = (pa.ExtensionArray.from_storage(Name(), pa.array(some)) for some in (["p", "q"], ["a b c d e f"] * 2))
    rows = pa.table({"id": ids, "text": texts})
    assert la.pairs(rows, id="id").to_pylist() == [{"left": "p", "right": "q", "similarity": 1.0}]
    assert la.dedup(rows, id="id").kept.schema == rows.schema
    assert "2 records" in repr(la.link(rows, fields=["text"]))


def test_a_table_with_two_columns_of_one_name_is_refused():
    with pytest.raises(BadDataError, match="Duplicate column names"):
        la.pairs(import_module("pandas").DataFrame([["a", "b"]], columns=["text", "text"]))


def test_tokens_that_are_not_unicode_are_refused():
    with pytest.raises(BadDataError, match="not valid Unicode"):
        la.MinHash(hashes=4).signatures([["\ud800"]])


@pytest.mark.parametrize("text", ["a text that was not put in a list", "long " * 3000, "x" * 5000])
def test_a_text_that_is_not_a_path_is_refused_with_advice(text):
    with pytest.raises(UsageError, match=r"no such file or folder; if it is a text, pass a list") as caught:
        la.pairs(text)
    assert len(str(caught.value)) < 150


TWICE = pa.table([pa.array(["a b", "a b"])] * 2, names=["text", "text"])


@pytest.mark.parametrize("call", [la.dedup, la.pairs, la.neighbors, la.sketch, la.faces, la.fingerprints])
def test_columns_of_one_name_are_named(call):
    with pytest.raises(LookalikeError, match="column 'text' occurs more than once; rename one of them"):
        call(TWICE)


@pytest.mark.parametrize("call", [la.faces, la.fingerprints])
@pytest.mark.parametrize("values", [[10**40], [1j], [1, "a"]])
def test_what_cannot_be_a_table_is_one_line(call, values):
    data = import_module("pandas").DataFrame({"x": values}) if values[0] != 10**40 else [{"x": values[0]}]
    with pytest.raises(LookalikeError, match=r"^data(: column 'x')? cannot be read"):
        call(data)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shingle": 5}, "--shingle 5: write word:5"),
        ({"keep": None}, "--keep must be text, not None"),
        ({"column": 7}, "--column must be text, not 7"),
        ({"column": "\ud800"}, "--column '\\\\ud800': contains half"),
        ({"id": []}, r"--id must be text, not \[\]"),
        ({"seed": 1.5}, "--seed must be a whole number, not 1.5"),
        ({"hashes": "many"}, "--hashes must be a whole number, not 'many'"),
        ({"audit": True}, "--audit must be a whole number, not True"),
        ({"encoding": None}, "--encoding None is not known"),
        ({"into": 3}, "into must be the path of an index, or an Index, not 3"),
    ],
)
def test_options_of_a_wrong_type_are_one_line(options, said):
    with pytest.raises(LookalikeError, match=said):
        la.dedup(["a b"], **options)


def test_numbers_of_numpy_are_numbers(tmp_path):
    one = np.int64(64)
    with la.Index.create(tmp_path / "index", hashes=one, seed=one, bag=np.bool_(True), recall=np.float64(0.5)) as index:
        index.add(["a b c d e f"])
    assert la.link([{"name": "Ann Lee"}, {"name": "Ann Lee"}], fields="name", seed=one).run["options"]["seed"] == 64
    assert la.sketch(["a b c d e f"], seed=one).seed == 64


@pytest.mark.parametrize("data", [5, None, b"a b", ["a"]])
def test_shingles_are_those_of_a_text(data):
    with pytest.raises(LookalikeError, match="shingles are those of one text"):
        la.shingles(data)
