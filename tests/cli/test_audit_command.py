import json
import re

import pytest

from corpora import corpus


def test_a_finished_run_is_audited(cli, tmp_path):
    texts = corpus(300, seed=3, copies=0.6)
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options = ["--threshold", "0.5", "--recall", "0.6", "--hashes", "16", "--audit", "1000", "--json"]
    during = cli("dedup", "in.jsonl", "-o", "out", *options)
    assert "similar pairs were found. Recall:" in during.err
    after = cli("audit", "out", "--json", "--quiet")
    assert json.loads(after.out) == during.json()["audit"]
    assert "Audit of 300 items" in cli("audit", "out").out


def test_folders_that_are_not_runs_are_refused(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    done = cli("audit", "empty")
    assert done.code == 2
    assert "run.json" in done.err
    assert cli("audit", "nowhere").code == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda record: "{",
        lambda record: "[" * 100_000,
        lambda record: json.dumps([record]),
        lambda record: json.dumps(record | {"options": None}),
        lambda record: json.dumps(record | {"options": record["options"] | {"inputs": [1]}}),
        lambda record: json.dumps(record | {"options": record["options"] | {"inputs": 1}}),
        lambda record: json.dumps(record | {"options": record["options"] | {"shingle": None}}),
        lambda record: json.dumps(record | {"options": record["options"] | {"threshold": []}}),
        lambda record: json.dumps(record | {"options": {k: v for k, v in record["options"].items() if k != "seed"}}),
    ],
)
@pytest.mark.parametrize("command", [("audit", "out"), ("dedup", "--from", "out", "-o", "again")])
def test_a_damaged_record_of_a_run_is_one_line(cli, tmp_path, news, command, change):
    assert cli("dedup", news, "-o", "out", "--quiet").code == 0
    record = tmp_path / "out/run.json"
    record.write_text(change(json.loads(record.read_text())))
    done = cli(*command, "--quiet")
    assert (done.code in (2, 3), done.err.count("\n"), done.err[:11]) == (True, 1, "lookalike: ")
    assert re.search("run dedup on the input again|is not an output|must be a number", done.err)
