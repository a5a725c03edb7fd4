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
            before = process.memory_info().rss
            if minutes:
                ask_singly(port, questions, 60 * minutes)
            found["memory"] = {"before": before, "after": process.memory_info().rss, "minutes": minutes}
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
