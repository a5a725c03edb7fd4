from __future__ import annotations

import datetime
import gc
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.read import open_inputs
from lookalike.read.parquet import source as parquet
from lookalike.types import READ_LIMITS, ReadLimits, Source, Wanted
from looking import SMALL, column, features, rejected, stored

ROWS = 20
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int32()),
        "text": [None if n == 7 else f"text {n}" for n in range(ROWS)],
        "nested": [{"a": [n, None], "b": {"c": str(n)}} if n % 3 else None for n in range(ROWS)],
        "when": pa.array([datetime.datetime(2020, 1, 1)] * ROWS, pa.timestamp("us", "UTC")),
        "class": pa.array([f"c{n % 2}" for n in range(ROWS)]).dictionary_encode(),
    }
).replace_schema_metadata({"origin": "a test"})


def source_of(
    folder: Path, table: pa.Table = TABLE, name: str = "in.parquet", limits: ReadLimits = READ_LIMITS, **options: Any
) -> Source:
    pq.write_table(table, folder / name, **options)
    return open_inputs([folder / name], limits=limits)[0]


@pytest.mark.parametrize("group", [4, 7, 100])
def test_rows_are_returned_complete(tmp_path: Path, group: int) -> None:
    source = source_of(tmp_path, row_group_size=group, limits=SMALL)
    assert features(source) == TABLE["text"].to_pylist()
    assert column(source, "id").equals(TABLE["id"])
    assert all(len(block.items(Wanted("text"))) <= 3 for block in source.blocks())
    kept = pa.concat_tables(stored(source, lambda row: row % 2 == 1))
    assert kept.equals(TABLE.filter(pa.array([row % 2 == 1 for row in range(ROWS)])))
    assert pa.concat_tables(stored(source)).equals(TABLE)


def test_layout(tmp_path: Path) -> None:
    layout = source_of(tmp_path, row_group_size=7, compression="zstd").layout()
    assert (layout.kind, layout.compression, layout.row_group_rows) == ("table", "zstd", 7)
    assert layout.schema.equals(pq.read_schema(tmp_path / "in.parquet"), check_metadata=True)
    assert layout.schema.metadata == {b"origin": b"a test"}
    assert source_of(tmp_path, compression="none").layout().compression == "none"
    assert source_of(tmp_path, TABLE.slice(0, 0)).layout().row_group_rows == 0


def test_views_of_strings(tmp_path: Path) -> None:
    views = pa.table(
        {
            "text": pa.array(["a", "b", "c"], pa.string_view()),
            "more": pa.array([["x"], None, []], pa.list_(pa.string_view())),
        }
    )
    source = source_of(tmp_path, views, limits=SMALL)
    (kept,) = stored(source, lambda row: row != 1)
    assert kept.schema.field("text").type == source.layout().schema.field("text").type == pa.string_view()
    assert kept.to_pydict() == {"text": ["a", "c"], "more": [["x"], []]}
    (block,) = source.blocks()
    assert block.items(Wanted("text"), np.array([2])).features.to_pylist() == ["c"]


def test_only_some_rows(tmp_path: Path) -> None:
    source = source_of(tmp_path, row_group_size=10, limits=SMALL)
    found = [
        block.items(Wanted("text", ("id",)), np.array([1]))
        for block in source.blocks()
        if len(block.items(Wanted("text"))) > 1
    ]
    assert [one.columns["id"].to_pylist() for one in found] == [[1], [4], [7], [11], [14], [17]]
    assert found[2].features.to_pylist() == [None]


@pytest.mark.parametrize(
    "texts",
    [
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array([b"a", None, b"b"], pa.binary()),
        pa.array([b"a", None, b"b"], pa.large_binary()),
    ],
)
def test_text_in_any_type(tmp_path: Path, texts: pa.Array) -> None:
    (block,) = source_of(tmp_path, pa.table({"text": texts})).blocks()
    found = block.items(Wanted("text")).features
    assert (found.type, found.to_pylist()) == (pa.large_string(), ["a", None, "b"])


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.list_(pa.int32()), pa.large_list(pa.int64())])
def test_tokens_come_as_they_are(tmp_path: Path, kind: pa.DataType) -> None:
    tokens = [["a", "b"], [], None] if pa.types.is_string(kind.value_type) else [[1, 2], [], None]
    (block,) = source_of(tmp_path, pa.table({"text": pa.array(tokens, kind)})).blocks()
    found = block.items(Wanted("text")).features
    assert (found.type.id, found.type.value_type, found.to_pylist()) == (kind.id, kind.value_type, tokens)


@pytest.mark.parametrize("values", [[1, 2], [1.5], [{"a": 1}], [True], [[{"a": 1}]]])
def test_other_types_are_refused(tmp_path: Path, values: list[Any]) -> None:
    source = source_of(tmp_path, pa.table({"text": values}))
    with pytest.raises(BadDataError, match=r"in\.parquet: column 'text' is of type .*; accepted are text, a list"):
        features(source)


def test_missing_columns_are_named(tmp_path: Path) -> None:
    source = source_of(tmp_path, pa.table({"id": [1], "body": ["x"]}))
    with pytest.raises(BadDataError, match=r"in\.parquet: no column 'text'; its columns are 'id', 'body'"):
        features(source)
    assert source.column_names() == ["id", "body"]


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    raw = [b"good %d" % n for n in range(10)]
    raw[4] = raw[8] = b"\xff"
    source = source_of(
        tmp_path, pa.table({"text": pa.array(raw, pa.binary()).view(pa.string()), "id": range(10)}), limits=SMALL
    )
    with pytest.raises(BadDataError, match=r"in\.parquet: row 4: column 'text': not valid UTF-8"):
        features(source)
    assert [one.line for one in rejected(source)] == [5, 9]
    good = [f"good {n}" for n in (0, 1, 2, 3, 5, 6, 7, 9)]
    assert features(source, skip_errors=True) == good
    kept = pa.concat_tables(stored(source, lambda row: row != 0))
    assert kept["id"].to_pylist() == [1, 2, 3, 5, 6, 7, 9]
    second = list(source.blocks())[1]
    assert second.items(Wanted("text"), np.array([1])).features.to_pylist() == ["good 5"]


def test_a_column_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"], "qqqq": ["b"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"qq\xff\xff"))
    with pytest.raises(BadDataError, match=r"a\.parquet: the name of a column is not valid UTF-8"):
        open_inputs([path])[0].column_names()


@pytest.mark.parametrize("data", [b"PAR1 nonsense", b"", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_invalid_parquet_is_bad_data(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "not.parquet").write_bytes(data)
    with pytest.raises(BadDataError, match=r"not\.parquet: cannot be read"):
        features(open_inputs([tmp_path / "not.parquet"])[0])


def test_damaged_pages_are_bad_data(tmp_path: Path) -> None:
    texts = pa.table({"text": [str(n) * 50 for n in range(1000)]})
    source_of(tmp_path, texts, compression="zstd", use_dictionary=False)
    path = tmp_path / "in.parquet"
    data = bytearray(path.read_bytes())
    data[60:400] = bytes(340)
    path.write_bytes(data)
    with pytest.raises(BadDataError, match=r"in\.parquet: cannot be read"):
        features(open_inputs([path])[0])


def test_no_rows(tmp_path: Path) -> None:
    assert features(source_of(tmp_path, TABLE.slice(0, 0))) == []


def test_compressed_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.parquet.gz").write_bytes(b"")
    with pytest.raises(UsageError, match=r"in\.parquet\.gz"):
        open_inputs([tmp_path / "in.parquet.gz"])


def test_slices_in_any_order_on_threads(tmp_path: Path) -> None:
    table = pa.table({"text": [f"t{n}" for n in range(300)]})
    source = source_of(tmp_path, table, row_group_size=100, limits=SMALL)
    blocks = list(source.blocks())
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda block: block.items(Wanted("text")).features.to_pylist(), blocks[::-1]))
    assert [text for part in parts[::-1] for text in part] == [f"t{n}" for n in range(300)]
    assert [block.items(Wanted("text")).features[0].as_py() for block in blocks[:3]] == ["t0", "t3", "t6"]


def test_a_row_group_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    batches = parquet.ParquetSource.batches
    monkeypatch.setattr(parquet.ParquetSource, "batches", lambda *given: opened.append(1) or batches(*given))
    source = source_of(tmp_path, pa.table({"text": [f"t{n}" for n in range(60)]}), row_group_size=30, limits=SMALL)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda block: block.items(Wanted("text")), source.blocks()))
    assert len(opened) == 2


def test_a_decoder_ends_with_its_last_slice(tmp_path: Path) -> None:
    """It would hold the last page, which can be a huge document, while that is written."""
    blocks = list(source_of(tmp_path, pa.table({"text": ["a"] * 8}), limits=SMALL).blocks())
    for block, state in zip(blocks, (inspect.GEN_SUSPENDED, inspect.GEN_SUSPENDED, inspect.GEN_CLOSED), strict=True):
        block.items(Wanted("text"))
        (decoder,) = block.group._decoders.values()
        assert inspect.getgeneratorstate(decoder._tables) == state
    assert [len(block.items(Wanted("text"))) for block in blocks] == [3, 3, 2]  # decoded again


def test_slices_that_nobody_holds_are_not_kept(tmp_path: Path) -> None:
    source = source_of(tmp_path, pa.table({"text": [f"t{n}" for n in range(30)]}), limits=SMALL)
    last = None
    for block in source.blocks():
        last = block
    assert last is not None
    assert last.items(Wanted("text")).features.to_pylist() == ["t27", "t28", "t29"]
    gc.collect()
    (decoder,) = last.group._decoders.values()
    assert len(decoder._waiting) == 0


def test_blocks_are_made_without_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(tmp_path)
    here = threading.get_ident()
    decode = parquet.decode
    where = []

    def watched(*given: Any) -> Any:
        where.append(threading.get_ident())
        return decode(*given)

    monkeypatch.setattr(parquet, "decode", watched)
    blocks = list(source.blocks())
    assert where == []
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda block: block.items(Wanted("text")), blocks))
    assert where
    assert here not in where


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    features(source)
    source_of(tmp_path, TABLE.slice(0, 5))
    with pytest.raises(BadDataError, match="changed while it was read"):
        features(source)
