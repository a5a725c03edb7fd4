"""Limits that the system sets for a process: results, or one line and exit code 4."""

import resource

import pytest

from calling import COPY, FOX, jsonl, names, process


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_bytes(jsonl({"id": "a", "text": FOX}, {"id": "b", "text": COPY}))
    return path


def limited(kind, size):
    return lambda: resource.setrlimit(kind, (size, size))


@pytest.mark.parametrize("mebibytes", [200, 400])
@pytest.mark.parametrize("command", [["dedup"], ["link", "--fields", "text"]])
def test_too_little_address_space_is_refused(news, tmp_path, command, mebibytes):
    """200 MiB ended Arrow by a signal, 400 MiB made OpenBLAS end a run of link."""
    limit = limited(resource.RLIMIT_AS, mebibytes << 20)
    done = process(*command, news, "-o", tmp_path / "out", "--quiet", preexec_fn=limit)
    assert (done.code, done.err.count("\n"), "ulimit -v" in done.err) == (4, 1, True)
    assert names(tmp_path) == ["news.jsonl"]


def test_enough_address_space_is_not_reserved_at_once(news, tmp_path):
    """Arrow's allocator took 1 of 1.5 GiB, and no thread could be started."""
    limit = limited(resource.RLIMIT_AS, 1500 << 20)
    done = process("dedup", news, "-o", tmp_path / "out", "--quiet", "--threads", "2", preexec_fn=limit)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("command", ["dedup", "pairs", "neighbors"])
def test_no_file_may_be_written(news, tmp_path, command):
    out = tmp_path / ("out" if command == "dedup" else "out.csv")
    done = process(command, news, "-o", out, "--quiet", preexec_fn=limited(resource.RLIMIT_FSIZE, 0))
    assert (done.code, done.err.count("\n"), "Traceback" in done.err) == (4, 1, False)
    assert not out.exists()
