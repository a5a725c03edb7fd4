"""The report of `lookalike dedup`: one HTML file that shows what was removed, why, and how certain that is.

The file is self-contained and readable without its script.
"""

from __future__ import annotations

from lookalike.engine.alarms import is_wide
from lookalike.report.dedup.charts import chart_clusters, chart_recall, chart_sources, chart_values
from lookalike.report.dedup.facts import DedupReport, ShownCluster
from lookalike.report.examples import list_pairs, name_item, show_pair
from lookalike.report.frame import Section, frame, list_alarms
from lookalike.report.html import Markup, join, show_interval, show_roughly, show_share, tag
from lookalike.report.stages import about_run
from lookalike.types.wording import count


def dedup_page(report: DedupReport) -> str:
    """Make the page; the same report gives the same text.

    Examples
    --------
    >>> counts = {"items": 3, "kept": 2, "removed": 1, "empty": 0, "rejected": 0, "candidates": 1, "identical": 1}
    >>> options = {"threshold": 0.8, "measure": "jaccard", "inputs": ["a.txt"]}
    >>> run = {"counts": counts, "options": options, "plan": {"bands": 0}, "seconds": {}, "peak_memory_bytes": 0}
    >>> "<b>2</b> <span>kept" in dedup_page(DedupReport(run, "a.txt", "lookalike dedup a.txt"))
    True
    """
    sections = [
        Section("sources", f"Kept and removed by {report.by}", chart_sources(report)),
        Section("values", f"{report.value_name.capitalize()} of removed items", chart_values(report)),
        Section("clusters", "Cluster sizes", chart_clusters(report)),
        Section("recall", "Recall", chart_recall(report)),
        Section("doubtful", "Most doubtful removals", _doubtful(report)),
        Section("closest", "Closest kept pairs", _closest(report)),
        Section("largest", "Largest clusters", _largest(report)),
        Section("run", "The run", _about_run(report)),
    ]
    return frame(
        report.title,
        sum_up(report),
        sections,
        kind="Deduplication report",
        tiles=_tiles(report),
        warnings=[*list_alarms(report.run.get("alarms", ())), *report.notes],
    )


_MEASURES = {"jaccard": "Jaccard", "dice": "Dice", "euclidean": "Euclidean", "hamming": "Hamming"}


def sum_up(report: DedupReport) -> str:
    """The outcome in one sentence."""
    counts, options = report.run["counts"], report.run["options"]
    if not counts["items"]:
        return "The input contains no items."
    comparison = f"at most {report.threshold:g}" if report.is_distance else f"at least {report.threshold:g}"
    rule = f"a {_MEASURES.get(options['measure'], options['measure'])} {report.value_name} of {comparison}"
    if options["measure"] == "overlap":
        rule = f"an overlap of {comparison} elements"
    with_ = "to" if report.is_distance else "with"
    if not counts["removed"]:
        return f"All {count(counts['items'], 'item')} were kept: none has {rule} {with_} another."
    share = show_share(counts["removed"] / counts["items"])
    were = "was" if counts["removed"] == 1 else "were"
    outcome = (
        f"Of {count(counts['items'], 'item')}, {counts['kept']:,} were kept and {counts['removed']:,} ({share}) {were} "
        "removed."
    )
    if options.get("policy") == "connected":
        return f"{outcome} One item was kept of each cluster of items connected by {rule}."
    return f"{outcome} Each removed item has {rule} {with_} a kept item."


def _tiles(report: DedupReport) -> list[tuple[str, str]]:
    counts = report.run["counts"]
    found = [(f"{counts['items']:,}", "items"), (f"{counts['kept']:,}", "kept"), (f"{counts['removed']:,}", "removed")]
    if counts.get("identical"):
        found.append((f"{counts['identical']:,}", "identical to another item"))
    audit = report.run.get("audit")
    if audit and audit["recall"] is not None:
        interval = show_roughly(*audit["interval"]) if is_wide(audit) else show_interval(*audit["interval"])
        words = f"recall, measured on {count(audit['pairs'], 'pair')} (95% interval: {interval})"
        # an exact method misses nothing, whatever was measured
        found.append((show_share(audit["recall"]), words if report.run["plan"].get("bands") else "recall"))
    return found


def _doubtful(report: DedupReport) -> Markup:
    words = (
        f"A sample: the {count(len(report.doubtful), 'removed item')} least similar to the item kept instead. If these "
        "are duplicates, so are the others. Marked on the left is what only the removed item contains, on the right "
        "what only the kept item contains."
    )
    words = words if report.doubtful else "Nothing was removed."
    return list_pairs(report.doubtful, report.value_name, ("removed", "kept"), words)


def _closest(report: DedupReport) -> Markup:
    words = report.about_closest or "No pair of kept items came close to the threshold."
    return list_pairs(report.closest, report.value_name, ("kept", "kept"), words)


def _largest(report: DedupReport) -> Markup:
    if not report.largest:
        return tag("p", "There are no clusters.", class_="soft")
    words = (
        f"The {count(len(report.largest), 'largest cluster')}, each with a sample of its members: those least similar "
        "to the kept item."
    )
    return join([tag("p", words), *(_cluster(one, report, place < 1) for place, one in enumerate(report.largest))])


def _cluster(one: ShownCluster, report: DedupReport, is_open: bool) -> Markup:
    share = one.size / max(1, report.run["counts"]["items"])
    line = [tag("b", count(one.size, "item")), f" ({show_share(share)} of all), kept: ", name_item(one.keeper)]
    hidden = one.size - 1 - len(one.members)
    members = [
        show_pair(pair, report.value_name, ("removed", "kept"), place < 1) for place, pair in enumerate(one.members)
    ]
    more = (
        [tag("p", f"{count(hidden, 'other member')} not shown; see clusters.parquet.", class_="soft")]
        if hidden > 0
        else []
    )
    return tag("details", tag("summary", *line), *members, *more, class_="example cluster", open=is_open)


def _about_run(report: DedupReport) -> Markup:
    where = ", in the folder where it was started (threads and memory do not change the result)"
    return about_run(report.run, report.command, where)
