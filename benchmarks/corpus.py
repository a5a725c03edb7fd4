"""Gather a corpus of source text from this machine, in a fixed order, and write it as Parquet and JSONL.

The corpus is what the machine has: the system's shared files first, then those of the Python
installation. Vendored copies among them are real near-duplicates. Knows nothing about the tools that read it.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
DATA = HERE / ".data"
ROOTS = ("/usr/share", "/usr/lib", "/usr/include", "/usr/local", sys.base_prefix)
SUFFIXES = frozenset({".py", ".h", ".js", ".md", ".txt", ".rst", ".json", ".c", ".html"})
SMALLEST, LARGEST = 200, 60_000  # bytes of a file, both exclusive
ROW_GROUP = 10_000


@dataclass(frozen=True)
class Corpus:
    """A corpus on disk.

    Attributes
    ----------
    parquet, jsonl
        The same rows (``id``, ``text``) in two formats.
    fingerprint
        Sixteen hexadecimal digits of the SHA-256 of all ids and texts.
    items, text_bytes
        Number of rows, and UTF-8 bytes of their texts.
    """

    parquet: Path
    jsonl: Path
    fingerprint: str
    items: int
    text_bytes: int


def find_files(roots: tuple[str, ...] = ROOTS) -> Iterator[Path]:
    """Yield the source files below `roots`, root by root, in sorted order, each file once."""
    seen: set[tuple[int, int]] = set()
    for root in roots:
        for path in sorted(Path(root).rglob("*")):
            if path.suffix not in SUFFIXES or path.is_symlink() or not path.is_file():
                continue
            stat = path.stat()
            if SMALLEST < stat.st_size < LARGEST and (stat.st_dev, stat.st_ino) not in seen:
                seen.add((stat.st_dev, stat.st_ino))
                yield path


def read_texts(items: int) -> tuple[list[str], list[str]]:
    """Return the ids and the texts of the first `items` files that are valid UTF-8."""
    ids: list[str] = []
    texts: list[str] = []
    for path in find_files():
        if len(ids) >= items:
            break
        try:
            texts.append(path.read_bytes().decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        ids.append(str(path))
    return ids, texts


def fingerprint_texts(ids: list[str], texts: list[str]) -> str:
    """Return a short hash of every id and text, in order."""
    digest = hashlib.sha256()
    for item_id, text in zip(ids, texts):
        digest.update(item_id.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def write_corpus(ids: list[str], texts: list[str], folder: Path) -> None:
    """Write ``corpus.parquet`` and ``corpus.jsonl`` with columns id and text to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"id": ids, "text": pa.array(texts, pa.large_string())})
    pq.write_table(table, folder / "corpus.parquet", compression="zstd", row_group_size=ROW_GROUP)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        for item_id, text in zip(ids, texts):
            out.write(json.dumps({"id": item_id, "text": text}, ensure_ascii=False) + "\n")


def gather_corpus(items: int, data: Path = DATA) -> Corpus:
    """Gather `items` files (fewer where the machine has fewer) and write them below `data`.

    The folder is named by the fingerprint, so that a corpus is written once and answers that were computed for it can
    be kept beside it.
    """
    ids, texts = read_texts(items)
    fingerprint = fingerprint_texts(ids, texts)
    folder = data / f"corpus-{len(ids)}-{fingerprint}"
    if not (folder / "complete").exists():
        write_corpus(ids, texts, folder)
        (folder / "complete").touch()
    text_bytes = sum(len(text.encode()) for text in texts)
    return Corpus(folder / "corpus.parquet", folder / "corpus.jsonl", fingerprint, len(ids), text_bytes)


def main() -> None:
    """Gather a corpus and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    corpus = gather_corpus(parser.parse_args().items)
    print(f"{corpus.items:,} items, {corpus.text_bytes / 1e6:.0f} MB: {corpus.parquet}")


if __name__ == "__main__":
    main()
