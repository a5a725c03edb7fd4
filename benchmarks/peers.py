"""Compare `lookalike dedup` with the peers that install from PyPI: time, memory, and quality.

Every tool reads the same Parquet file of source text found on this machine, removes near-duplicates at the
same threshold with five-word shingles, and writes the rows that stay, in a fresh process with a warm page
cache. Quality is judged against the exact answer. Results go to results/peers.json and results/peers.md.
"""

import argparse
import importlib.metadata
import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus import DATA, HERE, Corpus, gather_corpus
from exact import ExactAnswer, load_answer
from measure import Measured, describe_machine, run_measured, warm_cache
from peer_env import PYTHON, install_packages, version_of
from tables import Row, write_results

THRESHOLD = "0.8"
WARM_UP_ITEMS = 200
LOOKALIKE = Path(sys.executable).with_name("lookalike")
FOLDER_NAME = re.compile(r"(?:/[^\s/:'\"]+)+/")

TEXT = """# lookalike and its peers

{corpus}

{machine}

{table}

- *seconds*: wall time from start to exit of a fresh process, input in the page cache, best of {repeat}.
- *peak memory*: of the whole process tree, shared pages counted once.
- *missed pairs*: pairs of items with exact similarity of at least {threshold} of which both were kept.
- *wrong removals*: removed items that are not similar (at least {threshold}) to any kept item.
- Tools split text into words in their own ways (see the notes); quality is judged by one definition, the
  sets of five-word shingles that were asked for. The exact rule, in input order, removes {removed:,} items
  of {pairs:,} similar pairs.
"""


@dataclass(frozen=True)
class Peer:
    """A tool to compare with: what to install, the script that drives it, how it sees words."""

    packages: tuple[str, ...]
    adapter: str
    note: str


PEERS = {
    "datasketch": Peer(
        ("datasketch", "xxhash", "pyarrow"), "datasketch_lsh.py", "words by the adapter: letters and digits"
    ),
    "rensa": Peer(("rensa", "pyarrow"), "rensa_lsh.py", "words by the adapter: letters and digits"),
    "gaoya": Peer(("gaoya", "pyarrow"), "gaoya_index.py", "its own word splitting"),
    "text-dedup": Peer(
        ("text-dedup", "pyarrow"),
        "text_dedup_minhash.py",
        "splits at every other character, so empty words count; removes whole clusters",
    ),
    "datatrove": Peer(
        ("datatrove", "spacy", "tokenizers", "xxhash", "regex", "pyarrow"),
        "datatrove_minhash.py",
        "words by spaCy (blank English); removes whole clusters",
    ),
}


class ToolError(Exception):
    """A tool could not be installed or did not finish."""


def command_of(tool: str, source: Path, folder: Path) -> tuple[list[str | Path], Path]:
    """Return the command that deduplicates `source` with `tool`, and where the rows that stay will be."""
    if tool == "lookalike":
        target = folder / "out"
        options = ["--threshold", THRESHOLD, "--quiet"]
        return [LOOKALIKE, "dedup", source, "-o", target, *options], target / "kept"
    target = folder / "kept.parquet"
    return [PYTHON, HERE / "adapters" / PEERS[tool].adapter, source, target, THRESHOLD], target


def explain_failure(done: Measured) -> str:
    """Return the last line of what a command said, without folders."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
    return f"exit {done.exit_code}: {FOLDER_NAME.sub('', lines[-1])[:160]}"


def run_once(tool: str, source: Path, timeout: float) -> tuple[Measured, list[str]]:
    """Run a tool once; return what it cost and the ids that it kept."""
    DATA.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"run-{tool}-", dir=DATA))
    try:
        command, target = command_of(tool, source, folder)
        warm_cache(source)
        done = run_measured(command, timeout=timeout)
        if done.exit_code:
            raise ToolError(explain_failure(done))
        return done, read_ids(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_ids(target: Path) -> list[str]:
    """Return the ids in an output: a Parquet file, or a folder of Parquet or Arrow files."""
    arrows = sorted(target.glob("*.arrow")) if target.is_dir() else []
    if not arrows:
        return list(pq.read_table(target, columns=["id"])["id"].to_pylist())
    return [item for path in arrows for item in pa.ipc.open_stream(path).read_all()["id"].to_pylist()]


def mark_kept(ids: list[str], kept: list[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which items were kept; refuse an output that holds other rows, or a row twice."""
    chosen = set(kept)
    if len(chosen) != len(kept) or not chosen.issubset(ids):
        raise ToolError("its output is no subset of the input")
    return np.array([item in chosen for item in ids])


def prepare_tool(tool: str, corpus: Corpus, timeout: float) -> str:
    """Install a tool and run it once on a little, so that nothing is compiled later; return its version."""
    if tool == "lookalike":
        if not LOOKALIKE.exists():
            raise ToolError("the command is not installed")
        version = importlib.metadata.version("lookalike")
    else:
        reason = install_packages(PEERS[tool].packages)
        if reason:
            raise ToolError(f"not installed: {FOLDER_NAME.sub('', reason)[:160]}")
        version = version_of(PEERS[tool].packages[0])
    sample = corpus.parquet.with_name("sample.parquet")
    if not sample.exists():
        pq.write_table(pq.read_table(corpus.parquet).slice(0, WARM_UP_ITEMS), sample, compression="zstd")
    run_once(tool, sample, timeout)
    return version


def measure_tool(tool: str, corpus: Corpus, ids: list[str], answer: ExactAnswer, repeat: int, timeout: float) -> Row:
    """Run a tool `repeat` times and judge its output."""
    row = Row(tool, note=PEERS[tool].note if tool in PEERS else "every removal verified")
    try:
        row.version = prepare_tool(tool, corpus, timeout)
        runs = [run_once(tool, corpus.parquet, timeout) for _ in range(repeat)]
        best, kept_ids = min(runs, key=lambda run: run[0].seconds)
        kept = mark_kept(ids, kept_ids)
    except ToolError as failure:
        row.failure = str(failure)
        return row
    row.seconds, row.cpu_seconds = round(best.seconds, 3), round(best.cpu_seconds, 3)
    row.all_seconds = tuple(round(run.seconds, 3) for run, _ in runs)
    row.peak_bytes = max(run.peak_bytes for run, _ in runs)
    row.removed = int((~kept).sum())
    row.missed_pairs = answer.count_pairs(kept)
    row.wrong_removals = answer.count_wrong_removals(kept)
    if tool in PEERS:
        row.settings = json.loads(best.stdout.splitlines()[-1])["settings"]
    return row


def compare(tools: list[str], corpus: Corpus, repeat: int, timeout: float) -> tuple[list[Row], ExactAnswer]:
    """Measure every tool in turn."""
    answer = load_answer(corpus.parquet, THRESHOLD)
    ids = pq.read_table(corpus.parquet, columns=["id"])["id"].to_pylist()
    rows = []
    for tool in tools:
        row = measure_tool(tool, corpus, ids, answer, repeat, timeout)
        rows.append(row)
        print(f"{tool}: {row.failure or f'{row.seconds:.2f} s'}", file=sys.stderr, flush=True)
    base = next((row.seconds for row in rows if row.tool == "lookalike"), None)
    for row in rows:
        row.ratio = round(row.seconds / base, 2) if base and row.seconds else None
    return rows, answer


def write_report(
    out: Path, corpus: Corpus, rows: list[Row], answer: ExactAnswer, repeat: int, machine: dict[str, Any]
) -> None:
    """Write peers.json and peers.md."""
    counts = {"similar_pairs": answer.count_pairs(), "exact_removed": int((~answer.keep_first()).sum())}
    size = {"items": corpus.items, "text_bytes": corpus.text_bytes, "fingerprint": corpus.fingerprint}
    facts = {"threshold": THRESHOLD, "repeat": repeat, "machine": machine, "corpus": {**size, **counts}}
    text = TEXT.format(
        corpus=f"{corpus.items:,} source files of one machine, {corpus.text_bytes / 1e6:.0f} MB of text.",
        machine="{cpu}, {cores} cores, {memory_gib} GiB, {system}, Python {python}; load at the start "
        "{load_at_start}.".format(**machine),
        table="{table}",
        repeat=repeat,
        threshold=THRESHOLD,
        removed=counts["exact_removed"],
        pairs=counts["similar_pairs"],
    )
    write_results(out, "peers", facts, rows, text)


def main() -> int:
    """Run the comparison; the exit code is 1 if lookalike itself failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000, help="files in the corpus")
    parser.add_argument("--peers", default=",".join(PEERS), help="which peers, with commas; may be empty")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each tool, of which the best counts")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that a run may take")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    peers = [name for name in options.peers.split(",") if name]
    if unknown := set(peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))} (known: {', '.join(PEERS)})")
    machine = describe_machine()
    corpus = gather_corpus(options.items)
    rows, answer = compare(["lookalike", *peers], corpus, options.repeat, options.timeout)
    write_report(options.out, corpus, rows, answer, options.repeat, machine)
    print((options.out / "peers.md").read_text())
    return 1 if rows[0].failure else 0


if __name__ == "__main__":
    sys.exit(main())
