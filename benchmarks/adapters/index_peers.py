"""datasketch (in memory, on Redis) and rensa: insert documents, then ask, from text to answer."""

import json
import sys
import time
from pathlib import Path

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
        self._make = MinHash
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


def memory_mb() -> float:
    """Of this process."""
    with Path("/proc/self/smaps_rollup").open() as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1e3


def main() -> None:
    """Insert all documents, then ask one by one."""
    tool, path, asked = sys.argv[1:]
    name, _, port = tool.partition(":")
    index = Rensa() if name == "rensa" else Datasketch(port)
    started = time.perf_counter()
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            index.add(row["id"], row["text"])
    build = time.perf_counter() - started
    texts = json.loads(Path(asked).read_text())
    seconds, answers = [], []
    for text in texts:
        started = time.perf_counter()
        answers.append(index.ask(text))
        seconds.append(time.perf_counter() - started)
    ordered = sorted(seconds)
    told = {"build_seconds": build, "memory_mb": memory_mb(), "p50_ms": 1e3 * ordered[len(ordered) // 2]}
    told["p99_ms"] = 1e3 * ordered[int(0.99 * len(ordered))]
    print(json.dumps({**told, "answers": answers}))


if __name__ == "__main__":
    main()
