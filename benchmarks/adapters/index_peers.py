"""datasketch (in memory, on Redis) and rensa: insert documents until the time is up, then ask, from text to answer."""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

SHINGLE, HASHES, THRESHOLD = 5, 256, 0.8


def shingles(text: str) -> set[str]:
    """Sequences of five words."""
    words = text.lower().split()
    return {" ".join(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)} or {text}


class Datasketch:
    """MinHashLSH."""

    def __init__(self, port: str = "") -> None:
        from datasketch import MinHash, MinHashLSH

        redis = {"type": "redis", "basename": b"bench", "redis": {"host": "localhost", "port": int(port or 0)}}
        self._make, self._port = MinHash, port
        self._lsh = MinHashLSH(threshold=THRESHOLD, num_perm=HASHES, storage_config=redis if port else None)

    def _sketch(self, text: str):
        made = self._make(num_perm=HASHES)
        made.update_batch([one.encode() for one in shingles(text)])
        return made

    def add(self, name: int, text: str) -> None:
        """Insert a document."""
        self._lsh.insert(str(name), self._sketch(text))

    def ask(self, text: str) -> list[int]:
        """The documents that it takes for similar."""
        return [int(one) for one in self._lsh.query(self._sketch(text))]

    def server_mb(self) -> float:
        """The memory of Redis."""
        if not self._port:
            return 0.0
        from redis import Redis

        return Redis(port=int(self._port)).info("memory")["used_memory"] / 1e6


class Rensa:
    """RMinHashLSH."""

    def __init__(self) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._make = RMinHash
        self._lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=HASHES, num_bands=32)

    def _sketch(self, text: str):
        made = self._make(num_perm=HASHES, seed=1)
        made.update(list(shingles(text)))
        return made

    def add(self, name: int, text: str) -> None:
        """Insert a document."""
        self._lsh.insert(name, self._sketch(text))

    def ask(self, text: str) -> list[int]:
        """The documents that it takes for similar."""
        return list(self._lsh.query(self._sketch(text)))

    def server_mb(self) -> float:
        """It has no server."""
        return 0.0


def documents(path: Path) -> Iterator[tuple[int, str]]:
    """Id and text of each document of a Parquet file."""
    for batch in pq.ParquetFile(path).iter_batches(1000, columns=["id", "text"]):
        yield from zip(batch["id"].to_pylist(), batch["text"].to_pylist())


def memory_mb() -> float:
    """Of this process."""
    with Path("/proc/self/smaps_rollup").open() as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1e3


def main() -> None:
    """Insert all documents, then ask one by one."""
    tool, path, asked, limit = sys.argv[1:]
    name, _, port = tool.partition(":")
    index = Rensa() if name == "rensa" else Datasketch(port)
    started = time.perf_counter()
    count = 0
    for name, text in documents(Path(path)):
        index.add(name, text)
        count += 1
        if time.perf_counter() - started > float(limit):
            break
    build = time.perf_counter() - started
    texts = json.loads(Path(asked).read_text())
    seconds, answers = [], []
    for text in texts:
        started = time.perf_counter()
        answers.append(index.ask(text))
        seconds.append(time.perf_counter() - started)
    told = {"build_seconds": build, "memory_mb": memory_mb() + index.server_mb()}
    told["p50_ms"] = 1e3 * statistics.median(seconds)
    told["new_p50_ms"], told["copy_p50_ms"] = (1e3 * statistics.median(seconds[half::2]) for half in (0, 1))
    told["p99_ms"] = 1e3 * sorted(seconds)[int(0.99 * len(seconds))]
    print(json.dumps({"items": count, **told, "answers": answers}))


if __name__ == "__main__":
    main()
