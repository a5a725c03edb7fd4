"""What a user should look at is one list: run.json, the terminal and the report have the same."""

import json
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from calling import jsonl, names
from catalogues import make_products
from corpora import corpus
from linking import make_people
from lookalike.engine.alarms import MOST
from lookalike.jobs import audit
from lookalike.linkage.scoring import weights

PLAIN = corpus(300, seed=8, copies=0)
DEDUP = ("dedup", "-o", "out", "--report", "--method", "lsh")
PAIRS = ("pairs", "-o", "out.csv", "--report")


def write(folder, name, texts):
    (folder / f"{name}.jsonl").write_bytes(jsonl(*[{"text": text} for text in texts]))


def no_items(folder):
    write(folder, "a", [])
    return DEDUP


def large_cluster(folder):
    write(folder, "a", [*PLAIN, *[PLAIN[5]] * 3])
    return DEDUP


def mostly_removed(folder):
    for number in range(15):
        write(folder, f"a{number}", PLAIN[:19])  # in small files, so that there is nothing to say about each
    return DEDUP


def file_mostly_removed(folder):
    write(folder, "a", PLAIN)
    write(folder, "b", [*PLAIN[:30], *corpus(20, seed=9, copies=0)])
    return DEDUP


def close_calls(folder):
    draw, words = random.Random(1), [f"w{number}" for number in range(3000)]
    texts = [draw.choices(words, k=40) for _ in range(60)]
    write(folder, "a", [" ".join(words) for text in texts for words in (text, [*text[:36], *"abcd"])])
    return (*DEDUP, "--shingle", "word:1", "--recall", "0.999999")


def oversize_buckets(folder):
    shared = " ".join(f"common{n}" for n in range(50))
    write(folder, "a", [f"{shared} {text[:80]}" for text in corpus(1000, seed=10, copies=0)])
    return DEDUP


def mostly_empty(folder):
    write(folder, "b", [None] * 15 + [""] * 15 + corpus(20, seed=9, copies=0))
    return DEDUP


def many_empty(folder):
    write(folder, "b", [None] * 30 + PLAIN)
    return DEDUP


def recall_not_reached(folder):
    write(folder, "a", [*PLAIN, *PLAIN[:250]])
    return (*DEDUP, "--audit", "1000")


def recall_uncertain(folder):
    write(folder, "a", [*PLAIN, *PLAIN[:50]])
    return (*DEDUP, "--audit", "50")


def rejected(folder):
    (folder / "a.jsonl").write_bytes(b'oops\n{"text": "a b c"}\n')
    return (*DEDUP, "--on-error", "skip")


def rejected_pairs(folder):
    rejected(folder)
    return (*PAIRS, "--on-error", "skip")


def oversize_buckets_of_pairs(folder):
    oversize_buckets(folder)
    return (*PAIRS, "--method", "lsh")


def large_component(folder):
    write(folder, "a", [*PLAIN, *[PLAIN[5]] * 20])
    return PAIRS


SAYS = {
    no_items: "there were no items in the input",
    large_cluster: "one cluster has 4 of 303 items",
    mostly_removed: "93.3% of the items were removed",
    file_mostly_removed: "30 of the 50 items of b.jsonl were removed",
    close_calls: "of the removed items are within 0.02 of the threshold",
    oversize_buckets: "were refined by rare shingles",
    mostly_empty: "30 of 50 items are empty: is --column the right one?",
    many_empty: "30 of 330 items are empty; they are similar to nothing",
    recall_not_reached: "below the 99.00% that was requested",
    recall_uncertain: "too few to confirm a recall of 99%",
    rejected: "1 bad line or file was left out (50.0% of the input)",
    rejected_pairs: "1 bad line or file was left out (50.0% of the input)",
    oversize_buckets_of_pairs: "were refined by rare shingles",
    large_component: "one component has 21 of the 21 items in pairs",
}


def warnings_of(page):
    return [node.text() for node in LexborHTMLParser(page.read_text("utf-8")).css("#warnings li")]


def notes_of(done):
    return re.findall(r"^Note: (.*)$", done.err, re.MULTILINE)


def as_sentences(texts):
    return [text[0].upper() + text[1:] + ("" if text.endswith(("?", ".")) else ".") for text in texts]


@pytest.mark.parametrize("make", SAYS)
def test_run_json_terminal_and_report_have_the_same_list(cli, tmp_path, monkeypatch, make):
    command, *options = make(tmp_path)
    if make is recall_not_reached:
        # bands keep what the plan promises: as if they had lost every second pair
        monkeypatch.setattr(audit, "_share_a_key", lambda run, corpus, left, right: np.arange(len(left)) % 2 == 0)
    done = cli(command, *[name for name in names(tmp_path) if name.endswith(".jsonl")], *options, "--json")
    assert done.code == 0, done.err
    alarms = done.json()["alarms"]
    kind = make.__name__.removesuffix("_of_pairs").removesuffix("_pairs")
    assert kind in [alarm["kind"] for alarm in alarms]
    texts = [alarm["text"] for alarm in alarms]
    assert any(SAYS[make] in text for text in texts), texts
    assert notes_of(done) == texts
    page = tmp_path / ("out/report.html" if command == "dedup" else "out.report.html")
    assert warnings_of(page) == as_sentences(texts)
    if command == "dedup":
        assert json.loads((tmp_path / "out/run.json").read_text())["alarms"] == alarms
        page.unlink()
        assert cli("report", "out").code == 0
        assert warnings_of(page) == as_sentences(texts)


def lines_of_products(folder, left, right, matched):
    import pyarrow.csv

    for name, table in zip("ab", make_products(left, right, matched)):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return ("link", "a.csv", "b.csv", "-o", "out", "--fields", "title:text,maker,price", "--id", "id")


def doubtful_links(folder):
    return lines_of_products(folder, 150, 150, 0.4)


def nothing_linked(folder):
    return (*lines_of_products(folder, 150, 150, 0.4), "--probability", "0.9999999999")


def few_candidates(folder):
    import pyarrow.csv

    for name, table in zip("ab", make_people(200, 200, 0.5)[:2]):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return ("link", "a.csv", "b.csv", "-o", "out", "--fields", "all")


def not_converged(folder):
    return few_candidates(folder)


@pytest.mark.parametrize("make", [doubtful_links, nothing_linked, few_candidates, not_converged])
def test_link_has_the_same_list_everywhere(cli, tmp_path, monkeypatch, make):
    # rare, and hard to bring about: the facts that they follow from are changed
    if make is few_candidates:
        monkeypatch.setattr("lookalike.linkage.alarms.GOOD_RECALL", 2)
    if make is not_converged:
        maximise = weights._maximise
        monkeypatch.setattr(weights, "_maximise", lambda *facts: replace(maximise(*facts), converged=False))
    done = cli(*make(tmp_path), "--json")
    assert done.code == 0, done.err
    alarms = done.json()["alarms"]
    assert make.__name__ in [alarm["kind"] for alarm in alarms]
    texts = [alarm["text"] for alarm in alarms]
    assert notes_of(done)[-len(texts) :] == texts
    assert warnings_of(tmp_path / "out/report.html") == as_sentences(texts)
    assert cli("report", "out", "-o", "again.html").code == 0
    assert warnings_of(tmp_path / "again.html") == as_sentences(texts)


def test_many_alarms_are_counted(cli, tmp_path):
    write(tmp_path, "a", PLAIN[:40])
    for number in range(MOST + 5):
        write(tmp_path, f"b{number:02}", PLAIN[:40])
    done = cli("dedup", *names(tmp_path), "-o", "out", "--json", "--report")
    texts = [alarm["text"] for alarm in done.json()["alarms"]]
    shown = [*texts[:MOST], f"{len(texts) - MOST} more alarms are listed in run.json"]
    assert len(texts) > MOST + 5
    assert notes_of(done) == shown
    assert warnings_of(tmp_path / "out/report.html") == as_sentences(shown)


def test_no_alarm_without_a_reason(cli, tmp_path):
    write(tmp_path, "a", [*PLAIN, *PLAIN[:100], ""])
    done = cli("dedup", "a.jsonl", "-o", "out", "--json", "--audit", "1000", "--report")
    assert done.json()["alarms"] == []
    assert "Note:" not in done.err
    assert warnings_of(tmp_path / "out/report.html") == []
