"""Unusual corpora: one huge document, empty ones, one word each, boilerplate. Used by scale.py."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from generate import LETTERS, WORDS, vocabulary
from measure import run_measured

PIECE = 1_000_000
"""Words that are drawn at a time."""


def texts(items: int, draw: np.random.Generator, words: int = WORDS) -> Iterator[str]:
    """Documents of this many words from a large vocabulary: no two are similar."""
    known = vocabulary(draw)
    for first in range(0, items, PIECE // words):
        chosen = known[draw.integers(0, len(known), (min(PIECE // words, items - first), words))]
        yield from (row.tobytes().decode() for row in chosen)


def huge_text(nbytes: int, draw: np.random.Generator) -> Iterator[bytes]:
    """One text, in pieces."""
    known = vocabulary(draw)
    for _ in range(0, nbytes, PIECE * (LETTERS + 1)):
        yield known[draw.integers(0, len(known), PIECE)].tobytes()


def line(text: str) -> bytes:
    return json.dumps({"text": text}).encode() + b"\n"


def huge_document(path: Path, draw: np.random.Generator) -> None:
    """One document of 500 MB among 20,000 of 480 bytes."""
    with path.open("wb") as out:
        for number, text in enumerate(texts(20_000, draw)):
            if number == 10_000:
                out.write(b'{"text": "')
                out.writelines(huge_text(500_000_000, draw))
                out.write(b'"}\n')
            out.write(line(text))


def half_empty(path: Path, draw: np.random.Generator) -> None:
    """400,000 documents, every second one empty."""
    with path.open("wb") as out:
        out.writelines(line(text) + line("") for text in texts(200_000, draw))


def one_word(path: Path, draw: np.random.Generator) -> None:
    """1,000,000 documents of one word out of 50,000."""
    with path.open("wb") as out:
        out.writelines(line(text.strip()) for text in texts(1_000_000, draw, words=1))


def tiny_files(path: Path, draw: np.random.Generator) -> None:
    """10,000 files of 480 bytes in a folder, and one of 200 MB."""
    path.mkdir()
    for number, text in enumerate(texts(10_000, draw)):
        folder = path / f"{number // 1000}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(text)
    with (path / "5" / "huge.txt").open("wb") as out:
        out.writelines(huge_text(200_000_000, draw))


def boilerplate(path: Path, draw: np.random.Generator) -> None:
    """200,000 documents that share 80 words and have 15 of their own: one giant bucket, nothing to remove."""
    shared = next(texts(1, draw))
    with path.open("wb") as out:
        out.writelines(line(shared + text) for text in texts(200_000, draw, words=15))


CORPORA: dict[str, tuple[Callable[[Path, np.random.Generator], None], str]] = {
    "huge document": (huge_document, "huge.jsonl"),
    "half empty": (half_empty, "empty.jsonl"),
    "one word": (one_word, "word.jsonl"),
    "tiny files": (tiny_files, "files"),
    "boilerplate": (boilerplate, "boilerplate.jsonl"),
}


def open_corpus(name: str, scratch: Path) -> Path:
    """The corpus, generated if it does not exist yet."""
    make, file = CORPORA[name]
    path = scratch / f"odd-{file}"
    if not path.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        partial = scratch / f"partial-{file}"
        if partial.is_dir():
            shutil.rmtree(partial)
        make(partial, np.random.default_rng(1))
        partial.rename(path)
    return path


def run_odd(name: str, memory: str, scratch: Path) -> dict[str, object]:
    """Deduplicate one of the corpora; return its cost, measured from outside, and its outcome."""
    path, out = open_corpus(name, scratch), scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [Path(sys.executable).with_name("lookalike"), "dedup", path, "-o", out, "--memory", memory]
    done = run_measured([*command, "--overwrite"])
    found: dict[str, object] = {
        "corpus": name,
        "memory": memory,
        "seconds": done.seconds,
        "peak_bytes": done.peak_bytes,
        "exit_code": done.exit_code,
    }
    if done.exit_code:
        return {**found, "said": done.stderr.splitlines()[-1]}
    run = json.loads((out / "run.json").read_text())
    shutil.rmtree(out)
    return {**found, "counts": run["counts"], "stages": run["seconds"]}
