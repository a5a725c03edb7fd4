"""The tables of an index, and the statements that are used on them.

`index` has one row: options, and the version that each transaction increases. An item belongs to all versions from its
addition to just before its removal, so a reader can stay with one version while others write.

What a statement finds in a version is true only if the items of that version are still there, which the same statement
has to say: a lock on them ends with the connection that holds it. So the statements in `_READING` also return `Head`.
"""

from __future__ import annotations

from typing import NamedTuple

from psycopg import sql

FORMAT = 2
"""Format 1 had no refined buckets."""
_MAKE = """
CREATE TABLE {index} (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL,
    described jsonb NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    items bigint NOT NULL DEFAULT 0,
    next_number bigint NOT NULL DEFAULT 0,
    added bigint NOT NULL DEFAULT 0,
    integers boolean NOT NULL DEFAULT true,
    compacted bigint NOT NULL DEFAULT 0,
    runs text[] NOT NULL DEFAULT '{{}}'
);
CREATE TABLE {items} (
    number bigint PRIMARY KEY,
    version bigint NOT NULL,
    added_at bigint NOT NULL,
    id_key bigint NOT NULL,
    id bytea NOT NULL,
    keys bigint[] NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE {items} ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX {items_ids} ON {items} (id_key);
CREATE TABLE {removed} (number bigint PRIMARY KEY, version bigint NOT NULL)
"""
_MAKE_RARE = """
ALTER TABLE {index} ADD COLUMN refined bigint NOT NULL DEFAULT 0, ADD COLUMN crowded bigint[] NOT NULL DEFAULT '{{}}',
    ADD COLUMN counters bytea NOT NULL DEFAULT '';
CREATE TABLE {rare} (
    element bigint NOT NULL, number bigint NOT NULL, size integer NOT NULL, rest integer NOT NULL
);
CREATE INDEX {rare_elements} ON {rare} (element, size, rest, number);
UPDATE {index} SET format = 2
"""
# fastupdate would collect new keys in a list that every query has to read
_MAKE_KEYS = "CREATE INDEX {items_keys} ON {items} USING gin (keys) WITH (fastupdate = off)"
_VISIBLE = """i.version <= %(version)s::bigint AND NOT coalesce(
    (SELECT r.version <= %(version)s::bigint FROM {removed} r WHERE r.number = i.number), false)"""
# not ordered by number: for many keys, the planner would read all items in that order instead of using the index
_ITEMS = "SELECT i.number, i.id, array_send(i.keys) AS keys, i.content FROM {items} i"
_BY_KEYS = """SELECT f.number FROM generate_series(0, %(count)s::integer - 1) AS q, LATERAL (
                SELECT number FROM {items}
                WHERE keys && (%(keys)s::bigint[])[q * %(bands)s::integer + 1 : (q + 1) * %(bands)s::integer]
                OFFSET 0) AS f"""
_BY_ELEMENTS = """SELECT r.number FROM unnest(%(elements)s::bigint[], %(sizes)s::bigint[], %(least)s::bigint[],
                    %(most)s::bigint[]) AS e (element, size, least, most), {rare} r
                WHERE r.element = e.element AND r.size BETWEEN e.least AND e.most
                    AND r.rest * %(terms)s::bigint >= (e.size + r.size) * %(num)s::bigint"""


class Head(NamedTuple):
    """The state that a statement has seen; its last columns, in every row."""

    table: int
    """Another one, if the index was created again."""
    version: int
    compacted: int
    """Items that were removed up to this version are gone; versions from this one on are complete."""
    integers: bool
    refined: int
    emptied: bool
    """Whether there are no items at all, although there should be."""


_HEAD = """x.tableoid::bigint, x.version, x.compacted, x.integers, x.refined,
        CASE WHEN f.number IS NULL AND x.items > 0 THEN NOT EXISTS (SELECT FROM {items}) ELSE false END"""
_READING = {
    "now": "SELECT NULL::bigint AS number",
    "search": f"{_ITEMS} WHERE i.keys && %(keys)s::bigint[] AND {_VISIBLE}",
    # one item at a time: the time for all keys at once grows faster than linearly
    "search_many": f"{_ITEMS} WHERE i.number IN ({_BY_KEYS}) AND {_VISIBLE}",
    "search_rare": f"{_ITEMS} WHERE {_VISIBLE} AND i.number IN ({_BY_KEYS} UNION ALL {_BY_ELEMENTS})",
    "find_ids": f"SELECT i.number, i.id FROM {{items}} i WHERE i.id_key = ANY(%(keys)s::bigint[]) AND {_VISIBLE}",
    "next": f"""
        SELECT i.number FROM {{items}} i WHERE i.number >= %(number)s::bigint AND {_VISIBLE}
        ORDER BY i.number LIMIT 1""",
}
"""Each returns at least one row: what was found, or nulls, and then the columns of `Head`."""
_STATEMENTS = {
    "make": _MAKE,
    "make_keys": _MAKE_KEYS,
    "make_rare": _MAKE_RARE,
    "format": "SELECT format FROM {index}",
    "lock": "LOCK TABLE {index}",
    "begin": "INSERT INTO {index} (format, described) VALUES (%(format)s, %(described)s)",
    "state": """
        SELECT format, described, version, items, next_number, added, integers, compacted, runs, refined,
               '{items_name}'::regclass::oid::bigint, tableoid::bigint FROM {index}""",
    "ids": "SELECT number, id FROM {items} WHERE number = ANY(%(numbers)s::bigint[])",
    "contents": "SELECT number, content FROM {items} WHERE number = ANY(%(numbers)s::bigint[])",
    "times": "SELECT number, added_at FROM {items} WHERE number = ANY(%(numbers)s::bigint[])",
    "rows": """
        SELECT number, id, array_send(keys), content, id_key FROM {items} WHERE number = ANY(%(numbers)s::bigint[])
        ORDER BY number""",
    "numbers": f"SELECT i.number FROM {{items}} i WHERE {_VISIBLE} ORDER BY i.number",
    "older": f"SELECT i.number FROM {{items}} i WHERE i.added_at < %(limit)s::bigint AND {_VISIBLE} ORDER BY i.number",
    "total": "SELECT coalesce(max(number) + 1, 0)::bigint FROM {items}",
    "content_bytes": "SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM {items}",
    "copy": "COPY {items} (number, version, added_at, id_key, id, keys, content) FROM STDIN (FORMAT BINARY)",
    "remove": """
        INSERT INTO {removed} SELECT number, %(version)s::bigint FROM unnest(%(numbers)s::bigint[]) AS number
        ON CONFLICT DO NOTHING""",
    "finish": """
        UPDATE {index} SET version = %(version)s::bigint, items = items + %(items)s, next_number = %(next_number)s,
            added = added + %(counted)s, integers = integers AND %(integers)s,
            runs = (runs || %(runs)s::text[])[greatest(1, cardinality(runs) + cardinality(%(runs)s::text[]) - 99):]""",
    "decide": "UPDATE {index} SET described = %(described)s",
    "get_crowd": "SELECT refined, crowded, counters FROM {index}",
    "crowded": "SELECT key FROM {items} i, unnest(i.keys) AS key GROUP BY key HAVING count(*) > %(large)s::bigint",
    "crowd": """
        SELECT DISTINCT f.number FROM unnest(%(keys)s::bigint[]) AS key, LATERAL (
            SELECT number FROM {items} WHERE keys @> ARRAY[key] OFFSET 0) AS f ORDER BY f.number""",
    "content_sizes": """
        SELECT number, octet_length(content)::bigint FROM {items} WHERE number = ANY(%(numbers)s::bigint[])""",
    "rare_of": "SELECT number, element, size, rest FROM {rare} WHERE number = ANY(%(numbers)s::bigint[])",
    "forget_rare": "DELETE FROM {rare}",
    "copy_rare": "COPY {rare} (element, number, size, rest) FROM STDIN (FORMAT BINARY)",
    "refined": """
        UPDATE {index} SET refined = %(generation)s::bigint, crowded = %(keys)s::bigint[], counters = %(counters)s""",
    "drop_items": """
        DELETE FROM {items} i USING {removed} r WHERE r.number = i.number AND r.version <= %(version)s::bigint""",
    "drop_removed": "DELETE FROM {removed} WHERE version <= %(version)s::bigint",
    "compacted": "UPDATE {index} SET compacted = greatest(compacted, %(version)s::bigint)",
    "analyze": "ANALYZE {items}, {rare}",
    "vacuum": "VACUUM (ANALYZE) {items}, {removed}, {rare}, {index}",
    "sizes": """
        SELECT pg_total_relation_size('{items_name}') + pg_total_relation_size('{removed_name}')
            + pg_total_relation_size('{rare_name}') + pg_total_relation_size('{index_name}'),
            (SELECT count(*) FROM {removed})""",
    "large_buckets": """
        SELECT coalesce(max(n), 0), count(*) FILTER (WHERE n > %(large)s::bigint),
            (SELECT count(DISTINCT number) FROM {rare}) FROM
                (SELECT count(*) AS n FROM {items} i, unnest(i.keys) AS key GROUP BY key) AS buckets""",
    "buckets": "SELECT count(*) FROM {items} i, unnest(i.keys) AS key GROUP BY key",
    # some keys of the items on some pages: those come first whose hash is smallest, whatever the items are
    "sampled_buckets": """
        SELECT (SELECT count(*) FROM
                (SELECT FROM {items} WHERE keys @> ARRAY[s.key] LIMIT %(largest)s::bigint) AS bucket), s.seen FROM
                (SELECT key, count(*) OVER () AS seen
                 FROM {items} TABLESAMPLE SYSTEM (%(percent)s::real) REPEATABLE (1), unnest(keys) AS key
                 ORDER BY hashint8(key) LIMIT %(keys)s::bigint) AS s""",
    "readers": """
        SELECT min(objid::bigint) FROM pg_locks
        WHERE locktype = 'advisory' AND classid = %(lock)s::bigint::oid AND objid > 0
            AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())""",
} | {
    name: f"SELECT f.*, {_HEAD} FROM {{index}} x LEFT JOIN LATERAL ({source}) AS f ON true"
    for name, source in _READING.items()
}


class Statements:
    """The statements for the tables of one index."""

    def __init__(self, prefix: str) -> None:
        tables = "index", "items", "removed", "rare", "items_ids", "items_keys", "rare_elements"
        names = {name: f"{prefix}_{name}" for name in tables}
        parts: dict[str, sql.Composable] = {name: sql.Identifier(text) for name, text in names.items()}
        parts |= {f"{name}_name": sql.SQL(text) for name, text in names.items()}
        made = {name: sql.SQL(text).format(**parts) for name, text in _STATEMENTS.items()}
        # as bytes: composing a statement takes longer than answering a query
        self._made = {name: one.as_bytes(None) for name, one in made.items()}
        self.table = names["index"]

    def __getitem__(self, name: str) -> bytes:
        return self._made[name]
