"""What the benchmark of records measured: kept as JSON, shown as tables. Knows nothing of how it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tables import draw_table, show_number

TEXT = """# lookalike link and its peers

{machine} A run may take {seconds:,.0f} s and {memory_gib:g} GiB.

## Generated people

Two tables; a tenth of the people are in both, with an error in half of their values. Fields: name, address, postcode,
phone.

{people}

- *seconds*: wall time from start to exit of a process of its own; *peak memory*: of its whole process tree.
- *labels*: pairs of the truth that the tool was given, half of them matches. They are scored like all others.
- splink: three blocking rules (equal name, address, phone). recordlinkage: sorted neighbourhoods of these three, its
  own EM. dedupe: blocks and weights learned from the labels.
- A tool that took more than it may is not asked for more people.
{sets}"""

SET_TEXT = """
## {title}

{table}
"""

SET_NOTES = """
- *links*: the pairs that the tool links. *clusters*: all pairs within the clusters that the links make.
- *threshold*: the probability from which on it links: its default or that of its documented example; *best probability*
  is chosen by the truth, so that nobody could have known it.
- splink is named with the example of its documentation: quick start (README), tutorial (its parts 4 and 5), accuracy
  analysis (from a labels column), febrl3.
"""

TITLES = {"fake_1000": "fake_1000: 1,000 records of people", "febrl3": "FEBRL 3: 5,000 records of people"}


@dataclass(frozen=True)
class Result:
    """A tool on some data; what was not reached stays None.

    Attributes
    ----------
    data, size
        `people` or the name of a table; people of each table, or records.
    way
        What is judged: `links` or the pairs of `clusters`.
    settings, threshold
        How the tool was set up, and the probability from which on it links.
    labels
        Pairs that it was given with the answer.
    failure
        Why there is no result.
    """

    data: str
    size: int
    tool: str
    version: str = ""
    way: str = "links"
    settings: str = ""
    threshold: float | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    links: int | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    labels: int = 0
    failure: str = ""

    def tell(self) -> str:
        """Return the result as a line of text."""
        where = " ".join(filter(None, (self.tool, self.settings, self.data, f"{self.size:,}", self.way)))
        return f"{where}: {self.failure or f'F1 {self.f1:.4f} in {self.seconds:.1f} s'}"

    @property
    def subject(self) -> tuple[str, int, str]:
        """What is measured anew as a whole."""
        return self.data, self.size, self.tool


def join_results(old: Iterable[Result], new: Sequence[Result]) -> list[Result]:
    """Return all results, in which those of `new` take the places of those about the same."""
    subjects = {result.subject for result in new}
    # What took more than it may with fewer people than before has no larger sizes.
    least = {result.tool: result.size for result in new if result.data == "people" and result.failure}
    kept = [
        result
        for result in old
        if result.subject not in subjects
        and not (result.data == "people" and result.size > least.get(result.tool, result.size))
    ]
    return sorted([*kept, *new], key=lambda result: (result.data != "people", result.data, result.size))


def read_results(path: Path, machine: dict[str, Any]) -> list[Result]:
    """Return what a file holds, if it was measured on the same machine, whatever its load was."""
    whole = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if whole.get("machine", {}) | {"load_at_start": 0} != machine | {"load_at_start": 0}:
        return []
    return [Result(**row) for row in whole["results"]]


def show_share(value: float | None) -> str:
    """Return a share with four digits, or a dash."""
    return show_number(value, ".4f")


def show_cost(result: Result) -> list[str]:
    """Return seconds and memory; in place of seconds, why there are none."""
    memory = "–" if result.peak_bytes is None else f"{result.peak_bytes / 2**20:,.0f} MiB"
    return [result.failure or show_number(result.seconds, ",.1f"), memory]


def draw_people(results: Sequence[Result]) -> str:
    """Return the table of the tools on generated people."""
    headings = ("tool", "people", "seconds", "peak memory", "precision", "recall", "F1", "labels")
    rows = []
    for result in results:
        name = f"{result.tool} {result.version}".strip()
        shares = [show_share(value) for value in (result.precision, result.recall, result.f1)]
        size = f"{result.size:,} x {result.size:,}"
        rows.append([name, size, *show_cost(result), *shares, f"{result.labels:,}" if result.labels else "none"])
    return draw_table(headings, rows)


def draw_set(results: Sequence[Result]) -> str:
    """Return the table of the tools on records with a truth: as links first, then as clusters."""
    headings = ("judged as", "tool", "settings", "threshold", "precision", "recall", "F1", "seconds", "peak memory")
    rows = []
    for result in sorted(results, key=lambda result: result.way != "links"):
        threshold = "0.5" if result.threshold is None else f"{result.threshold:g}"
        shares = [show_share(value) for value in (result.precision, result.recall, result.f1)]
        rows.append([result.way, result.tool, result.settings, threshold, *shares, *show_cost(result)])
    return draw_table(headings, rows)


def write_report(folder: Path, facts: dict[str, Any], new: Sequence[Result]) -> None:
    """Write records.json and records.md with the new results in place of the old."""
    folder.mkdir(parents=True, exist_ok=True)
    results = join_results(read_results(folder / "records.json", facts["machine"]), new)
    whole = {**facts, "results": [asdict(result) for result in results]}
    (folder / "records.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sets = [
        SET_TEXT.format(title=title, table=draw_set([result for result in results if result.data == name]))
        for name, title in TITLES.items()
        if any(result.data == name for result in results)
    ]
    machine = "{cpu}, {cores} cores, {memory_gib} GiB, {system}, Python {python}.".format(**facts["machine"])
    text = TEXT.format(
        machine=machine,
        seconds=facts["seconds"],
        memory_gib=facts["memory_gib"],
        people=draw_people([result for result in results if result.data == "people"]),
        sets="".join(sets) + (SET_NOTES if sets else ""),
    )
    (folder / "records.md").write_text(text, "utf-8")
