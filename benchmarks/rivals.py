"""Jobs in which another program is, or was, faster: both in turns on the same data, and the ratio of their times.

Vectors, bit strings, sets in memory and the writing of a table are timed inside a process without its start, whole
programs from start to end. Times on a busy machine say little; the ratio of processor seconds says more. Results go to
results/rivals.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from measure import describe_machine, run_measured
from peer_env import HERE, install_packages, python_of
from people import make_tables
from small import write_files
from tables import draw_table

LOOKALIKE = Path(sys.executable).with_name("lookalike")
REPEAT = 3
"""Times that a process does a job; the fastest counts."""


@dataclass(frozen=True)
class Rival:
    """A job of ours, that of another program, and the most that ours may take of its time."""

    data: str
    ours: str
    theirs: str
    most: float
    packages: tuple[str, ...] = ()
    """What the other program needs besides the packages of the project."""


RIVALS = {
    "10 nearest by cosine, faiss": Rival("pictures", "nearest-cosine", "nearest-cosine-faiss", 1.2, ("faiss-cpu",)),
    "10 nearest by distance, faiss": Rival(
        "pictures", "nearest-euclidean", "nearest-euclidean-faiss", 1.2, ("faiss-cpu",)
    ),
    "pairs at cosine 0.95, NumPy in blocks": Rival("pictures", "pairs", "pairs-numpy", 1.2),
    "10 of 256 bits at recall 1, lsh": Rival("bits", "bits", "bits-lsh", 2.0),
    "pairs of 60,000 sets without ids, writing the table": Rival("repeated", "pairs-written", "table-written", 4.0),
    "sets of 10 elements at 0.9, SetSimilaritySearch": Rival(
        "sparse", "sets", "sets-search", 1.0, ("SetSimilaritySearch",)
    ),
    "2,000 files, rensa": Rival("files", "files", "files-rensa", 1.0, ("rensa",)),
    "2,000 files, gaoya": Rival("files", "files", "files-gaoya", 1.0, ("gaoya",)),
    "link 100,000 x 100,000 people, splink": Rival("people", "link", "splink", 1.0, ("splink", "pandas", "pyarrow")),
}


def make_pictures(folder: Path) -> None:
    """10,000 vectors like small pictures: positive, many zeros, in clusters."""
    draw = np.random.default_rng(1)
    shapes = np.maximum(0, draw.standard_normal((200, 784)) - 0.8) * 100
    rows = shapes[draw.integers(0, 200, 10_000)] + 25 * draw.standard_normal((10_000, 784))
    np.save(folder / "pictures.npy", np.clip(rows, 0, 255).astype(np.float32))


def make_bits(folder: Path) -> None:
    """200,000 strings of 256 bits, a tenth of them copies of others with up to 13 bits changed."""
    draw = np.random.default_rng(2)
    rows = draw.integers(0, 256, (200_000, 32), dtype=np.uint8)
    chosen = draw.permutation(len(rows))[:40_000].reshape(2, -1)
    for one, other in chosen.T:
        rows[other] = rows[one]
        for bit in draw.choice(256, draw.integers(0, 14), replace=False):
            rows[other, bit // 8] ^= 1 << (bit % 8)
    np.save(folder / "bits.npy", rows)


def make_people(folder: Path) -> None:
    """Two tables of 100,000 people, a tenth of them in both."""
    for name, table in zip(("left", "right"), make_tables(100_000, 100_000, 0.1)):
        pq.write_table(table, folder / f"{name}.parquet")


def _write_sets(path: Path, sets: list[list[int]]) -> None:
    path.write_text("".join(" ".join(map(str, some)) + "\n" for some in sets), "ascii")


def make_repeated(folder: Path) -> None:
    """60,000 sets of two to four integers, many of them equal: millions of pairs."""
    draw = random.Random(9)
    kinds = [sorted(draw.sample(range(400), draw.randint(2, 4))) for _ in range(2500)]
    _write_sets(folder / "repeated.dat", [kinds[int(len(kinds) * draw.random() ** 2)] for _ in range(60_000)])


def make_sparse(folder: Path) -> None:
    """20,000 sets of about ten of 1,000 integers, some frequent; a tenth are copies with one element changed."""
    draw = random.Random(3)
    sets: list[list[int]] = []
    for _ in range(20_000):
        some = {int(1000 * draw.random() ** 2) for _ in range(draw.randint(6, 14))}
        if sets and draw.random() < 0.1:
            some = {*draw.choice(sets)[1:], draw.randrange(1000)}
        sets.append(sorted(some))
    _write_sets(folder / "sparse.dat", sets)


MAKERS: dict[str, Callable[[Path], None]] = {
    "pictures": make_pictures,
    "bits": make_bits,
    "people": make_people,
    "repeated": make_repeated,
    "sparse": make_sparse,
    "files": lambda folder: write_files(folder / "files", 2000),
}
OUTPUTS = itertools.count()
INPUTS = {"sets": "sparse.dat", "sets-search": "sparse.dat", "table-written": "pairs.parquet"}
"""What a job inside a process reads, if not an array."""


def program(job: str, python: str | Path, folder: Path) -> list[str | Path] | None:
    """The command of a job that is a whole program; None for one inside a process."""
    tables = [folder / "left.parquet", folder / "right.parquet"]
    out = folder / f"out-{next(OUTPUTS)}"  # see small.py: nothing is deleted meanwhile
    exact = ["--method", "exact", "--threshold", "0.9", "--overwrite"]
    programs: dict[str, list[str | Path]] = {
        "link": [LOOKALIKE, "link", *tables, "-o", out, "--fields", "name,address,postcode,phone", "--quiet"],
        "splink": [python, HERE / "adapters" / "records_splink.py", *tables, folder / "splink.parquet"],
        "pairs-written": [
            LOOKALIKE, "pairs", folder / "repeated.dat", "-o", folder / "pairs.parquet", *exact, "--quiet",
        ],
        "files": [LOOKALIKE, "dedup", folder / "files", "-o", out, "--quiet"],
        "files-rensa": [python, HERE / "adapters" / "files_rensa.py", folder / "files", out],
        "files-gaoya": [python, HERE / "adapters" / "files_gaoya.py", folder / "files", out],
    }  # fmt: skip
    return programs.get(job)


def command_of(job: str, rival: Rival, folder: Path) -> list[str | Path]:
    """Return the command that does a job."""
    own = rival.packages[0] if rival.packages and job == rival.theirs else ""
    python = python_of(own) if own else sys.executable
    data = folder / INPUTS.get(job, f"{rival.data}.npy")
    inside: list[str | Path] = [python, HERE / "adapters" / "rival_jobs.py", job, data, str(REPEAT)]
    return program(job, python, folder) or inside


def time_job(job: str, rival: Rival, folder: Path) -> tuple[float, float]:
    """Return the seconds and processor seconds of a job."""
    done = run_measured(command_of(job, rival, folder))
    if done.exit_code:
        raise RuntimeError(f"{job}: {done.stderr[-300:]}")
    if program(job, "", folder):
        return done.seconds, done.cpu_seconds
    told = json.loads(done.stdout)
    return told["seconds"], told["cpu_seconds"]


def compare(rival: Rival, folder: Path, rounds: int) -> dict[str, float]:
    """Run both in turns; return the best seconds of each and the ratios."""
    times: dict[str, list[tuple[float, float]]] = {rival.ours: [], rival.theirs: []}
    for _ in range(rounds):
        for job, seen in times.items():
            seen.append(time_job(job, rival, folder))
    (ours, our_cpu), (theirs, their_cpu) = (map(min, zip(*seen)) for seen in times.values())
    return {
        "ours_seconds": ours,
        "theirs_seconds": theirs,
        "ratio": ours / theirs,
        "ours_cpu_seconds": our_cpu,
        "theirs_cpu_seconds": their_cpu,
        "cpu_ratio": our_cpu / their_cpu,
        "most": rival.most,
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only jobs whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made = set()
        for name, rival in RIVALS.items():
            if given.only not in name:
                continue
            if rival.packages and (failure := install_packages(rival.packages, rival.packages[0])):
                print(f"{name}: {failure}", file=sys.stderr)
                continue
            if rival.data not in made:
                MAKERS[rival.data](folder)
                made.add(rival.data)
            results[name] = compare(rival, folder, given.rounds)
            print(f"{name}: {results[name]['ratio']:.2f}x, processor {results[name]['cpu_ratio']:.2f}x", flush=True)
    rows = [
        [name, *(f"{one[key]:.2f}" for key in ("ours_seconds", "theirs_seconds", "ratio", "cpu_ratio", "most"))]
        for name, one in results.items()
    ]
    print(draw_table(["job", "lookalike", "other", "ratio", "processor ratio", "at most"], rows))
    facts = {"machine": describe_machine(), "jobs": results}
    if not given.only:
        (HERE / "results" / "rivals.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
