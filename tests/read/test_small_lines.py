"""Lists that an option names: lines of a file, or one line that says what is wrong with it."""

import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.read.txt import read_small_lines


@pytest.mark.parametrize("data", [b"a\nb\n", b"\xef\xbb\xbfa\r\nb"])
def test_lines(tmp_path, data):
    (tmp_path / "ids").write_bytes(data)
    assert read_small_lines(tmp_path / "ids", "--ids") == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("absent", UsageError, "no such file"),
        (".", UsageError, "this is a folder"),
        ("a\0b", UsageError, "cannot be read: embedded null byte"),
        ("x" * 300, UsageError, "cannot be read: File name too long"),
        ("/dev/zero", UsageError, "this is a device; name a file"),
        ("binary", BadDataError, "not UTF-8 .* save it as UTF-8"),
    ],
)
def test_problems_with_the_file_are_reported(tmp_path, name, kind, said):
    (tmp_path / "binary").write_bytes(b"\x93NUMPY")
    with pytest.raises(kind, match=f"--ids .*: {said}"):
        read_small_lines(tmp_path / name, "--ids")


def test_ids_to_remove_from_an_index_are_read_so(cli, tmp_path):
    (tmp_path / "binary").write_bytes(b"\x93NUMPY")
    assert cli("index", "create", "seen", "--quiet").code == 0
    done = cli("index", "remove", "seen", "--ids", "binary")
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "--ids binary: not UTF-8" in done.err
