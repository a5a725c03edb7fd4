"""Random histories of changes, merges, kills and damage next to a plain dictionary."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
FIRST = int(os.environ.get("LOOKALIKE_SEED", 0))


def run(first, count, folder):
    """In a process of its own, without threads, which forks the children that are killed."""
    program = (
        "import sys, histories; print(dict(histories.run_histories(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))"
    )
    command = [sys.executable, "-c", program, str(first), str(count), folder]
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_random_histories(tmp_path):
    happened = run(FIRST, 12, tmp_path)
    assert "'kills'" in happened
    assert "'damage noticed'" in happened


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_many_random_histories(tmp_path):
    print(run(FIRST + 1000, int(os.environ.get("LOOKALIKE_HISTORIES", 2000)), tmp_path))
