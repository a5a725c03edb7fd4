"""Small jobs: the time to start, and a folder of 2,000 text files against rensa and gaoya.

All programs run in turn, within the same minute, and the fastest of several runs counts. Each reads the folder and
copies the files that stay. `--peers-python` names a Python that has the peers, instead of making an environment.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import peer_env

HERE = Path(__file__).resolve().parent
LOOKALIKE = Path(sys.executable).with_name("lookalike")
WORDS = 20_000
WORDS_PER_FILE = 300
SHARE_COPIED = 0.1


def write_files(folder: Path, count: int) -> None:
    """Write text files of frequent and rare words; a tenth are copies of an earlier one with a few words changed."""
    draw = random.Random(1)
    words = [f"word{number}" for number in range(WORDS)]
    texts: list[list[str]] = []
    folder.mkdir()
    for number in range(count):
        if texts and draw.random() < SHARE_COPIED:
            text = list(draw.choice(texts))
            text[draw.randrange(len(text))] = draw.choice(words)
        else:
            text = [words[int(WORDS ** draw.random()) - 1] for _ in range(WORDS_PER_FILE)]
        texts.append(text)
        (folder / f"{number:06}.txt").write_text(" ".join(text), "utf-8")


def fastest(commands: dict[str, Callable[[Path], list[str]]], repeat: int, folder: Path) -> dict[str, float]:
    """Run the commands in turn, each into a folder that does not exist; seconds of the fastest run of each."""
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(repeat):
        for name, command in commands.items():
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            started = time.perf_counter()
            subprocess.run(command(out), check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def show(title: str, seconds: dict[str, float], ours: str) -> None:
    """Print the seconds, and how many times ours each of the others takes."""
    print(f"{title}:")
    for name, value in seconds.items():
        print(f"  {name:34} {value:6.3f} s" + ("" if name == ours else f"  = {value / seconds[ours]:.2f} x {ours}"))


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

        importing = [sys.executable, "-c", "import numpy, pyarrow.parquet"]
        start = {"importing numpy, pyarrow.parquet": lambda _: importing, "lookalike dedup": dedup("three")}
        show("Three documents", fastest(start, chosen.repeat, folder), "lookalike dedup")
        many = {"lookalike dedup": dedup("files"), "rensa": peer("rensa"), "gaoya": peer("gaoya")}
        show(f"{chosen.files:,} files", fastest(many, chosen.repeat, folder), "lookalike dedup")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as users have it
    main()
