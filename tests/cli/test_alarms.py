"""What a user should look at is in run.json and in the summary; and nothing is, where nothing is odd."""

import numpy as np
import pytest

from calling import jsonl, names
from corpora import corpus
from lookalike.jobs import audit

PLAIN = corpus(300, seed=8, copies=0)


def large_cluster(write):
    write("a", [*PLAIN, *[PLAIN[5]] * 3])


def file_mostly_removed(write):
    write("a", PLAIN)
    write("b", [*PLAIN[:30], *corpus(20, seed=9, copies=0)])


def oversize_buckets(write):
    shared = " ".join(f"common{n}" for n in range(50))
    write("a", [f"{shared} {text[:80]}" for text in corpus(1000, seed=10, copies=0)])


def mostly_empty(write):
    write("b", [None] * 15 + [""] * 15 + corpus(20, seed=9, copies=0))


def recall_not_reached(write):
    write("a", [*PLAIN, *PLAIN[:250]])


SAYS = {
    large_cluster: "one cluster has 4 of 303 items",
    file_mostly_removed: "30 of the 50 items of b.jsonl were removed",
    oversize_buckets: "were refined by rare shingles",
    mostly_empty: "30 of 50 items are empty: is --column the right one?",
    recall_not_reached: "below the 99.00% that was requested",
}


@pytest.mark.parametrize("make", SAYS)
def test_each_alarm_is_in_the_record_and_in_the_summary(cli, tmp_path, monkeypatch, make):
    make(lambda name, texts: (tmp_path / f"{name}.jsonl").write_bytes(jsonl(*[{"text": text} for text in texts])))
    options = []
    if make is recall_not_reached:
        # bands keep what the plan promises: as if they had lost every second pair
        monkeypatch.setattr(audit, "_share_a_key", lambda run, corpus, left, right: np.arange(len(left)) % 2 == 0)
        options = ["--audit", "1000"]
    done = cli("dedup", *names(tmp_path), "-o", "out", "--json", "--method", "lsh", *options)
    assert done.code == 0
    alarms = {alarm["kind"]: alarm["text"] for alarm in done.json()["alarms"]}
    assert set(alarms) == {make.__name__}
    assert SAYS[make] in alarms[make.__name__]
    assert f"Note: {alarms[make.__name__]}" in done.err


def test_no_alarm_without_a_reason(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl(*[{"text": text} for text in [*PLAIN, *PLAIN[:100], ""]]))
    done = cli("dedup", "a.jsonl", "-o", "out", "--json", "--audit", "100")
    assert done.json()["alarms"] == []
    assert "Note:" not in done.err
