"""What the adapters share: arguments, rows, and word shingles for the peers that take tokens.

An adapter is run as ``python ADAPTER INPUT OUTPUT THRESHOLD``: it reads the Parquet file INPUT (columns id and text),
removes near-duplicates with one peer, writes the rows that stay to OUTPUT and prints one line of JSON: {"settings": how
the peer was set up}.
"""

import json
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

NUM_PERM = 256
SHINGLE_WORDS = 5
WORDS = re.compile(r"[^\W_]+")
CORES = len(os.sched_getaffinity(0))
BATCH = 250  # items a worker sketches at a time


class Arguments(NamedTuple):
    """What the benchmark asks of an adapter."""

    source: Path
    target: Path
    threshold: float


def read_arguments() -> Arguments:
    """Return the three arguments of the command line."""
    source, target, threshold = sys.argv[1:]
    return Arguments(Path(source), Path(target), float(threshold))


def report(settings: str) -> None:
    """Print the line of JSON that ends an adapter."""
    print(json.dumps({"settings": settings}))


def write_kept(table: pa.Table, kept: list[bool], target: Path) -> None:
    """Write the rows that stay as Parquet, compressed as the input is."""
    pq.write_table(table.filter(pa.array(kept)), target, compression="zstd")


def shingle(text: str) -> list[str]:
    """Return the distinct runs of five lower-case words of a text; all of it if it is shorter."""
    words = WORDS.findall(text.lower())
    if len(words) <= SHINGLE_WORDS:
        return [" ".join(words)] if words else []
    return list(set(map(" ".join, zip(*(words[start:] for start in range(SHINGLE_WORDS))))))


def sketch_in_pool(table: pa.Table, sketch: Callable[[list[str]], list[Any]]) -> Iterator[Any]:
    """Sketch the texts of a table on every core; yield the sketches in order.

    `sketch` turns a list of texts into a list of sketches and must be a function of a module. The texts
    reach the workers by fork, so that only numbers and sketches travel.
    """
    texts = table["text"]
    starts = range(0, len(texts), BATCH)
    with multiprocessing.get_context("fork").Pool(CORES, _set_worker, (texts, sketch)) as pool:
        for batch in pool.imap(_sketch_batch, starts):
            yield from batch


_worker: dict[str, Any] = {}


def _set_worker(texts: pa.ChunkedArray, sketch: Callable[[list[str]], list[Any]]) -> None:
    _worker["texts"] = texts
    _worker["sketch"] = sketch


def _sketch_batch(start: int) -> list[Any]:
    return _worker["sketch"](_worker["texts"].slice(start, BATCH).to_pylist())  # type: ignore[no-any-return]
