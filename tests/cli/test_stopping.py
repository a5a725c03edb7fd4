"""Signals at any moment: one line, the right exit code, nothing left over, and work that can be continued is kept."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calling import environment, jsonl, names, start, wait_for

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def hear_hangups():
    """Undo in a new process what `nohup` has set for all its descendants."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def stopped(started, number):
    """The last line of a process that a signal has stopped."""
    started.send_signal(number)
    _, err = started.communicate(timeout=120)
    assert b"Traceback" not in err, err
    return started.returncode, err.decode().splitlines()[-1]


def catches_signals(pid):
    """Whether the program has begun; before, a signal ends Python itself."""
    caught = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0]
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1


@pytest.fixture
def temporary(tmp_path):
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", [["pairs", "-"], ["neighbors", "-"], ["pairs", "-", "--explain"]])
def test_no_temporary_folder_is_left(temporary, command, number):
    environ = environment(TMPDIR=str(temporary))
    with start(*command, "--quiet", stdin=subprocess.PIPE, env=environ, preexec_fn=hear_hangups) as started:
        wait_for(lambda: any(temporary.rglob("stdin.jsonl")), 120, started)
        started.send_signal(number)
        _, err = started.communicate(timeout=120)
    assert (started.returncode, err) == (128 + number, b"lookalike: interrupted\n")
    assert names(temporary) == []


def test_explaining_standard_input_leaves_nothing(temporary):
    rows = jsonl({"id": 1, "text": "a b c d e f"}, {"id": 2, "text": "b c d e f g"})
    with start("pairs", "-", "--explain", stdin=subprocess.PIPE, env=environment(TMPDIR=str(temporary))) as started:
        started.communicate(rows, timeout=120)
    assert (started.returncode, names(temporary)) == (0, [])


def test_no_file_is_written_to_find_a_temporary_folder(tmp_path, temporary):
    """Its name is not known to us: a signal would leave it behind."""
    (tmp_path / "a.txt").write_text("a b c\n" * 2)
    code = f"""
import sys
opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(str(given[0])))
from lookalike.cli.main import run
run(["pairs", "{tmp_path}/a.txt", "--quiet", "-o", "{tmp_path}/out.csv"])
print(*(name for name in opened if name.startswith("{temporary}") and "lookalike-" not in name))
"""
    environ = environment(TMPDIR=str(temporary))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, timeout=120, check=True)
    assert done.stdout == b"\n"


@pytest.mark.parametrize("module", ["typing", "contextlib", "signal", "click"])
def test_an_interrupt_during_the_first_imports_is_one_line(module):
    code = f"""
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.modules.pop("{module}", None)
from lookalike.cli.main import main
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, b"lookalike: interrupted\n")


@pytest.mark.parametrize("seconds", [0.08, 0.25])
def test_an_interrupt_at_the_start_is_one_line(tmp_path, seconds):
    code = f"""
import os, signal, sys, threading
from lookalike.cli import main
threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start()
main.main(["dedup", "-", "-o", "{tmp_path}/out"])
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        err = started.stderr.read().decode()
    assert (started.returncode, err.splitlines()[-1]) == (130, "lookalike: interrupted")
    assert "Traceback" not in err
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupt_while_a_class_is_made_is_one_line(number):
    code = f"""
import os
from lookalike.cli import main
class Interrupting:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), {number})
main._call = lambda arguments: type("Made", (), {{"one": Interrupting()}})
main.main(["tune"])
"""
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, capture_output=True, timeout=60, check=False, preexec_fn=hear_hangups)
    assert (done.returncode, done.stderr) == (128 + number, b"lookalike: interrupted\n")


def test_an_interrupt_between_two_steps_of_the_command_line_is_one_line():
    code = """
import click
from lookalike.cli import main
invoke, leave, invoked = main.group.invoke, click.Context.__exit__, []
def invoke_and_note(context):
    invoke(context)
    invoked.append(context)
def leave_or_be_interrupted(context, *error):
    if context in invoked:
        raise KeyboardInterrupt
    return leave(context, *error)
main.group.invoke, click.Context.__exit__ = invoke_and_note, leave_or_be_interrupted
main.main(["tune", "--quiet"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (130, "lookalike: interrupted\n")


SIGNAL_IN_A_DESTRUCTOR = """
class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
try:
    Dying()
    time.sleep(10)
except KeyboardInterrupt as error:
    os._exit(stopping.exit_code(error))
"""


SIGNAL_WHILE_ONE_IS_SENT_AGAIN = """
class Early(threading.Timer):
    signals = 1
    def start(self):
        super().start()
        if Early.signals:
            Early.signals = 0
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
threading.Timer = Early
"""


@pytest.mark.parametrize("before", ["", SIGNAL_WHILE_ONE_IS_SENT_AGAIN])
def test_a_signal_is_not_lost_in_a_destructor(before):
    catching = "import os, signal, threading, time\nfrom lookalike.cli import stopping\nstopping.catch_signals()\n"
    code = catching + before + SIGNAL_IN_A_DESTRUCTOR
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (143, "")


def test_a_signal_at_the_last_moment_prints_no_traceback():
    code = """
import os, signal, time
from lookalike.cli import main, stopping
def interrupted():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)
stopping.remove_temporary = interrupted
main.main(["tune", "--quiet"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupt_while_an_error_is_reported_adds_no_line_and_loses_none(moment):
    code = f"""
import os, signal, time
import click
from lookalike.cli import main
write = click.echo
def interrupted(*given, **more):
    if {moment == "after"}:
        write(*given, **more)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)
    if {moment == "before"}:
        write(*given, **more)
click.echo = interrupted
main.main(["tune", "--absent"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (143, 1)
    assert done.stderr.startswith("lookalike: No such option '--absent'")


def test_ignored_signals_stay_ignored(temporary):
    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    environ = environment(TMPDIR=str(temporary))
    with start("pairs", "-", stdin=subprocess.PIPE, env=environ, preexec_fn=ignore) as started:
        wait_for(lambda: any(temporary.rglob("stdin.jsonl")), 120, started)
        started.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert started.poll() is None
        assert stopped(started, signal.SIGTERM)[0] == 143


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", ["dedup", "pairs", "neighbors", "link"])
def test_a_signal_at_any_moment(tmp_path, temporary, command, number):
    source = tmp_path / "a.jsonl"
    source.write_bytes(jsonl(*({"id": i, "text": f"{i} {i * 7} {i % 90} a b c d"} for i in range(3000))))
    out = tmp_path / ("out.csv" if command in ("pairs", "neighbors") else "out")
    more = ["--fields", "text"] if command == "link" else ["--shingle", "word:1"]
    for moment in range(12):
        environ = environment(TMPDIR=str(temporary))
        with start(command, source, "-o", out, *more, env=environ, preexec_fn=hear_hangups) as started:
            wait_for(lambda: catches_signals(started.pid), 120)
            time.sleep(0.12 * moment)
            code, last = stopped(started, number)
        assert code in (0, 128 + number), last
        assert names(temporary) == []
        assert code or out.exists()
        # a signal after the last step leaves the output, which is complete
        assert [name for name in names(tmp_path) if not name.startswith(out.name)] == ["a.jsonl", "tmp"]
        if out.exists():
            break
