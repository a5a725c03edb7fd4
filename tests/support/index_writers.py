"""Writers of an index that are killed: each runs in a process of its own and reports what was acknowledged."""

import tempfile
from pathlib import Path

import lookalike as la
from lookalike.index.folder import store

OPTIONS = {"threshold": 0.7, "shingle": "word:3"}
CREATED = 4000
"""Items that one `create` adds: enough for a segment."""


def open_index(folder):
    """An index of which segments are made, and merged, all the time."""
    store.LOG_RECORDS = 25
    return la.Index.open(folder)


def add_and_remove(folder, first, texts, told):
    """Add one item after the other, remove every fifth, and compact."""
    index = open_index(folder)
    for number, text in enumerate(texts, first):
        index.add([{"id": f"k{number}", "text": text}])
        if number % 5 == 4:
            index.remove([f"k{number - 2}"])
        told.send(number)
        if number % 40 == 39:
            index.compact()


def add_if_new(folder, first, texts, told):
    """Add an item and a copy of it, of which one is new; nothing is new the second time."""
    index = open_index(folder)
    for number, text in enumerate(texts, first):
        rows = [{"id": f"k{number}", "text": text}, {"id": f"copy{number}", "text": text}]
        assert index.add(rows, if_new=True)["added"].to_pylist() == [True, False]
        told.send(number)
        assert not any(index.add(rows[1:], if_new=True)["added"].to_pylist())


def create(folder, first, texts, told):
    """Create an index of many items."""
    rows = [{"id": f"k{n}", "text": f"{texts[n % len(texts)]} {first + n}"} for n in range(CREATED)]
    told.send("begun")
    la.Index.create(folder, rows, **OPTIONS).close()
    told.send("created")


# load what the writers need, before they are forked
with tempfile.TemporaryDirectory() as _folder, la.Index.create(Path(_folder, "index"), **OPTIONS) as _index:
    _index.add([{"id": "a", "text": "one two three"}], if_new=True)
    _index.remove(["a"])
    _index.compact()
