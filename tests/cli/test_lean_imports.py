"""Modules that are left out: a command does without them, and whoever asks gets them."""

import subprocess
import sys

import pytest

LEAVE_OUT = """
import sys
from lookalike.cli.lean_imports import leave_out
leave_out()
import numpy as np
def executed(name):
    return "__loader_of_the_contents__" not in vars(sys.modules[name])
"""


def printed(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", LEAVE_OUT + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_command_executes_none_of_them(tmp_path):
    (tmp_path / "a.txt").write_text("one two\none two\nthree\n")
    code = f"""
import os
from lookalike.cli import lean_imports, main
os._exit = lambda code: print(code, [name for name in lean_imports.LEFT_OUT if executed(name)])
main.main(["pairs", {str(tmp_path / "a.txt")!r}, "-o", {str(tmp_path / "out.csv")!r}, "--quiet"])
"""
    assert printed(code) == "0 []"


def test_numpy_works_without_them():
    assert printed("print(np.linalg.svd(np.eye(2)).S.tolist())") == "[1.0, 1.0]"


@pytest.mark.parametrize(
    "code",
    [
        "from numpy.typing import ArrayLike; print(executed('numpy.typing'))",
        "import numpy.typing as npt; npt.ArrayLike; print(executed('numpy.typing'))",
        "np.typing.ArrayLike; print(executed('numpy.typing'))",
        "from numpy._typing import _UIntLike_co; print('integer' in str(_UIntLike_co))",
        "import numpy._typing._scalars as scalars; print(hasattr(scalars, '_IntLike_co'))",
        "import numpy._core._add_newdocs as docs; docs.add_newdoc; print('Create an array' in np.array.__doc__)",
        "import asyncio; print(asyncio.run(asyncio.sleep(0, True)))",
        "import scipy.optimize; print(scipy.optimize.brentq(lambda x: x - 1, 0, 3) == 1)",
    ],
)
def test_whoever_asks_gets_them(code):
    assert printed(code) == "True"


def test_what_numpy_does_not_have_is_an_error():
    code = "import numpy.typing as npt; print(hasattr(npt, 'Nothing'), hasattr(npt, 'ArrayLike'))"
    assert printed(code) == "False True"


def test_two_threads_may_ask_at_once():
    code = """
import threading, numpy._typing
found, start = [], threading.Barrier(4)
def ask():
    start.wait()
    found.append(numpy._typing._ArrayLikeInt_co)
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(map(id, found))))
"""
    assert printed(code) == "4 1"
