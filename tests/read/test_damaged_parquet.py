"""Damaged Parquet files are refused with one line: they neither end the process nor lose rows."""

from __future__ import annotations

import base64
import datetime
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import BadDataError, LookalikeError
from lookalike.read import open_inputs
from lookalike.read.parquet.source import check_batch
from lookalike.types import READ_LIMITS, ReadLimits, Source, Wanted
from lookalike.types.parquet import _leaves
from lookalike.types.thrift import Field, Fields, read_struct, write_struct
from lookalike.write import open_kept
from looking import SMALL, column, features

ROWS = 20
TABLE = pa.table(
    {
        "id": [f"i{n}" for n in range(ROWS)],
        "text": [None if n == 7 else f"text {n % 9} of some words" for n in range(ROWS)],
        "list": [[n, n + 1] if n % 3 else ([] if n % 2 else None) for n in range(ROWS)],
        "nested": [{"a": n, "b": ["z"] * (n % 3)} if n % 5 else None for n in range(ROWS)],
        "when": pa.array([datetime.datetime(2020, 1, 1)] * ROWS, pa.timestamp("us", "UTC")),
        "kind": pa.array([f"c{n % 3}" for n in range(ROWS)]).dictionary_encode(),
    }
)
FILES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "plain": (["id", "text", "list"], {}),
    "row groups": (["id", "text", "kind"], {"row_group_size": 7, "compression": "gzip"}),
    "no statistics": (["id", "text"], {"use_dictionary": False, "write_statistics": False, "compression": "none"}),
    "page index": (["id", "text", "nested"], {"write_page_index": True, "data_page_size": 64, "write_batch_size": 8}),
    "pages of version 2": (["id", "text", "list"], {"data_page_version": "2.0", "compression": "zstd"}),
    "old": (["id", "text", "when"], {"version": "1.0", "store_schema": False}),
}
_ROWS, _GROUPS = 3, 4
_CHUNKS, _GROUP_ROWS = 1, 3
_FACTS, _ENCRYPTION = 3, 8
_TYPE, _CODEC, _VALUES, _STORED_BYTES, _DATA_START = 1, 4, 5, 7, 9


def write_file(path: Path, names: list[str], **options: Any) -> bytes:
    pq.write_table(TABLE.select(names), path, **options)
    return path.read_bytes()


def source_of(path: Path, limits: ReadLimits = READ_LIMITS) -> Source:
    (source,) = open_inputs([path], limits=limits)
    return source


def footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def with_footer(data: bytes, footer: Fields) -> bytes:
    written = write_struct(footer)
    return data[: footer_start(data)] + written + len(written).to_bytes(4, "little") + data[-4:]


def chunk_of(footer: Fields, group: int, number: int) -> Fields:
    chunk: Fields = footer[_GROUPS].value.value[group][_CHUNKS].value.value[number]
    return chunk


def change(fields: Fields, number: int, value: Any) -> None:
    fields[number] = fields[number]._replace(value=value)


def rows_stated(footer: Fields) -> None:
    change(footer, _ROWS, ROWS + 1)


def rows_of_a_group(footer: Fields) -> None:
    change(footer[_GROUPS].value.value[1], _GROUP_ROWS, 1)


def values_of_a_column(footer: Fields) -> None:
    change(chunk_of(footer, 1, 0)[_FACTS].value, _VALUES, ROWS - 11)


def values_of_a_list(footer: Fields) -> None:
    change(chunk_of(footer, 0, 2)[_FACTS].value, _VALUES, 3)


def start_outside(footer: Fields) -> None:
    change(chunk_of(footer, 0, 1)[_FACTS].value, _DATA_START, 1 << 40)


def length_outside(footer: Fields) -> None:
    change(chunk_of(footer, 0, 1)[_FACTS].value, _STORED_BYTES, 1 << 62)


def another_type(footer: Fields) -> None:
    change(chunk_of(footer, 0, 0)[_FACTS].value, _TYPE, 2)


def unknown_codec(footer: Fields) -> None:
    change(chunk_of(footer, 0, 0)[_FACTS].value, _CODEC, 99)


def missing_column(footer: Fields) -> None:
    footer[_GROUPS].value.value[0][_CHUNKS].value.value.pop()


def unknown_repetition(footer: Fields) -> None:
    change(footer[2].value.value[2], 3, 5)


def another_kind(footer: Fields) -> None:
    footer[_ROWS] = Field(5, ROWS)


def rows_twice(footer: Fields) -> None:
    group = footer[_GROUPS].value.value[0]
    group[_CHUNKS].value.value[0] |= {_FACTS: group[_CHUNKS].value.value[0][_FACTS], 20: Field(12, {})}
    footer[2].value.value[0] = {5: Field(5, 4)}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (rows_stated, "its footer states 21 rows, but its row groups have 20"),
        (rows_of_a_group, "its footer states 20 rows, but its row groups have 11"),
        (values_of_a_column, r"column 'id' has not as many values as its row group has rows \(row group 1\)"),
        (values_of_a_list, r"column 'list\.list\.element' has not as many values .* \(row group 0\)"),
        (start_outside, "column 'text' has pages outside of the file"),
        (length_outside, "column 'text' has pages outside of the file"),
        (another_type, "column 'id' has another type than in the schema"),
        (unknown_codec, "a column has an unknown compression"),
        (missing_column, "a row group does not have the columns of the schema"),
        (unknown_repetition, "its schema is damaged"),
        (another_kind, "its footer is damaged"),
        (rows_twice, "its footer is damaged"),
    ],
)
def test_a_footer_that_contradicts_itself(tmp_path: Path, damage: Any, message: str) -> None:
    data = write_file(tmp_path / "a.parquet", ["id", "text", "list"], row_group_size=10)
    footer, _ = read_struct(data[footer_start(data) : -8])
    (tmp_path / "a.parquet").write_bytes(with_footer(data, footer))
    assert len(features(source_of(tmp_path / "a.parquet"))) == ROWS
    damage(footer)
    (tmp_path / "a.parquet").write_bytes(with_footer(data, footer))
    with pytest.raises(BadDataError, match=rf"a\.parquet: cannot be read: .*{message}.*; restore the file, or write"):
        features(source_of(tmp_path / "a.parquet"))


@pytest.mark.parametrize("length", [0, 3, 11, 2**31, 2**32 - 1])
def test_a_footer_of_another_length(tmp_path: Path, length: int) -> None:
    data = write_file(tmp_path / "a.parquet", ["id", "text"])
    (tmp_path / "a.parquet").write_bytes(data[:-8] + length.to_bytes(4, "little") + data[-4:])
    with pytest.raises(BadDataError, match=r"a\.parquet: cannot be read: its (footer|schema) is"):
        features(source_of(tmp_path / "a.parquet"))


def test_a_footer_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    wide = pa.table({"text": ["a"], **{f"c{n}": [n] for n in range(1000)}})
    pq.write_table(wide, tmp_path / "a.parquet")
    source = source_of(tmp_path / "a.parquet")
    assert source.column_names() == wide.column_names
    assert features(source) == ["a"]


def test_pages_with_fewer_values_than_the_footer_states(tmp_path: Path) -> None:
    """The footer is consistent, but the pages are not as it says."""
    table = pa.table({"text": [f"text {n}" for n in range(ROWS)], "number": range(ROWS)})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False)
    data = (tmp_path / "a.parquet").read_bytes()
    footer, _ = read_struct(data[footer_start(data) : -8])
    for number in range(2):
        change(chunk_of(footer, 0, number)[_FACTS].value, _VALUES, ROWS + 3)
    change(footer[_GROUPS].value.value[0], _GROUP_ROWS, ROWS + 3)
    change(footer, _ROWS, ROWS + 3)
    (tmp_path / "a.parquet").write_bytes(with_footer(data, footer))
    with pytest.raises(BadDataError, match=r"a\.parquet: a column has fewer rows than its footer states; restore"):
        features(source_of(tmp_path / "a.parquet"))


def test_a_page_that_differs_from_its_checksum(tmp_path: Path) -> None:
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    data = write_file(tmp_path / "a.parquet", ["id", "text"], **options)
    (tmp_path / "a.parquet").write_bytes(data.replace(b"i13", b"i31", 1))
    with pytest.raises(BadDataError, match=r"a\.parquet: cannot be read: .*CRC"):
        column(source_of(tmp_path / "a.parquet"), "id")


@pytest.mark.parametrize("nested", ["no", "struct", "list"])
def test_categories_that_do_not_exist(nested: str) -> None:
    """Arrow decodes them, and ends the process when it uses them."""
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, None, 2], pa.int32()), pa.array(["a", "b"]), safe=False)
    made = {
        "no": kinds,
        "struct": pa.StructArray.from_arrays([kinds], ["kind"]),
        "list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), kinds),
    }[nested]
    check_batch(pa.record_batch({"kind": made.slice(0, 2)}) if nested == "no" else pa.record_batch({"a": [1]}))
    with pytest.raises(pa.ArrowInvalid, match="column 'kind' has a category that does not exist"):
        check_batch(pa.record_batch({"kind": made}))


def encrypted(path: Path, **options: Any) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def wrap_key(self, key: bytes, identifier: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, wrapped: bytes, identifier: str) -> bytes:
            return base64.b64decode(wrapped)

    factory = encryption.CryptoFactory(lambda _: Keys())
    settings = encryption.EncryptionConfiguration(footer_key="footer", column_keys={"text": ["text"]}, **options)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    with pq.ParquetWriter(path, TABLE.schema, encryption_properties=properties) as writer:
        writer.write_table(TABLE)


@pytest.mark.parametrize(("plain", "what"), [(True, "some of its columns are encrypted"), (False, "the file is encr")])
def test_encrypted_files_are_refused(cli: Any, tmp_path: Path, plain: bool, what: str) -> None:
    encrypted(tmp_path / "a.parquet", plaintext_footer=plain)
    done = cli("dedup", "a.parquet", "-o", "out")
    assert done.code == 3
    assert f"a.parquet: cannot be read: {what}" in done.err
    assert done.err.endswith("decrypt it first\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string_view(), pa.large_string(), pa.binary(2)],
    ids=str,
)
def test_ids_of_any_kind_of_text(cli: Any, tmp_path: Path, kind: pa.DataType) -> None:
    ids = pa.array([b"i1", b"i2", b"i3"], pa.binary()).cast(pa.binary(2) if kind == pa.binary(2) else pa.binary())
    if kind != pa.binary(2):
        ids = pa.array(["i1", "i2", "i3"]).cast(kind) if "string" in str(kind) else ids.cast(kind)
    pq.write_table(pa.table({"id": ids, "text": ["one two", "one two", "three"]}), tmp_path / "a.parquet")
    assert cli("pairs", "a.parquet", "--shingle", "word:1").out == "left\tright\tsimilarity\ni1\ti2\t1\n"
    assert cli("dedup", "a.parquet", "-o", "out", "--shingle", "word:1", "--report").code == 0
    assert pq.read_table(tmp_path / "out/kept")["id"].to_pylist() == [ids[0].as_py(), ids[2].as_py()]


def test_ids_that_are_not_utf8_are_escaped(cli: Any, tmp_path: Path) -> None:
    ids = pa.array([b"a\xff", b"b", b"c"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": ids, "text": ["one two", "one two", "x"]}), tmp_path / "a.parquet")
    done = cli("dedup", "a.parquet", "-o", "out", "--shingle", "word:1", "--keep", "last", "--report")
    assert done.code == 0, done.err
    assert pq.read_table(tmp_path / "out/removed.parquet")["id"].to_pylist() == ["a\\xff"]


def test_many_columns_take_linear_time() -> None:
    """A hundredth of a second; in quadratic time, it was half a minute."""
    names = [f"c{n}" for n in range(20_000)]
    started = time.process_time()
    assert _leaves([(name,) for name in names], names) == list(range(20_000))
    assert time.process_time() - started < 2


def outcomes(path: Path, cases: Iterable[bytes], want: list[Any]) -> Iterator[str]:
    """What happens with each file, read by a process of its own: one line per file that it survived."""
    for data in cases:
        path.write_bytes(data)
        try:
            source = source_of(path, SMALL)
            found, rows = features(source), 0
            with open_kept(path.parent, source) as out:
                for block in source.blocks():
                    items = block.items(Wanted("text"))
                    kept = block.kept_rows(np.ones(len(items), bool), items.decoded)
                    rows += len(kept)
                    out.write(kept)
        except LookalikeError as error:
            yield "refused" if path.name in str(error) else f"no place: {error}"
        except Exception as error:  # whatever a user would see as a traceback
            yield f"traceback: {error!r}"
        else:
            same = len(found) == rows == source.estimate_rows()[0] == ROWS
            yield ("the same" if found == want else "other values") if same else "another number of rows"


def survived(path: Path, cases: list[bytes], want: list[Any]) -> list[str]:
    """The outcomes of files that a forked process reads, up to one that ends it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            for outcome in outcomes(path, cases, want):
                out.write(json.dumps(outcome) + "\n")
                out.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as lines:
        found = [json.loads(line) for line in lines]
    os.waitpid(child, 0)
    return found


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that may end")
@pytest.mark.parametrize("name", FILES)
def test_flipped_bits(tmp_path: Path, name: str) -> None:
    """A part of the attack in docs/reliability.md: every bit of footers, and some of pages."""
    columns, options = FILES[name]
    data = write_file(tmp_path / "a.parquet", columns, **options)
    want = TABLE["text"].to_pylist()
    draw, start = random.Random(len(name)), footer_start(data)
    bits = draw.sample(range(8 * start, 8 * len(data)), 150) + draw.sample(range(32, 8 * start), 50)
    found = survived(tmp_path / "damaged.parquet", [data, *(flipped(data, bit) for bit in bits)], want)
    assert len(found) == 1 + len(bits), f"bit {bits[len(found) - 1]} of {name} ended the process"
    assert found[0] == "the same"
    assert set(found) <= {"refused", "the same", "other values"}
    assert found.count("refused") > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that may end")
def test_flipped_bits_of_categories(tmp_path: Path) -> None:
    """Some of them make a category that does not exist, which ends a process that writes the rows."""
    data = write_file(tmp_path / "a.parquet", ["text", "kind"], compression="none", write_statistics=False)
    start = chunk_of(read_struct(data[footer_start(data) : -8])[0], 0, 1)[_FACTS].value[11].value
    cases = [flipped(data, bit) for bit in range(8 * start, 8 * footer_start(data))]
    found = survived(tmp_path / "damaged.parquet", cases, TABLE["text"].to_pylist())
    assert len(found) == len(cases)
    assert set(found) <= {"refused", "the same"}  # the categories are not compared
