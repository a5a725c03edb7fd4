"""What only an index in a database has: several writers, and URLs with passwords."""

import json
import subprocess
import sys

import numpy as np
import psycopg
import pytest

import lookalike as la
from corpora import boilerplate, corpus
from lookalike.engine.digest import keyed_sets
from lookalike.index.postgres.place import Place
from lookalike.types import strings_to_arrow

OPTIONS = {"threshold": 0.7, "shingle": "word:2", "recall": 0.9}
TEXTS = corpus(160, seed=8, shortest=8, longest=20)
WRITER = """
import sys, json, lookalike as la
place, path = sys.argv[1:]
rows = json.load(open(path))
with la.Index.open(place) as index:
    print(json.dumps([row["id"] for row in rows if index.add([row], if_new=True)["added"][0].as_py()]))
"""


def all_ids(index):
    return index._index.ids().to_pylist()


def test_writers_at_the_same_time_add_each_item_once(database, tmp_path):
    """Two processes ask and add the same texts under other ids: of similar ones, one process adds one."""
    place = database.new_index()
    la.Index.create(place, **OPTIONS).close()
    writers = []
    for number in range(2):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps([{"id": f"{number}-{n}", "text": text} for n, text in enumerate(TEXTS)]))
        command = [sys.executable, "-c", WRITER, place, path]
        writers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    added = [json.loads(writer.communicate()[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    with la.Index.open(place) as index:
        ids = all_ids(index)
        assert sorted(ids) == sorted(added[0] + added[1])
        texts = {f"{number}-{n}": text for number in range(2) for n, text in enumerate(TEXTS)}
        rows = [{"id": name, "text": texts[name]} for name in ids]
        assert all(row["left"] == row["right"] for row in index.query(rows, k=None).to_pylist())
        assert index.check() == []
    assert len(ids) > 20


def test_writers_see_each_other_and_number_items_once(database):
    place = database.new_index()
    with la.Index.create(place, ["a b c"], **OPTIONS) as one, la.Index.open(place) as two:
        two.add(["d e f", "g h i"])
        one.add(["j k l"])
        assert (len(one), len(two), all_ids(one)) == (4, 4, [0, 1, 2, 3])
        two.add([{"id": "x", "text": "m n o"}])
        assert one.query(["j k l"])["right"].to_pylist() == ["3"]  # ids are text now
        assert one.remove([0]) == 1
        assert two.remove([0]) == 0


def test_a_transaction_that_fails_leaves_nothing(database):
    place = database.new_index()
    with la.Index.create(place, ["a b c"], **OPTIONS) as index:
        with pytest.raises(la.BadDataError, match="already exists"):
            index.add([{"id": "1", "text": "x y z"}, {"id": "0", "text": "q r s"}], on_conflict="error")
        assert all_ids(index) == [0]
        index.add(["d e f"])
        assert (len(index), index.check()) == (2, [])


def test_a_killed_writer_leaves_nothing_behind(database):
    place = database.new_index()
    la.Index.create(place, ["a b c"], **OPTIONS).close()
    script = """
import os, signal, sys, lookalike as la
index = la.Index.open(sys.argv[1])
index.add([{"id": "safe", "text": "d e f"}])
with index.store.changing() as changes:
    changes.remove(changes.lookup.numbers())
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script, place], check=False)
    with la.Index.open(place) as index:
        assert all_ids(index) == ["0", "safe"]
        index.add(["g h i"])  # the lock is free
        assert index.check() == []


def test_damage_is_noticed(database):
    place = database.new_index()
    with la.Index.create(place, TEXTS[:20], **OPTIONS) as index:
        assert index.check() == []
        table = Place.parse(place).prefix
        connection = index.store._connections._first
        connection.execute(f"UPDATE {table}_items SET content = substr(content, 9) WHERE number = 3")
        assert "an item is not in all its buckets" in index.check()[0]
        connection.execute(f"DELETE FROM {table}_items WHERE number = 3")
        assert "it has 19 items, and should have 20" in index.check()[0]


def test_compaction_deletes_items_that_no_reader_sees(database):
    place = database.new_index()
    with la.Index.create(place, TEXTS[:20], **OPTIONS) as index:
        reader = la.Index.open(place, read_only=True)
        index.remove(range(10))
        index.compact()
        assert (len(index), index.stats()["removed"]) == (10, 10)
        assert (len(reader), len(all_ids(reader))) == (20, 20)
        reader.refresh()
        index.compact()
        assert (len(index), index.stats()["removed"], len(reader)) == (10, 0, 10)
        reader.close()


def test_a_batch_job_adds_its_items_once(cli, database, tmp_path):
    place = database.new_index()
    la.Index.create(place, [{"id": f"i{n}", "text": t} for n, t in enumerate(TEXTS[:50])], **OPTIONS).close()
    stream = [{"id": f"s{n}", "text": text} for n, text in enumerate(TEXTS[30:])]
    (tmp_path / "stream.jsonl").write_text("".join(json.dumps(row) + "\n" for row in stream))
    flags = ["--threshold", "0.7", "--shingle", "word:2", "--recall", "0.9", "--method", "lsh"]
    done = cli("dedup", "stream.jsonl", "-o", "out", "--reference", place, "--into", place, *flags)
    assert done.code == 0
    run = json.loads((tmp_path / "out/run.json").read_text())
    with la.Index.open(place) as index:
        assert len(index) == 50 + run["counts"]["kept"]
        assert index.store.has_run(run["into"]["run"])


def test_passwords_are_never_shown(cli, database, tmp_path):
    (tmp_path / "items.txt").write_text("one two three\n")
    url = database.new_index().replace("postgres:@", "postgres:s%20cret@")
    done = cli("index", "create", url, "items.txt", "--threshold", "0.7", "--json")
    assert done.code == 0
    flags = ["--threshold", "0.7", "--reference", url, "--into", url]
    again = cli("dedup", "items.txt", "-o", "out", *flags)
    assert again.code == 0
    wrong = cli("index", "query", "postgresql://ann:s%20cret@localhost:1/x?password=s%20cret", "items.txt")
    assert wrong.code == 2
    assert "check the URL" in wrong.err
    twice = cli("index", "create", url)
    assert twice.code == 2
    assert "already exists" in twice.err
    index = la.Index.open(url)
    told = [done.out, done.err, again.out, again.err, wrong.err, twice.err, repr(index)]
    index.close()
    told += [path.read_bytes().decode("latin-1") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [text for text in told if "cret" in text]


def test_errors_are_one_line(cli, database, tmp_path):
    (tmp_path / "items.txt").write_text("one two three\n")
    for url, wanted in (
        (database.new_index(), "is not an index; create one"),
        (database.new_index().replace("table=t", "table=T "), "is not a valid prefix for table names"),
        ("postgresql://localhost:1/x", "check the URL"),
    ):
        done = cli("index", "query", url, "items.txt")
        assert (done.code, len(done.err.strip().splitlines())) == (2, 1)
        assert wanted in done.err


def test_ids_and_sets_of_any_kind(database):
    place = database.new_index()
    rows = [{"id": "zero\0byte", "text": ["a", "b"]}, {"id": "", "text": []}, {"id": "x" * 5000, "text": ["c"]}]
    with la.Index.create(place, rows, threshold=0.5) as index:
        assert all_ids(index) == [row["id"] for row in rows]
        assert index.query([["a", "b"]])["right"].to_pylist() == ["zero\0byte"]
        assert index.remove(["", "x" * 5000]) == 2


def test_the_first_writer_determines_the_kind_of_items(database):
    place = database.new_index()
    with la.Index.create(place, measure="cosine", threshold=0.9) as index:  # sets or vectors: not known yet
        other = la.Index.open(place)
        index.add([[1.0, 2.0, 3.0]])
        other.add([[1.0, 2.0, 3.5]])
        assert len(other) == 2
        other.close()


def test_lost_connections_are_replaced(database):
    place = database.new_index()
    with la.Index.create(place, ["a b c d e f"], threshold=0.5) as index:
        reader = la.Index.open(place, read_only=True)
        database.end_connections()
        assert (index.query(["a b c d e f"]).num_rows, reader.query(["a b c d e f"]).num_rows) == (1, 1)
        database.end_connections()
        index.add(["g h i j k l"])
        assert (len(index), len(reader), reader.refresh(), len(reader), index.check()) == (2, 1, True, 2, [])
        reader.close()


def test_a_user_who_may_only_read(database):
    place = database.new_index()
    la.Index.create(place, ["a b c d e f"], threshold=0.5).close()
    table = Place.parse(place).prefix
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {table}_reader LOGIN")
        connection.execute(f"GRANT SELECT ON {table}_index, {table}_items, {table}_removed TO {table}_reader")
    mine = place.replace("postgres:@", f"{table}_reader:@")
    with la.Index.open(mine, read_only=True) as index:
        assert index.query(["a b c d e f"]).num_rows == 1
    with la.Index.open(mine) as index, pytest.raises(la.ResourceError, match="permission denied"):
        index.add(["g h i j k l"])


def test_readers_follow_buckets_that_are_refined_again(database):
    """A reader that knows an earlier order of the elements finds the same items as before."""
    texts = boilerplate(500, draw_from=60)
    place = database.new_index()
    with la.Index.create(place, texts[:400], threshold=0.75, shingle="word:1", recall=0.9) as index:
        assert index.stats()["refined_items"] > 200
        with la.Index.open(place, read_only=True) as reader:
            before = reader.query(texts, k=None).to_pylist()
            known = reader.store._crowd
            assert len(known.keys)
            index.add(texts[400:])
            index.remove(range(10))
            index.compact()  # other counts, and so another order: here, one that has nothing to do with it
            elements = keyed_sets(strings_to_arrow(texts), index.store.kind.digesting).sets.elements
            counters = np.zeros(1 << 20, np.uint32)
            counters[elements & np.uint64((1 << 20) - 1)] = (~elements >> np.uint64(45)).astype(np.uint32)
            alone = []
            for text in texts[:60]:  # each alone: together they meet all items
                reader.store._crowd = known._replace(counters=counters)
                alone += reader.query([text], k=None)["right"].to_pylist()
            assert alone == [row["right"] for row in before if row["left"] < 60]
            assert reader.query(texts, k=None).to_pylist() == before
            reader.refresh()
            assert reader.query(texts, k=None).to_pylist() == index.query(texts, k=None).to_pylist()


def test_an_index_of_format_1_is_brought_up_to_date(database):
    """It had no table of rare elements; a reader is told what to do, a writer does it."""
    place = database.new_index()
    with la.Index.create(place, ["a b c"], **OPTIONS) as index:
        prefix = index.store._say.table.removesuffix("_index")
    with psycopg.connect(Place.parse(place).url) as connection:
        connection.execute(f"DROP TABLE {prefix}_rare")
        connection.execute(f"UPDATE {prefix}_index SET format = 1")
        for column in ("refined", "crowded", "counters"):
            connection.execute(f"ALTER TABLE {prefix}_index DROP COLUMN {column}")
    with pytest.raises(la.BadDataError, match="lookalike index compact"):
        la.Index.open(place, read_only=True)
    with la.Index.open(place) as index:
        index.compact()
        assert index.query(["a b c"])["right"].to_pylist() == [0]
    with la.Index.open(place, read_only=True) as index:
        assert index.check() == []
        assert len(index) == 1


def test_rare_elements_that_are_missing_are_damage(database):
    place = database.new_index()
    with la.Index.create(place, boilerplate(400), threshold=0.75, shingle="word:1") as index:
        assert index.check() == []
        with psycopg.connect(Place.parse(place).url) as connection:
            rare = index.store._say.table.removesuffix("index") + "rare"
            connection.execute(f"DELETE FROM {rare} WHERE number = (SELECT min(number) FROM {rare})")
        [wrong] = index.check()
    assert "rare elements" in wrong
