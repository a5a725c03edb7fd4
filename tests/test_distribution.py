"""What is published: a wheel and a source archive that install and work in a fresh environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from lookalike.cli.main import COMMANDS
from lookalike.version import __version__

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "docs" / "data" / "texts.jsonl"


def run(*command: object, **options: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_versions_agree():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    changes = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert cited[1] == changes[0] == __version__


def test_completion_of_the_shell_lists_commands_and_options():
    program = Path(sys.executable).with_name("lookalike")
    asked = {"_LOOKALIKE_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    commands = run(program, env=os.environ | asked | {"COMP_WORDS": "lookalike "})
    assert {line.partition(",")[2] for line in commands.splitlines()} == set(COMMANDS)
    options = run(program, env=os.environ | asked | {"COMP_WORDS": "lookalike dedup --thr", "COMP_CWORD": "2"})
    assert options.splitlines() == ["plain,--threshold", "plain,--threads"]


def test_make_takes_the_first_python_that_is_new_enough(tmp_path):
    make = shutil.which("make")
    old, new = tmp_path / "python3.11", tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    asked = [make, "-C", ROOT, "--dry-run", "--always-make", ".venv/.installed"]
    environ = {"PATH": str(tmp_path)}
    assert 'test -n ""' in run(*asked, env=environ)
    new.symlink_to(sys.executable)
    assert "\npython3 -m venv .venv\n" in run(*asked, env=environ)
    assert "\nmine -m venv .venv\n" in run(*asked, "PYTHON=mine", env=environ)


def test_the_suite_runs_on_every_supported_python():
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert len(supported) > 2
    assert f"\nPYTHONS ?= {' '.join(f'python{version}' for version in supported)}\n" in (ROOT / "Makefile").read_text()
    asked = "test-pythons", f"PYTHONS={sys.executable}"
    done = run(shutil.which("make"), "-C", ROOT, "--dry-run", "--always-make", *asked)
    venv = f".venv-{sys.version_info.major}.{sys.version_info.minor}"
    assert f"\n{sys.executable} -m venv {venv}\n" in done
    assert f"\n{venv}/bin/pytest " in done
    if (ROOT / ".github").exists():  # not in a source archive
        assert f"python: {json.dumps(supported)}\n" in (ROOT / ".github" / "workflows" / "tests.yml").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both archives; the wheel is made from what the source archive holds, so that the tree stays as it is."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return {"sdist": next(folder.glob("*.tar.gz")), "wheel": next(folder.glob("*.whl"))}


@pytest.mark.slow
def test_the_archives_contain_what_they_should(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "CHANGELOG.md", "docs/README.md", "mkdocs.yml", "tests/test_docs.py", "build_packs.py"}
    assert wanted - names == set()
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
    assert {"lookalike/py.typed", "lookalike/run.schema.json"} <= names
    assert any(name.endswith(".pack") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_built_archives_install_and_run(kind, built, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "fresh")
    fresh = tmp_path / "fresh" / "bin"
    run(fresh / "pip", "install", "-c", ROOT / "constraints.txt", built[kind])
    assert run(fresh / "lookalike", "--version", cwd=tmp_path).split() == ["lookalike", __version__]
    run(fresh / "lookalike", "dedup", TEXTS, "-o", "out", "--threshold", "0.7", "--quiet", cwd=tmp_path)
    counts = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))["counts"]
    assert (counts["kept"], counts["removed"]) == (13, 6)
    check = "import lookalike as la; assert la.pairs(['a b c', 'A B c']).num_rows == 1"
    run(fresh / "python", "-c", check, cwd=tmp_path)
    packs = next((tmp_path / "fresh").rglob("kernels/packs"))
    assert any(packs.glob("*.pack"))  # compiled when it was installed, not at first use
