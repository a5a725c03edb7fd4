"""Settings of servers, databases and users, URLs, and tables that somebody has changed."""

import threading
import time

import numpy as np
import pytest

import lookalike as la
from calling import jsonl
from corpora import corpus
from lookalike.index.postgres.figures import bucket_sizes
from lookalike.index.postgres.place import Place
from serving import Serving

OPTIONS = {"threshold": 0.7, "shingle": "word:2", "recall": 0.9}
TEXTS = corpus(40, seed=8, shortest=8, longest=20)


def with_settings(place, **settings):
    """The URL with which a session starts with these settings."""
    return f"{place}&options=" + "%20".join(f"-c%20{name}%3D{value}" for name, value in settings.items())


@pytest.mark.parametrize("isolation", ["read\\%20committed", "repeatable\\%20read", "serializable"])
def test_a_writer_that_waited_sees_what_the_other_has_added(database, isolation):
    place = with_settings(database.new_index(), default_transaction_isolation=isolation)
    with la.Index.create(place, ["a b c"], **OPTIONS) as first, la.Index.open(place) as second:
        waiting = threading.Thread(target=lambda: second.add(["g h i", "d e f"], if_new=True))
        with first.store.alone():
            waiting.start()
            blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while database.execute(blocked) != [(1,)]:
                time.sleep(0.01)
            first.add(["d e f"])
        waiting.join()
        assert first.get([0, 1, 2, 3])["id"].to_pylist() == [0, 1, 2]
        assert first.check() == []


def test_unusual_settings_change_nothing(database):
    settings = {
        "default_transaction_isolation": "serializable", "default_transaction_deferrable": "on",
        "bytea_output": "escape", "DateStyle": "SQL", "standard_conforming_strings": "off", "array_nulls": "off",
        "extra_float_digits": "-15", "gin_fuzzy_search_limit": "1", "synchronous_commit": "off",
        "client_encoding": "SQL_ASCII", "enable_bitmapscan": "off", "idle_in_transaction_session_timeout": "1000",
        "idle_session_timeout": "1000",
    }  # fmt: skip
    place = with_settings(database.new_index(), **settings)
    rows = [{"id": f"ä{n}", "text": "the same words in each of them"} for n in range(300)]
    with la.Index.create(place, rows, **OPTIONS) as index, la.Index.open(place, read_only=True) as reader:
        assert len(reader.query(["the same words in each of them"], k=None)) == 300
        with index.store.alone():
            time.sleep(1.3)  # longer than a session may be idle
            with index.store.changing() as changes:
                time.sleep(1.3)
                changes.finish(run="a job")
        assert index.store.has_run("a job")
        index.remove([f"ä{n}" for n in range(10)])
        index.compact()
        assert (len(index), index.check()) == (290, [])
        assert index.store._connections._first.execute("SHOW synchronous_commit").fetchone() == ("on",)
        with la.Index.open(place, durability="batch") as batch:
            assert batch.store._connections._first.execute("SHOW synchronous_commit").fetchone() == ("off",)


def test_limits_that_are_set_are_kept_and_explained(database):
    place = database.new_index()
    with la.Index.create(place, TEXTS[:20], **OPTIONS) as index:
        with la.Index.open(with_settings(place, default_transaction_read_only="on")) as other:
            assert len(other.query(TEXTS[:1])) >= 1
            with pytest.raises(la.ResourceError, match="allows reading only"):
                other.add(TEXTS[20:])
        for settings, advice in (({"lock_timeout": "50"}, "try again"), ({"statement_timeout": "2000"}, "in the URL")):
            with la.Index.open(with_settings(place, **settings)) as other:
                with index.store.alone(), pytest.raises(la.ResourceError, match=advice):
                    other.add(TEXTS[20:])
                assert len(other) == 20
                assert other.add(TEXTS[20:21]).num_rows == 1
                other.remove([20])
        assert index.check() == []


@pytest.mark.parametrize(
    ("url", "passed", "shown"),
    [
        ("postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg"),
        ("postgresql://?host=/run&table=t", "postgresql://?host=/run", "postgresql://?host=/run&table=t"),
        ("postgresql://u:p@[::1]:5/x?table=t", "postgresql://u:p@[::1]:5/x", "postgresql://u@[::1]:5/x?table=t"),
        ("postgres://a,b:1/x?password=a+b%20c", "postgres://a,b:1/x?password=a+b%20c", "postgres://a,b:1/x"),
        ("postgresql://u:p#?q@h/x", "postgresql://u:p#?q@h/x", "postgresql://u@h/x"),
        ("postgresql://u:@/x?options=-c%20a%3Db", "postgresql://u:@/x?options=-c%20a%3Db",
         "postgresql://u@/x?options=-c%20a%3Db"),
    ],
)  # fmt: skip
def test_urls_reach_the_driver_unchanged(url, passed, shown):
    place = Place.parse(url)
    assert (place.url, place.name) == (passed, shown)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:cret@[::1/x", "in brackets"),
        ("postgresql://u:s@cret@h/x", "%40"),
        ("postgresql://u:s/cret@h/x", "%2F"),
        ("postgresql://u:cret@localhost:port/x", "check the URL"),
        ("postgresql://u:cret@localhost/%zz", "check the URL"),
        ("postgresql://u:cret@localhost/x?what=1", "check the URL"),
    ],
)
def test_wrong_urls_are_refused_in_one_line(cli, tmp_path, url, message):
    (tmp_path / "items.txt").write_text("one two three\n")
    query = cli("index", "query", url, "items.txt")
    assert (query.code, len(query.err.strip().splitlines())) == (2, 1)
    assert message in query.err
    assert "cret" not in query.err


@pytest.fixture
def damaged(database, tmp_path):
    """An index to be damaged by statements on its tables, and the URL; there is a file with its items, too."""
    (tmp_path / "items.jsonl").write_bytes(jsonl(*({"id": f"i{n}", "text": text} for n, text in enumerate(TEXTS))))
    place = database.new_index()
    la.Index.create(place, [{"id": f"i{n}", "text": text} for n, text in enumerate(TEXTS)], **OPTIONS).close()

    def damage(statement):
        database.execute(statement.replace("T_", f"{Place.parse(place).prefix}_"))
        return place

    return damage


DESCRIPTIONS = ["{}", "[1]", "null", '"x"', '{"options": [], "store": "sets"}', '{"options": {"threshold": 2}}']


@pytest.mark.parametrize("described", DESCRIPTIONS)
@pytest.mark.parametrize("command", ["query", "add", "stats", "check"])
def test_options_that_are_no_options_are_damage(cli, damaged, described, command):
    place = damaged(f"UPDATE T_index SET described = '{described}'")
    files = ["items.jsonl"] if command in ("query", "add") else []
    job = cli("index", command, place, *files)
    assert job.code == 3
    told = (job.err + job.out).strip().splitlines()
    assert len(told) == 1
    assert "options of the index are damaged" in told[0]
    assert "from a backup" in told[0]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE T_index SET described = jsonb_set(described, '{store}', '\"neither\"')",
        "UPDATE T_index SET described = jsonb_set(described, '{options,measure}', '\"neither\"')",
        "UPDATE T_index SET described = described - 'known_answers'",
        "UPDATE T_items SET keys = keys[1:3]",
        "UPDATE T_items SET content = substr(content, 3)",
        "UPDATE T_items SET id = '\\xff'",
        "DELETE FROM T_items",
        "TRUNCATE T_items",
        "DELETE FROM T_index",
    ],
)
def test_a_query_on_changed_tables_is_an_error(cli, damaged, statement):
    place = damaged(statement)
    job = cli("index", "query", place, "items.jsonl", "-k", "3")
    assert (job.code, job.out) == (3, "")
    assert len(job.err.strip().splitlines()) == 1
    assert "create the index again" in job.err
    assert cli("index", "check", place).code == 3


def test_items_that_were_deleted_are_missed(cli, damaged):
    """By open indexes, too, by batch jobs if only some of them are missing, and when they are shown."""
    place = damaged("SELECT 1")
    with la.Index.open(place, read_only=True) as reader, la.Index.open(place) as writer:
        damaged("DELETE FROM T_items WHERE number = 3")
        with pytest.raises(la.BadDataError, match="39 items, and should have 40"):
            reader._index.ids()
        with pytest.raises(la.BadDataError, match="1 of its items are missing"):
            reader.store.lookup.content(np.arange(40))
        flags = ["--threshold", "0.7", "--shingle", "word:2", "--recall", "0.9", "--method", "lsh"]
        job = cli("dedup", "items.jsonl", "-o", "out", "--reference", place, *flags)
        assert job.code == 3
        assert "39 items, and should have 40" in job.err
        damaged("DELETE FROM T_items")
        for index in (reader, writer):
            for texts in (TEXTS[:1], TEXTS):
                with pytest.raises(la.BadDataError, match="it has no items, and should have some"):
                    index.query(texts)
        with pytest.raises(la.BadDataError, match="it has no items, and should have some"):
            writer.add(TEXTS[:1], if_new=True)


def test_figures_of_the_page_do_not_read_the_keys(database):
    """A user who may not read them gets these figures, and not the largest bucket."""
    place = database.new_index()
    la.Index.create(place, TEXTS, **OPTIONS).close()
    table = Place.parse(place).prefix
    database.execute(
        f"CREATE ROLE {table}_page LOGIN",
        f"GRANT SELECT ON {table}_index, {table}_removed TO {table}_page",
        f"GRANT SELECT (number, version, id, id_key, added_at, content) ON {table}_items TO {table}_page",
    )
    with la.Index.open(place.replace("postgres:@", f"{table}_page:@"), read_only=True) as index:
        figures = index.store.describe(buckets=False)
        assert (figures["items"], figures["plan"]["bands"] > 0) == (40, True)
        assert "largest_bucket" not in figures
        with pytest.raises(la.ResourceError, match="permission denied"):
            index.stats()
        with Serving(index.store.name, "--read-only") as server:
            assert server.call("GET", "/v1/stats").json()["items"] == 40


def test_bucket_sizes_are_estimated_from_a_sample(database):
    """Of many items: the estimate is near the exact numbers, and says that it is one."""
    alone = [" ".join(f"w{n * 7 + k}" for k in range(7)) for n in range(6000)]
    groups = [" ".join(f"g{n}{letter}" for letter in "abcdefg") for n in range(400)]
    place = database.new_index()
    with la.Index.create(place, alone + groups * 5, **OPTIONS) as index:
        exact, estimated = (bucket_sizes(index.store, counted) for counted in (1 << 40, 0))
        assert (exact.estimated, estimated.estimated) == (False, True)
        assert exact.counts.keys() == estimated.counts.keys() == {1, 2, 4}
        bands = index.stats()["plan"]["bands"]
        assert exact.counts[4] == pytest.approx(400 * bands, rel=0.02)
        for size in (1, 4):
            assert estimated.counts[size] == pytest.approx(exact.counts[size], rel=0.2)
