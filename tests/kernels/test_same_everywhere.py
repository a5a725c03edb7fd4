"""A wheel runs without compiling, and results do not depend on how the kernels were compiled. Takes minutes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from lookalike.kernels.pack import cpu, provide

ROOT = Path(__file__).parents[2]
OTHER_NUMBA = "0.63.1"
"""Not the pinned version."""
WITHOUT_NUMBA = (
    "import sys; sys.modules['numba'] = None; from lookalike.cli.main import run; sys.exit(run(sys.argv[1:]))"
)


EVERY_COMMAND = """
import json, sys
from lookalike.cli.main import run
for command in json.loads(sys.argv[1]):
    if code := run(command):
        sys.exit(f"{command} ended with {code}")
"""
"""Several commands in one process, so that kernels are built, or compiled by Numba, once for all of them."""


def lookalike(folder, *arguments, code=WITHOUT_NUMBA, python=sys.executable, **environment):
    """Run a command in a folder, in a separate process."""
    done = subprocess.run(
        [str(python), "-c", code, *map(str, arguments)],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_wheel_runs_the_demo_without_compiling_and_without_numba(tmp_path):
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        ROOT,
        "--no-deps",
        "-w",
        tmp_path / "dist",
        "-c",
        ROOT / "constraints.txt",
    ]
    subprocess.run([*map(str, build)], check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    packs = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".pack")]
    for baseline in cpu.BASELINES:
        found = {Path(name).name.rsplit(".", 3)[0] for name in packs if name.endswith(f".{baseline}.pack")}
        assert found == set(provide.all_units())
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path / "installed", wheel]
    subprocess.run([*map(str, install)], check=True, capture_output=True)
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "LOOKALIKE_CACHE": str(tmp_path / "cache")}
    place = lookalike(tmp_path, code="import lookalike; print(lookalike.__file__)", **environment).stdout
    assert place.startswith(str(tmp_path / "installed"))
    assert "Compiling" not in lookalike(tmp_path, "demo", **environment).stderr
    assert not list((tmp_path / "cache").rglob("*.pack"))


def write_inputs(folder):
    random = np.random.default_rng(5)
    words = np.array([f"w{i}" for i in range(3000)])
    texts = [" ".join(words[random.zipf(1.3, 60) % 3000]) for _ in range(300)]
    texts += [text.replace("w1 ", "w2 ", 1) for text in texts[:100]] + ["ü é 漢字 " * 9]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    vectors = random.normal(size=(200, 37)).astype(np.float32)
    np.save(folder / "vectors.npy", np.concatenate([vectors, vectors[:50] + 0.05 * random.normal(size=(50, 37))]))
    rows = [f"{i},{a} {b},{2000 + i % 20}" for i, (a, b) in enumerate(random.choice(words[:90], (250, 2)))]
    (folder / "people.csv").write_text("\n".join(["id,name,year", *rows, *(f"x{row}" for row in rows[:80])]) + "\n")


COMMANDS = (
    ("dedup", "texts.txt", "-o", "dedup"),
    ("pairs", "texts.txt", "--threshold", "0.5", "--method", "exact", "-o", "exact.parquet"),
    ("pairs", "texts.txt", "--threshold", "0.5", "--measure", "cosine", "--bag", "--method", "lsh", "-o", "lsh.csv"),
    ("neighbors", "texts.txt", "-k", "3", "-o", "neighbors.csv"),
    ("pairs", "vectors.npy", "--measure", "cosine", "--threshold", "0.8", "--method", "lsh", "-o", "cosine.csv"),
    ("pairs", "vectors.npy", "--measure", "euclidean", "--threshold", "4", "--method", "brute", "-o", "euclidean.csv"),
    ("neighbors", "vectors.npy", "--measure", "cosine", "-k", "4", "-o", "near.csv"),
    ("link", "people.csv", "--fields", "name,year", "-o", "link"),
)


def results(folder, before="import sys; sys.modules['numba'] = None", python=sys.executable, **environment):
    """All files that the commands write, without times."""
    folder.mkdir()
    write_inputs(folder)
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))  # recorded in dedup/graph
    commands = json.dumps([[*command, "--quiet"] for command in COMMANDS])
    lookalike(folder, commands, code=f"{before}\n{EVERY_COMMAND}", python=python, **environment)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "run.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_results_do_not_depend_on_how_kernels_were_compiled(tmp_path):
    expected = results(tmp_path / "packed")
    others = [name for name in cpu.runnable_baselines() if name != cpu.target()]
    for name in ("native", *others):
        environment = {"LOOKALIKE_CPU": name, "LOOKALIKE_CACHE": str(tmp_path / "cache")}
        assert results(tmp_path / name, **environment) == expected, name
    assert results(tmp_path / "numba", before="", LOOKALIKE_KERNELS="numba") == expected


@pytest.mark.slow
def test_results_do_not_depend_on_the_version_of_numba(tmp_path):
    python = _other_numba(tmp_path / "other")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("packs", "__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path / "src"), "LOOKALIKE_CACHE": str(tmp_path / "cache")}
    versions = "import numba, lookalike; print(numba.__version__, lookalike.__file__)"
    version, place = lookalike(tmp_path, code=versions, python=python, **environment).stdout.split()
    assert version == OTHER_NUMBA
    assert place.startswith(str(tmp_path / "src"))
    found = results(tmp_path / "there", python=python, **environment)
    assert list((tmp_path / "cache").rglob("*.pack"))
    assert found == results(tmp_path / "here")


def _other_numba(folder):
    """A Python with another Numba and llvmlite, and otherwise with what is installed here."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", f"numba=={OTHER_NUMBA}", f"numpy=={np.__version__}"]
    if subprocess.run(list(map(str, install)), capture_output=True).returncode:
        install[-1] = "numpy"  # the newest that this Numba supports
        done = subprocess.run(list(map(str, install)), capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"Numba {OTHER_NUMBA} cannot be installed: {done.stderr[-200:]}")
    places = {sysconfig.get_paths()[name] for name in ("purelib", "platlib")}
    (own,) = (folder / "lib").glob("python*/site-packages")
    (own / "rest.pth").write_text("\n".join(sorted(places)) + "\n")  # after its own packages
    return python
