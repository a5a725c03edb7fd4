"""Interrupted, killed or out of disk at any moment: nothing half looks whole, and --resume ends in the same bytes."""

import json
import os
import random
import re
import resource
import secrets
import shutil
import signal
import subprocess
import time

import pytest

from calling import SMALL, jsonl, kept, names, process, start, wait_for
from corpora import corpus
from lookalike.engine.settings import Settings
from lookalike.jobs.dedup import dedup_to_folder

MOST_SECONDS = 60
PIECE = "digests-000001.arrow"

INTERRUPTED_WITH_WORK = "lookalike: interrupted; finished work is kept: continue with --resume"


def results(folder):
    tables = {name: (folder / name).read_bytes() for name in ("removed.parquet", "clusters.parquet")}
    return kept(folder) | tables, json.loads((folder / "run.json").read_text())["counts"]


def run_of(folder):
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("survival") / "in.jsonl"
    path.write_bytes(jsonl(*[{"id": n, "text": text} for n, text in enumerate(corpus(1500, seed=5))]))
    return path


@pytest.fixture(scope="module")
def calm(source):
    """What a run that nothing happens to gives, and the seconds that it takes."""
    out = source.with_name("calm")
    started = time.perf_counter()
    assert process("dedup", source, "-o", out, "--quiet", program=SMALL).code == 0
    seconds = time.perf_counter() - started
    assert run_of(out)["counts"]["removed"] > 300
    return results(out), seconds


def check_leftovers(folder):
    """Beside the input nothing that looks like a result, and in the hidden folder nothing but finished pieces."""
    assert names(folder) in ([], [".out.partial"])
    if not names(folder):
        return set()
    assert set(names(folder / ".out.partial")) <= {"kept", "lock", "work"}
    manifest = folder / ".out.partial/work/manifest.jsonl"
    listed = manifest.read_text() if manifest.exists() else ""
    kept = folder / ".out.partial/kept"
    assert all(f'"kept/{path.relative_to(kept)}"' in listed for path in kept.rglob("*") if path.is_file())
    found = set(names(folder / ".out.partial/work"))
    assert all(re.fullmatch(r"[\w-]+\.arrow|manifest\.jsonl", name) for name in found), found
    return found - {"manifest.jsonl"}


def finish(source, out, calm, **options):
    """Go on; how many pieces were used again."""
    done = process("dedup", source, "-o", out, "--resume", program=SMALL, **options)
    assert done.code == 0, done.err
    assert results(out) == calm[0]
    assert names(out) == ["clusters.parquet", "graph", "kept", "removed.parquet", "run.json"]
    assert [name for name in names(out.parent) if name.startswith(".")] == []
    return len(run_of(out)["reused"])


def stop_at_work(source, out, pieces, seconds, signal_):
    """Start, or go on, and end it so long after there are so many pieces of work; its exit code and what it said."""
    work = out.parent / ".out.partial/work"
    with start("dedup", source, "-o", out, "--resume", program=SMALL) as started:
        assert started.stderr.readline().startswith((b"Method", b"Plan", b"  planning"))
        wait_for(lambda: started.poll() is not None or len(list(work.glob("*.arrow"))) >= pieces)
        time.sleep(seconds)
        started.send_signal(signal_)
        _, err = started.communicate(timeout=MOST_SECONDS)
    assert b"Traceback" not in err
    return started.returncode, (err.decode().splitlines() or [""])[-1]


def test_interrupted_at_any_moment(source, calm, tmp_path):
    draw, out, reused = random.Random(7), tmp_path / "out", 0
    for pieces in (0, 4):
        code, said = stop_at_work(source, out, pieces, draw.uniform(0, 0.2) * calm[1], signal.SIGINT)
        while out.exists():  # it was faster
            assert results(out) == calm[0]
            shutil.rmtree(out)
            code, said = stop_at_work(source, out, pieces, draw.uniform(0, 0.1) * calm[1], signal.SIGINT)
        assert code == 130
        assert said in ("lookalike: interrupted", INTERRUPTED_WITH_WORK)
        left = check_leftovers(tmp_path)
        assert len(left) >= pieces
        reused += (again := finish(source, out, calm))
        assert again <= len(left)
        shutil.rmtree(out)
    assert reused


def complete_pieces(work):
    """The pieces that a killed run has recorded; one may be there that it had no time to record."""
    noted = (work / "manifest.jsonl").read_text() if (work / "manifest.jsonl").exists() else ""
    return [path for path in work.glob("*.arrow") if f'"{path.name}"' in noted]


@pytest.mark.parametrize("moments", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_killed_at_random_moments(source, calm, tmp_path, moments):
    draw, out, killed, reused, left = random.Random(11), tmp_path / "out", 0, 0, []
    while killed < moments or not left:
        code, _ = stop_at_work(source, out, draw.choice([1, 0, 3, 7]), draw.uniform(0, 0.6) * calm[1], signal.SIGKILL)
        killed += code == -signal.SIGKILL
        assert names(tmp_path) in ([".out.partial"], ["out"])
        if out.exists():  # it was faster
            assert results(out) == calm[0]
            reused += len(run_of(out)["reused"])
            shutil.rmtree(out)
        left = complete_pieces(tmp_path / ".out.partial/work")
    assert reused + finish(source, out, calm) > 0


@pytest.fixture(scope="module")
def no_room_for_sets(source, tmp_path_factory):
    """A run that was stopped when all pieces of its work were on disk, and where."""
    place = tmp_path_factory.mktemp("stopped")
    done = process("dedup", source, "-o", place / "out", program=SMALL, preexec_fn=limit_files(200_000))
    return done, place


@pytest.fixture
def stopped(no_room_for_sets, tmp_path):
    """The pieces of a run that was stopped."""
    shutil.copytree(no_room_for_sets[1] / ".out.partial", tmp_path / ".out.partial")
    return tmp_path / ".out.partial/work"


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES = {
    "none": lambda work: None,
    "removed": lambda work: (work / PIECE).unlink(),
    "truncated": lambda work: os.truncate(work / PIECE, (work / PIECE).stat().st_size // 2),
    "empty": lambda work: os.truncate(work / PIECE, 0),
    "bit flipped": lambda work: flip(work / PIECE),
    "manifest removed": lambda work: (work / "manifest.jsonl").unlink(),
}


USUAL = ("none", "removed", "bit flipped", "manifest removed")


@pytest.mark.parametrize("damage", [d if d in USUAL else pytest.param(d, marks=pytest.mark.slow) for d in DAMAGES])
def test_damaged_work_is_done_again(source, calm, stopped, tmp_path, damage):
    DAMAGES[damage](stopped)
    out = tmp_path / "out"
    reused = finish(source, out, calm)
    assert reused == 0 if damage == "manifest removed" else reused > 0
    assert (PIECE in run_of(out)["reused"]) == (damage == "none")


def limit_files(nbytes):
    """No file can become larger: as on a full disk, but for the space that is left."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))


def short_of_space(done, place):
    """The message says where, how much was free and what to do."""
    assert done.code == 4, done.err
    said = done.err.splitlines()[-1]
    assert re.match(rf"lookalike: {re.escape(str(place))}\S*: no space left on the disk \([\d,]+ MB free\); ", said)
    assert said.endswith("free some space and continue with --resume, or choose another location with -o")


def many_copies(folder):
    """One item stays, and removed.parquet with its long ids is the largest file."""
    rows = [{"id": secrets.token_hex(60), "text": "a b c d e f g"} for _ in range(4000)]
    (folder / "in.jsonl").write_bytes(jsonl(*rows))
    return [folder / "in.jsonl"]


def many_names(folder):
    """Every file is small but run.json, which names all inputs."""
    for number in range(100):
        (folder / f"{number:0200}.txt").write_text(f"just {number}")
    return sorted(folder.glob("*.txt"))


def few_copies(folder):
    """The kept rows are the largest file."""
    rows = [{"text": text} for text in corpus(1500, seed=6, copies=0.05)]
    (folder / "in.jsonl").write_bytes(jsonl(*rows))
    return [folder / "in.jsonl"]


@pytest.mark.parametrize(
    ("make", "limit", "pieces"),
    [
        (few_copies, 50_000, False),  # the first piece of work
        (few_copies, 400_000, True),  # kept/
        (many_copies, 150_000, True),  # removed.parquet
        (many_names, 15_000, False),  # run.json
    ],
)
def test_out_of_space_for_each_file(tmp_path, make, limit, pieces):
    (tmp_path / "in").mkdir()
    (tmp_path / "to").mkdir()
    inputs, out = make(tmp_path / "in"), tmp_path / "to/out"
    done = process("dedup", *inputs, "-o", out, program=SMALL, preexec_fn=limit_files(limit))
    short_of_space(done, out)
    assert bool(check_leftovers(tmp_path / "to")) == pieces
    assert process("dedup", *inputs, "-o", out, "--resume", "--quiet", program=SMALL).code == 0
    dedup_to_folder(inputs, tmp_path / "calm", Settings.parse())
    assert results(out) == results(tmp_path / "calm")
    assert bool(run_of(out)["reused"]) == pieces


def test_out_of_space_for_sets(source, calm, no_room_for_sets):
    done, place = no_room_for_sets
    short_of_space(done, place / "out")
    assert len(check_leftovers(place)) > 5


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, whose size can be changed."""
    place = tmp_path / "disk"
    place.mkdir()

    def resize(nbytes, *more):
        options = ",".join([f"size={nbytes // 1024}k", *more])
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    if os.geteuid() or not resize(1 << 20):
        pytest.skip("needs the right to mount")
    yield place, lambda nbytes: resize(nbytes, "remount")
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("more", [-50_000, 250_000])  # no room for the copy of standard input, or for the sets
def test_out_of_space_with_standard_input(small_disk, more):
    place, resize = small_disk
    draw = random.Random(3)
    texts = [" ".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=200)) for _ in range(300)]
    given = jsonl(*[{"text": more + text} for text in texts for more in ("", "z z ")])
    assert resize(len(given) + more)
    done = process("dedup", "-", "-o", place / "out", program=SMALL, stdin=given)
    assert done.code == 4, done.err
    # it cannot be read again: nothing to go on with, and no word about it
    assert done.err.splitlines()[-1].endswith("; free some space or choose another location")
    assert names(place) == []


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.99])
def test_a_small_disk_is_full_at_any_stage(source, calm, small_disk, part):
    place, resize = small_disk
    out = place / "out"
    written = run_of(source.with_name("calm"))["bytes"]
    needed = written["reading"]["written"] + written["writing"]["written"]  # the rest is gone by then
    assert resize(int(part * needed))
    done = process("dedup", source, "-o", out, program=SMALL)
    short_of_space(done, out)
    pieces = check_leftovers(place)
    assert resize(64 << 20)
    assert finish(source, out, calm) == len(pieces)
    assert bool(pieces) == (part > 0.1)
