"""The figures of index.py as tables and as a chart, as docs/persistent-index.md shows them."""

from pathlib import Path
from typing import Any

RATES = {
    "10,000 queries at once": "batch",
    "add, fsync": "single_adds",
    "add, 64 threads, fsync": "thread_adds",
    "add 100, fsync": "groups_of_100",
    "add, no fsync": "without_fsync",
}


def show(found: dict[str, Any]) -> str:
    """Tables for docs/persistent-index.md."""
    return "\n\n".join([show_index(found), show_short(found["short"]), show_peers(found["peers"])]) + "\n"


def lines_of(rows: list[list[str]]) -> str:
    """A table, its first row the headings."""
    head, *rest = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([head, "| :-- |" + " --: |" * (len(rows[0]) - 1), *rest])


def show_index(found: dict[str, Any]) -> str:
    """A column for each size of the index, and one for PostgreSQL."""
    named = [(f"{row['items']:,} items", row["dedup"], row["folder"]) for row in found["growth"]]
    if "postgres" in found:
        named.append((f"{found['postgres']['items']:,} items, PostgreSQL", None, found["postgres"]))
    headings = ["", "processor time of create / dedup", "size per item", "time to open", "query, first time, median",
                "query, median", "query of a new document / a copy", "query, p99", *RATES,
                "memory of an idle reader"]  # fmt: skip
    columns = [headings]
    for name, dedup, one in named:
        both = f"{one['create']['cpu_seconds']:.1f} / " + (f"{dedup['cpu_seconds']:.1f} s" if dedup else "-")
        medians = [f"{one[which]['p50_ms']:.3f} ms" for which in ("first_query", "query")]
        times = [f"{one['open_ms']} ms", *medians, halves(one["query"]), f"{one['query']['p99_ms']:.2f} ms"]
        speeds = [f"{one[f'{rate}_per_second']:,}/s" for rate in RATES.values()]
        columns.append([name, both, f"{one['bytes_per_item']:,.0f} B", *times, *speeds, f"{one['idle_mb']:.0f} MB"])
    return lines_of([list(cells) for cells in zip(*columns, strict=True)])


def halves(row: dict[str, Any]) -> str:
    """The medians of new documents and of copies; older results lack them."""
    if "new_p50_ms" not in row:
        return "-"
    return f"{row['new_p50_ms']:.3f} / {row['copy_p50_ms']:.3f} ms"


def show_short(rows: list[dict[str, Any]]) -> str:
    """A row for each number of short documents."""
    cells = [["items", "create, cpu s", "size", "query p50, first time", "p50, again", "p99, again"]]
    for row in rows:
        times = [f"{one:.3f} ms" for one in (row["first"]["p50_ms"], row["again"]["p50_ms"], row["again"]["p99_ms"])]
        cells.append(
            [f"{row['items']:,}", f"{row['create']['cpu_seconds']:.1f}", f"{row['bytes'] / 1e6:,.0f} MB", *times]
        )
    return lines_of(cells)


def show_peers(rows: list[dict[str, Any]]) -> str:
    """A row for each tool."""
    cells = [["tool", "items", "build", "memory", "query p50", "new / copy", "p99", "correct answers",
              "lookalike with as many, p50"]]  # fmt: skip
    for row in rows:
        times = [f"{row['p50_ms']:.3f} ms", halves(row), f"{row['p99_ms']:.2f} ms"]
        sizes = [f"{row['items']:,}", f"{row['build_seconds']:.1f} s", f"{row['memory_mb']:,.0f} MB"]
        cells.append([row["tool"], *sizes, *times, f"{row['correct']:.1%}", f"{row['own_p50_ms']:.3f} ms"])
    return lines_of(cells)


def plot(found: dict[str, object], path: Path) -> None:
    """Query times of all tools, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = found["peers"]
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.4 * len(rows)))  # type: ignore[arg-type]
    axes.barh([row["tool"] for row in rows], [row["p50_ms"] for row in rows], color="#4c78a8")  # type: ignore[attr-defined]
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds per query, median")
    figure.tight_layout()
    figure.savefig(path)
