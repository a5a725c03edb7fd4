"""Systems without fcntl, resource or os.sysconf: everything works, only less is known."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WITHOUT = """
import os, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
del os.sysconf
"""


def run_without(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a process in which the modules cannot be imported."""
    program = WITHOUT + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True)


def test_a_run_without_unix_modules(tmp_path: Path) -> None:
    text = "one two three four five six seven eight"
    (tmp_path / "in.txt").write_text(f"{text}\n{text}\nanother text of some six words\n")
    code = """
    from lookalike.cli.main import main
    main(["dedup", *sys.argv[1:]])
    """
    done = run_without(code, tmp_path / "in.txt", "-o", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "out/run.json").read_text())
    assert run["counts"]["removed"] == 1
    assert run["peak_memory_bytes"] > 0
    assert run["options"]["memory_bytes"] <= 4 << 30  # half of what is assumed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out"]


@pytest.mark.parametrize("locks", ["none", "msvcrt"])
def test_two_runs_do_not_share_a_folder(tmp_path: Path, locks: str) -> None:
    code = """
    import errno, types
    from pathlib import Path

    if sys.argv[2] == "msvcrt":
        held = set()

        def locking(handle, mode, nbytes):
            found = os.fstat(handle).st_ino
            if found in held:
                raise PermissionError(errno.EACCES, "held")
            held.add(found)

        sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)

    from lookalike.errors import UsageError
    from lookalike.write import OutputFolder

    out = Path(sys.argv[1])
    with OutputFolder(out) as folder:
        try:
            with OutputFolder(out, resume=True):
                print("entered")
        except UsageError as error:
            print(error)
        (folder / "run.json").write_text("{}")
    print(sorted(path.name for path in out.parent.iterdir()), sorted(path.name for path in out.iterdir()))
    """
    done = run_without(code, tmp_path / "out", locks)
    assert done.returncode == 0, done.stderr
    refused, left = done.stdout.splitlines()
    advice = "wait until it ends" if locks == "msvcrt" else f"remove {tmp_path / '.out.partial' / 'lock'}"
    assert "another run is writing to it" in refused
    assert refused.endswith(advice)
    assert left == "['out'] ['run.json']"


def test_a_lock_that_a_killed_run_left(tmp_path: Path) -> None:
    """Without file locks it cannot be told from one that is held: it has to be removed by hand."""
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / ".out.partial/lock").touch()
    code = """
    from lookalike.errors import UsageError
    from lookalike.write import OutputFolder

    for attempt in range(2):
        try:
            with OutputFolder(sys.argv[1]) as folder:
                (folder / "run.json").write_text("{}")
                print("written")
        except UsageError as error:
            os.remove(str(error).rpartition("remove ")[2])
            print("removed")
    """
    done = run_without(code, tmp_path / "out")
    assert done.stdout.split() == ["removed", "written"], done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="counted elsewhere")
def test_the_peak_is_not_that_of_the_process_before():
    peak = "from lookalike.engine.usage import peak_memory_bytes; print(peak_memory_bytes())"
    code = f"import os, sys; held = b'x' * (400 << 20); os.execv(sys.executable, [sys.executable, '-c', {peak!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 10 << 20 < int(done.stdout) < 300 << 20
