"""Small jobs: the time to start, and a folder of 2,000 text files against rensa and gaoya.

All programs run in turn, within the same minute; the fastest of several runs and the median are shown, and the median
of the processor time. Each reads the folder and copies the files that stay. lookalike waits until they are on disk; the
others do not, so they are also measured with `sync -f` afterwards. Every run writes to a folder of its own,
and all are removed at the end: ext4 does not reuse the inodes of files that were deleted in the last seconds, and
searching for others takes ten times as long as creating a file. `--peers-python` names a Python that has the peers,
instead of making an environment.
"""

import argparse
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import peer_env

HERE = Path(__file__).resolve().parent
LOOKALIKE = Path(sys.executable).with_name("lookalike")
WORDS = 20_000
WORDS_PER_FILE = 300
SHARE_COPIED = 0.1


def draw_texts(count: int) -> list[list[str]]:
    """Make texts of frequent and rare words; a tenth are copies of an earlier one with a word changed."""
    draw = random.Random(1)
    words = [f"word{number}" for number in range(WORDS)]
    texts: list[list[str]] = []
    for _ in range(count):
        if texts and draw.random() < SHARE_COPIED:
            text = list(draw.choice(texts))
            text[draw.randrange(len(text))] = draw.choice(words)
        else:
            text = [words[int(WORDS ** draw.random()) - 1] for _ in range(WORDS_PER_FILE)]
        texts.append(text)
    return texts


def write_files(folder: Path, count: int) -> None:
    """Write such texts, each to a file."""
    folder.mkdir()
    for number, text in enumerate(draw_texts(count)):
        (folder / f"{number:06}.txt").write_text(" ".join(text), "utf-8")


@dataclass(frozen=True)
class Took:
    """What a run took, in seconds."""

    wall: float
    processor: float


def measure(commands: dict[str, Callable[[Path], list[str]]], repeat: int, folder: Path) -> dict[str, list[Took]]:
    """Run the commands in turn, each into a folder that does not exist."""
    found: dict[str, list[Took]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, command in commands.items():
            called = command(
                folder / f"out-{len(commands)}-{len(found[name])}-{name.replace(', ', '-').replace(' ', '-')}"
            )
            before, started = used_by_children(), time.perf_counter()
            subprocess.run(called, check=True, capture_output=True)
            found[name].append(Took(time.perf_counter() - started, used_by_children() - before))
    return found


def used_by_children() -> float:
    """Return the processor seconds of all processes that were waited for."""
    used = os.times()
    return used.children_user + used.children_system


def show(title: str, found: dict[str, list[Took]], ours: str) -> None:
    """Print best and median of the wall time, the median of the processor time, and ratios to ours."""
    print(f"{title}: seconds at best, in the median, of processor time; as ratios to {ours}")
    figures = {name: _figures(runs) for name, runs in found.items()}
    for name, values in figures.items():
        ratios = "" if name == ours else "  = " + ", ".join(f"{a / b:.2f}" for a, b in zip(values, figures[ours]))
        print(f"  {name:34} " + " ".join(f"{value:6.3f}" for value in values) + ratios)


def _figures(runs: list[Took]) -> tuple[float, float, float]:
    walls = [run.wall for run in runs]
    return min(walls), statistics.median(walls), statistics.median(run.processor for run in runs)


def main() -> None:
    """Measure both and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers-python", type=Path)
    chosen = parser.parse_args()
    python = chosen.peers_python
    if python is None:
        for package in ("rensa", "gaoya"):
            if failure := peer_env.install_packages((package,)):
                sys.exit(f"{package}: {failure}")
        python = peer_env.PYTHON
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "three", 3)
        write_files(folder / "files", chosen.files)

        def dedup(source: str) -> Callable[[Path], list[str]]:
            return lambda out: [str(LOOKALIKE), "dedup", str(folder / source), "-o", str(out), "--quiet"]

        def peer(name: str) -> Callable[[Path], list[str]]:
            script = HERE / "adapters" / f"files_{name}.py"
            return lambda out: [str(python), str(script), str(folder / "files"), str(out)]

        def flushed(name: str) -> Callable[[Path], list[str]]:
            return lambda out: ["sh", "-c", f"{shlex.join(peer(name)(out))} && sync -f {shlex.quote(str(out))}"]

        importing = [sys.executable, "-c", "import numpy, pyarrow.parquet"]
        start = {"importing numpy, pyarrow.parquet": lambda _: importing, "lookalike dedup": dedup("three")}
        show("Three documents", measure(start, chosen.repeat, folder), "lookalike dedup")
        many = {"lookalike dedup": dedup("files")}
        for name in ("rensa", "gaoya"):
            many |= {name: peer(name), f"{name}, flushed": flushed(name)}
        show(f"{chosen.files:,} files", measure(many, chosen.repeat, folder), "lookalike dedup")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as users have it
    main()
