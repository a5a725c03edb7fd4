"""Mutated files and random options: an answer or one line of error, never a traceback, input untouched, nothing left.

`make fuzz` does it for an hour; `FUZZ_SECONDS`, `FUZZ_SEED` and `FUZZ_KEEP` (a folder for failed cases) change that.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzing.cases import Case, make_case
from fuzzing.checks import broken_promises, state_of
from fuzzing.files import MAKERS, PACKERS
from fuzzing.options import FUZZED, LEFT_OUT, command_named
from fuzzing.running import Ended
from lookalike.cli.main import COMMANDS
from lookalike.read.files import COMPRESSIONS
from lookalike.read.formats import FORMATS

SUPPORT = Path(__file__).parents[1] / "support"
CASES = "120"
"""Always the same ones: on a fast machine, too, the tests of a change must not find what is wrong elsewhere."""


def fuzz(*arguments):
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "fuzzing", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})


def test_mutated_files_and_random_options(tmp_path):
    keep = os.environ.get("FUZZ_KEEP", str(tmp_path / "failed"))
    seconds, seed = os.environ.get("FUZZ_SECONDS", "0"), os.environ.get("FUZZ_SEED", "13")
    done = fuzz("--seconds", seconds, "--least", CASES, "--seed", seed, "--keep", keep)
    print(*(line for line in done.stdout.splitlines() if " cases, " in line))
    assert done.returncode == 0, (
        f"repeat with tests/support on the path: python -m fuzzing ...\n{done.stdout}{done.stderr}"
    )


def test_every_command_and_format_is_tried():
    assert {name.partition(" ")[0] for name in [*FUZZED, *LEFT_OUT]} == {*COMMANDS}
    assert {*FORMATS} <= {*MAKERS}
    assert {*COMPRESSIONS} <= {*PACKERS}


def test_every_option_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzzing.cases.MAKERS", dict.fromkeys(MAKERS, lambda some: b"x"))  # files take time
    given = {name: set() for name in FUZZED}
    for number in range(3000):
        case = make_case(tmp_path / str(number), 1, number)
        given[case.command] |= {word.partition("=")[0] for word in case.arguments}
    for name in FUZZED:
        missing = [
            one.name for one in command_named(name).params if one.opts[0][0] == "-" and not given[name] & {*one.opts}
        ]
        assert missing == [], name


def test_a_case_depends_on_its_number_alone(tmp_path):
    made = [make_case(tmp_path / name, 7, 3) for name in ("a", "b")]
    assert made[0] == made[1]
    assert state_of(tmp_path / "a") == state_of(tmp_path / "b") != state_of(tmp_path)


ERROR = b"lookalike: a.txt: bad\n"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(3, b"", ERROR, 0, 0), None),
        (Ended(1, b"", ERROR, 0, 0), "exit code 1"),
        (Ended(-11, b"", b"", 0, 0), "exit code -11"),
        (Ended(3, b"", ERROR * 2, 0, 0), "2 lines of error"),
        (Ended(3, b"", b"note\n" + ERROR, 0, 0), "not quiet"),
        (Ended(3, b"", b"", 0, 0), "0 lines of error"),
        (Ended(2, b"", b"lookalike: standard output: broken\n", 0, 0), "an error that does not name its place"),
        (Ended(143, b"", b"lookalike: interrupted\n", 0, 0), "exit code 143"),
        (Ended(3, b"", b"lookalike: \x1b[2J\n", 0, 0), "raw control characters"),
        (Ended(3, b"", ERROR, 21, 0), "took 21 s"),
        (Ended(3, b"", ERROR, 0, 2 << 30), "too much memory: 2048 MiB"),
        (Ended(-9, b"", b"", 0, 0, "too much time"), "too much time: 0 MiB"),
        (Ended(0, b"left\tright\tsimilarity\na\tb\n", b"", 0, 0), "rows of different lengths, or no header"),
    ],
)
def test_broken_promises_are_noticed(tmp_path, ended, said):
    found = list(broken_promises(Case("pairs", ["pairs", "a", "--quiet"], ["a"]), tmp_path, ended, {}, {}))
    assert (found[:1] or [None]) == [said]


def test_changed_inputs_and_leftover_files_are_noticed(tmp_path):
    case, failed, done = Case("dedup", ["dedup"], ["in"], ["out"]), Ended(3, b"", ERROR, 0, 0), Ended(0, b"", b"", 0, 0)
    for before, after in (
        ({"in": "1"}, {"in": "2"}),
        ({"in": "1"}, {}),
        ({}, {".out.partial": "folder"}),
        ({}, {"tmp/x": "1"}),
    ):
        for ended in (failed, done):
            assert any("left behind" in one for one in broken_promises(case, tmp_path, ended, before, after))
    assert any("left behind" in one for one in broken_promises(case, tmp_path, failed, {}, {"out": "folder"}))
    assert any("cannot be read" in one for one in broken_promises(case, tmp_path, done, {}, {"out": "folder"}))
