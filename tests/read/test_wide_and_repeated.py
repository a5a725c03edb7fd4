"""Parquet files whose rows take far more memory than the footer says: hundreds of columns, or texts stored once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import ResourceError
from lookalike.read import open_data, open_inputs
from lookalike.types import ItemMemory, Wanted

MEMORY = ItemMemory(64 << 20, 32 << 20)


def wide(rows: int = 3000) -> pa.Table:
    """Columns of many types; the names of some begin with those of others."""
    draw = np.random.default_rng(1)
    some = {f"c{k}": pa.array(draw.random(rows)) for k in range(30)}
    return pa.table(
        {
            "text": [f"text {row}" for row in range(rows)],
            "c": pa.array([{"d": row, "e": [row]} for row in range(rows)]),
            "kind": pa.array([f"kind {row % 7}" for row in range(rows)]).dictionary_encode(),
            "none": pa.nulls(rows, pa.int32()),
        }
        | some
    )


def write(path: Path, table: pa.Table, group: int = 1 << 20) -> Path:
    pq.write_table(table, path, row_group_size=group)
    return path


def read_all(path: Path, memory: ItemMemory | None, columns: tuple[str, ...] | None = None) -> pa.Table:
    (source,) = open_inputs([path])
    source.item_memory = memory
    return pa.concat_tables([block.read(columns) for block in source.blocks()])  # type: ignore[attr-defined]


@pytest.mark.parametrize("group", [700, 1 << 20])
@pytest.mark.parametrize("memory_bytes", [1, 100_000, 1_000_000])
def test_columns_decoded_in_groups_are_the_same_rows(tmp_path: Path, group: int, memory_bytes: int) -> None:
    path, little = write(tmp_path / "wide.parquet", wide(), group), ItemMemory(memory_bytes, 0)
    table = read_all(path, None)
    assert table.equals(pq.read_table(path))
    (source,) = open_inputs([path])
    source.item_memory = little
    assert len(source.column_groups(0, None)) > 1  # type: ignore[attr-defined]
    assert read_all(path, little).equals(table, check_metadata=True)
    chosen = ("c7", "kind", "c", "text")
    assert read_all(path, little, chosen).equals(table.select(chosen))


def test_columns_of_one_name_are_decoded_together(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4]), pa.array(["a", "b"])], ["n", "n", "text"])
    assert read_all(write(tmp_path / "twice.parquet", twice), ItemMemory(1, 0)).equals(twice)


def test_kept_rows_of_a_wide_file_do_not_depend_on_memory_or_threads(tmp_path: Path) -> None:
    table = wide().append_column("more", pa.array([f"again {row // 2}" for row in range(3000)]))
    path = write(tmp_path / "wide.parquet", pa.concat_tables([table.slice(0, 2000), table.slice(1000)]))
    written = set()
    for memory, threads in (("512MiB", 1), ("512MiB", 2), ("4GiB", 2)):
        out = tmp_path / f"{memory}-{threads}"
        la.dedup(path, out=out, shingle="word:1", memory=memory, threads=threads)
        written.add((out / "kept/wide.parquet").read_bytes())
    assert len(written) == 1
    assert pq.read_table(out / "kept/wide.parquet").equals(table)


def repeated(times: int, length: int, *, dictionary: bool) -> pa.Table:
    value = "".join(np.random.default_rng(2).choice([*"abcdefg "], length))
    indices = pa.array(np.zeros(times, np.int32))
    text = pa.DictionaryArray.from_arrays(indices, pa.array([value]))
    return pa.table({"id": np.arange(times), "text": text if dictionary else text.cast(pa.string())})


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_block_has_few_rows_if_their_texts_are_stored_once(tmp_path: Path, dictionary: bool) -> None:
    """A row group of a megabyte that holds 200: all blocks but the last are as large as others."""
    table = repeated(200, 1 << 20, dictionary=dictionary)
    path = write(tmp_path / "once.parquet", table)
    assert path.stat().st_size < 2 << 20
    for (source,) in (open_inputs([path]), [open_data(table, "text")]):
        source.item_memory = ItemMemory(64 << 20, 32 << 20)
        sizes = []
        for block in source.blocks():
            items = block.items(Wanted("text"))
            assert set(items.features.to_pylist()) == {table["text"][0].as_py()}
            sizes.append(items.features.nbytes)
        assert sum(sizes) >= 200 << 20
        assert max(sizes) <= 9 << 20


def test_parts_of_a_file_have_the_blocks_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "once.parquet", repeated(60, 1 << 20, dictionary=False), 20)
    (source,) = open_inputs([path])
    whole = [(block.index, block.first_row, block.length) for block in source.blocks()]  # type: ignore[attr-defined]
    parts = [source.part(range(group, group + 1)) for group in range(3)]  # type: ignore[attr-defined]
    assert [(block.index, block.first_row, block.length) for part in parts for block in part.blocks()] == whole
    assert len(whole) > 10


def test_a_rare_long_text_that_is_used_by_all_rows_is_refused(tmp_path: Path) -> None:
    """The average of a dictionary does not show it; its use does, before anything is decoded."""
    values = ["x" * (1 << 20), *(f"short {k}" for k in range(100_000))]
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(values))
    path = write(tmp_path / "skewed.parquet", pa.table({"text": text}))
    (source,) = open_inputs([path])
    source.item_memory = ItemMemory(512 << 20, 300 << 20)
    with pytest.raises(
        ResourceError, match=r"skewed\.parquet: rows 0 to .*--memory, or write the file with fewer rows"
    ):
        next(iter(source.blocks())).items(Wanted("text"))


def test_dedup_of_a_text_that_is_stored_once(tmp_path: Path) -> None:
    path = write(tmp_path / "once.parquet", repeated(40, 1 << 20, dictionary=True))
    la.dedup(path, out=tmp_path / "out", memory="512MiB")
    assert pq.read_table(tmp_path / "out/kept/once.parquet").equals(pq.read_table(path).slice(0, 1))
