"""Tables with known matches: lookalike compared with splink in its own documented examples.

Both are evaluated by the links themselves and by all pairs within the clusters that the links form, at their own
threshold and at the best one. The best threshold can be known only with labels: it shows what would be possible.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

import peer_env
from judging import Cut, best_cut, count_within, cut_at, cut_clusters, cut_links, judge_clusters
from measure import Measured
from record_results import Result

ADAPTER = Path(__file__).resolve().parent / "adapters" / "records_splink_examples.py"
PROBABILITIES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
"""At which lookalike is run besides its default."""


class Runs(Protocol):
    """Runs commands within limits."""

    def run(self, command: list[str | Path]) -> Measured:
        """Run a command."""

    def explain(self, done: Measured) -> str:
        """Return why it failed, or nothing."""


@dataclass(frozen=True)
class Known:
    """A table: its path, the columns of ids, of entities and to compare, and splink's examples.

    Attributes
    ----------
    entity
        A column, and a pattern whose group in it names the entity.
    """

    path: str
    id: str
    entity: tuple[str, str]
    fields: str
    examples: tuple[str, ...]


SETS = {
    "fake_1000": Known(
        "customers/fake_1000.csv",
        "unique_id",
        ("cluster", "^(?P<entity>.*)$"),
        "first_name,surname,dob,city,email",
        ("quick start", "tutorial", "accuracy analysis"),
    ),
    "febrl3": Known(
        "febrl/dataset3.csv",
        "rec_id",
        ("rec_id", "^rec-(?P<entity>[0-9]+)"),
        "given_name,surname,street_number,address_1,address_2,suburb,postcode,state,date_of_birth,soc_sec_id",
        ("febrl3",),
    ),
}


def read_known(source: Path) -> pa.Table:
    """Return a table of text without surrounding spaces; empty values are null."""
    with source.open(encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
    options = pcsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    table = pcsv.read_csv(source, convert_options=options)
    columns = [pc.utf8_trim_whitespace(column) for column in table.columns]
    empty = pa.scalar(None, pa.string())
    return pa.table(
        {name.strip(): pc.if_else(pc.equal(column, ""), empty, column) for name, column in zip(names, columns)}
    )


def entities(table: pa.Table, known: Known) -> dict[Hashable, Hashable]:
    """Return the entity of each record."""
    column, pattern = known.entity
    names = pc.struct_field(pc.extract_regex(table[column], pattern), "entity")
    return dict(zip(table[known.id].to_pylist(), names.to_pylist()))


def compare_on(name: str, source: Path, versions: Mapping[str, str], lookalike: Path, limits: Runs) -> Iterator[Result]:
    """Run the tools of `versions` that take part, and yield how good they are."""
    table = read_known(source)
    entity = entities(table, SETS[name])
    blank = Result(name, table.num_rows, "")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if "lookalike" in versions:
            base = replace(blank, tool="lookalike", version=versions["lookalike"])
            yield from run_ours(base, source, SETS[name], entity, lookalike, limits, folder)
        if "splink" in versions:
            pq.write_table(table, folder / "records.parquet")
            base = replace(blank, tool="splink", version=versions["splink"])
            for example in SETS[name].examples:
                yield from run_example(replace(base, settings=example), entity, limits, folder)


def run_ours(
    base: Result,
    source: Path,
    known: Known,
    entity: Mapping[Hashable, Hashable],
    lookalike: Path,
    limits: Runs,
    folder: Path,
) -> Iterator[Result]:
    """Yield lookalike with its defaults, and at the best of some probabilities."""
    out = folder / "out"
    command = [lookalike, "link", source, "-o", out, "--fields", known.fields, "--id", known.id, "--quiet"]
    judged: dict[str, list[tuple[dict[str, float], Result]]] = {"links": [], "clusters": []}
    for probability in (None, *PROBABILITIES):
        option = [] if probability is None else ["--probability", str(probability)]
        done = limits.run([*command, "--overwrite", *option])
        if reason := limits.explain(done):
            yield replace(base, settings="default", failure=reason, peak_bytes=done.peak_bytes)
            return
        cost = replace(base, seconds=round(done.seconds, 2), peak_bytes=done.peak_bytes)
        for way, quality in judge_output(out, entity).items():
            settings = "default" if probability is None else "best probability"
            result = replace(cost, way=way, settings=settings, threshold=probability, **quality)
            judged[way].append((quality, result))
    for results in judged.values():
        yield results[0][1]
    for results in judged.values():
        best = max(results, key=lambda pair: pair[0]["f1"])[1]
        yield replace(best, settings="best probability", threshold=0.5 if best.threshold is None else best.threshold)


def judge_output(out: Path, entity: Mapping[Hashable, Hashable]) -> dict[str, dict[str, float]]:
    """Return how good the links and the clusters of a run are."""
    links = pq.read_table(out / "links.parquet", columns=["left", "right"])
    clusters = pq.read_table(out / "clusters.parquet", columns=["id", "cluster"])
    pairs = zip(map(str, links["left"].to_pylist()), map(str, links["right"].to_pylist()))
    cuts = cut_links([(one, other, 1.0) for one, other in pairs], entity)
    where = dict(zip(map(str, clusters["id"].to_pylist()), clusters["cluster"].to_pylist()))
    true = count_within(entity.values())
    return {"links": cut_at(cuts, 0).judge(true), "clusters": judge_clusters(where, entity)}


def run_example(base: Result, entity: Mapping[Hashable, Hashable], limits: Runs, folder: Path) -> Iterator[Result]:
    """Yield an example of splink at its own threshold and at the best one."""
    out = folder / "splink.parquet"
    done = limits.run([peer_env.python_of("splink"), ADAPTER, base.settings, folder / "records.parquet", out])
    if reason := limits.explain(done):
        yield replace(base, failure=reason, peak_bytes=done.peak_bytes)
        return
    base = replace(base, seconds=round(done.seconds, 2), peak_bytes=done.peak_bytes)
    own = json.loads(done.stdout.splitlines()[-1])["threshold"]
    table = pq.read_table(out)
    scored = list(zip(*(table[name].to_pylist() for name in ("left", "right", "probability"))))
    ways = {"links": cut_links(scored, entity), "clusters": cut_clusters(scored, entity)}
    true = count_within(entity.values())

    def result(way: str, cut: Cut, threshold: float, settings: str) -> Result:
        return replace(base, way=way, settings=settings, threshold=threshold, **cut.judge(true))

    for way, cuts in ways.items():
        yield result(way, cut_at(cuts, own), own, base.settings)
    for way, cuts in ways.items():
        best = best_cut(cuts, true)
        yield result(way, best, round(best.probability, 3), f"{base.settings}, best probability")
