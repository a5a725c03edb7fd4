from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.read import files as files_module
from lookalike.read import open_inputs
from lookalike.types import ReadLimits, Wanted
from looking import SMALL, features, rejected, stored, write


def folder_of(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, data)
    return folder / "in"


def test_a_folder_of_text_files(tmp_path: Path) -> None:
    files = {f"{n % 3}/{n:02}.txt": f"text\nnumber {n}\n".encode() for n in range(10)}
    (source,) = open_inputs([folder_of(tmp_path, files)], limits=SMALL)
    names = sorted(files)
    assert features(source) == [files[name].decode() for name in names]
    assert [source.locate(row) for row in range(10)] == [(str(tmp_path / "in" / name), 0) for name in names]
    assert len(list(source.blocks())) == 4
    kept = [one for part in stored(source, lambda row: row % 2 == 0) for one in part.pieces()]
    assert kept == [(name, files[name]) for name in names[::2]]
    assert source.layout().kind == "files"
    assert source.nbytes == sum(block.nbytes for block in source.blocks()) == sum(map(len, files.values()))
    with pytest.raises(IndexError):
        source.locate(10)


def test_blocks_are_cut_by_size_too(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {f"{n}.md": b"x" * 45 for n in range(5)} | {"9.md": b"x" * 500})
    (source,) = open_inputs([folder], limits=ReadLimits(block_bytes=100))
    assert [block.nbytes for block in source.blocks()] == [90, 90, 45, 500]


def test_bad_files_are_set_aside(tmp_path: Path) -> None:
    files = {f"{n}.txt": b"\xff\xfe" if n in (1, 4) else b"good %d" % n for n in range(8)}
    (source,) = open_inputs([folder_of(tmp_path, files)], limits=SMALL)
    with pytest.raises(BadDataError, match=r"1\.txt: not valid UTF-8"):
        features(source)
    assert [(one.file, one.line, one.raw) for one in rejected(source)] == [
        (str(tmp_path / "in" / name), 0, b"\xff\xfe") for name in ("1.txt", "4.txt")
    ]
    assert features(source, skip_errors=True) == [f"good {n}" for n in (0, 2, 3, 5, 6, 7)]
    assert source.locate(3) == (str(tmp_path / "in" / "5.txt"), 0)
    assert [name for part in stored(source, lambda row: row > 1) for name in part.paths] == [
        "3.txt",
        "5.txt",
        "6.txt",
        "7.txt",
    ]
    second = list(source.blocks())[1]
    assert second.items(Wanted("text"), np.array([1])).features.to_pylist() == ["good 5"]


BINARY = {
    "signature": b"\x89PNG",
    "page": b"%PDF-1.4\n1 0 obj",
    "nul": b"text\0text",
    "neither": b"a\x01b\xffc",
}
TEXTS = {
    "empty": b"",
    "hive": b"one\x01two\x02three",
    "terminal": b"\x1b[1mbold\x1b[0m caf\xc3\xa9",
    "cut": b"\x01" + b"a" * 510 + "é".encode() * 10,
    "late": b"a" * 600 + b"\0",
}


@pytest.mark.parametrize("by_kernel", [True, False])
def test_files_that_are_plainly_not_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_kernel: bool) -> None:
    if not by_kernel:
        monkeypatch.setattr(files_module, "kernels_open_files", lambda: False)
    notes: list[str] = []
    folder = folder_of(tmp_path, BINARY | TEXTS)
    (source,) = open_inputs([folder], note=notes.append)
    assert features(source) == [TEXTS[name].decode() for name in sorted(TEXTS)]
    assert notes == [f"{folder}: skipped 4 files that are not text: neither, nul, page and 1 more."]
    for name in BINARY:
        assert len(open_inputs([folder / name])) == 1  # a file that was named is an error when it is read


def test_the_start_of_a_compressed_text_is_looked_at(tmp_path: Path) -> None:
    notes: list[str] = []
    (source,) = open_inputs([folder_of(tmp_path, {"a.md.gz": b"text", "b.tar.gz": b"name\0\0\0"})], note=notes.append)
    assert features(source) == ["text"]
    assert notes[0].endswith("skipped 1 file that is not text: b.tar.gz.")


def test_nul_is_part_of_texts_in_utf_16(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.txt": "text".encode("utf-16"), "b.txt": "more".encode("utf-16-le")})
    (source,) = open_inputs([folder], encoding="utf-16")
    assert features(source) == ["text", "more"]
    with pytest.raises(BadDataError, match=r"a\.txt: not valid UTF-8"):  # in another encoding, but text
        features(open_inputs([folder])[0])


def test_a_folder_without_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"in: none of its files is text \(neither, nul, page and 1 more\)"):
        open_inputs([folder_of(tmp_path, BINARY)])


def test_html(tmp_path: Path) -> None:
    page = b"""<!doctype html><html><head><title>T</title><style>p {}</style><script>var x</script></head>
    <body><p>one <b>two</b></p><noscript>no</noscript><template>no</template><!-- no -->
    <p>three &amp; f&ouml;ur</body>"""
    files = {"a.html": page, "b.HTM": b"<p>x", "c.html.gz": b"<p>zipped", "d.html": b""}
    (source,) = open_inputs([folder_of(tmp_path, files)])
    assert [text.split() for text in features(source)] == [
        ["T", "one", "two", "three", "&", "föur"],
        ["x"],
        ["zipped"],
        [],
    ]
    assert dict(stored(source)[0].pieces())["c.html.gz"] == (tmp_path / "in/c.html.gz").read_bytes()
    (alone,) = open_inputs([tmp_path / "in/a.html"])
    assert features(alone)[0].split()[:3] == ["T", "one", "two"]


def test_encodings_and_marks(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.md": "Noël".encode("utf-16"), "b.md": "Noël".encode("utf-16-le")})
    assert features(open_inputs([folder], encoding="utf-16")[0]) == ["Noël", "Noël"]
    (tmp_path / "c.md").write_bytes("Noël".encode("utf-8-sig"))
    assert features(open_inputs([tmp_path / "c.md"])[0]) == ["Noël"]


def test_files_whose_text_is_their_content_are_not_read_again(tmp_path: Path) -> None:
    files = {"a.md": "Noël\r\n".encode(), "b.txt": b"", "c": b"\xff\xfe", "d.md": b"last"}
    (source,) = open_inputs([folder_of(tmp_path, files)])
    (block,) = source.blocks()
    held = block.items(Wanted("text", skip_errors=True))
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    kept = block.kept_rows(np.array([True, False, True]), held.decoded)
    assert list(kept.pieces()) == [("a.md", files["a.md"]), ("d.md", files["d.md"])]


@pytest.mark.parametrize(("name", "raw"), [("a.md", b"\xef\xbb\xbfmark"), ("a.html", b"text"), ("a.md.gz", b"text")])
def test_other_texts_are_read_again(tmp_path: Path, name: str, raw: bytes) -> None:
    folder = folder_of(tmp_path, {name: raw})
    (source,) = open_inputs([folder])
    (block,) = source.blocks()
    assert block.items(Wanted("text")).decoded is None
    assert list(block.kept_rows(np.array([True])).pieces()) == [(name, (folder / name).read_bytes())]


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.md": b"one"})
    (source,) = open_inputs([folder])
    (folder / "a.md").write_bytes(b"another")
    with pytest.raises(BadDataError, match=r"a\.md: changed while it was read"):
        features(source)


def test_the_only_column_is_text(tmp_path: Path) -> None:
    (source,) = open_inputs([folder_of(tmp_path, {"a.md": b"one"})])
    assert source.column_names() == ["text"]
    with pytest.raises(BadDataError, match="no column 'body'"):
        features(source, "body")
