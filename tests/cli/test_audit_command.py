import json

from corpora import corpus


def test_a_finished_run_is_audited(cli, tmp_path):
    texts = corpus(300, seed=3, copies=0.6)
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options = ["--threshold", "0.5", "--recall", "0.6", "--hashes", "16", "--audit", "1000", "--json"]
    during = cli("dedup", "in.jsonl", "-o", "out", *options)
    assert "share a band, recall" in during.err
    after = cli("audit", "out", "--json", "--quiet")
    assert json.loads(after.out) == during.json()["audit"]
    assert "Audit of 300 items" in cli("audit", "out").out


def test_what_is_no_run_is_refused(cli, tmp_path):
    (tmp_path / "empty").mkdir()
    done = cli("audit", "empty")
    assert done.code == 2
    assert "run.json" in done.err
    assert cli("audit", "nowhere").code == 2
