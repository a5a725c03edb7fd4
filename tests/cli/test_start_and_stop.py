"""How fast it answers, what it imports, how it is interrupted, and the demo."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import COPY, FOX, IDEAS, LOOKALIKE, RIVER, kept, names, process, removed, start, wait_for
from lookalike.cli import demo
from lookalike.cli.main import COMMANDS

TALKATIVE = (
    sys.executable,
    "-c",
    "import lookalike.cli.progress as p; p.PLAIN_SECONDS = 0.2; from lookalike.cli.main import main; main()",
)
HEAVY = ("numpy", "numba", "pyarrow", "pandas", "matplotlib", "fsspec")


def python(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_help_answers_at_once():
    seconds = []
    for _ in range(5):
        before = os.times()
        assert process("--help").code == 0
        after = os.times()  # processor time does not depend on what else the machine does
        used = after.children_user - before.children_user + after.children_system - before.children_system
        seconds.append(used)
    assert min(seconds[1:]) < 0.3  # 0.06 where this was written


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *[[command, "-h"] for command in COMMANDS]])
def test_help_imports_nothing_heavy(arguments):
    code = f"""
import sys
from lookalike.cli.main import run
assert run({arguments}) == 0
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    assert python(code).stderr.strip() == "[]"


def test_small_jobs_do_not_wait_for_pandas(tmp_path):
    """Arrow imports it at the first chance, and that takes longer than the job."""
    (tmp_path / "a.txt").write_text("one two\none two\nthree\n")
    texts = [f"{FOX} {os.urandom(100).hex()}" for _ in range(500)]  # so much that threads are started
    pq.write_table(pa.table({"text": texts}), tmp_path / "b.parquet")
    code = f"""
import os, sys
from lookalike.cli.main import run
os.chdir({str(tmp_path)!r})
for words in ("pairs a.txt", "dedup b.parquet -o kept --threads 2", "neighbors a.txt", "dedup a.txt -o out",
              "audit out", "index create seen a.txt",
              "index add seen a.txt --if-new", "index query seen a.txt", "index stats seen", "index remove seen 0",
              "index compact seen", "index check seen", "dedup a.txt --reference seen -o new"):
    assert run(words.split()) == 0, words
    assert "pandas" not in sys.modules, words
"""
    assert "a.txt:1" in python(code).stdout


def test_small_jobs_in_python_do_not_wait_for_pandas():
    code = f"""
import sys
import lookalike as la
texts = [{FOX!r}, {RIVER!r}, {COPY!r}, ""]
for result in (la.dedup(texts).removed, la.pairs(texts), la.neighbors(texts, 1)):
    print(result.num_rows)
assert not {{"pandas", "numba", "pyarrow.compute"}} & {{*sys.modules}}
"""
    assert python(code).stdout.split() == ["1", "1", "2"]


LINKING = (
    "link people.csv -o people --fields name,born,phone",
    "link here.csv there.csv -o words --fields title:text,price",
    "link here.csv there.csv -o all --fields all",
    "link here.csv there.csv -o whole --fields record:text",
    "link here.csv -o one --fields title:text,price",
    "link new.csv --against words -o later",
    "link here.csv there.csv --fields title:text,price --review 5 -o review.csv",
    "link here.csv there.csv --fields title:text,price --labels labels.csv -o labelled",
    "report words -o links.html",
)
REPORTING = (
    "dedup here.csv --column title --threshold 0.3 --shingle word:1 -o kept --report",
    "report kept -o kept.html",
    "pairs here.csv --column title --threshold 0.3 --shingle word:1 -o pairs.parquet",
    "report pairs.parquet -o pairs.html",
    "pairs vectors.npy --measure cosine -o near.parquet",
)


@pytest.mark.parametrize("commands", [LINKING, REPORTING])
def test_linking_and_reports_do_not_wait_for_pandas(tmp_path, commands):
    """Arrow imports it at the first chance, for scalars and masks, and that takes as long as linking 300 products."""
    rows = [f"p{n},{FOX.split()[n % 9]} {n},{1970 + n}-03-04,{n * 1234567 % 9999999:07}\n" for n in range(30)]
    (tmp_path / "people.csv").write_text("id,name,born,phone\n" + "".join(rows))
    for name, first in (("here", 0), ("there", 10), ("new", 35)):
        titles = [f"{FOX.split()[n % 9]} lamp{n % 7} {n}x{n * n}" for n in range(first, first + 40)]
        rows = [f"{name}{n},{title},{n % 3 or ''}\n" for n, title in enumerate(titles)]
        (tmp_path / f"{name}.csv").write_text("id,title,price\n" + "".join(rows))
    (tmp_path / "labels.csv").write_text("left,right,match\nhere10,there0,1\nhere11,there2,0\n")
    np.save(tmp_path / "vectors.npy", np.eye(5, dtype=np.float32).repeat(2, axis=0))
    code = f"""
import os, sys
from lookalike.cli.main import run
os.chdir({str(tmp_path)!r})
for words in {commands!r}:
    assert run([*words.split(), "--quiet"]) == 0, words
    assert not {{"pandas", "numba", "pyarrow.compute"}} & {{*sys.modules}}, words
"""
    python(code)


NOT_FOR_SMALL_JOBS = (
    "numba", "pandas", "pyarrow.compute", "pyarrow.dataset", "duckdb", "scipy", "matplotlib", "fsspec",
    "numpy.ma", "numpy.polynomial", "html.entities", "subprocess", "argparse", "secrets", "lookalike.report.html",
    "lookalike.jobs.audit", "lookalike.kernels.pack.provide", "pyarrow.parquet", "pyarrow.fs", "ssl", "_hashlib",
)  # fmt: skip


@pytest.mark.parametrize("command", ["dedup", "pairs", "neighbors"])
def test_small_jobs_import_nothing_heavy(tmp_path, command):
    """Each takes a few to hundreds of milliseconds, and a small job about a hundred."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in (FOX, RIVER, COPY)))
    out = tmp_path / ("out" if command == "dedup" else "out.csv")
    arguments = [command, str(tmp_path / "a.jsonl"), "-o", str(out), "--quiet"]
    code = f"""
import sys
from lookalike.cli.main import run
assert run({arguments}) == 0
print([name for name in {NOT_FOR_SMALL_JOBS} if name in sys.modules], file=sys.stderr)
"""
    assert python(code).stderr.strip() == "[]"


def test_formats_are_imported_when_a_file_has_them(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text(FOX)
    arguments = ["dedup", str(tmp_path / "files"), "-o", str(tmp_path / "out"), "--quiet"]
    code = f"""
import sys
from lookalike.cli.main import run
assert run({arguments}) == 0
unneeded = ["matching.vectors", *(f"read.{{name}}" for name in ("csv", "dat", "jsonl", "lines", "parquet", "vectors"))]
print([name for name in unneeded if f"lookalike.{{name}}" in sys.modules])
"""
    assert python(code).stdout.strip() == "[]"


def test_a_small_job_starts_no_threads(tmp_path):
    (tmp_path / "a.txt").write_text("one two\none two\nthree\n")
    code = f"""
import threading
from lookalike.cli.main import run
from lookalike.engine import workers
workers.ThreadPoolExecutor = None
assert run(["pairs", {str(tmp_path / "a.txt")!r}, "--threads", "2"]) == 0
"""
    assert "a.txt:1" in python(code).stdout


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [[], *[[command] for command in COMMANDS]])
def test_help_has_an_example_everywhere(cli, command, flag):
    done = cli(*command, flag)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: lookalike {' '.join(command)}".rstrip())
    example = done.out[done.out.index("Example") :]
    assert f"  lookalike {' '.join(command)}".rstrip() in example
    if not command:
        assert all(f"  {name}  " in done.out for name in COMMANDS)


def test_no_arguments_show_the_help(cli):
    done = cli()
    assert done.code == 2
    assert "Commands:" in done.out + done.err


def test_the_package_imports_only_itself_and_is_silent():
    code = """
import sys
before = set(sys.modules)
import lookalike
assert set(sys.modules) - before <= {"lookalike", "lookalike.version", "__future__"}
assert lookalike.jaccard({1, 2}, {2}) == 0.5
"""
    done = python(code)
    assert (done.stdout, done.stderr) == ("", "")


def interrupt(started):
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert out == b""
    assert err.decode().splitlines()[-1] == "lookalike: interrupted"
    assert b"Traceback" not in err


def test_an_interrupt_while_waiting_for_input_leaves_nothing(tmp_path):
    with start("dedup", "-", "-o", tmp_path / "deep/out", stdin=subprocess.PIPE) as started:
        started.stdin.write(b'{"text": "x"}\n' * 200_000)  # more than the copy's buffer holds
        started.stdin.flush()
        wait_for(lambda: any(path.stat().st_size for path in tmp_path.rglob("stdin.jsonl")))
        interrupt(started)
    assert names(tmp_path) == []


def test_an_interrupt_at_work_leaves_the_earlier_output(tmp_path):
    source = tmp_path / "a.txt"
    source.write_text("\n".join(f"{number} {number * 7} {number % 900} a b c d" for number in range(40_000)))
    before = tmp_path / "small.txt"
    before.write_text(FOX)
    assert process("dedup", before, "-o", tmp_path / "out").code == 0
    # every pair of 40,000 is compared: half a minute
    options = ["--method", "brute", "--shingle", "word:1", "--overwrite"]
    with start("dedup", source, "-o", tmp_path / "out", *options, program=TALKATIVE) as started:
        while b"verifying: " not in started.stderr.readline():
            assert started.poll() is None
        interrupt(started)
    assert names(tmp_path) == ["a.txt", "out", "small.txt"]
    assert kept(tmp_path / "out") == {"small.txt": FOX.encode()}


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Two places with packages; one vendors a changed copy of the other's file."""
    texts = {
        "lib/real.py": f"{FOX} {IDEAS} {RIVER}",
        "lib/other.py": RIVER,
        "site/one/vendored/real.py": f"{FOX} {IDEAS} {RIVER} changed",
        "site/two/real.py": f"{COPY} {IDEAS} {RIVER}",
        "site/two/data.json": FOX,
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(demo, "find_sources", lambda: [tmp_path / "lib", tmp_path / "site"])


def test_the_demo_shows_plan_findings_and_a_cluster(cli, sources, tmp_path):
    done = cli("demo")
    assert done.code == 0
    assert done.out == ""
    for text in ("Plan:", "4 items: kept 2, removed 2", "most interesting cluster (3 files)", "one/vendored/real.py"):
        assert text in done.err
    assert len(removed(tmp_path / "lookalike-demo")) == 2
    again = cli("demo")
    assert again.code == 2
    assert "--overwrite" in again.err
    told = cli("demo", "--overwrite", "--json", "--quiet")
    assert (told.json()["counts"]["removed"], told.err) == (2, "")
    nothing = cli("demo", "-o", "else", "--threshold", "1")
    assert nothing.code == 0
    assert json.loads((tmp_path / "else/run.json").read_text())["options"]["threshold"] == 1


def test_the_demo_finds_pythons_own_files():
    folders = demo.find_sources()
    assert any((folder / "json/decoder.py").exists() for folder in folders)
    assert not any(other in folder.parents for folder in folders for other in folders)


def test_the_command_is_installed():
    done = process("--version")
    assert (done.code, done.out.split()[0]) == (0, "lookalike")
    assert LOOKALIKE.exists()


@pytest.mark.parametrize("options", [[], ["--json"], ["--threshold", "1"], ["--hashes", "3", "--recall", "0.5"]])
def test_tune_prints_a_plan(cli, options):
    done = cli("tune", *options)
    assert (done.code, done.err) == (0, "")
    assert done.json()["bands"] == 26 if "--json" in options else "band" in done.out


def test_garbage_is_not_looked_for_while_modules_are_imported(tmp_path):
    (tmp_path / "a.txt").write_text("one two\none two\nthree\n")
    code = f"""
import gc, os
from lookalike.cli import main as cli
found = []
gc.callbacks.append(lambda phase, _: found.append(phase))
cli.os._exit = lambda code: print(code, len(found))
cli.main(["pairs", {str(tmp_path / "a.txt")!r}, "-o", {str(tmp_path / "b.csv")!r}, "--quiet"])
"""
    code, collections = python(code).stdout.split()
    assert code == "0"
    assert int(collections) < 10  # 168 otherwise


def test_libraries_are_set_up_before_they_are_imported(tmp_path):
    """NumPy starts no threads of its own, and Arrow takes small pages, unless the user wants it otherwise."""
    (tmp_path / "a.txt").write_text("one two\none two\nthree\n")
    code = f"""
import os, sys
os.environ.pop("OPENBLAS_NUM_THREADS", None)
os.environ["MIMALLOC_ALLOW_THP"] = "1"
from lookalike.cli import main as cli
print([name for name in ("numpy", "pyarrow") if name in sys.modules])
cli.os._exit = lambda code: print(code, *map(os.environ.get, cli.LIBRARIES))
cli.main(["pairs", {str(tmp_path / "a.txt")!r}, "-o", {str(tmp_path / "b.csv")!r}, "--quiet"])
import threadpoolctl
print([one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"])
"""
    assert python(code).stdout.splitlines() == ["[]", "0 1 1", "[1]"]
