"""Divide, compute, merge: pairs counted by element, with disk between the steps.

(element, set) rows are grouped by element and paired, and the pairs are counted. DuckDB does the work: it spills to
disk what does not fit in memory. Elements that occur once are dropped first; pairs ruled out by their sizes alone are
not counted. Identical sets are left to the caller.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookalike.errors import ResourceError
from lookalike.kernels.sets import CONTAINMENT, COSINE, DICE, JACCARD, OVERLAP
from lookalike.types import TEMPORARY, Bool, Int64, Overlapping, Sets, to_arrow, to_numpy

if TYPE_CHECKING:
    import duckdb

BATCH_ROWS = 1 << 16
"""Pairs returned at a time."""

ENTRY_ROWS = 1 << 20
"""The approximate number of (element, set) rows passed to DuckDB at a time."""


def join_merge(
    sets: Sets | Iterable[Sets],
    measure: tuple[int, int, int],
    *,
    sides: Bool | None = None,
    memory_bytes: int,
    folder: Path | None = None,
    threads: int = 1,
    common: Fraction | None = None,
) -> Iterator[Overlapping]:
    """Yield all pairs of sets that reach the threshold, in order, in batches.

    Parameters
    ----------
    sets
        Sets, or batches of sets, numbered continuously.
    measure
        Its number and the threshold's numerator and denominator; containment holds if either direction does.
    sides
        The collection of each set; only pairs from different collections count.
    memory_bytes, threads
        The limits for DuckDB.
    folder
        Where to create a temporary folder for spilled data, removed at the end; None: the system default.
    common
        Elements in more than this share of the sets are not used to find pairs. Every pair found is still correct,
        with its exact overlap, but pairs that share nothing else are missed.

    Raises
    ------
    ResourceError
        If memory or disk space runs out.

    Examples
    --------
    >>> sets = Sets(np.array([0, 3, 5, 8]), np.array([3, 5, 8, 5, 9, 3, 5, 8], np.uint64))
    >>> [found] = join_merge(sets, (JACCARD, 1, 2), memory_bytes=1 << 28)
    >>> found.left.tolist(), found.right.tolist(), found.overlaps.tolist()
    ([0], [2], [3])
    """
    with tempfile.TemporaryDirectory(prefix=f"{TEMPORARY}merge-", dir=folder) as place, _advice(memory_bytes, place):
        connection = _connect(Path(place), memory_bytes, threads)
        try:
            _load_entries(connection, [sets] if isinstance(sets, Sets) else sets, sides)
            _select_elements(connection, common)
            query = _pairs_query(measure, sides is not None, common is not None)
            for batch in connection.sql(query).to_arrow_reader(BATCH_ROWS):
                if batch.num_rows:
                    left, right, overlaps = (to_numpy(batch.column(name)) for name in ("a", "b", "overlap"))
                    yield Overlapping(left, right, overlaps)
        finally:
            connection.close()


@contextmanager
def _advice(memory_bytes: int, place: str) -> Iterator[None]:
    """Turn errors of DuckDB about memory and disk into advice."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except duckdb.IOException as error:
        raise ResourceError(f"pairing cannot use {place}: {_first_line(error)} Free some disk there") from error
    except (duckdb.OutOfMemoryException, pa.ArrowException, OSError) as error:
        # Errors after the first batch are raised by the Arrow stream.
        if not isinstance(error, duckdb.OutOfMemoryException) and "Out of Memory" not in str(error):
            raise
        raise ResourceError(
            f"pairing needs more memory than {memory_bytes / 2**20:,.0f} MiB, or more disk than {place} has: "
            f"{_first_line(error)} Increase --memory, free disk space, raise the threshold, or use --method lsh"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") + "."


def _connect(place: Path, memory_bytes: int, threads: int) -> duckdb.DuckDBPyConnection:
    import duckdb

    spill = place / "spill"
    spill.mkdir()
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_bytes}B",
        "temp_directory": str(spill),
        "threads": threads,
        "preserve_insertion_order": False,
    }
    return duckdb.connect(str(place / "merge.duckdb"), config=settings)


def _load_entries(connection: duckdb.DuckDBPyConnection, batches: Iterable[Sets], sides: Bool | None) -> None:
    """Fill the tables entries (element, item) and items (item, size, side)."""
    connection.execute("CREATE TABLE entries (element UBIGINT, item INTEGER)")
    connection.execute("CREATE TABLE items (item INTEGER, size INTEGER, side BOOLEAN)")
    first = 0
    for batch in batches:
        rows = np.arange(first, first + len(batch), dtype=np.int64)
        side = np.zeros(len(batch), np.bool_) if sides is None else sides[first : first + len(batch)]
        _insert(connection, "items", {"item": rows, "size": batch.sizes, "side": side})
        for begin, end in _stretches(batch.indptr):
            elements = batch.elements[batch.indptr[begin] : batch.indptr[end]]
            owners = np.repeat(rows[begin:end], batch.sizes[begin:end])
            _insert(connection, "entries", {"element": elements, "item": owners})
        first += len(batch)


def _stretches(indptr: Int64) -> Iterator[tuple[int, int]]:
    """Ranges of sets of about ENTRY_ROWS elements each."""
    begin = 0
    while begin < len(indptr) - 1:
        end = int(np.searchsorted(indptr, indptr[begin] + ENTRY_ROWS, "right")) - 1
        yield begin, max(end, begin + 1)
        begin = max(end, begin + 1)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, np.ndarray]) -> None:
    import pyarrow as pa

    given = pa.table({name: to_arrow(values) for name, values in columns.items()})
    connection.register("given", given)
    connection.execute(f"INSERT INTO {table} SELECT * FROM given")
    connection.unregister("given")


def _select_elements(connection: duckdb.DuckDBPyConnection, common: Fraction | None) -> None:
    """Keep the entries whose element occurs at least twice; separate those too common to find pairs by."""
    limit = "true"
    if common is not None:
        limit = (
            f"count(*)::HUGEINT * {common.denominator} <= {common.numerator} * (SELECT count(*) FROM items)::HUGEINT"
        )
    connection.execute(
        f"CREATE TABLE elements AS SELECT element, {limit} AS rare FROM entries GROUP BY element HAVING count(*) > 1"
    )
    for table, kind in (("shared", "rare"), ("frequent", "NOT rare")):
        connection.execute(
            f"CREATE TABLE {table} AS SELECT element, item, size, side FROM entries JOIN elements USING (element) "
            f"JOIN items USING (item) WHERE {kind}"
        )
    connection.execute("DROP TABLE elements")
    connection.execute("DROP TABLE entries")


def _condition(measure: tuple[int, int, int], overlap: str) -> str:
    """SQL for whether the measure of two sets of sizes n and m reaches the threshold, in integers without overflow.

    Sizes and overlaps are below 2^31; 128 bits are several times as slow as 64, and this is evaluated for every pair.
    """
    kind, num, den = measure
    wide = "HUGEINT" if kind == COSINE or max(num, den) >= 1 << 29 else "BIGINT"
    n, m, both, least = (f"({size})::{wide}" for size in ("n", "m", overlap, "least(n, m)"))
    return {
        JACCARD: f"{both} * {num + den} >= ({n} + {m}) * {num}",
        DICE: f"{both} * {2 * den} >= ({n} + {m}) * {num}",
        COSINE: f"({both} * {den}) * ({both} * {den}) >= ({n} * {num}) * ({m} * {num})",
        CONTAINMENT: f"{both} * {den} >= {least} * {num}",
        OVERLAP: f"{both} * {den} >= {num}",
    }[kind]


def _pairs_query(measure: tuple[int, int, int], two_sides: bool, some_frequent: bool) -> str:
    """Pair the entries of each element, count the pairs, keep those that reach the threshold."""
    sides = "AND x.side <> y.side" if two_sides else ""
    paired = f"""
        SELECT x.item AS a, y.item AS b, x.size AS n, y.size AS m
        FROM shared x JOIN shared y ON x.element = y.element AND x.item < y.item {sides}"""
    counted = f"""
        SELECT a, b, x.size AS n, y.size AS m, rare
        FROM (SELECT a, b, count(*) AS rare FROM ({paired}) WHERE {_condition(measure, "least(n, m)")} GROUP BY a, b)
        JOIN items x ON x.item = a JOIN items y ON y.item = b"""
    total = f"SELECT a, b, n, m, rare AS total FROM ({counted})"
    if some_frequent:
        # Frequent elements of a candidate are counted too, so that its overlap is exact.
        total = f"""
        WITH counted AS MATERIALIZED ({counted})
        SELECT a, b, n, m, rare + coalesce(frequent, 0) AS total
        FROM counted LEFT JOIN (
            SELECT a, b, count(*) AS frequent
            FROM counted JOIN frequent x ON x.item = a JOIN frequent y ON y.item = b AND y.element = x.element
            GROUP BY a, b) USING (a, b)"""
    return f"""
        SELECT a::BIGINT AS a, b::BIGINT AS b, total::BIGINT AS overlap
        FROM ({total}) WHERE {_condition(measure, "total")} ORDER BY a, b"""
