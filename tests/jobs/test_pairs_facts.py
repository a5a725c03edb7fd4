"""The facts of a list of pairs, found in passes over some of them at a time, are those of the plain definition."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.engine.memory import BASE_BYTES, Budget
from lookalike.engine.progress import Progress
from lookalike.engine.settings import Settings
from lookalike.errors import ResourceError
from lookalike.jobs.pairs import find_similar_pairs
from lookalike.jobs.reports.listed_pairs import PairsOfFile, PairsOfRun
from lookalike.jobs.reports.pairs_facts import DRAWN, SHOWN, facts_of_pairs
from lookalike.read import open_data
from lookalike.write import write_table

BUDGET = Budget.split(1 << 30)
SUFFIXES = [".parquet", ".csv", ".tsv", ".jsonl"]


def plainly(rows):
    """The components, largest first, each as (size, pairs, drawn items, pairs among these)."""
    order = list(dict.fromkeys(item for left, right, _ in rows for item in (left, right)))
    parts = {item: {item} for item in order}
    for left, right, _ in rows:
        joined = parts[left] | parts[right]
        parts |= dict.fromkeys(joined, joined)
    degrees = Counter(item for left, right, _ in rows for item in (left, right))
    distinct = list({id(parts[item]): parts[item] for item in order}.values())
    found = []
    for part in sorted(distinct, key=len, reverse=True)[:SHOWN]:
        drawn = sorted((item for item in order if item in part), key=lambda item: -degrees[item])[:DRAWN]
        edges = [(drawn.index(a), drawn.index(b), v) for a, b, v in rows if a in drawn and b in drawn]
        found.append((len(part), sum(left in part for left, *_ in rows), drawn, edges))
    return len(order), len(distinct), found


def seen(facts):
    shown = [(one.size, one.pairs, [*one.names], [*one.edges]) for one in facts.largest]
    return facts.items, facts.components, shown


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.5, 0.75, 1.0])).filter(
            lambda row: row[0] != row[1]
        ),
        min_size=1,
        max_size=80,
    ),
    st.integers(1, 30),
)
def test_facts_of_a_file_in_batches_of_any_size(tmp_path_factory, suffix, rows, size):
    rows = [(f"id {left}", f"id {right}", value) for left, right, value in rows]
    path = tmp_path_factory.mktemp("pairs") / f"pairs{suffix}"
    write_table(path, pa.table([pa.array(column) for column in zip(*rows)], ["left", "right", "similarity"]))
    facts = facts_of_pairs(PairsOfFile(path, BUDGET, size), "pairs")
    assert seen(facts) == plainly(rows)
    assert facts.pairs == sum(one.count for one in facts.bins) == len(rows)


def test_a_page_during_the_run_has_the_facts_of_the_file(tmp_path: Path) -> None:
    texts = [" ".join(f"{word}-{n // 9}" for word in range(12)) + f" {n % 9}" * (n % 4) for n in range(90)]
    settings = Settings.parse(method="exact", threshold=0.4)
    found = find_similar_pairs([open_data(texts, "text")], settings, Progress())
    path = tmp_path / "pairs.parquet"
    write_table(path, pa.concat_tables(found.tables()))
    during = facts_of_pairs(PairsOfRun(found, rows=10), "pairs")
    assert during.pairs > 200
    assert during == facts_of_pairs(PairsOfFile(path, BUDGET, 7), "pairs")
    rows = [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    assert seen(during) == plainly(rows)


def test_a_row_group_is_read_some_rows_at_a_time(tmp_path: Path) -> None:
    rows = [(n, n + 1, 0.5) for n in range(1000)]
    path = tmp_path / "pairs.parquet"
    table = pa.table([pa.array(column) for column in zip(*rows)], ["left", "right", "similarity"])
    pq.write_table(table.append_column("more", pa.array(["x" * 1000] * 1000)), path, row_group_size=1000)
    sizes = [len(batch.values) for batch in PairsOfFile(path, BUDGET, 64).batches()]
    assert (sum(sizes), max(sizes)) == (1000, 64)


def test_ids_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,similarity\n" + "".join(f"{'x' * 500}{n},y{n},0.5\n" for n in range(2000)))
    little = replace(BUDGET, total_bytes=BASE_BYTES + 1_000_000)
    with pytest.raises(ResourceError, match=r"pairs\.csv: the ids of .*--memory is .*use pairs --report"):
        facts_of_pairs(PairsOfFile(path, little), "pairs")
    assert facts_of_pairs(PairsOfFile(path, BUDGET), "pairs").items == 4000
