"""Signals at any moment: one line, the right exit code, nothing left over, and work that can be continued is kept."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calling import environment, jsonl, names, start, wait_for

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


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
    with start(*command, "--quiet", stdin=subprocess.PIPE, env=environment(TMPDIR=str(temporary))) as started:
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


def test_an_interrupt_while_the_commands_are_imported_is_one_line():
    code = """
import sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from lookalike.cli.main import main
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "lookalike: interrupted\n")


def test_a_signal_is_not_lost_in_a_destructor():
    code = """
import os, signal, time
from lookalike.cli import stopping
stopping.catch_signals()
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


def test_an_interrupt_while_an_error_is_reported_adds_no_line():
    code = """
import os, signal, time
import click
from lookalike.cli import main
write = click.echo
def interrupted(*given, **more):
    write(*given, **more)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)
click.echo = interrupted
main.main(["tune", "--absent"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (143, 1)


def test_a_signal_is_not_lost_while_a_lost_one_is_sent_again():
    code = """
import os, signal, threading, time
from lookalike.cli import stopping
stopping.catch_signals()
class Early(threading.Timer):
    signals = 1
    def start(self):
        super().start()
        if Early.signals:
            Early.signals = 0
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
threading.Timer = Early
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (143, "")


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
        with start(command, source, "-o", out, *more, env=environment(TMPDIR=str(temporary))) as started:
            wait_for(lambda: catches_signals(started.pid), 120)
            time.sleep(0.12 * moment)
            code, last = stopped(started, number)
        assert code in (0, 128 + number), last
        assert names(temporary) == []
        assert names(tmp_path) == ["a.jsonl", "tmp"] if code else out.exists()
        if not code:
            break
