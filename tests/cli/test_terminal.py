"""On a terminal of any size: progress leaves alone what is above it, and data cannot control it."""

import json
import re
import signal
import sys

import pytest

from calling import FOX, SMALL, jsonl, process
from corpora import corpus
from terminals import Terminal

EARLIER = [f"earlier {number}" for number in range(22)]
SIZES = [(24, 80), (30, 120), (10, 40), (3, 200), (1, 20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Enough items for many stages in small pieces, as documents and as records."""
    folder = tmp_path_factory.mktemp("terminal")
    texts = corpus(1500, seed=5)
    (folder / "many.jsonl").write_bytes(jsonl(*[{"id": f"a{n}", "text": text} for n, text in enumerate(texts)]))
    names = [" ".join(text.split()[:3]) for text in texts]
    for name in "ab":
        (folder / f"{name}.csv").write_text(
            "id,name,phone\n" + "".join(f"{n},{x},555{n}\n" for n, x in enumerate(names))
        )
    assert process("index", "create", folder / "index").code == 0
    return folder


COMMANDS = {
    "dedup many.jsonl -o OUT --audit 200 --report": ["Plan", "Expected", "Results"],
    "pairs many.jsonl -o OUT.csv --method exact": ["Plan", "Results"],
    "neighbors many.jsonl -k 2 -o OUT.csv": ["Plan", "Results"],
    "link a.csv b.csv -o OUT --fields name,phone": ["Expected", "Results"],
    "index create OUT many.jsonl": ["Plan", "OUT: "],
    "index add index many.jsonl": ["index: "],
    "index query index many.jsonl -o OUT.csv": ["index: "],
}


def command_in(folder, command, out=""):
    """Its words, with the files of the folder."""
    first, *words = [word.replace("OUT", str(out)) for word in command.split()]
    return [first, *(folder / word if (folder / word).exists() else word for word in words)]


def check_screen(terminal, wanted):
    """What was there and what was said is all there, and nothing of the progress is."""
    lines = terminal.screen.lines()
    assert lines[: len(EARLIER)] == EARLIER
    said = "\n".join(lines[len(EARLIER) :])
    for words in wanted:
        assert words in said, said
    assert [line for line in lines if re.match(r"[|/\\-] \w", line)] == []
    assert (lines[-1], terminal.screen.column, terminal.screen.cursor_visible) == ("", 0, True)
    assert b"\r| " in terminal.raw  # progress was shown


@pytest.mark.parametrize(
    ("command", "size"),
    [*((next(iter(COMMANDS)), size) for size in SIZES), *((command, (10, 40)) for command in [*COMMANDS][1:])],
)
def test_progress_leaves_everything_above_it(folder, tmp_path, command, size):
    out = tmp_path / "out"
    terminal = Terminal(
        *command_in(folder, command, out), rows=size[0], columns=size[1], earlier=EARLIER, program=SMALL
    )
    assert terminal.finish() == 0
    check_screen(terminal, [words.replace("OUT", str(out)) for words in COMMANDS[command]])


@pytest.mark.parametrize("reflows", [True, False], ids=["folds", "cuts"])
def test_a_terminal_may_change_its_size_meanwhile(folder, tmp_path, reflows):
    arguments = command_in(folder, "dedup many.jsonl -o OUT --audit 200", tmp_path / "out")
    terminal = Terminal(*arguments, earlier=EARLIER, program=SMALL, reflows=reflows)
    stages = [b"planning: ", b"joining bands: ", b"fetching sets: ", b"auditing: "]
    for stage, (rows, columns) in zip(stages, [(10, 40), (50, 160), (3, 30), (24, 80)]):
        assert terminal.read_until(stage)
        terminal.resize(rows, columns)
    assert terminal.finish() == 0
    lines = terminal.screen.lines()
    assert lines[: len(EARLIER)] == EARLIER
    kept = [line for line in lines if line.startswith(("Plan: ", "Expected: ", "Results: "))]
    assert len(kept) == 3, lines


def test_an_interrupt_during_progress_restores_the_terminal(folder, tmp_path):
    arguments = command_in(folder, "dedup many.jsonl -o OUT --audit 200", tmp_path / "out")
    terminal = Terminal(*arguments, earlier=EARLIER, program=SMALL)
    assert terminal.read_until(b"joining bands: ")
    terminal.type(b"\x03")
    assert terminal.finish() == 128 + signal.SIGINT
    check_screen(terminal, ["Plan", "Expected"])
    assert terminal.screen.lines()[-2].startswith("lookalike: interrupted")


TALKING = """
import sys, time
from lookalike.cli import main
from lookalike.cli.progress import MovingProgress
from lookalike.errors import BadDataError
def call(arguments):
    progress = MovingProgress(0.001)
    with progress.stage("reading", 100, "B"):
        for number in range(30):
            time.sleep(0.01)
            progress.advance(1)
            progress.say(f"message {number}: " + "long " * 20)
    with progress.stage("writing"):
        time.sleep(0.1)
        sys.stdout.buffer.write(b"half a line, ")
        time.sleep(0.1)
        sys.stdout.buffer.write(b"the other half\\n")
        time.sleep(0.1)
    with progress.stage("failing"):
        time.sleep(0.1)
        raise BadDataError("a.jsonl:1: bad")
main._call = call
main.main([])
"""


@pytest.mark.parametrize("size", SIZES)
def test_messages_data_and_errors_are_whole_lines_while_progress_is_shown(size):
    terminal = Terminal("-c", TALKING, rows=size[0], columns=size[1], earlier=EARLIER, program=(sys.executable,))
    assert terminal.finish() == 3
    check_screen(terminal, [])
    messages = [f"message {number}: {'long ' * 20}".rstrip() for number in range(30)]
    assert terminal.screen.lines()[len(EARLIER) :] == [
        *messages, "half a line, the other half", "lookalike: a.jsonl:1: bad", "",
    ]  # fmt: skip
    assert all(f"{stage}: ".encode() in terminal.raw for stage in ("reading", "writing", "failing"))


def test_a_terminal_that_cannot_replace_a_line_gets_lines(folder, tmp_path):
    arguments = command_in(folder, "dedup many.jsonl -o OUT", tmp_path / "out")
    terminal = Terminal(*arguments, earlier=EARLIER, program=SMALL, TERM="dumb")
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.raw


EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\r\x08\u202eright\u2028\u2066\ufeff"
SHOWN = r"\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\r\x08\u202eright\u2028\u2066\ufeff"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]")


def escapes(folder):
    rows = [{"id": f"{EVIL} é名 {number}", "text": FOX} for number in range(2)]
    (folder / "evil.jsonl").write_bytes(jsonl(*rows))
    (folder / "evil.csv").write_text("id,x,y\n" + "".join(f'"{EVIL} é名 {number}",1,2\n' for number in range(2)))
    assert process("index", "create", folder / "evil", folder / "evil.jsonl").code == 0
    return rows[0]["id"], rows[1]["id"]


PRINTING = ["pairs evil.jsonl", "neighbors evil.jsonl", "index query evil evil.jsonl", "faces evil.csv"]


@pytest.mark.parametrize(
    ("command", "encoding"),
    [*((command, "utf-8") for command in PRINTING), (PRINTING[0], "latin-1"), (PRINTING[0], "ascii")],
)
def test_ids_cannot_control_a_terminal_and_pipes_get_every_byte(tmp_path, command, encoding):
    ids = escapes(tmp_path)
    arguments = command_in(tmp_path, command)
    piped = process(*arguments, "--quiet")
    assert all(id.replace('"', '""') in piped.out for id in ids)
    terminal = Terminal(*arguments, "--quiet", columns=500, encoding=encoding)
    assert terminal.finish() == 0
    seen = terminal.raw.decode(encoding)
    assert CONTROLS.sub("", seen.replace("\r\n", "\n")) == seen.replace("\r\n", "\n")
    rest = " é名 0".encode(encoding, "backslashreplace").decode(encoding)
    assert f"{SHOWN}{rest}" in seen
    if encoding == "utf-8":
        assert seen.replace("\r\n", "\n") == piped.out.replace(EVIL, SHOWN)


def test_records_stay_json_on_a_terminal(folder, tmp_path):
    arguments = command_in(folder, "dedup many.jsonl -o OUT --json --quiet", tmp_path / "out")
    terminal = Terminal(*arguments, columns=80)
    assert terminal.finish() == 0
    assert json.loads(terminal.screen.lines()[0])["counts"]["items"] == 1500
