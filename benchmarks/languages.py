"""Sketch text in 388 languages on one thread, against `wc -w` in a UTF-8 locale on the same bytes.

The text is the declaration of human rights (`languages/udhr2.zip` of the folder that LOOKALIKE_DATA names, by default
../shared/data beside the project), repeated to 100 MB. Exits with 1 if sketching is slower than half the speed of `wc
-w`, with 2 if there is no such data.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import lookalike as la

ROOT = Path(__file__).resolve().parent.parent
WANTED_RATIO = 0.5
HASHES = 256


def read_languages(archive: Path) -> tuple[list[str], list[str]]:
    """Return the texts of an archive, and the names of the files that are not UTF-8."""
    texts, skipped = [], []
    with zipfile.ZipFile(archive) as members:
        for name in sorted(members.namelist()):
            if not name.endswith(".txt"):
                continue
            try:
                texts.append(members.read(name).decode("utf-8"))
            except UnicodeDecodeError:
                skipped.append(name)
    return texts, skipped


def repeat_texts(texts: list[str], target_bytes: int) -> list[str]:
    """Return the texts, all of them as often as it takes to reach `target_bytes`."""
    once = sum(len(text.encode()) for text in texts)
    return texts * -(-target_bytes // once)


def best_seconds(action: Callable[[], object], repeat: int) -> float:
    """Return the shortest of `repeat` runs."""
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def count_words(path: Path) -> None:
    """Count the words of a file with `wc -w` in a UTF-8 locale."""
    subprocess.run(["wc", "-w", str(path)], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True)


def measure_ratio(texts: list[str], repeat: int) -> tuple[float, float, float]:
    """Return MB, and the seconds of `wc -w` and of sketching."""
    table = pa.table({"text": pa.array(texts, pa.large_string())})
    la.sketch(table.slice(0, 400), column="text", hashes=HASHES, threads=1)  # compiles what is not compiled
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text("\n".join(texts), "utf-8")
        megabytes = path.stat().st_size / 1e6
        words = best_seconds(lambda: count_words(path), repeat)
    sketch = best_seconds(lambda: la.sketch(table, column="text", hashes=HASHES, threads=1), repeat)
    return megabytes, words, sketch


def main() -> int:
    """Print the ratio and say whether it is enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    data = Path(os.environ.get("LOOKALIKE_DATA", ROOT.parent / "shared" / "data"))
    archive = data / "languages" / "udhr2.zip"
    if not archive.exists():
        print("languages: no languages/udhr2.zip in the folder of LOOKALIKE_DATA", file=sys.stderr)
        return 2
    texts, skipped = read_languages(archive)
    if skipped:
        print(f"languages: skipped, not UTF-8: {', '.join(skipped)}", file=sys.stderr)
    megabytes, words, sketch = measure_ratio(repeat_texts(texts, options.megabytes * 10**6), options.repeat)
    print(
        f"{len(texts)} languages, {megabytes:.0f} MB: sketch {megabytes / sketch:.0f} MB/s, "
        f"wc -w {megabytes / words:.0f} MB/s, ratio {words / sketch:.2f} (want >= {WANTED_RATIO})"
    )
    return 0 if words / sketch >= WANTED_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
