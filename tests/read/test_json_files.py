"""A .json file that is a table is refused if it was named, and is a document like any other in a folder."""

import json
from pathlib import Path

import pytest

import lookalike as la
from calling import FOX, IDEAS, jsonl, names, pack
from lookalike.errors import UsageError
from lookalike.read import open_inputs
from looking import features

ROWS = [{"text": FOX}, {"text": IDEAS}]
ARRAY = json.dumps(ROWS, indent=1).encode()


@pytest.mark.parametrize(
    "command", ["pairs", "neighbors", "dedup -o out", "link -o out --fields text", "index create seen"]
)
def test_a_json_array_is_refused(cli, tmp_path, command):
    (tmp_path / "data.json").write_bytes(ARRAY)
    done = cli(*command.split(), "data.json")
    assert done.code == 2
    assert "data.json: a JSON array" in done.err
    assert "jq -c '.[]' data.json > data.jsonl" in done.err
    assert names(tmp_path) == ["data.json"]


def test_json_lines_under_another_name_are_refused(cli, tmp_path):
    (tmp_path / "data.json").write_bytes(jsonl(*ROWS))
    done = cli("pairs", "data.json")
    assert done.code == 2
    assert "rename it to data.jsonl;" in done.err


@pytest.mark.parametrize(("suffix", "program"), [(".gz", "gzip"), (".zst", "zstd")])
def test_compressed_tables_are_refused(tmp_path: Path, suffix: str, program: str) -> None:
    path = tmp_path / f"data.JSON{suffix}"
    path.write_bytes(pack(ARRAY, suffix))
    with pytest.raises(UsageError, match=rf"{program} -dc \S+ \| jq -c '\.\[\]' > data\.jsonl;"):
        la.dedup(str(path))
    path.write_bytes(pack(jsonl(*ROWS), suffix))
    with pytest.raises(UsageError, match=rf"rename it to data\.jsonl\{suffix};"):
        la.pairs(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_not_the_first_character(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "data.json").write_text("\n [1]", encoding=encoding)
    with pytest.raises(UsageError, match="a JSON array"):
        open_inputs([tmp_path / "data.json"], encoding=encoding)


def test_a_url_is_refused_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(ARRAY)
    with pytest.raises(UsageError, match="a JSON array"):
        open_inputs([(tmp_path / "data.json").as_uri()])


@pytest.mark.parametrize("text", ['{"text": "one"}', '{\n"text": 1\n}', '{"a": 1}\nand more', "1\n2\n", ""])
def test_other_json_files_are_documents(tmp_path: Path, text: str) -> None:
    (tmp_path / "data.json").write_text(text)
    assert features(open_inputs([tmp_path / "data.json"])[0]) == [text]


def test_files_of_a_folder_or_glob_are_documents(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(ARRAY)
    for found in (tmp_path, tmp_path / "*.json", f"{tmp_path.as_uri()}/*.json"):
        assert features(open_inputs([found])[0]) == [ARRAY.decode()]
