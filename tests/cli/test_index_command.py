"""`lookalike index`: exit codes, tables and messages."""

import json
import shlex
import sqlite3
from contextlib import closing

import pytest

from calling import names
from lookalike.cli.index import command

LINES = [{"id": "a", "text": "one two three four five six"}, {"id": "b", "text": "seven eight nine ten eleven twelve"}]


@pytest.fixture
def seen(cli, tmp_path):
    """An index of two items."""
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    done = cli("index", "create", "seen", "items.jsonl", "--threshold", "0.6", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    return tmp_path / "seen"


def test_query_prints_a_table(cli, seen, tmp_path):
    (tmp_path / "asked.jsonl").write_text(json.dumps({"id": 1, "text": "one two three four five six seven"}))
    done = cli("index", "query", "seen", "asked.jsonl", "--quiet")
    assert done.rows() == [["left", "right", "similarity", "rank"], ["1", "a", "0.6666666666666666", "1"]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("query seen items.jsonl --threshold 0.5", "--threshold 0.5 is below that of the index, 0.6"),
        ("query items.jsonl items.jsonl", "items.jsonl: is not an index"),
        ("query seen items.jsonl -k 0", "-k must be a whole number of at least 1, not 0"),
        ("remove seen", "name the items to remove"),
        ("remove seen --older-than soon", "--older-than must be a time such as 90d, 12h or 30m, not 'soon'"),
        ("add seen items.jsonl --on-conflict ignore", "--on-conflict must be one of replace, skip, error"),
        ("create other --store pickles", "--store must be one of sets, text, not 'pickles'"),
    ],
)
def test_usage_errors(cli, seen, tmp_path, arguments, says):
    done = cli("index", *arguments.split())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"lookalike: {says}")
    assert names(tmp_path) == ["items.jsonl", "seen"]


@pytest.mark.parametrize("name", ["items.jsonl", "nofile.jsonl", "table.CSV.gz", "page.html"])
def test_the_name_of_a_data_file_is_not_that_of_an_index(cli, seen, tmp_path, name):
    before = names(tmp_path)
    done = cli("index", "create", name)
    assert done.code == 2
    what = "is a file, not an index" if name == "items.jsonl" else "is the name of a data file, not of an index"
    assert done.err == f"lookalike: {name} {what}: `lookalike index create INDEX {name}`\n"
    assert names(tmp_path) == before


def test_a_name_that_is_taken_is_refused_before_the_plan(cli, seen, tmp_path):
    (tmp_path / "folder").mkdir()
    assert cli("index", "create", "seen").err == (
        "lookalike: seen: already exists; add to it with `lookalike index add`, or choose another name\n"
    )
    assert cli("index", "create", "folder").err == (
        "lookalike: folder: already exists and is not an index; choose another name\n"
    )


def test_an_empty_index_is_said_to_be_empty(cli):
    assert cli("index", "create", "none").err.endswith("\nnone: created, empty.\n")


@pytest.mark.parametrize("measure", ["containment", "overlap", "euclid"])
def test_only_measures_that_an_index_has_are_offered(cli, measure):
    done = cli("index", "create", "other", "--measure", measure)
    choices = "jaccard, dice, cosine, euclidean, hamming"
    assert (done.code, done.err) == (2, f"lookalike: --measure must be one of {choices}, not {measure!r}\n")
    assert "containment" not in cli("index", "create", "-h").out


def test_unknown_ids_are_named(cli, seen):
    done = cli("index", "remove", "seen", "b", "nosuchid")
    assert (done.code, done.err) == (0, "seen: 1 item, 1 removed.\nNot in the index: 'nosuchid'.\n")
    done = cli("index", "remove", "seen", *"bcdefgh")
    assert done.err == "seen: 1 item, 0 removed.\nNot in the index: 'b', 'c', 'd', 'e', 'f' and 2 more.\n"
    assert cli("index", "remove", "seen", "--older-than", "1h").err == "seen: 1 item, 0 removed.\n"


def test_an_id_that_exists(cli, seen):
    done = cli("index", "add", "seen", "items.jsonl", "--on-conflict", "error")
    assert (done.code, "id 'a' already exists; nothing was added" in done.err) == (3, True)
    done = cli("index", "add", "seen", "items.jsonl", "--on-conflict", "skip", "--json", "--quiet")
    assert done.json()["counts"] == {"items": 2, "added": 0, "not_added": 2, "rejected": 0}


def test_remove_by_id_and_by_age(cli, seen, tmp_path):
    (tmp_path / "gone.txt").write_text("b\nnobody\n")
    assert cli("index", "remove", "seen", "--ids", "gone.txt", "--json", "--quiet").json()["counts"]["removed"] == 1
    assert cli("index", "remove", "seen", "--older-than", "1h", "--json", "--quiet").json()["counts"]["removed"] == 0
    assert cli("index", "remove", "seen", "--older-than", "0s", "--json", "--quiet").json()["counts"]["items"] == 0
    assert cli("index", "stats", "seen", "--json").json()["removed"] == 2
    assert cli("index", "compact", "seen", "--quiet").code == 0
    assert cli("index", "stats", "seen", "--json").json()["removed"] == 0


def test_check_names_the_damaged_file(cli, seen):
    assert cli("index", "check", "seen").out == "No problems found.\n"
    with closing(sqlite3.connect(seen / "index.sqlite")) as state, state:
        state.execute("UPDATE changes SET content = zeroblob(length(content))")
    done = cli("index", "check", "seen")
    assert (done.code, "index.sqlite: change 1 is damaged" in done.err) == (3, True)
    assert cli("index", "query", "seen", "items.jsonl").code == 3


@pytest.mark.parametrize("name", command.commands)
def test_the_options_of_the_examples_exist(name):
    part = command.commands[name]
    assert part.help
    for line in (part.epilog or "").splitlines():
        if "lookalike " in line:
            program, group, called, *arguments = shlex.split(line)
            assert (program, group, called) == ("lookalike", "index", name)
            part.make_context(called, arguments)  # parsed, not run
