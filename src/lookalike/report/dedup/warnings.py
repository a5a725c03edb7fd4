"""What a reader of a report on dedup should check first, in plain words, the most serious first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.report.dedup.facts import DedupReport
from lookalike.report.examples import shorten
from lookalike.report.html import show_interval, show_roughly, show_share
from lookalike.types.wording import count

LARGE_CLUSTER, FEW = 0.01, 20
MOSTLY = 0.5
MANY_EMPTY, MANY_REJECTED = 0.05, 0.01
CLOSE_CALLS = 0.25
WIDE = 0.05
"""How far the interval of a measured recall may reach below the target; if 60 of 60 pairs are found, it is from 94%."""
MOST = 12
"""Warnings that are listed."""


def list_warnings(report: DedupReport) -> list[str]:
    """Everything that makes the result doubtful."""
    counts, alarms = report.run["counts"], report.run.get("alarms", ())
    audit = report.run.get("audit") if report.run["plan"].get("bands") else None  # other methods miss nothing
    found = [*_about_result(report, counts), *_about_recall(audit, counts["items"] - counts["empty"])]
    found += [*_about_input(counts), *_about_sources(report)]
    # the page has its own wording for these, except for empty files among full ones
    said = {"large_cluster", "recall_not_reached", "mostly_empty", "file_mostly_removed"}
    rest = [one for one in alarms if one.get("kind") not in said or (one["kind"] == "mostly_empty" and "file" in one)]
    found += [_sentence(alarm["text"]) for alarm in rest]
    if len(found) > MOST:
        found = [*found[:MOST], f"{len(found) - MOST:,} more warnings are listed under “alarms” in run.json."]
    return [*found, *report.notes]


def _about_sources(report: DedupReport) -> list[str]:
    """Sources that have lost most of their items, if there are others that have not."""
    lost = [one for one in report.sources if (one.items or 0) >= FEW and one.removed > MOSTLY * (one.items or 0)]
    if not lost or len(report.sources) == 1:
        return []
    named = [f"{shorten(one.name)} ({one.removed:,} of {one.items:,})" for one in lost[:3]]
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    return [f"Most items were removed from {', '.join(named)}{more}. Is that a copy of something else in the input?"]


def _about_result(report: DedupReport, counts: Mapping[str, int]) -> list[str]:
    items, removed, found = counts["items"], counts["removed"], []
    if not items:
        return ["There were no items in the input."]
    if report.largest_size > max(2, LARGE_CLUSTER * items) and items >= FEW:
        share = show_share(report.largest_size / items)
        found.append(
            f"One cluster contains {share} of your corpus ({report.largest_size:,} of {items:,} items). Boilerplate, a "
            "template or a default value? Look at it under “Largest clusters” before you delete anything."
        )
    if items >= FEW and removed > MOSTLY * items:
        found.append(
            f"{show_share(removed / items)} of the items were removed. If you did not expect that, the threshold may "
            "be too low, or the shingles too short."
        )
    close = [] if report.is_distance or report.threshold >= 0.97 else report.bins
    near = sum(one.count for one in close if one.high <= report.threshold + 0.0201)
    if removed >= FEW and near > CLOSE_CALLS * removed:
        found.append(
            f"{show_share(near / removed)} of the removed items are within 0.02 of the threshold: the outcome depends "
            "on its exact value. Look at the most doubtful removals."
        )
    return found


def _about_recall(audit: Mapping[str, Any] | None, filled: int) -> list[str]:
    if not audit or audit["recall"] is None:
        return []
    low, high = audit["interval"]
    wanted = show_share(audit["wanted"])
    if high < audit["wanted"]:
        return [
            f"The audit measured a recall of {show_share(audit['recall'])} (95% interval: {show_share(low)} to "
            f"{show_share(high)}), below the target of {wanted}. Use more --hashes or another --seed."
        ]
    if audit["recall"] < audit["wanted"]:
        return [
            f"The audit measured a recall of {show_share(audit['recall'])}, below the target of {wanted}; "
            f"with {count(audit['pairs'], 'pair')}, that may be chance (95% interval: {show_interval(low, high)})."
        ]
    if is_wide(audit) and audit["sample"] < filled:
        return [
            f"The audit measured {count(audit['pairs'], 'similar pair')}, too few to confirm a recall of {wanted}: it "
            f"may be anything from {show_roughly(low, high)}. Audit a larger sample than {audit['sample']:,} items."
        ]
    return []


def is_wide(audit: Mapping[str, Any]) -> bool:
    """Whether the interval of the measured recall is too wide to say that the target was nearly reached.

    Examples
    --------
    >>> is_wide({"interval": [0.34, 1.0], "wanted": 0.99}), is_wide({"interval": [0.97, 1.0], "wanted": 0.99})
    (True, False)
    """
    return bool(audit["interval"][0] < audit["wanted"] - WIDE)


def _about_input(counts: Mapping[str, int]) -> list[str]:
    items, empty, rejected = counts["items"], counts["empty"], counts["rejected"]
    found = []
    if empty > MANY_EMPTY * items:
        found.append(
            f"{show_share(empty / items)} of the items ({empty:,}) are empty. Empty items are similar to nothing, so "
            "they are all kept. Did you choose the right --column?"
        )
    if rejected > MANY_REJECTED * (items + rejected):
        found.append(
            f"{rejected:,} lines or files could not be read and were set aside in rejected.jsonl "
            f"({show_share(rejected / (items + rejected))} of the input)."
        )
    elif rejected:
        set_aside = "line or file was set aside" if rejected == 1 else "lines or files were set aside"
        found.append(f"{rejected:,} {set_aside} in rejected.jsonl.")
    return found


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
