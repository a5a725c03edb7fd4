from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.read import looks_like_paths, open_data
from lookalike.types import Wanted
from looking import SMALL, column, features, stored

TEXTS = ["first text", None, "third text", "l'été"] * 5
TABLE = pa.table({"id": range(20), "text": TEXTS, "nested": [{"a": [1, None]}, None] * 10})


def frame(kind: str) -> Any:
    """The same table as others know it."""
    import datasets
    import duckdb
    import pandas as pd
    import polars as pl

    values = {"id": list(range(20)), "text": TEXTS, "nested": TABLE["nested"].to_pylist()}
    makers = {
        "table": lambda: TABLE,
        "batch": lambda: TABLE.to_batches()[0],
        "reader": TABLE.to_reader,
        "chunks": lambda: pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7)]),
        "dicts": TABLE.to_pylist,
        "polars": lambda: pl.DataFrame(values),
        "pandas": lambda: pd.DataFrame(values),
        "pandas, Arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": lambda: duckdb.from_arrow(TABLE),
        "datasets": lambda: datasets.Dataset(TABLE),
        "datasets, rows chosen": lambda: datasets.Dataset(pa.concat_tables([TABLE, TABLE.slice(0, 3)])).select(
            range(20)
        ),
    }
    assert sorted(makers) == sorted(FRAMES)
    return makers[kind]()


FRAMES = [
    "table",
    "batch",
    "reader",
    "chunks",
    "dicts",
    "polars",
    "pandas",
    "pandas, Arrow types",
    "duckdb",
    "datasets",
    "datasets, rows chosen",
]


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_of_every_kind(kind: str) -> None:
    source = open_data(frame(kind), "text", limits=SMALL)
    assert features(source) == TEXTS
    assert column(source, "id").to_pylist() == list(range(20))
    assert source.table["nested"].to_pylist() == TABLE["nested"].to_pylist()
    assert source.name == "data"
    assert len(list(source.blocks())) > 1
    kept = pa.concat_tables(stored(source, lambda row: row % 4 == 3))
    assert kept["id"].to_pylist() == [3, 7, 11, 15, 19]


def test_a_shuffled_dataset_keeps_its_order() -> None:
    import datasets

    shuffled = datasets.Dataset(TABLE).shuffle(seed=1)
    assert features(open_data(shuffled, "text")) == list(shuffled["text"])
    assert column(open_data(shuffled, "text"), "id").to_pylist() == list(shuffled["id"]) != list(range(20))


def test_a_dataset_with_splits_is_refused() -> None:
    import datasets

    with pytest.raises(UsageError, match="pass one of train"):
        open_data(datasets.DatasetDict({"train": datasets.Dataset(TABLE)}), "text")


def test_a_streamed_dataset() -> None:
    import datasets

    assert features(open_data(datasets.Dataset(TABLE).to_iterable_dataset(), "text")) == TEXTS


def columns() -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    return {
        "list": TEXTS,
        "tuple": tuple(TEXTS),
        "generator": iter(TEXTS),
        "array": pa.array(TEXTS),
        "chunked": pa.chunked_array([TEXTS[:3], TEXTS[3:]]),
        "view": pa.array(TEXTS, pa.string_view()),
        "dictionary": pa.array(TEXTS).dictionary_encode(),
        "polars": pl.Series("other", TEXTS),
        "pandas": pd.Series(TEXTS),
        "numpy": np.array(TEXTS, dtype=object),
    }


@pytest.mark.parametrize("kind", columns())
def test_single_columns_of_every_kind(kind: str) -> None:
    source = open_data(columns()[kind], "body", limits=SMALL)
    assert features(source, "body") == TEXTS
    assert source.column_names() == ["body"]
    assert {block.items(Wanted("body")).features.type for block in source.blocks()} == {pa.large_string()}


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ([["b", "a"], [], None], [["b", "a"], [], None]),
        ([("b", "a"), ()], [["b", "a"], []]),
        ([{"b", "a"}, frozenset()], [["a", "b"], []]),
        ([{3, 1}, {2}], [[1, 3], [2]]),
        ([[3, 1], [2]], [[3, 1], [2]]),
        ([[], []], [[], []]),
    ],
)
def test_tokens(data: list[Any], wanted: list[Any]) -> None:
    (block,) = open_data(data, "text").blocks()
    found = block.items(Wanted("text")).features
    assert pa.types.is_list(found.type) or pa.types.is_large_list(found.type)
    assert found.to_pylist() == wanted


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (5, "data is a int; accepted: "),
        (b"bytes", "data is a bytes; accepted: "),
        ({"text": ["a"]}, "data is a dict; accepted: "),
        ([1, 2], "data contains values of type int; accepted: "),
        (["a", 5], "data row 1 is a int, but the rows before it are not"),
        ([["a"], "b"], "data row 1 is a str, but the rows before it are not"),
        ([{1, "a"}], "data cannot be read as items: .*; accepted: "),
        ([b"x"], "data contains values of type bytes; accepted: "),
        ([{"text": 1}, "a"], "data row 1 is a str, but the rows before it are not"),
        ([["a", 1]], "data cannot be read as items: .*; accepted: "),
    ],
)
def test_wrong_kinds_are_refused(data: Any, says: str) -> None:
    with pytest.raises(UsageError, match=f"^{says}"):
        open_data(data, "text")


def test_wrong_columns_are_bad_data() -> None:
    with pytest.raises(BadDataError, match="no column 'body'; its columns are 'id', 'text', 'nested'"):
        features(open_data(TABLE, "body"), "body")
    with pytest.raises(BadDataError, match="column 'id' is of type int64; accepted are text"):
        features(open_data(TABLE, "id"), "id")
    with pytest.raises(BadDataError, match="row 1: contains half of a surrogate"):
        open_data(["a", "\ud800"], "text")


def test_bad_bytes_in_a_table() -> None:
    raw = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    source = open_data(pa.table({"text": raw}), "text", limits=SMALL)
    with pytest.raises(BadDataError, match="data: row 1: column 'text': not valid UTF-8"):
        features(source)
    assert features(source, skip_errors=True) == ["a", "c"]


def test_no_items() -> None:
    assert features(open_data([], "text")) == []
    assert features(open_data(TABLE.slice(0, 0), "text")) == []
    assert features(open_data([None, None], "text")) == [None, None]


def test_paths_and_texts_are_distinguished() -> None:
    assert looks_like_paths("a.jsonl")
    assert looks_like_paths(Path("a.jsonl"))
    assert looks_like_paths([Path("a.jsonl"), Path("b")])
    assert not looks_like_paths(["a.jsonl"])
    assert not looks_like_paths([])
    assert not looks_like_paths(TABLE)
