"""The calls of other tools on the page "coming from" work, each in an environment with the version that it names."""

import csv
import re
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coming-from.md"
PEERS = SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks" / "peer_env.py")))
PEOPLE = [
    {"id": n, "name": f"{first} {last}", "address": f"{n * 7} {last} street", "phone": f"555{n:04}"}
    for n, (first, last) in enumerate(
        (first, last)
        for first in ("john", "mary", "ann", "peter", "susan", "paul", "linda", "mark", "laura", "emma")
        for last in ("smith", "jones", "lee", "brown", "taylor", "clark", "hall", "young", "king", "hill")
    )
]
TEXTS = ["the quick brown fox jumps over the lazy dog tonight", "colourless green ideas sleep furiously under a bridge"]
BEFORE = """
shingles = tokens = ["the quick brown fox", "quick brown fox jumps"]
sets = [{1, 2, 3}, {1, 2, 3, 4}, {9}]
"""
ASKED = """
import csv, dedupe, io
from dedupe.serializer import write_training
def people(path): return {row["id"]: row for row in csv.DictReader(open(path))}
a, b = people("a.csv"), people("b.csv")
def label(linker):
    # what a person would answer
    pairs = {"match": [(a[str(n)], b[str(n)]) for n in range(40)]}
    pairs["distinct"] = [(a[str(n)], b[str(n + 50)]) for n in range(40)]
    linker.mark_pairs(pairs)
dedupe.console_label = label
"""
TOOLS = {
    "datasketch": (("datasketch",), "", "assert lsh.query(m) == ['a']"),
    "rensa": (("rensa",), "", "assert lsh.query(m) == [0]"),
    "SetSimilaritySearch": (("SetSimilaritySearch",), "", "assert len(list(all_pairs(sets))) == 1"),
    "splink": (("splink", "pandas", "pyarrow"), "splink", "assert len(links.as_pandas_dataframe()) >= 95"),
    "dedupe": (("dedupe", "pyarrow"), "dedupe", "assert len(links) >= 80"),
    "datatrove": (
        ("datatrove", "spacy", "tokenizers", "xxhash", "regex", "pyarrow"),
        "",
        "import os; assert os.listdir('out')",
    ),
    "text-dedup": (("text-dedup", "pyarrow"), "", ""),
}


def their_call(tool):
    """The code of a section, and the version that it names."""
    section = re.search(rf"^## {tool}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[1]
    code = re.search(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[1]
    return code, re.search(rf"# {tool} ([\d.]+)", code)[1]


@pytest.mark.parametrize("tool", TOOLS)
def test_their_call_works(tool, tmp_path):
    packages, own, after = TOOLS[tool]
    reason = PEERS.install_packages(packages, own)
    if reason:
        pytest.skip(f"{tool} cannot be installed: {reason}")
    code, version = their_call(tool)
    assert PEERS.version_of(tool, own).startswith(f"{version}.")
    for name in ("a.csv", "b.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, PEOPLE[0])
            writer.writeheader()
            writer.writerows(PEOPLE)
    three = [*TEXTS, TEXTS[0]]
    (tmp_path / "train.csv").write_text("text\n" + "\n".join(three) + "\n")
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"id": ["0", "1", "2"], "text": three}), tmp_path / "data" / "part.parquet")
    if code.startswith("python -m"):
        command = ["sh", "-c", code.replace("python ", f"{PEERS.python_of(own)} ", 1)]
    else:
        (tmp_path / "call.py").write_text(f"{ASKED if tool == 'dedupe' else BEFORE}\n{code}\n{after}\n")
        command = [PEERS.python_of(own), "call.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    if tool == "text-dedup":
        assert (tmp_path / "out").is_dir()
