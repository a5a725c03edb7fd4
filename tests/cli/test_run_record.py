"""Records of real runs are as `run.schema.json` describes them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest

from calling import caller

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA_FILE = DOCS.parent / "src" / "lookalike" / "run.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text("utf-8"))
TEXTS = str(DOCS / "data" / "texts.jsonl")
RUNS = {
    "dedup": ("dedup", TEXTS, "-o", "out"),
    "dedup by bands, audited": ("dedup", TEXTS, "-o", "out", "--method", "lsh", "--audit", "10"),
    "dedup with an alarm": ("dedup", "empty.jsonl", "-o", "out"),
    "dedup of vectors": ("dedup", "vectors.jsonl", "--column", "v", "--measure", "cosine", "-o", "out"),
    "pairs": ("pairs", TEXTS, "-o", "pairs.csv"),
    "pairs by the exact join": ("pairs", TEXTS, "-o", "p.csv", "--method", "exact", "--threshold", "0.3"),
    "neighbors": ("neighbors", TEXTS, "-k", "1", "-o", "near.csv"),
    "link": ("link", "a.csv", "b.csv", "-o", "out", "--fields", "name,phone", "--validate", "day"),
    "link by points": ("link", "a.csv", "b.csv", "-o", "out", "--fields", "name,phone", "--scoring", "points"),
}  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_text('{"text": ""}\n' * 30)
    Path("vectors.jsonl").write_text('{"v": [1.0, 0.5]}\n{"v": [1.0, 0.6]}\n{"v": [-1.0, 0.5]}\n')
    draw = random.Random(1)
    rows = [f"{chr(97 + n % 26)}{n}na m{n * 7}er,555{draw.randrange(10**6):06},{draw.randrange(90)}" for n in range(60)]
    for name, part in (("a", rows[:40]), ("b", rows[20:])):
        Path(f"{name}.csv").write_text("name,phone,day\n" + "\n".join(part) + "\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS)
def test_records_follow_the_schema(arguments, monkeypatch, capfd):
    done = caller(capfd, monkeypatch)(*arguments, "--json", "--quiet")
    assert done.code == 0, done.err
    validator = jsonschema.Draft202012Validator(SCHEMA)
    records = [done.json(), *(json.loads(path.read_text("utf-8")) for path in Path("out").glob("run.json"))]
    assert [error.message for record in records for error in validator.iter_errors(record)] == []


def test_the_schema_has_no_duplicates():
    def unique(pairs):
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    json.loads(SCHEMA_FILE.read_text("utf-8"), object_pairs_hook=unique)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.usefixtures("files")
def test_the_schema_notices_what_is_wrong(monkeypatch, capfd):
    record = caller(capfd, monkeypatch)(*RUNS["dedup"], "--json", "--quiet").json()
    validator = jsonschema.Draft202012Validator(SCHEMA)
    alarms = [{"kind": "other", "text": ""}]
    for name, wrong in (("counts", {"items": -1}), ("version", 2), ("alarms", alarms), ("new", 1)):
        assert list(validator.iter_errors(record | {name: wrong}))
    del record["seconds"]
    assert list(validator.iter_errors(record))
