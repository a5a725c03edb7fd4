import gzip
import json
import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpora import corpus
from lookalike.engine.forecast import forecast_run
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.engine.stores.digests import Digests
from lookalike.errors import ResourceError
from lookalike.jobs.dedup import dedup_to_folder
from lookalike.read import open_inputs

Usage = namedtuple("Usage", "total used free")


def write(path: Path, texts: list[str]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), path)
    elif path.suffix == ".txt":
        path.write_text("".join(text.replace("\n", " ") + "\n" for text in texts))
    else:
        rows = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
        path.write_bytes(gzip.compress(rows) if path.suffix == ".gz" else rows)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.txt", "a.parquet"])
def test_the_number_of_items_is_known_or_well_guessed(tmp_path: Path, name: str) -> None:
    texts = corpus(6000, seed=2)
    found = forecast_run(open_inputs([write(tmp_path / name, texts)]), [], Settings.parse())
    assert found.exact == (name == "a.parquet")
    assert 0.8 * len(texts) < found.items < 1.25 * len(texts)
    assert not found.exact or found.items == len(texts)


def test_rows_of_many_files_are_estimated_from_some(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path / f"{number:03}.jsonl", ["a few words"] * 50)
    found = forecast_run(open_inputs([str(tmp_path / "*.jsonl")]), [], Settings.parse())
    assert 9_000 < found.items < 11_000
    assert not found.exact


def test_input_that_certainly_does_not_fit_is_refused_before_anything_is_read(tmp_path, monkeypatch) -> None:
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"text": pa.DictionaryArray.from_arrays(np.zeros(5_000_000, np.int8), ["a"])}), path)
    monkeypatch.setattr(Digests, "add", lambda *_: pytest.fail("the input was read"))
    with pytest.raises(ResourceError, match=r"5,000,000 items need .* --memory is 0.5 GiB"):
        dedup_to_folder([path], tmp_path / "out", Settings.parse(memory="512MiB"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 1000))
    with pytest.raises(ResourceError, match="--work DIR"):
        dedup_to_folder([path], tmp_path / "out", Settings.parse(memory="4GiB"))
    assert [found.name for found in tmp_path.iterdir()] == ["many.parquet"]


def test_a_disk_that_may_become_full_is_reported_in_advance(tmp_path, monkeypatch) -> None:
    said = []
    monkeypatch.setattr(Progress, "say", lambda _, text: said.append(text))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 10))
    path = write(tmp_path / "a.jsonl", ["some words"] * 10)
    run = dedup_to_folder([path], tmp_path / "out", Settings.parse())
    assert any("are free" in text for text in said)
    assert any(text.startswith("Expected: about 10 items") for text in said)
    assert run["forecast"]["items"] == 10


def test_memory_that_is_foreseen_grows_with_the_items_up_to_what_is_given(tmp_path: Path) -> None:
    small = forecast_run(open_inputs([write(tmp_path / "a.parquet", ["a"] * 10)]), [], Settings.parse(memory="1GiB"))
    large = forecast_run(
        open_inputs([write(tmp_path / "b.parquet", ["a"] * 2_000_000)]), [], Settings.parse(memory="1GiB")
    )
    assert small.memory_bytes < large.memory_bytes <= 1 << 30
    assert small.work_bytes == 0 < large.work_bytes
