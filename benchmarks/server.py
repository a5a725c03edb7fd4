"""The server: single questions over 64 connections, NDJSON, additions, and memory over time.

`make bench-server` runs it with 100,000 documents of 80 words (`--items` for more). The client is a process of its own
on the same processors, so it takes a share of them.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyarrow.parquet as pq

import lookalike as la
from generate import batches
from measure import describe_machine

CONNECTIONS = 64
PAUSE_SECONDS = 0.2
"""Between two requests of a connection while memory is watched: about 300 a second in all."""
RESULTS = Path(__file__).resolve().parent / "results"
LOOKALIKE = Path(sys.executable).with_name("lookalike")


@contextmanager
def serving(index: Path, *options: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server process and its port."""
    process = subprocess.Popen(
        [LOOKALIKE, "serve", str(index), "--port", "0", "--json", "--log", "none", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
        time.sleep(3)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """A request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> bytes:
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


async def _keep_asking(port: int, requests: list[bytes], seconds: float, taken: list[float], first: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    end = time.perf_counter() + seconds
    at = first
    while (started := time.perf_counter()) < end:
        await _one(reader, writer, requests[at % len(requests)])
        taken.append(time.perf_counter() - started)
        at += CONNECTIONS
    writer.close()


def ask_singly(port: int, requests: list[bytes], seconds: float) -> dict[str, float]:
    """Requests per second over 64 connections, and how long each takes."""

    async def run() -> list[float]:
        taken: list[float] = []
        await asyncio.gather(*(_keep_asking(port, requests, seconds, taken, first) for first in range(CONNECTIONS)))
        return taken

    taken = sorted(asyncio.run(run()))
    return {
        "per_second": round(len(taken) / seconds, 1),
        "p50_ms": round(1000 * statistics.median(taken), 2),
        "p99_ms": round(1000 * taken[int(len(taken) * 0.99)], 2),
    }


def send_lines(port: int, path: str, lines: list[bytes]) -> float:
    """Lines per second in one request."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    started = time.perf_counter()
    connection.request("POST", path, b"".join(lines), {"Content-Type": "application/x-ndjson"})
    count = connection.getresponse().read().count(b"\n")
    assert count == len(lines)
    return round(count / (time.perf_counter() - started), 1)


def both_ways(texts: list[str]) -> tuple[list[bytes], list[bytes]]:
    """NDJSON of 20 questions a request, and arrays of 20 additions that replace each other."""
    groups = [texts[at : at + 20] for at in range(0, 5000, 20)]
    asked = [b"".join(json.dumps({"text": text}).encode() + b"\n" for text in group) for group in groups]
    added = [json.dumps([{"id": f"r{at}", "text": one} for at, one in enumerate(group)]).encode() for group in groups]
    return [request("/v1/query", body, "application/x-ndjson") for body in asked], [
        request("/v1/items", body) for body in added
    ]


async def _mixed(port: int, requests: list[list[bytes]], end: float, done: list[int], first: int) -> None:
    """Requests of one kind after the other, with a connection of its own for each twentieth."""
    at = first
    while time.perf_counter() < end:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(20):
            kind = requests[at % len(requests)]
            writer.write(kind[at // len(requests) % len(kind)])
            await _read_answer(reader)
            done[0] += 1
            at += 1
            await asyncio.sleep(PAUSE_SECONDS)
        writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    if b"chunked" not in head.lower():
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
        return
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


async def _sample(process: psutil.Process, end: float, sizes: list[dict[str, float]]) -> None:
    """Every half minute: all memory, and that which is not a mapped file."""
    started = time.perf_counter()
    while (now := time.perf_counter()) < end:
        found = process.memory_full_info()
        mb = {"resident_mb": round(found.rss / 1e6, 1), "private_mb": round(found.uss / 1e6, 1)}
        sizes.append({"seconds": round(now - started), **mb})
        await asyncio.sleep(min(30, max(0.1, end - now)))


def watch_memory(port: int, process: psutil.Process, requests: list[list[bytes]], minutes: float) -> dict[str, object]:
    """Memory during a mixed load: questions, additions that replace items, NDJSON, arrays, new connections."""

    async def run() -> dict[str, object]:
        end = time.perf_counter() + 60 * minutes
        done, sizes = [0], []
        work = [_mixed(port, requests, end, done, first) for first in range(CONNECTIONS)]
        await asyncio.gather(_sample(process, end, sizes), *work)
        return {"minutes": minutes, "requests": done[0], "sizes": sizes}

    return asyncio.run(run())


def run(items: int, seconds: float, minutes: float) -> dict[str, object]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, "index")
        files = []
        for number, table in enumerate(batches(items)):
            files.append(Path(folder, f"{number}.parquet"))
            pq.write_table(table, files[-1])
        la.Index.create(index, files).close()
        asked = [text for table in batches(20_000, seed=1) for text in table["text"].to_pylist()]
        questions = [request("/v1/query", json.dumps({"text": text}).encode()) for text in asked[:5000]]
        fresh = [text for table in batches(60_000, seed=7) for text in table["text"].to_pylist()]
        additions = [
            request("/v1/items", json.dumps({"id": f"n{at}", "text": text}).encode()) for at, text in enumerate(fresh)
        ]
        found: dict[str, object] = {"items": items, "machine": describe_machine()}
        with serving(index, "--no-batching") as (port, _):
            found["single, without batching"] = ask_singly(port, questions, seconds)
        with serving(index) as (port, process):
            ask_singly(port, questions, 2)
            found["single"] = ask_singly(port, questions, seconds)
            lines = [json.dumps({"text": text}).encode() + b"\n" for text in asked]
            found["NDJSON questions per second"] = send_lines(port, "/v1/query", lines)
            found["single additions"] = ask_singly(port, additions, seconds)
            rows = [json.dumps({"id": f"m{at}", "text": text}).encode() + b"\n" for at, text in enumerate(fresh)]
            found["NDJSON additions per second"] = send_lines(port, "/v1/items", rows[:20_000])
            found["memory"] = watch_memory(port, process, [questions, additions[:5000], *both_ways(asked)], minutes)
        return found


def main() -> None:
    """Run, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--minutes", type=float, default=0.5, help="how long memory is watched")
    parser.add_argument("--save", action="store_true", help="write results/server.json")
    given = parser.parse_args()
    found = run(given.items, given.seconds, given.minutes)
    print(json.dumps(found, indent=2))
    if given.save:
        (RESULTS / "server.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
