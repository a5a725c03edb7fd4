"""Write what a benchmark measured: JSON for machines, a Markdown table for people."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass
class Row:
    """One tool's result; what was not reached stays None.

    Attributes
    ----------
    seconds, all_seconds
        Best and all wall times.
    ratio
        `seconds` as a multiple of lookalike's.
    removed, missed_pairs, wrong_removals
        Items not in the output; pairs at or above the threshold of which both items were kept; removed
        items that no kept item is similar to.
    failure
        Why there is no result.
    """

    tool: str
    version: str = ""
    seconds: float | None = None
    all_seconds: tuple[float, ...] = ()
    cpu_seconds: float | None = None
    ratio: float | None = None
    peak_bytes: int | None = None
    removed: int | None = None
    missed_pairs: int | None = None
    wrong_removals: int | None = None
    settings: str = ""
    note: str = ""
    failure: str | None = None


HEADINGS = (
    *("tool", "version", "seconds", "ratio to lookalike", "peak memory", "removed", "missed pairs"),
    *("wrong removals", "note"),
)


def show_number(value: float | None, form: str = ",") -> str:
    """Return a number as text, or a dash."""
    return "–" if value is None else format(value, form)


def show_row(row: Row) -> list[str]:
    """Return the cells of a row of the table."""
    memory = "–" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:,.0f} MiB"
    note = f"failed: {row.failure}" if row.failure else "; ".join(filter(None, (row.settings, row.note)))
    ratio = "–" if row.ratio is None else f"{row.ratio:.1f}x"
    counts = (row.removed, row.missed_pairs, row.wrong_removals)
    seconds = show_number(row.seconds, ".2f")
    return [row.tool, row.version, seconds, ratio, memory, *map(show_number, counts), note]


def draw_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def write_results(folder: Path, name: str, facts: dict[str, Any], rows: Sequence[Row], text: str) -> None:
    """Write ``name.json`` (facts and rows) and ``name.md`` (text and table) to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**facts, "tools": [asdict(row) for row in rows]}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    table = draw_table(HEADINGS, [show_row(row) for row in rows])
    (folder / f"{name}.md").write_text(text.replace("{table}", table))
