"""Parquet without `pyarrow.parquet`: the same files, byte for byte, and the same tables."""

import io

import pyarrow as pa
import pyarrow.parquet as theirs
import pytest

from lookalike.types.parquet import ParquetWriter, read_batches, read_footer

TABLE = pa.table(
    {
        "number": [1, 2, 3, 4, 5],
        "text": ["a", "b", None, "ü", "a"],
        "list": [[1], [2, 3], None, [], [4]],
        "struct": [{"p": 1, "q": ["z"]}, None, {"p": 3, "q": []}, {"p": 4, "q": None}, {"p": 5, "q": ["y", "x"]}],
        "struct.p": ["one", "two", "three", "four", "five"],
        "time": pa.array([1, 2, 3, 4, 5], pa.timestamp("ns", "UTC")),
        "kind": pa.array(["x", "y", "x", "x", "y"]).dictionary_encode(),
    }
).replace_schema_metadata({"whose": "ours"})
OPTIONS = [
    {},
    {"compression": "zstd", "store_schema": False},
    {"compression": {"number": "zstd", "text": "none"}, "use_dictionary": ["text"], "write_statistics": ["number"]},
]


def written(writer_class, options, **more):
    sink = pa.BufferOutputStream()
    with writer_class(sink, TABLE.schema, **options, **more) as writer:
        writer.write_table(TABLE, row_group_size=2)
        writer.write_table(TABLE.slice(1, 1))
        writer.add_key_value_metadata({"key": "value"})
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("options", OPTIONS)
def test_files_are_the_same(options):
    ours = written(ParquetWriter, options)
    assert ours == written(theirs.ParquetWriter, options)
    assert ours != written(theirs.ParquetWriter, options, data_page_version="2.0")  # the comparison would notice


def test_a_table_of_another_schema_is_refused():
    with (
        pytest.raises((ValueError, pa.ArrowInvalid), match="schema"),
        ParquetWriter(pa.BufferOutputStream(), TABLE.schema) as writer,
    ):
        writer.write_table(pa.table({"number": [1]}))


@pytest.mark.parametrize("columns", [None, ["text"], ["struct", "number"], ["list", "kind", "time"], ["struct.p"]])
def test_rows_are_the_same(columns):
    data = written(ParquetWriter, {})
    metadata, schema = read_footer(pa.BufferReader(data))
    file = theirs.ParquetFile(io.BytesIO(data))
    assert schema.equals(file.schema_arrow, check_metadata=True)
    assert metadata.equals(file.metadata)
    for group in range(metadata.num_row_groups):
        batches = list(read_batches(pa.BufferReader(data), metadata, group, 1, columns, 1 << 10))
        assert all(batch.num_rows == 1 for batch in batches)
        assert pa.Table.from_batches(batches).equals(file.read_row_group(group, columns))
