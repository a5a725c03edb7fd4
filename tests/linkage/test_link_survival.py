"""Linking runs that are killed, interrupted, or have too little memory."""

from __future__ import annotations

import json
import re
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import SMALL, names, process, start, wait_for
from linking import f1, make_people, pairs_of
from lookalike.cli.main import run
from lookalike.engine.execution import Execution
from lookalike.engine.memory import Budget
from lookalike.errors import ResourceError
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.memory import check_columns, expect_bytes, start_bytes
from lookalike.types import strings_to_arrow

FIELDS = ("--fields", "name,address,phone")
PIECES = ["candidates.arrow", *(f"levels-{place}-00000.arrow" for place in range(3))]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    *both, truth = make_people(2000, 1500, 0.3, seed=8)
    for table, name in zip(both, ("a", "b")):
        pq.write_table(table, folder / f"{name}.parquet")
    return folder / "a.parquet", folder / "b.parquet", truth


@pytest.fixture(scope="module")
def calm(tables, tmp_path_factory):
    out = tmp_path_factory.mktemp("calm") / "out"
    assert run(["link", *map(str, tables[:2]), *FIELDS, "-o", str(out), "--quiet"]) == 0
    return results(out)


def results(folder):
    run = json.loads((folder / "run.json").read_text())
    for part in ("seconds", "peak_memory_bytes", "reused"):
        run.pop(part)
    return [pq.read_table(folder / f"{name}.parquet") for name in ("links", "clusters")], run


def end_when(tables, out, pieces, signal_, *more):
    """Start, and end it when there are so many pieces of work."""
    work = out.parent / f".{out.name}.partial/work"
    with start("link", *tables[:2], *FIELDS, "-o", out, "--resume", *more, program=SMALL) as started:
        wait_for(lambda: started.poll() is not None or sum((work / name).exists() for name in PIECES) >= pieces)
        started.send_signal(signal_)
        started.communicate(timeout=60)
    return started.returncode


@pytest.mark.parametrize(("signal_", "code", "moments"), [(signal.SIGKILL, -9, (1, 3)), (signal.SIGINT, 130, (2,))])
def test_a_killed_run_resumes_to_the_same_result(cli, tables, calm, tmp_path, signal_, code, moments):
    reused = set()
    for pieces in moments:
        out = tmp_path / f"out{pieces}"
        if end_when(tables, out, pieces, signal_) != code:  # it was faster
            continue
        assert names(tmp_path) == [f".out{pieces}.partial"]
        assert cli("link", *tables[:2], *FIELDS, "-o", out, "--resume", "--threads", "1").code == 0
        found, record = results(out)
        assert found == calm[0]
        assert record["counts"] == calm[1]["counts"]
        assert record["hashes"] == calm[1]["hashes"]
        again = json.loads((out / "run.json").read_text())["reused"]
        # the last step is deleted just after all candidates are there
        again = [name for name in again if not name.startswith("step-")]
        assert set(again) <= set(PIECES)
        assert len(again) >= pieces - 1  # the last one may not have been noted yet
        reused.update(again)
        assert names(tmp_path) == [f"out{pieces}"]
        out.rename(tmp_path.parent / f"{tmp_path.name}-{pieces}")
    assert reused >= {"candidates.arrow"}


def test_pieces_of_a_killed_run_are_used_only_by_the_same_run(cli, tables, tmp_path):
    assert end_when(tables, tmp_path / "out", 1, signal.SIGKILL) == -9
    done = cli("link", *tables[:2], *FIELDS, "-o", tmp_path / "out")
    assert done.code == 2
    assert "--resume" in done.err
    done = cli("link", *tables[:2], *FIELDS, "-o", tmp_path / "out", "--resume", "--seed", "2")
    assert done.code == 2
    assert "seed changed" in done.err


def test_damaged_pieces_are_computed_again(cli, tables, calm, tmp_path):
    out = tmp_path / "out"
    assert end_when(tables, out, 2, signal.SIGKILL) == -9
    for piece in (tmp_path / ".out.partial/work").glob("*.arrow"):
        data = bytearray(piece.read_bytes())
        data[len(data) // 2] ^= 1
        piece.write_bytes(data)
    assert cli("link", *tables[:2], *FIELDS, "-o", out, "--resume").code == 0
    assert results(out)[0] == calm[0]
    assert json.loads((out / "run.json").read_text())["reused"] == []


def test_other_nicknames_are_another_run(cli, tables, tmp_path):
    """Also if they are in a file of the same name."""
    out, ours = tmp_path / "out", tmp_path / "ours.txt"
    ours.write_text("robert bob\n")
    assert end_when(tables, out, 2, signal.SIGKILL, "--nicknames", ours) == -9
    asked = ["link", *tables[:2], *FIELDS, "-o", out, "--resume", "--nicknames", ours]
    ours.write_text("robert rob\n")
    done = cli(*asked)
    assert done.code == 2
    assert "nicknames changed" in done.err
    ours.write_text("# the same\nrobert bob\n")
    assert cli(*asked).code == 0
    assert json.loads((out / "run.json").read_text())["reused"]


def test_standard_input_cannot_be_resumed(cli, tmp_path):
    done = cli("link", "-", *FIELDS, "-o", tmp_path / "out", "--resume", stdin=b"name,address,phone\n")
    assert done.code == 2
    assert "standard input cannot be read again" in done.err


def test_few_pairs_leave_no_pieces(cli, tables, tmp_path):
    assert cli("link", *tables[:2], *FIELDS, "-o", tmp_path / "out", "--json").json()["reused"] == []
    assert names(tmp_path) == ["out"]


def test_too_little_memory_is_reported_before_anything_is_read(cli, tmp_path):
    many = pa.table({"name": pa.nulls(20_000_000, pa.string()).fill_null("")})
    pq.write_table(many, tmp_path / "a.parquet")
    done = cli("link", tmp_path / "a.parquet", "--fields", "name", "-o", tmp_path / "out", "--memory", "2GiB")
    assert done.code == 4
    assert "20,000,000 records need at least" in done.err
    assert "--memory is 2.0 GiB" in done.err
    assert names(tmp_path) == ["a.parquet"]


def test_too_little_memory_is_reported_before_candidates_are_found(cli, tmp_path):
    """Few records, but long ones: that is known only when their texts have been read."""
    texts = [f"{n} " + "word " * 10_000 for n in range(1000)]
    pq.write_table(pa.table({"name": texts}), tmp_path / "a.parquet")
    asked = ["link", tmp_path / "a.parquet", "--fields", "name:text", "-o", tmp_path / "out"]
    done = cli(*asked, "--memory", "600MiB")
    assert done.code == 4
    assert "1,000 records need about" in done.err
    assert "--memory is 0.6 GiB" in done.err
    assert names(tmp_path) == ["a.parquet"]


def test_too_little_memory_is_reported_while_lines_are_read(cli, tmp_path):
    """The number of lines is unknown in advance. The broken one, beyond the first block, is never reached."""
    rows = "".join(f'{{"name": "name {n:06}"}}\n' for n in range(20 * 2**20 // 25))
    (tmp_path / "a.jsonl").write_text(rows + "broken\n")
    done = cli("link", tmp_path / "a.jsonl", "--fields", "name", "-o", tmp_path / "out", "--memory", "600MiB")
    assert done.code == 4
    assert "records need at least" in done.err
    assert names(tmp_path) == ["a.jsonl"]


def test_expected_memory_grows_with_the_tables():
    def column(records, text):
        values = strings_to_arrow([f"{text}{n}" for n in range(records)])
        return Column("f", "text", pa.array(range(records), pa.int32()).to_numpy(), values)

    small, large, long = column(1000, "a"), column(2000, "a"), column(1000, "a" * 1000)
    few = expect_bytes([small], 0, 1) - start_bytes()
    assert 1.9 * few < expect_bytes([large], 0, 1) - start_bytes() < 2.1 * few
    assert expect_bytes([small], 10**6, 1) == start_bytes() + few + 10**6
    assert expect_bytes([long], 0, 1) >= start_bytes() + few + 4 * 999_000
    assert expect_bytes([small] * 3, 0, 1) > start_bytes() + few


def test_input_that_just_fits_is_accepted():
    column = Column("f", "text", np.zeros(5000, np.int32), strings_to_arrow(["a"]))
    needed = expect_bytes([column], 10**6, 2)
    assert check_columns([column], 10**6, Execution(2, Budget.split(needed)), two_tables=False) == needed
    with pytest.raises(ResourceError, match="5,000 records need about"):
        check_columns([column], 10**6, Execution(2, Budget.split(needed - 1)), two_tables=False)


@pytest.mark.slow
@pytest.mark.parametrize("people", [200_000, 400_000])
def test_memory_is_a_bound(people, tmp_path):
    """With as much as it says it needs it stays below, and with less it says so."""
    *both, truth = make_people(people, people, 0.1)
    for table, name in zip(both, ("a", "b")):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    tables = tmp_path / "a.parquet", tmp_path / "b.parquet"
    needed, codes = 0.5, []
    while codes[-1:] != [0]:
        done = process("link", *tables, *FIELDS, "-o", tmp_path / "out", "--memory", f"{needed}GiB", "--json")
        codes.append(done.code)
        if done.code:
            needed = float(re.search(r"need (?:about|at least) ([\d.]+) GiB", done.err)[1]) + 0.05
    assert codes in ([4, 0], [4, 4, 0])
    assert done.json()["peak_memory_bytes"] < needed * 2**30
    assert f1(pairs_of(pq.read_table(tmp_path / "out/links.parquet")), truth) > 0.99
