from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from lookalike.types import Layout, StoredFiles
from lookalike.write import Encoders, Saved, open_kept
from lookalike.write.kept import ArrayWriter
from lookalike.write.kept_lines import GzipWriter, LineWriter


def joined(files: list[tuple[str, bytes]]) -> StoredFiles:
    """Files as the writer gets them, with bytes of none of them in between."""
    sizes = np.array([len(raw) for _, raw in files], np.int64)
    stops = np.cumsum(sizes + 3, dtype=np.int64)
    data = np.frombuffer(b"".join(b"xyz" + raw for _, raw in files) or b"\0", np.uint8)
    return StoredFiles([path for path, _ in files], data, stops - sizes, stops)


@pytest.fixture(params=["together", "one by one"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written by a kernel, and as on systems where kernels cannot open files."""
    if request.param == "one by one":
        monkeypatch.setattr("lookalike.write.kept.kernels_open_files", lambda: False)


class Stored:
    """As much of a source as the writer looks at."""

    name = "in"
    nbytes = 0

    def __init__(self, kept_path: str, layout: Layout) -> None:
        self.kept_path = kept_path
        self._layout = layout

    def layout(self) -> Layout:
        return self._layout


def write(folder: Path, name: str, layout: Layout, parts: list[Any], **options: Any) -> Path:
    source: Any = Stored(name, layout)
    with open_kept(folder, source, **options) as writer:
        for part in parts:
            writer.write(part)
    return folder / "kept" / name


def unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


@pytest.mark.parametrize(("compression", "read"), [(None, bytes), ("gzip", gzip.decompress), ("zstd", unzstd)])
@pytest.mark.parametrize("parts", [[b"1,a\n", b"", b"2,b\n"], []])
def test_lines(tmp_path: Path, compression: str | None, read: Callable[[bytes], bytes], parts: list[bytes]) -> None:
    layout = Layout("lines", b"\xef\xbb\xbfid,text\n", compression)
    first = write(tmp_path / "1", "sub/in.csv", layout, parts).read_bytes()
    assert read(first) == b"\xef\xbb\xbfid,text\n" + b"".join(parts)
    assert write(tmp_path / "2", "other.csv", layout, parts).read_bytes() == first


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_no_lines_at_all(tmp_path: Path, compression: str | None) -> None:
    data = write(tmp_path, "in.jsonl", Layout("lines", b"", compression), []).read_bytes()
    assert {None: bytes, "gzip": gzip.decompress, "zstd": unzstd}[compression](data) == b""


TABLE = pa.table(
    {
        "id": pa.array(range(100), pa.uint8()),
        "nested": [{"a": [n, None]} if n % 2 else None for n in range(100)],
        "class": pa.array(["x", "y"] * 50).dictionary_encode(),
    }
).replace_schema_metadata({"origin": "a test"})


@pytest.mark.parametrize("codec", ["zstd", "snappy", "none", "gzip", "lz4"])
def test_tables(tmp_path: Path, codec: str) -> None:
    layout = Layout("table", b"", codec, TABLE.schema, 30)
    parts = [TABLE.slice(0, 7), TABLE.slice(7, 0), TABLE.slice(7, 70), TABLE.slice(77)]
    path = write(tmp_path / "1", "in.parquet", layout, parts)
    assert pq.read_table(path).equals(TABLE)
    found = pq.ParquetFile(path)
    assert [found.metadata.row_group(n).num_rows for n in range(4)] == [30, 30, 30, 10]
    stored = {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert found.metadata.row_group(0).column(0).compression == stored
    assert found.schema_arrow.metadata == {b"origin": b"a test"}
    again = write(tmp_path / "2", "in.parquet", layout, [TABLE.slice(n, 1) for n in range(100)])
    assert again.read_bytes() == path.read_bytes()


def test_no_rows_at_all(tmp_path: Path) -> None:
    path = write(tmp_path, "in.parquet", Layout("table", b"", "zstd", TABLE.schema, 30), [])
    assert pq.read_table(path).equals(TABLE.slice(0, 0))


def test_row_groups_are_bounded_in_bytes(tmp_path: Path) -> None:
    wide = pa.table({"text": ["x" * 100] * 100})
    layout = Layout("table", b"", "zstd", wide.schema, None)
    path = write(tmp_path, "in.parquet", layout, [wide.slice(n, 10) for n in range(0, 100, 10)], group_bytes=2000)
    assert pq.read_table(path).equals(wide)
    assert pq.ParquetFile(path).metadata.num_row_groups == 5


@pytest.mark.usefixtures("either_way")
def test_files(tmp_path: Path) -> None:
    parts = [joined([("a.md", b"a"), ("sub/b.md", b"\xff")]), joined([]), joined([("sub/c/d.md", b"")])]
    write(tmp_path, "a.md", Layout("files"), parts)
    found = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.md")}
    assert found == {"kept/a.md": b"a", "kept/sub/b.md": b"\xff", "kept/sub/c/d.md": b""}


LINES = [b"".join(b"%d, line of block %d\n" % (line, block) for line in range(40 * block)) for block in range(6)]


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("stop", range(1, 6))
def test_lines_are_continued_where_they_were_saved(tmp_path: Path, compression: str | None, stop: int) -> None:
    """What was written after that, cut off anywhere, does not matter."""
    layout = Layout("lines", b"id,text\n", compression)

    def open_file(name: str, saved: Saved | None = None) -> LineWriter:
        if compression is None:
            return LineWriter(tmp_path / name, layout, saved)
        return GzipWriter(tmp_path / name, layout, saved, stretch_bytes=1000)

    with open_file("calm") as writer:
        for block in LINES:
            writer.write(block)
    with open_file("killed") as writer:
        for block in LINES[:stop]:
            writer.write(block)
        saved = writer.save()
        writer.write(LINES[stop])
    if saved is None:
        assert compression == "gzip"
        assert stop <= 2  # less than a stretch
        return
    with open_file("killed", saved) as writer:
        for block in LINES[saved.blocks :]:
            writer.write(block)
    expected = (tmp_path / "calm").read_bytes()
    assert (tmp_path / "killed").read_bytes() == expected
    whole = expected if compression is None else gzip.decompress(expected)
    assert whole == b"id,text\n" + b"".join(LINES)


def test_gzip_does_not_depend_on_blocks(tmp_path: Path) -> None:
    for name, blocks in (("one", [b"".join(LINES)]), ("many", LINES)):
        with GzipWriter(tmp_path / name, Layout("lines", b"", "gzip"), stretch_bytes=1000) as writer:
            for block in blocks:
                writer.write(block)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


def test_arrays_are_continued_where_they_were_saved(tmp_path: Path) -> None:
    layout, rows = Layout("array", array=("<f4", 2)), [bytes(8 * n) for n in (3, 0, 5, 1)]
    with ArrayWriter(tmp_path / "calm", layout) as writer:
        for block in rows:
            writer.write(block)
    with ArrayWriter(tmp_path / "killed", layout) as writer:
        writer.write(rows[0])
        saved = writer.save()
        writer.write(rows[2])
    with ArrayWriter(tmp_path / "killed", layout, saved) as writer:
        for block in rows[saved.blocks :]:
            writer.write(block)
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "calm").read_bytes()


RICH = TABLE.append_column(
    "text", pa.array([f"text {n} " * (n % 13) if n % 7 else None for n in range(100)])
).append_column("same", pa.array([1.5] * 100))


@pytest.mark.parametrize("codec", ["zstd", "snappy", "none"])
@pytest.mark.parametrize("rows", [1, 6, 30, 100])
@pytest.mark.parametrize("nbytes", [1, 1 << 30])
def test_row_groups_encoded_at_the_same_time_are_those_of_arrow(
    tmp_path: Path, codec: str, rows: int, nbytes: int
) -> None:
    """Byte for byte, with any number of row groups: 100 of them have positions and a list that take more bytes."""
    layout = Layout("table", b"", codec, RICH.schema, rows)
    parts = [RICH.slice(n, 10) for n in range(0, 100, 10)]
    plain = write(tmp_path / "plain", "in.parquet", layout, parts)
    with ThreadPoolExecutor(3) as pool:
        encoders = Encoders(pool.submit, 3, nbytes)
        path = write(tmp_path / "parallel", "in.parquet", layout, parts, encoders=encoders)
    assert path.read_bytes() == plain.read_bytes()
    assert pq.read_table(path).equals(RICH)
    assert pq.ParquetFile(path).metadata.num_row_groups == -(-100 // rows)


def test_no_row_groups_at_all_with_encoders(tmp_path: Path) -> None:
    layout = Layout("table", b"", "zstd", RICH.schema, 30)
    with ThreadPoolExecutor(2) as pool:
        path = write(tmp_path, "in.parquet", layout, [], encoders=Encoders(pool.submit, 2, 1 << 30))
    assert path.read_bytes() == write(tmp_path / "plain", "in.parquet", layout, []).read_bytes()


def test_an_error_while_a_row_group_is_encoded_is_raised(tmp_path: Path) -> None:
    layout = Layout("table", b"", "zstd", RICH.schema, 10)
    other = pa.table({"other": range(10)})
    with ThreadPoolExecutor(2) as pool, pytest.raises(pa.ArrowInvalid, match="schema does not match"):
        write(tmp_path, "in.parquet", layout, [other], encoders=Encoders(pool.submit, 2, 1 << 30))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_files_by_two_threads(tmp_path: Path, threads: int, count: int) -> None:
    files = [(f"{'deep/er/' if n % 3 else ''}{n}.txt", b"x" * n * 1000) for n in range(count)]
    with ThreadPoolExecutor(2) as pool:
        encoders = Encoders(pool.submit, 2, 1 << 20) if threads > 1 else None
        write(tmp_path, "0.txt", Layout("files"), [joined(files[:5]), joined(files[5:])], encoders=encoders)
    kept = tmp_path / "kept"
    assert {str(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*.txt")} == dict(files)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("bad", [0, 99])
def test_a_file_that_cannot_be_written(tmp_path: Path, bad: int) -> None:
    """Either thread may be the one that fails; nothing is written after the error has been raised."""
    files = [(f"{n}.txt", b"text") for n in range(100)]
    (tmp_path / "kept" / f"{bad}.txt").mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(IsADirectoryError, match=f"{bad}.txt"):
            write(tmp_path, "0.txt", Layout("files"), [joined(files)], encoders=Encoders(pool.submit, 2, 1 << 20))
        written = sorted(tmp_path.glob("kept/*"))
        assert all(path.read_bytes() == b"text" for path in written if path.is_file())
    assert sorted(tmp_path.glob("kept/*")) == written


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", ["a" * 300, "no/\udcff/such\0name"])
def test_the_error_of_a_file_is_that_of_python(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError if "\0" in name else OSError, match=r"null (byte|character)|too long"):
        write(tmp_path, "0.txt", Layout("files"), [joined([("before", b"text"), (name, b"text"), ("after", b"text")])])
    assert not (tmp_path / "kept" / "after").exists()


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_of_files(tmp_path: Path, mask: int) -> None:
    """As of any new file; one that a killed run left is replaced and keeps its own."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "old").write_text("left by a killed run")
    (tmp_path / "kept" / "old").chmod(0o600)
    before = os.umask(mask)
    try:
        write(tmp_path, "0.txt", Layout("files"), [joined([("new", b"text"), ("old", b"text")])])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "kept" / "new").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "kept" / "old").stat().st_mode) == 0o600
    assert (tmp_path / "kept" / "old").read_bytes() == b"text"
