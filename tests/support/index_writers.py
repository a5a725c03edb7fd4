"""Writers of an index that are killed; run as a program, it starts one after the other, as it is told.

It reads lines `JOB FOLDER FIRST LAST TEXTS` and forks a writer for each: everything is loaded already, so that a start
takes milliseconds. A writer prints its process id, then what was acknowledged, a line each; `ended` follows.
"""

import os
import signal
import sys
from pathlib import Path

import lookalike as la
from lookalike.index.folder import store

OPTIONS = {"threshold": 0.7, "shingle": "word:3"}
CREATED = 4000
"""Items that one `create` adds: enough for a segment."""


def tell(what):
    """In one piece, or not at all."""
    os.write(1, f"{what}\n".encode())


def add_and_remove(folder, first, texts):
    """Add one item after the other, remove every fifth, and compact."""
    index = la.Index.open(folder)
    for number, text in enumerate(texts, first):
        index.add([{"id": f"k{number}", "text": text}])
        if number % 5 == 4:
            index.remove([f"k{number - 2}"])
        tell(number)
        if number % 40 == 39:
            index.compact()


def add_if_new(folder, first, texts):
    """Add an item and a copy of it, of which one is new; nothing is new the second time."""
    index = la.Index.open(folder)
    for number, text in enumerate(texts, first):
        rows = [{"id": f"k{number}", "text": text}, {"id": f"copy{number}", "text": text}]
        assert index.add(rows, if_new=True)["added"].to_pylist() == [True, False]
        tell(number)
        assert not any(index.add(rows[1:], if_new=True)["added"].to_pylist())


def create(folder, first, texts):
    """Create an index of many items."""
    rows = [{"id": f"k{n}", "text": f"{texts[n % len(texts)]} {first + n}"} for n in range(CREATED)]
    tell("begun")
    la.Index.create(folder, rows, **OPTIONS).close()
    tell("created")


def load_all(folder):
    """Load, or compile, everything that writers need: a process that compiles has threads, and cannot be forked."""
    rows = [{"id": f"a{n}", "text": f"one two three {n}"} for n in range(30)]
    with la.Index.create(folder, rows, **OPTIONS) as index:
        for row in rows:
            index.add([row])
        index.add([*rows, {"id": "b", "text": "four five six"}], if_new=True)
        index.remove(["a1"])
        index.compact()
        index.add(rows[:5], if_new=True)


def main():
    """Fork a writer for each line."""
    store.LOG_RECORDS = 25  # segments are made, and merged, all the time
    load_all(Path(sys.argv[1], "first"))
    for line in sys.stdin:
        job, folder, first, last, texts = line.split()
        child = os.fork()
        if not child:
            tell(os.getpid())
            rows = Path(texts).read_text(encoding="utf-8").splitlines()
            globals()[job](folder, int(first), rows[int(first) : int(last)])
            signal.pause()  # until it is killed
        os.waitpid(child, 0)
        tell("ended")


if __name__ == "__main__":
    main()
