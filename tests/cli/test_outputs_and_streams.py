"""What goes where: the output folder, standard output, standard error."""

import contextlib
import io
import json
import os
import pty
import re
import resource
import secrets
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calling import COPY, FOX, IDEAS, LOOKALIKE, Done, environment, jsonl, kept, names, process, removed, start
from lookalike.write import write_tsv

STAGES = ["planning", "reading", "joining bands", "writing", "saving pair graph"]


def test_the_output_folder_has_what_the_contract_lists(cli, news, tmp_path):
    done = cli("dedup", news, "-o", "out", "--json", "--method", "lsh")
    assert names(tmp_path / "out") == ["clusters.parquet", "graph", "kept", "removed.parquet", "run.json"]
    run = json.loads((tmp_path / "out/run.json").read_text())
    printed = done.json()
    assert printed["seconds"].pop("publishing") > 0  # after run.json was written
    assert printed == run
    assert set(run) == {
        "version", "options", "plan", "counts", "seconds", "bytes", "peak_memory_bytes", "alarms", "notes", "audit",
        "reused", "line_files", "forecast", "choice", "graph", "written",
    }  # fmt: skip
    assert {"bands", "rows", "recall"} <= set(run["plan"])
    counts = {"items": 3, "empty": 0, "kept": 2, "removed": 1, "candidates": 1, "pairs": 1, "rejected": 0}
    assert run["counts"] | counts == run["counts"]
    assert run["peak_memory_bytes"] > 1_000_000
    assert run["options"]["threshold"] == 0.8
    assert pq.read_table(tmp_path / "out/clusters.parquet").to_pylist() == [
        {"id": "a", "cluster": 0, "size": 2, "kept": True},
        {"id": "b", "cluster": 0, "size": 2, "kept": False},
    ]


def test_data_and_talk_are_kept_apart(cli, news):
    done = cli("dedup", news, "-o", "out", "--method", "lsh")
    assert done.out == ""
    assert done.err.startswith("Plan: 26 bands of 8 rows")
    listed = [line.split("  ")[1] for line in done.err.splitlines() if re.match(r"  .* \d+\.\d\d s$", line)]
    assert listed == [stage for stage in STAGES if stage in listed]
    assert listed  # those that took time
    assert "kept 2, removed 1" in done.err
    assert "Results: out/kept" in done.err
    said = cli("dedup", news, "-o", "out2", "--json")
    assert len(said.out.splitlines()) == 1
    assert said.json()["counts"]["kept"] == 2
    pairs = cli("pairs", news)
    assert pairs.rows() == [["left", "right", "similarity"], ["a", "b", "1"]]
    assert "Plan:" in pairs.err


def test_the_chosen_method_is_reported_with_its_plan(cli, tmp_path):
    (tmp_path / "long.jsonl").write_bytes(jsonl(*[{"text": f"{number} " + FOX * 30} for number in range(60)]))
    done = cli("dedup", "long.jsonl", "-o", "out", "--recall", "0.95")
    first, second, third = done.err.splitlines()[:3]
    assert first.startswith("Method: items are long (about 1,")
    assert second.startswith("Plan: ")
    assert "with probability 95." in third
    assert "(target: 95%)" in third
    done = cli("pairs", "long.jsonl", "--recall", "1")
    assert re.search(r"Method: (exact|brute) .*only exact methods reach the recall\.\nPlan: ", done.err)


def test_quiet_is_silent(cli, news, tmp_path):
    assert cli("dedup", news, "-o", "out", "--quiet") == Done(0, "", "")
    quiet = cli("dedup", news, "-o", "out2", "--quiet", "--json")
    assert quiet.json()["counts"]["removed"] == 1
    assert quiet.err == ""
    assert cli("pairs", news, "-o", "pairs.csv", "--quiet") == Done(0, "", "")
    assert cli("pairs", news, "--quiet").err == ""
    assert cli("tune", "--quiet", "--plot", tmp_path / "a.svg").err == ""
    # but never about what went wrong
    assert "absent" in cli("dedup", "absent", "-o", "out3", "--quiet").err


def test_an_existing_output_is_refused_and_replaced_on_demand(cli, news, tmp_path):
    assert cli("dedup", news, "-o", "out").code == 0
    refused = cli("dedup", news, "-o", "out", "--threshold", "0.5")
    assert refused.code == 2
    assert "out: already exists" in refused.err
    assert "--overwrite" in refused.err
    assert "Plan:" not in refused.err
    assert json.loads((tmp_path / "out/run.json").read_text())["options"]["threshold"] == 0.8
    news.write_bytes(jsonl({"id": "z", "text": IDEAS}))
    assert cli("dedup", news, "-o", "out", "--overwrite").code == 0
    assert kept(tmp_path / "out") == {"news.jsonl": jsonl({"id": "z", "text": IDEAS})}
    assert names(tmp_path) == ["news.jsonl", "out"]


def test_only_outputs_are_ever_replaced(cli, news, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/mine").write_text("mine")
    for place in ("file", "folder", ".", "/", "file/below"):
        for overwrite in ([], ["--overwrite"]):
            assert cli("dedup", news, "-o", place, *overwrite).code == 2
    assert cli("pairs", news, "-o", "folder", "--overwrite").code == 2
    assert names(tmp_path) == ["file", "folder", "news.jsonl"]
    assert (tmp_path / "folder/mine").read_text() == "mine"
    (tmp_path / "hollow").mkdir()
    assert cli("dedup", news, "-o", "hollow").code == 2
    assert cli("dedup", news, "-o", "hollow", "--overwrite").code == 0


def test_folders_on_the_way_to_the_output_are_made(cli, news, tmp_path):
    assert cli("dedup", news, "-o", "not/there/yet").code == 0
    assert removed(tmp_path / "not/there/yet") == [("b", "a")]
    assert cli("pairs", news, "-o", "nor/this/pairs.tsv").code == 0
    assert (tmp_path / "nor/this/pairs.tsv").read_text().count("\n") == 2


def test_output_within_the_input_folder(cli, tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in {"a.txt": FOX, "b.txt": COPY}.items():
        (tmp_path / "texts" / name).write_text(text)
    assert cli("dedup", "texts", "-o", "texts/out").code == 0
    assert kept(tmp_path / "texts/out") == {"a.txt": FOX.encode()}
    assert names(tmp_path / "texts") == ["a.txt", "b.txt", "out"]


def test_a_run_is_repeated_to_the_same_bytes(cli, tmp_path):
    rows = [{"id": n, "text": f"{FOX} {n % 7} {IDEAS} {n % 5}"} for n in range(300)]
    (tmp_path / "a.jsonl").write_bytes(jsonl(*rows))
    for out, threads in {"one": "1", "four": "4"}.items():
        assert cli("dedup", "a.jsonl", "-o", out, "--threads", threads, "--threshold", "0.5").code == 0
    for name in ("removed.parquet", "clusters.parquet", "kept/a.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "four" / name).read_bytes()
    assert len(removed(tmp_path / "one")) > 200


# Things that only a process of its own shows.


def many_pairs(folder, items=500):
    path = folder / "many.txt"
    path.write_text(f"{FOX}\n" * items)  # 500 copies are 124,750 pairs, 3 MB
    return path


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_closes_the_pipe_is_not_an_error(tmp_path, unbuffered):
    more = {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    with start("pairs", many_pairs(tmp_path), env=environment(**more)) as started:
        assert started.stdout.readline() == b"left\tright\tsimilarity\n"
        started.stdout.close()
        err = started.stderr.read().decode()
    assert "Traceback" not in err
    assert "rror" not in err
    assert started.returncode == 0


def test_work_continues_when_nobody_reads_the_progress(news, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with start("dedup", news, "-o", tmp_path / "out", stderr=writer) as started:
        os.close(writer)
    assert started.returncode == 0
    assert removed(tmp_path / "out") == [("b", "a")]


def test_a_terminal_sees_names_as_they_are(news, tmp_path):
    ours, theirs = pty.openpty()
    out = tmp_path / f"[bold]out[x]{'-' * 100}"
    with start("dedup", news, "-o", out, stderr=theirs) as started:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while more := os.read(ours, 1 << 16):
                seen += more
    os.close(ours)
    assert started.returncode == 0
    assert f"Results: {out}/kept" in seen.decode()
    assert "reading" in seen.decode()


def shell(line, *arguments):
    done = subprocess.run(
        ["sh", "-c", line, "sh", LOOKALIKE, *arguments], capture_output=True, text=True, env=environment(), check=False
    )
    assert "Traceback" not in done.stderr
    return done


def test_closed_streams(news, tmp_path):
    assert shell('"$1" dedup "$2" -o "$3" 2>&-', news, tmp_path / "one").returncode == 0
    assert shell('"$1" dedup "$2" -o "$3" --json >&-', news, tmp_path / "two").returncode == 0
    assert removed(tmp_path / "one") == removed(tmp_path / "two") == [("b", "a")]
    out = shell('"$1" pairs "$2" >&-', news)
    assert (out.returncode, "-o" in out.stderr) == (2, True)
    stdin = shell('"$1" pairs - <&-')
    assert (stdin.returncode, "closed" in stdin.stderr) == (2, True)
    assert shell('"$1" tune >&-').returncode == 0


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a full device")
@pytest.mark.parametrize("command", ["pairs", "tune"])
def test_lost_standard_output_is_an_error(news, command):
    # opened for writing only, and never by a library that would remove it
    with Path("/dev/full").open("wb") as full:
        done = process(command, *([news] if command == "pairs" else []), stdout=full)
    assert done.code == 4
    assert "No space left" in done.err


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a full device")
def test_lost_messages_do_not_change_the_exit_code(news, tmp_path):
    assert shell('"$1" pairs "$2" 2>/dev/full', tmp_path / "missing").returncode == 2
    assert shell('"$1" dedup "$2" -o "$3" 2>/dev/full', news, tmp_path / "out").returncode == 0
    assert shell('"$1" report "$2" 2>/dev/full', tmp_path / "out").returncode == 0


def test_a_stream_that_accepts_little_at_a_time_gets_everything():
    class Slow(io.RawIOBase):
        got = b""

        def write(self, data):
            self.got += bytes(data[:5])
            return len(data[:5])

    slow = Slow()
    write_tsv(slow, [pa.table({"left": ["a" * 20, "b"], "right": ["c", "d"]})])
    assert slow.got == b"left\tright\n" + b"a" * 20 + b"\tc\nb\td\n"


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "jsonl.gz", "jsonl.zst", "pairs"])
def test_a_full_disk_is_exit_4_and_leaves_nothing(tmp_path, kind):
    texts = [secrets.token_hex(2000) for _ in range(1500)]  # 6 MB, more than 2 MB compressed
    source = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"text": texts}), source, compression="none", use_dictionary=False)
    elif kind == "pairs":
        source = many_pairs(tmp_path)
    else:
        with pa.output_stream(source, compression="detect") as out:
            out.write(jsonl(*[{"text": text} for text in texts]))
    arguments = (
        ["pairs", source, "-o", tmp_path / "out.csv"] if kind == "pairs" else ["dedup", source, "-o", tmp_path / "out"]
    )

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = process(*arguments, preexec_fn=limit)
    assert done.code == 4, done.err
    assert "no space left" in done.err.splitlines()[-1]
    assert ("continue with --resume" in done.err) == (kind != "pairs")
    assert "free some space" in done.err
    assert names(tmp_path) == [source.name]


def test_warnings_of_libraries_are_not_shown(tmp_path):
    code = (
        "import warnings; from lookalike.cli import main; main.run = lambda _: warnings.warn('x') or 0; main.main([])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
