from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.read import open_inputs
from lookalike.read.names import kept_paths
from looking import SMALL, features, stored_bytes, write

LINE = b'{"text": "t"}\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "b/x.jsonl",
        "b/y.txt",
        "a/x.jsonl",
        "a/z.csv",
        "a/page.html",
        "a/code.py",
        "a/.hidden",
        ".git/x.txt",
    ):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"text\na\n" if name.endswith("csv") else LINE)
    return tmp_path / "in"


def test_a_folder_is_read_in_order(tree: Path) -> None:
    sources = open_inputs([tree])
    assert [source.kept_path for source in sources] == [
        "a/code.py",
        "a/x.jsonl",
        "a/z.csv",
        "b/x.jsonl",
        "b/y.txt",
    ]
    assert [source.layout().kind for source in sources] == ["files", "lines", "lines", "lines", "files"]
    assert [sources[0].locate(row)[0] for row in (0, 1)] == [
        str(tree / "a/code.py"),
        str(tree / "a/page.html"),
    ]
    assert features(sources[4]) == [LINE.decode()]


def test_names_are_what_the_user_wrote(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    sources = open_inputs(["b/x.jsonl", "./a/z.csv", "b/y.txt", Path("a")])
    assert [source.name for source in sources][:3] == ["b/x.jsonl", "./a/z.csv", "b/y.txt"]
    assert sources[2].layout().kind == "lines"
    assert sources[3].locate(0) == ("a/code.py", 0)
    assert [source.kept_path for source in sources] == [
        "b/x.jsonl",
        "a/z.csv",
        "y.txt",
        "code.py",
        "a/x.jsonl",
        "a/z-2.csv",
    ]


def test_globs(tree: Path) -> None:
    assert [source.name for source in open_inputs([f"{tree}/*/x.jsonl"])] == [
        str(tree / "a/x.jsonl"),
        str(tree / "b/x.jsonl"),
    ]
    assert [source.kept_path for source in open_inputs([f"{tree}/**/*.jsonl"])] == ["a/x.jsonl", "b/x.jsonl"]
    # a folder that a glob matches is read as a folder, with its text files as items
    assert open_inputs([f"{tree}/[b]"])[1].layout().kind == "files"
    (lines,) = open_inputs([f"{tree}/b/*.txt"])
    assert lines.layout().kind == "lines"


def test_a_recursive_glob_follows_no_links_to_folders(tmp_path: Path) -> None:
    for name in ("sub", ".hidden"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "x.jsonl", LINE)
    for name in ("one", "sub/two", "sub/three"):
        (tmp_path / name).symlink_to(tmp_path)  # glob.glob would find 2^40 paths
    (tmp_path / "linked.jsonl").symlink_to("sub/x.jsonl")
    for pattern, wanted in (
        ("**", ["linked.jsonl", "sub/x.jsonl"]),
        ("**/*.jsonl", ["linked.jsonl", "sub/x.jsonl"]),
        ("**/sub/**/x.jsonl", ["sub/x.jsonl"]),
        ("s*/**", ["sub/x.jsonl"]),
        ("one/sub/*.jsonl", ["one/sub/x.jsonl"]),
    ):
        found = [source.name for source in open_inputs([f"{tmp_path}/{pattern}"])]
        assert found == [f"{tmp_path}/{name}" for name in wanted], pattern


def test_a_name_with_magic_in_it(tmp_path: Path) -> None:
    write(tmp_path / "a[1].jsonl", LINE)
    assert features(open_inputs([tmp_path / "a[1].jsonl"])[0]) == ["t"]


def test_unreadable_input_is_a_usage_error(tree: Path) -> None:
    (tree / "empty").mkdir()
    os.mkfifo(tree / "pipe.jsonl")
    for given_ in ("absent.jsonl", "*.absent", "empty", "pipe.jsonl"):
        with pytest.raises(UsageError, match=given_.replace("*", r"\*")):
            open_inputs([tree / given_])
    with pytest.raises(UsageError, match="nosuchprotocol"):
        open_inputs(["nosuchprotocol://x/y.jsonl"])
    with pytest.raises(UsageError, match="memory://absent"):
        open_inputs(["memory://absent/x.jsonl"])


def test_one_item_files_given_one_by_one_are_one_source(tree: Path) -> None:
    (source,) = open_inputs([tree / "a/code.py", tree / "a/page.html"])
    assert features(source) == [LINE.decode(), '{"text": "t"}']


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for spool in (tmp_path / "spool", None):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE * 3)))
        (source,) = open_inputs(["-"], spool=spool)
        assert (source.name, source.kept_path) == ("stdin", "stdin.jsonl")
        assert features(source) == features(source) == ["t"] * 3
        where = Path(source.file.path)
        del source
        assert where.exists() == (spool is not None)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE)))
    with pytest.raises(UsageError, match="more than once"):
        open_inputs(["-", "-"], spool=tmp_path)


@pytest.fixture
def memory() -> fsspec.AbstractFileSystem:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    system.pipe("/data/b.jsonl", LINE * 2)
    system.pipe("/data/sub/note.md", b"a note")
    system.pipe("/data/.hidden/x.md", b"not read")
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["p"] * 5}), out)
    system.pipe("/data/a.parquet", out.getvalue())
    return system


@pytest.mark.parametrize("url", ["zip://a.jsonl::{}/a.zip", "github://", "ftp://127.0.0.1:1/x"])
def test_what_a_file_system_raises_is_bad_data(tmp_path: Path, url: str) -> None:
    (tmp_path / "a.zip").write_bytes(b"no archive")
    with pytest.raises(BadDataError, match=f"{re.escape(url.format(tmp_path))}: cannot be read: "):
        open_inputs([url.format(tmp_path)])


def test_urls(memory: fsspec.AbstractFileSystem) -> None:
    (source,) = open_inputs(["memory://data/b.jsonl"], limits=SMALL)
    assert (source.name, source.kept_path, source.nbytes) == ("memory://data/b.jsonl", "b.jsonl", 28)
    assert features(source) == ["t", "t"]
    assert stored_bytes(source) == LINE * 2
    folder = open_inputs(["memory://data"], limits=SMALL)
    assert [one.kept_path for one in folder] == ["a.parquet", "b.jsonl", "sub/note.md"]
    assert [features(one) for one in folder] == [["p"] * 5, ["t", "t"], ["a note"]]
    assert [one.kept_path for one in open_inputs(["memory://data/*.parquet"], limits=SMALL)] == ["a.parquet"]


def test_a_url_that_disappears(memory: fsspec.AbstractFileSystem) -> None:
    (source,) = open_inputs(["memory://data/b.jsonl"])
    memory.rm("/data/b.jsonl")
    with pytest.raises(BadDataError, match="was removed while it was read"):
        features(source)


def test_the_same_file_twice(tree: Path) -> None:
    names = [source.kept_path for source in open_inputs([tree / "a/z.csv", tree / "a/z.csv"])]
    assert names == ["z.csv", "z-2.csv"]


parts = st.sampled_from(["a", "b", "..", ".", "c.txt", "", "a-2"])


@given(st.lists(st.lists(parts, min_size=1, max_size=4).map("/".join), max_size=8))
def test_kept_names_are_unique_and_stay_inside(paths: list[str]) -> None:
    names = kept_paths(paths, lambda row: "/root/" + paths[row])
    assert len(set(names)) == len(names) == len(paths)
    for name in names:
        assert name
        assert not name.startswith("/")
        assert not {"..", ".", ""} & set(name.split("/"))
        # no name is the folder of another
        assert not any(other.startswith(name + "/") for other in names)
