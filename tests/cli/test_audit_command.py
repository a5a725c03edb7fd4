import json

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
    done = cli("audit", "nowhere")
    assert (done.code, done.err) == (2, "lookalike: nowhere: no such folder\n")


def without(options, name):
    return {other: value for other, value in options.items() if other != name}


def with_options(**options):
    return lambda record: json.dumps(record | {"options": record["options"] | options})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda record: "{", "out/run.json: is damaged or not a record of lookalike"),
        (lambda record: "[" * 100_000, "out/run.json: is damaged or not a record of lookalike"),
        (lambda record: json.dumps([record]), "out/run.json: is damaged or not a record of lookalike"),
        (lambda record: json.dumps(record | {"options": None}), "out: is not an output of lookalike dedup"),
        (with_options(inputs=[1]), "out/run.json: is damaged; "),
        (with_options(inputs=1), "out/run.json: is damaged; "),
        (with_options(shingle=None), "run.json: its options are damaged ("),
        (with_options(threshold=[]), "run.json: its options are damaged ("),
        (lambda record: json.dumps(record | {"options": without(record["options"], "seed")}), "run.json: its options"),
    ],
)
@pytest.mark.parametrize("command", [("audit", "out"), ("dedup", "--from", "out", "-o", "again")])
def test_a_damaged_record_of_a_run_is_one_line(cli, tmp_path, news, command, change, says):
    assert cli("dedup", news, "-o", "out", "--quiet").code == 0
    record = tmp_path / "out/run.json"
    record.write_text(change(json.loads(record.read_text())))
    done = cli(*command, "--quiet")
    assert (done.code, done.err.count("\n")) == (2 if "is not an output" in says else 3, 1)
    assert done.err.startswith(f"lookalike: {says}")
    assert done.err.endswith("run dedup on the input again\n") == (done.code == 3)
