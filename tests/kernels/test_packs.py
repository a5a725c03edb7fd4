"""Packs of object code: which are loaded, which are rejected, and that they compute the same as Numba."""

from __future__ import annotations

import ast
import gc
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import lookalike
from by_numba import numba_module
from lookalike.engine.usage import resident_bytes
from lookalike.errors import UsageError
from lookalike.kernels import chunks, minhash, sets, sorting, tally
from lookalike.kernels.compile import MODE, bind
from lookalike.kernels.pack import cpu, files, load, provide
from lookalike.kernels.pack.call import REQUIRED, Binder, parameters_of, write_binder
from lookalike.kernels.pack.kernel import Kernel, units_called_by
from lookalike.kernels.pack.signature import expand, parse

SOURCE = Path(lookalike.__file__).parent
pytestmark = pytest.mark.skipif(MODE != "pack", reason="kernels are compiled by Numba in this process")


def run(code, **environment):
    """Run code in a new Python process, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_of_the_package(folder):
    """A copy of the sources, without packs."""
    shutil.copytree(SOURCE, folder / "lookalike", ignore=shutil.ignore_patterns("__pycache__", "packs"))
    return folder / "lookalike" / "kernels"


def test_a_job_runs_without_numba():
    code = """
import sys
sys.modules["numba"] = None
import lookalike as la
texts = ["a b c d e f", "a b c d e f", "x y z"]
print(len(la.dedup(texts).removed), la.pairs(texts).num_rows, la.neighbors(texts).num_rows)
"""
    assert run(code) == "1 1 2"


def names_of(unit):
    module, name, _ = unit.split(".")
    code = getattr(sys.modules[f"lookalike.kernels.{module}"], name).__wrapped__.__code__
    return code.co_varnames[: code.co_argcount]


def test_every_kernel_has_a_pack_for_each_signature():
    # except the example in a docstring, which is known if it has been run in this process
    units = [unit for unit in provide.all_units() if not unit.startswith("compile.")]
    assert len(units) > 150
    for unit in units:
        module, name, _ = unit.split(".")
        assert unit in getattr(sys.modules[f"lookalike.kernels.{module}"], name).units
        assert callable(load.open_call(unit, dict.fromkeys(names_of(unit), REQUIRED)))


def test_bound_arguments_are_checked_once_and_kept():
    count = bind(chunks.count_high, np.full(20, 200, np.uint8), 5)
    gc.collect()
    assert [count(end) for end in (5, 6, 20)] == [0, 1, 15]
    with pytest.raises(TypeError, match=r"count_high does not take \(float64\[20\]\) first"):
        bind(chunks.count_high, np.arange(20.0))
    assert bind(chunks.count_high)(np.arange(20.0), 0, 1) is NotImplemented


@pytest.mark.skipif(cpu.target() not in cpu.BASELINES, reason="code of other processors has other sizes")
def test_kernels_are_optimised_with_what_is_inlined():
    _, code = files.read(files.find("words.fold_characters.0", cpu.target()))
    assert len(code) < 3000  # about 2,450; 3,920 if only its functions are optimised, each on its own


def test_the_kernels_that_a_kernel_calls_are_known_before_it_is_built():
    """They are built first on a machine without packs; the packs themselves record which they really are."""
    unit = "minhash.digest_texts.0"
    load.open_call(unit, dict.fromkeys(names_of(unit), REQUIRED))
    called = set(load._headers[unit]["calls"])
    assert called
    assert called <= set(units_called_by(unit))


def test_kernels_imported_elsewhere_can_run():
    """Functions inlined into kernels are plain Python here: they must not be called from outside."""
    for path in SOURCE.rglob("*.py"):
        if path.parent.name in ("kernels", "pack"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lookalike.kernels."):
                module = __import__(node.module, fromlist=["x"])
                for name in node.names:
                    found = getattr(module, name.name)
                    other = ".pack" in node.module or node.module.endswith(".compile")
                    wrong = callable(found) and not isinstance(found, Kernel) and not other
                    assert not wrong or not found.__module__.startswith("lookalike.kernels"), (path, name.name)


def test_results_are_those_of_numba():
    random = np.random.default_rng(1)
    by_numba = numba_module("sets")
    elements = random.integers(0, 1 << 63, 5000).astype(np.uint64)
    elements[::7] = elements[0]
    indptr = np.array([0, 0, 1, 700, 5000])
    for mine, theirs in zip(sets.distinct_rows(indptr, elements), by_numba.distinct_rows(indptr, elements)):
        assert np.array_equal(mine, theirs)


def test_results_live_as_long_as_they_are_used():
    indptr = np.arange(3)
    prints = sets.fingerprint_sets(indptr, np.array([5, 6], np.uint64))
    first = prints[0]
    before = first.tolist()
    del prints
    gc.collect()
    sets.fingerprint_sets(np.arange(1000), np.arange(1000).astype(np.uint64))
    assert first.tolist() == before
    assert first.flags.writeable


def test_memory_of_results_is_freed():
    indptr, elements = np.array([0, 1_000_000]), np.arange(1_000_000).astype(np.uint64)
    sets.hash_integers(elements)
    before = resident_bytes()
    for _ in range(20):
        sets.hash_integers(elements)  # 8 MB each
        sets.distinct_rows(indptr, elements)
    assert resident_bytes() - before < 100 << 20  # the peak would be that of earlier tests of this process


def test_too_little_memory_is_an_error():
    with pytest.raises(MemoryError, match="a kernel could not allocate memory"):
        minhash.band_keys(np.zeros((1 << 20, 1), np.uint32), 1 << 40, 0)


def test_other_types_are_refused():
    numbers = np.arange(10)
    with pytest.raises(TypeError, match=r"kernel insertion_sort does not take \(float64\[10\], int, int\)"):
        sorting.insertion_sort(numbers.astype(float), 0, 10)
    with pytest.raises(TypeError, match="does not take"):
        sorting.insertion_sort(numbers[::2], 0, 5)  # not contiguous
    with pytest.raises(TypeError, match="does not take"):
        sorting.insertion_sort(numbers.reshape(2, 5), 0, 5)
    with pytest.raises(TypeError, match="does not take"):
        sorting.insertion_sort([3, 2, 1], 0, 3)
    with pytest.raises(TypeError, match="'end'"):
        sorting.insertion_sort(numbers, 0)
    with pytest.raises(TypeError, match="3 positional arguments"):
        sorting.insertion_sort(numbers, 0, 10, 11)


def test_threads_can_open_a_kernel_at_the_same_time():
    def sort(kernel, together, kind):
        values = np.arange(5)[::-1].astype(kind)
        together.wait()
        kernel(values, 0, 5)
        return values.tolist()

    kinds = ["int32", "int64", "uint32", "uint64"] * 2
    with ThreadPoolExecutor(len(kinds)) as pool:
        for _ in range(20):
            fresh = Kernel(sorting.insertion_sort.__wrapped__, ("I[], int64, int64",), {"I": tuple(kinds[:4])})
            together = threading.Barrier(len(kinds))
            assert list(pool.map(partial(sort, fresh, together), kinds)) == [[0, 1, 2, 3, 4]] * len(kinds)


def test_names_defaults_and_subclasses_are_understood(tmp_path):
    numbers = np.memmap(tmp_path / "numbers", np.int64, "w+", shape=4)
    numbers[:] = [3, 1, 2, 0]
    sorting.insertion_sort(numbers, start=0, end=3)
    assert numbers.tolist() == [1, 2, 3, 0]


def test_functions_compiled_by_another_python_are_compiled_again(monkeypatch):
    def written_anew(*given):
        anew.append(given[0])
        return write_binder(*given)

    anew = []
    monkeypatch.setattr(load, "write_binder", written_anew)
    numbers, unit = np.array([3, 1, 2]), "sorting.insertion_sort.1"
    parameters = parameters_of(sorting.insertion_sort.__wrapped__)
    sorting.insertion_sort(numbers, 0, 3)
    header = load._headers[unit]  # whose pack may be the work of another Python
    ours = write_binder("insertion_sort", parameters, header["takes"], header["gives"]).to_header()
    monkeypatch.setitem(load._headers, unit, {**header, "binder": ours})
    load.open_call(unit, parameters)
    assert not anew
    monkeypatch.setitem(load._headers, unit, {**header, "binder": {**ours, "python": "cpython-27"}})
    numbers = np.array([3, 1, 2])
    load.open_call(unit, parameters)(numbers, 0, 3)
    assert (anew, numbers.tolist()) == (["insertion_sort"], [1, 2, 3])


def test_stored_functions_are_those_that_were_written():
    binder = write_binder("name", {"values": REQUIRED, "count": 3}, "uint8[], int64", "(int64[,], bool)")
    assert Binder.from_header(binder.to_header()) == binder


def test_arrays_with_gaps_where_they_are_allowed():
    levels = np.array([[0, 1, 1], [2, 0, 2]], np.int8).T  # one row per field, seen as a column
    counts = np.zeros((2, 3), np.int64)
    tally.count_levels(levels, counts)
    assert counts.tolist() == [[1, 2, 0], [1, 0, 2]]


def test_signatures():
    assert expand(["T[], T"], {"T": ("int8", "int16")}) == ["int8[], int8", "int16[], int16"]
    assert len(parse("int64, (int64[], (bool, float32[..,..])), uint8[,,]")) == 3
    for wrong in ("int65", "int64 % 2", "object[]"):
        with pytest.raises(ValueError, match=r"int65|read|object"):
            parse(wrong)


def test_an_edit_changes_the_names_of_the_packs_that_depend_on_it(tmp_path):
    kernels = copy_of_the_package(tmp_path)
    code = """
from lookalike.kernels.pack import files
print({name: files.digest(name) for name in ("sets", "minhash", "majority", "tally")})
"""
    before = ast.literal_eval(run(code, PYTHONPATH=str(tmp_path)))
    hashing = kernels / "hashing.py"
    hashing.write_text(hashing.read_text().replace("x ^= x >> U(32)", "x ^= x >> U(31)"))
    after = ast.literal_eval(run(code, PYTHONPATH=str(tmp_path)))
    assert {name for name in before if before[name] != after[name]} == {"sets", "minhash", "majority"}


BUILD = """
import numpy as np
from lookalike.kernels.tally import count_levels
counts = np.zeros((1, 3), np.int64)
count_levels(np.array([[0], [1], [1]], np.int8), counts)
print(counts.tolist())
"""


def test_a_missing_or_damaged_pack_is_built_once_with_a_message(tmp_path):
    copy_of_the_package(tmp_path)
    environment = {"PYTHONPATH": str(tmp_path), "LOOKALIKE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", BUILD]

    def said():
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=True)
        assert done.stdout.strip() == "[[1, 2, 0]]"
        return done.stderr.strip()

    assert said().startswith("Compiling kernels for this processor")
    assert said() == ""
    (pack,) = (tmp_path / "cache" / "kernels").glob("tally.count_levels.*.pack")
    whole = pack.read_bytes()
    binder = whole.index(b'"binder"') + 30
    changed = [whole[:place] + b"?" + whole[place + 1 :] for place in (25, 40, binder, len(whole) - 9)]
    for damaged in (whole[:-1], whole[:100], b"", *changed, b"else" + whole):
        pack.write_bytes(damaged)
        assert files.read(pack) is None
    pack.with_name(f".{pack.name}.1").write_bytes(b"of a compiler that was killed")
    assert said().startswith("Compiling kernels")
    assert said() == ""
    assert pack.read_bytes()[:20] == whole[:20]
    assert not list(pack.parent.glob(".*.pack*")), "no temporary file is left"


KILLED = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], f".tally.tally.0.0123.here.pack.{os.getpid()}").write_bytes(b"half")
print(flush=True)
time.sleep(60)
"""


def test_what_a_stopped_compiler_was_writing_is_removed(tmp_path, monkeypatch):
    def start(target, folder):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", KILLED, str(folder)]
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    monkeypatch.setattr(provide, "_start", start)
    other = tmp_path / ".sets.sets.0.0123.here.pack.1"
    other.write_bytes(b"half")
    builder = provide.Builder(["tally.tally.0"], "here", tmp_path)
    builder.wait_for("tally.tally.0")
    assert len(list(tmp_path.iterdir())) == 2
    builder.stop()
    assert list(tmp_path.iterdir()) == [other], "another process may still be writing"
    files.remove_partial(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_processor_that_this_one_is_not(monkeypatch):
    monkeypatch.setenv("LOOKALIKE_CPU", "pdp-11")
    cpu.target.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"LOOKALIKE_CPU=pdp-11: this processor runs .*native"):
            cpu.target()
    finally:
        monkeypatch.undo()
        cpu.target.cache_clear()


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.delenv("LOOKALIKE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files.cache_folder.cache_clear()
    try:
        usual = files.cache_folder()
        assert usual == tmp_path / "lookalike" / "kernels"
        usual.chmod(0o777)
        files.cache_folder.cache_clear()
        assert files.cache_folder() != usual
    finally:
        files.cache_folder.cache_clear()
