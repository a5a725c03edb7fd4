"""Connections to a database that end: locks end with them, so what they protected may be gone or changed."""

import threading

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from calling import jsonl
from corpora import corpus
from lookalike.engine.settings import Settings
from lookalike.index.bulk import JobIndexes
from lookalike.index.contract import StateLostError
from lookalike.index.index import StoredIndex
from lookalike.index.postgres.lookup import LATEST, DatabaseLookup, Snapshot
from lookalike.index.postgres.place import Place
from lookalike.index.postgres.schema import Head
from lookalike.index.reference import IndexSource
from lookalike.jobs import dedup
from lookalike.types import Wanted

OPTIONS = {"threshold": 0.7, "shingle": "word:2", "recall": 0.9}
FLAGS = ["--threshold", "0.7", "--shingle", "word:2", "--recall", "0.9", "--method", "lsh"]
TEXTS = corpus(50, seed=8, shortest=8, longest=20)
ROWS = [{"id": f"i{n}", "text": text} for n, text in enumerate(TEXTS)]


@pytest.fixture
def place(database):
    """An index with some items."""
    place = database.new_index()
    la.Index.create(place, ROWS, **OPTIONS).close()
    return place


def replace_all(place):
    """Another client replaces every item, and deletes the old ones for good."""
    with la.Index.open(place) as index:
        index.add(ROWS)
        index.compact()
        assert index.stats()["removed"] == 0


READS = {
    "query": lambda index: index.query(TEXTS, k=None).to_pylist(),
    "single": lambda index: index.query(TEXTS[:1], k=None).to_pylist(),
    "get": lambda index: index.get(["i3", "i7", "i9"])["id"].to_pylist(),
    "ids": lambda index: index._index.ids().to_pylist(),
    "unknown": lambda index: index._index.unknown_ids(["i1", "x"]),
    "contains": lambda index: ["i1" in index, "x" in index],
    "search": lambda index: index._index.search(pa.array(TEXTS, pa.large_string()))[1].similarity.tolist(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_reader_whose_items_are_gone_reads_the_latest_ones(database, place, read):
    with la.Index.open(place, read_only=True) as reader:
        expected = read(reader)
        assert expected
        database.end_connections(reader.store)
        replace_all(place)
        assert read(reader) == expected
        assert len(reader) == len(ROWS)


def test_another_connection_notices_that_the_lock_was_lost(database, place):
    """While a thread uses the first connection, others use connections that have seen nothing of its end."""
    with la.Index.open(place, read_only=True) as reader:
        expected = reader.query(TEXTS, k=None).to_pylist()
        first, done, held = reader.store._connections._mine, threading.Event(), threading.Event()

        def hold():
            with first:
                held.set()
                done.wait(60)

        database.end_connections(reader.store)
        replace_all(place)
        thread = threading.Thread(target=hold)
        thread.start()
        try:
            held.wait(60)
            with pytest.raises(StateLostError):
                reader.store.lookup.search(searched(reader), reader._index.kind.measure)
        finally:
            done.set()
            thread.join()
        assert reader.query(TEXTS, k=None).to_pylist() == expected


def searched(index):
    from lookalike.engine.digest import keyed_sets

    return keyed_sets(pa.array(TEXTS, pa.large_string()), index._index.kind.digesting)


STEPS = {
    "search": lambda lookup, reader: lookup.search(searched(reader), reader._index.kind.measure),
    "numbers": lambda lookup, _: lookup.numbers(),
    "older_than": lambda lookup, _: lookup.older_than(1 << 60),
    "find_ids": lambda lookup, _: lookup.find_ids(pa.array(["i1"], pa.large_string())),
    "next_from": lambda lookup, _: lookup.next_from(0),
    "ids": lambda lookup, _: lookup.ids(np.arange(50)),
    "content": lambda lookup, _: lookup.content(np.arange(50)),
    "times": lambda lookup, _: lookup.times(np.arange(50)),
}


@pytest.mark.parametrize("writing", [False, True], ids=["reader", "writer"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_lookup_never_mixes_two_states(database, place, step, writing):
    """Whatever it is asked first decides its state; what comes later is from that state, or an error."""
    with la.Index.open(place, read_only=not writing) as reader:
        lookup = reader.store.lookup
        assert len(lookup.numbers()) == 50
        with la.Index.open(place) as other:
            other.add(ROWS[:20])
            assert lookup.numbers().tolist() == list(range(50))
            database.end_connections(reader.store)
            other.add(ROWS[20:])
            other.compact()
        with pytest.raises(StateLostError, match="run the command again"):
            step(lookup, reader)


def test_a_job_that_reads_an_index_says_that_its_items_are_gone(database, place):
    with la.Index.open(place, read_only=True) as reader:
        [block] = IndexSource(reader.store).blocks()
        database.end_connections(reader.store)
        replace_all(place)
        with pytest.raises(la.ResourceError, match="run the command again"):
            block.items(Wanted("text", ()))


def test_an_index_that_was_created_again_is_another_one(database, place):
    tables = ", ".join(f"{Place.parse(place).prefix}_{name}" for name in ("index", "items", "removed", "rare"))
    with la.Index.open(place, read_only=True) as reader, la.Index.open(place) as writer:
        for _ in range(3):
            writer.add(ROWS[:1])
        database.execute(f"DROP TABLE {tables}")
        with la.Index.create(place, **OPTIONS) as again:
            again.add([{"id": "old", "text": "p q r"}])
            again.add([{"id": "new", "text": TEXTS[0]}])  # in a later version than the one that was read
        assert reader.query(TEXTS[:1])["right"].to_pylist() == ["new"]
        items = f"'{Place.parse(place).prefix}_items'::regclass"
        locks = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = {items}"
        with writer.store.changing():
            held = database.execute(f"{locks} AND mode = 'ExclusiveLock' AND granted")
        assert held == [(1,)]
        assert writer.add([{"id": "more", "text": "x y z"}])["added"].to_pylist() == [True]
        assert writer._index.ids().to_pylist() == ["old", "new", "more"]


def test_a_reader_takes_its_lock_again(database, place):
    """From then on, its items are kept as before."""
    with la.Index.open(place, read_only=True) as reader, la.Index.open(place) as writer:
        lookup, _ = reader._index.search(pa.array(TEXTS[:1], pa.large_string()))
        database.end_connections(reader.store)
        assert lookup.next_from(0) == 0
        writer.add(ROWS)
        writer.compact()
        assert writer.stats()["removed"] == 50
        assert lookup.numbers().tolist() == list(range(50))


def test_the_first_answer_decides_what_all_threads_see():
    asked = []

    def execute(statement, version, **_):
        asked.append((statement, version))
        if len(asked) == 1:
            lookup.next_from(0)  # another thread is faster
        return [(None, *Head(1, 7 if statement == "find_ids" else 5, 0, True, 0, False))]

    snapshot = Snapshot("", 1, LATEST, None)
    lookup = DatabaseLookup(execute, None, snapshot, lambda: 0, True, None)
    lookup.find_ids(pa.array(["a"], pa.large_string()))
    assert asked == [("find_ids", LATEST), ("next", LATEST), ("find_ids", 5)]


def test_a_reader_keeps_no_lock_of_an_earlier_version(database, place):
    """Such a lock would keep removed items for ever, and make the index forget what was compacted."""
    with la.Index.open(place, read_only=True) as reader, la.Index.open(place) as writer:
        database.end_connections(reader.store)
        writer.remove(["i0"])
        writer.compact()
        assert reader.store.execute("total")  # on a new connection, which takes the lock again
        before = writer.store.read_row().compacted
        writer.remove(["i1"])
        writer.compact()
        assert writer.store.read_row().compacted >= before
        assert len(reader.query(TEXTS[2:3], k=None)) >= 1
        reader.refresh()
        writer.compact()
        assert writer.stats()["removed"] == 0


def add_as_another(place, names="other"):
    with la.Index.open(place) as other:
        other.add([{"id": f"{names}{n}", "text": text} for n, text in enumerate(TEXTS)])


@pytest.mark.parametrize(
    ("moment", "message"),
    [("find_duplicates", "nothing was added. Run the job again"), ("write_result", "the database reports: ")],
    ids=["before it adds", "while it adds"],
)
def test_a_job_that_loses_its_lock_fails(cli, database, tmp_path, monkeypatch, moment, message):
    """Otherwise, items that another client adds at the same time would be added by both."""
    place = database.new_index()
    la.Index.create(place, ROWS[:10], **OPTIONS).close()
    (tmp_path / "news.jsonl").write_bytes(jsonl(*({**row, "id": f"s{n}"} for n, row in enumerate(ROWS))))
    original = getattr(dedup, moment)

    def interrupted(*arguments, **named):
        result = original(*arguments, **named)
        database.end_connections()
        add_as_another(place)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(dedup, moment, interrupted)
        job = cli("dedup", "news.jsonl", "-o", "out", "--reference", place, "--into", place, *FLAGS)
    assert job.code == 4
    assert message in job.err.strip().splitlines()[-1]
    assert not (tmp_path / "out").exists()
    with la.Index.open(place, read_only=True) as index:
        names = index._index.ids().to_pylist()
        assert not [name for name in names if name.startswith("s")]
        assert index.check() == []
    again = cli("dedup", "news.jsonl", "-o", "out", "--reference", place, "--into", place, "--overwrite", *FLAGS)
    assert again.code == 0
    with la.Index.open(place, read_only=True) as index:
        assert index._index.ids().to_pylist() == names  # the other client has added all of them


@pytest.mark.parametrize("calls", [1, 2])
def test_a_lock_that_was_lost_is_not_taken_again(database, place, calls):
    """Nobody knows what others did meanwhile; nor does trying again help."""
    with la.Index.open(place) as index:
        with index.store.alone():
            database.end_connections(index.store)
            for _ in range(calls):
                with pytest.raises(la.ResourceError, match="the connection to the database was lost"):
                    index.add(ROWS[:1])
        index.add(ROWS[:1])
        assert index.check() == []


def test_a_lock_that_was_taken_away_is_noticed(place):
    """By a connection pooler, for example: the connection is still there."""
    settings = Settings.parse(threshold=0.7, shingle="word:2", recall=0.9, method="lsh")
    with JobIndexes(settings) as indexes, StoredIndex.open(place) as index:
        destination = indexes.into(index.store)
        with destination.adding(settings) as additions:
            additions.add(None, additions.prepare(pa.array(["a b c"], pa.large_string())))
            additions.commit("first")  # its own changes are no reason to fail
        index.store._connections.change("SELECT pg_advisory_unlock_all()")
        add_as_another(place)
        with pytest.raises(la.ResourceError, match=r"another client has changed the index.*Run the job again"):
            destination.adding(settings).__enter__()


def test_sync_does_not_promise_what_may_be_lost(database, place):
    """With durability "batch", a server that crashes forgets the last changes."""
    with la.Index.open(place, durability="batch") as index:
        index.add(ROWS[:1])
        index.sync()
        database.end_connections(index.store)
        index.sync()  # everything was on disk before
        index.add([*ROWS[:1], {"id": "new", "text": "x y z"}])
        database.end_connections(index.store)
        assert len(index.query(TEXTS)) > 0
        with pytest.raises(la.ResourceError, match="make them again"):
            index.sync()
        index.sync()
