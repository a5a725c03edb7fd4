"""The report of a list of pairs: from the file that `lookalike pairs -o` wrote, or during the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.run_record import damage_reported
from lookalike.errors import UsageError
from lookalike.jobs.pairs import FoundPairs
from lookalike.jobs.reports.dedup_facts import batches_of, bin_sizes, bin_values, plain_ids
from lookalike.jobs.run_inputs import RunInputs, sources_of_run
from lookalike.kernels.unionfind import flatten, unite
from lookalike.report.command import command_of
from lookalike.report.page_file import check_page, write_page
from lookalike.report.pairs.facts import Component, PairsReport
from lookalike.report.pairs.page import pairs_page
from lookalike.report.shown import ShownItem, ShownPair
from lookalike.tuning.thresholds import parse_threshold
from lookalike.types import Float64, Int32, Wanted, to_arrow, to_numpy
from lookalike.types import compute as pc
from lookalike.types.parquet import read_table
from lookalike.write import TABLE_SUFFIXES

SHOWN, DRAWN = 6, 30
"""Components that are drawn, and items of each."""
EXAMPLES = 10


def page_path(out: Path) -> Path:
    """The path of the page for a file of pairs.

    Examples
    --------
    >>> page_path(Path("pairs.parquet")).name
    'pairs.report.html'
    """
    return out.with_suffix(".report.html")


def report_pairs(out: str | Path, page: str | Path | None = None) -> Path:
    """Write the report of a file that `lookalike pairs` wrote."""
    path = Path(out)
    target = page_path(path) if page is None else Path(page)
    check_page(target)
    with damage_reported(out, "pairs"):
        page_text = pairs_page(facts_of_pairs(read_pairs(path), path.name))
    return write_page(target, page_text)


def report_found_pairs(found: FoundPairs, run: Mapping[str, Any], out: Path | None, target: Path) -> Path:
    """Write the report of a run that has just finished, with some texts; `out` is the file of its pairs, if any."""
    table = pa.concat_tables(found.tables())
    title = "Similar pairs" if out is None else out.name
    facts = facts_of_pairs(table, title, float(parse_threshold(run["options"]["threshold"])))
    corpus = found.corpus
    wanted = Wanted(corpus.settings.column, (), corpus.settings.skip_errors)
    inputs = sources_of_run(corpus.sources, 0, corpus.digests.blocks, wanted)
    facts = replace(
        facts,
        run=run,
        command="" if out is None else command_of("pairs", run, str(out), exists=True),
        two_sided=found.second is not None,
        examples=[] if run["options"].get("transpose") else _examples(found, inputs, facts.value_name),
    )
    return write_page(target, pairs_page(facts))


def _examples(found: FoundPairs, inputs: RunInputs, value_name: str) -> list[ShownPair]:
    """The least similar pairs with their contents."""
    least: list[tuple[float, int, int]] = []
    for rows in found.pairs.sorted():
        order = np.argsort(-rows["similarity"] if value_name == "distance" else rows["similarity"], kind="stable")
        some = rows[order[:EXAMPLES]]
        least += zip(some["similarity"].tolist(), some["left"].tolist(), some["right"].tolist())
        least = sorted(least, key=lambda one: (-one[0] if value_name == "distance" else one[0], *one[1:]))[:EXAMPLES]
    items = np.array([item for _, *both in least for item in both], np.int64)
    if not len(items):
        return []
    files, places = found.corpus.locate(items)
    names = found.corpus.ids(items).to_pylist()
    where = list(zip(files.to_pylist(), places.tolist()))
    contents, _ = inputs.fetch(where)
    shown = [ShownItem(name, *place, contents.get(place)) for name, place in zip(names, where)]
    return [ShownPair(shown[2 * n], shown[2 * n + 1], value) for n, (value, *_) in enumerate(least)]


def read_pairs(path: Path) -> pa.Table:
    """The columns left, right and similarity or distance of a file of pairs."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file or output folder")
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise UsageError(f"{path}: is neither an output folder nor a file of pairs ({', '.join(TABLE_SUFFIXES)})")
    table = _read(path)
    value = next((name for name in ("similarity", "distance") if name in table.column_names), None)
    if value is None or not {"left", "right"} <= set(table.column_names):
        raise UsageError(f"{path}: has no columns left, right and similarity, so it is not a list of pairs")
    return table.select(["left", "right", value])


def _read(path: Path) -> pa.Table:
    import pyarrow.csv
    import pyarrow.json

    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return read_table(path)
    if suffix == ".jsonl":
        return pyarrow.json.read_json(path) if path.stat().st_size else _none()
    options = pyarrow.csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
    text = pyarrow.csv.ConvertOptions(column_types={"left": pa.string(), "right": pa.string()})
    return pyarrow.csv.read_csv(path, parse_options=options, convert_options=text)


def _none() -> pa.Table:
    return pa.table({"left": pa.nulls(0, pa.string()), "right": pa.nulls(0, pa.string()),
                     "similarity": pa.nulls(0, pa.float64())})  # fmt: skip


def facts_of_pairs(table: pa.Table, title: str, threshold: float | None = None) -> PairsReport:
    """Count pairs by similarity, and the items that they connect.

    Examples
    --------
    >>> table = pa.table({"left": ["a", "b", "x"], "right": ["b", "c", "y"], "similarity": [0.9, 0.8, 1.0]})
    >>> facts = facts_of_pairs(table, "three pairs")
    >>> facts.items, facts.components, facts.largest[0].names
    (5, 2, ['b', 'a', 'c'])
    """
    value_name = table.column_names[2]
    values: Float64 = to_numpy(pc.cast(table.column(2), pa.float64()).combine_chunks())
    names, left, right = _number_items(table)
    parent = np.arange(len(names), dtype=np.int32)
    unite(parent, left, right, np.empty(len(left), np.bool_))
    flatten(parent)
    roots, sizes = np.unique(parent, return_counts=True)
    numbers = [*zip(*(some.tolist() for some in np.unique(sizes, return_counts=True)))]
    low = float(values.min()) if len(values) else 0.0
    largest = roots[np.lexsort((roots, -sizes))[:SHOWN]]
    return PairsReport(
        title,
        value_name,
        len(table),
        len(names),
        bin_values(
            batches_of(pa.table({value_name: to_arrow(values)})), value_name, low if threshold is None else threshold
        ),
        bin_sizes(dict(numbers)),
        len(roots),
        [_component(int(root), parent, left, right, values, names) for root in largest],
        threshold=threshold,
    )


def _number_items(table: pa.Table) -> tuple[Any, Int32, Int32]:
    """The distinct items in order of appearance, and both sides as numbers of them."""
    both: Iterable[Any] = [*table.column("left").chunks, *table.column("right").chunks]
    plain = [pc.cast(one, one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in both]
    kind = plain[0].type if plain else pa.string()
    ids = plain_ids(pa.chunked_array([pc.cast(one, kind) for one in plain], kind))
    coded = pc.dictionary_encode(ids).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    codes = to_numpy(coded.indices).astype(np.int32)
    return coded.dictionary, codes[: len(table)], codes[len(table) :]


def _component(root: int, parent: Int32, left: Int32, right: Int32, values: Float64, names: Any) -> Component:
    """A component: its items with the most pairs, and the pairs among them."""
    mine = np.flatnonzero(parent[left] == root)
    ends = np.concatenate([left[mine], right[mine]])
    items, degrees = np.unique(ends, return_counts=True)
    drawn = items[np.lexsort((items, -degrees))[:DRAWN]]
    place = {int(item): number for number, item in enumerate(drawn)}
    seen = mine[np.isin(left[mine], drawn) & np.isin(right[mine], drawn)]
    edges = [
        (place[one], place[other], value)
        for one, other, value in zip(left[seen].tolist(), right[seen].tolist(), values[seen].tolist())
    ]
    return Component(len(items), len(mine), [names[int(item)].as_py() for item in drawn], edges)
