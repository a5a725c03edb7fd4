"""The summaries that `dedup`, `audit` and `pairs` print to stderr: findings, notes, and where the results are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from lookalike.engine.alarms import show_alarms
from lookalike.engine.progress import Progress
from lookalike.types.wording import count

if TYPE_CHECKING:
    from lookalike.candidates.exact import JoinStats


def summarize_dedup(run: dict[str, Any], out: str, progress: Progress, report: bool = False) -> None:
    """Print what dedup found."""
    progress.finish()
    counts, seconds = run["counts"], time.perf_counter() - click.get_current_context().obj  # all that the user waited
    progress.say(_outcome(counts) + f" {seconds:.1f} s, {run['peak_memory_bytes'] / 1e6:,.0f} MB.")
    if counts["items"]:
        checked = " Every removed item was compared with the kept item that it names." if counts["removed"] else ""
        progress.say(f"{count(counts['candidates'], 'candidate pair')} compared.{checked} {_recall(run)}")
    if run["audit"]:
        progress.say(describe_audit(run["audit"]))
    say_alarms(run, progress)
    if added := run.get("into"):
        progress.say(f"Added to {added['index']}: {count(added['items'], 'item')}.")
    bad = f", {out}/rejected.jsonl (what could not be read)" if counts["rejected"] else ""
    tables = f"{out}/kept, {out}/removed.parquet (reasons), {out}/clusters.parquet{bad}"
    progress.say(f"Results: {tables}, {out}/run.json")
    if report:
        progress.say(f"Report: {out}/report.html")


def _outcome(counts: dict[str, int]) -> str:
    if not counts["items"]:
        return "No items in the input."
    empty = f", {counts['empty']:,} empty" if counts["empty"] else ""
    if not counts["removed"]:
        return f"{count(counts['items'], 'item')}{empty}: nothing was removed."
    share = counts["removed"] / counts["items"]
    return (
        f"{count(counts['items'], 'item')}{empty}: kept {counts['kept']:,}, removed {counts['removed']:,} "
        f"({share:.1%}; {counts['identical']:,} identical to another)."
    )


def describe_audit(audit: dict[str, Any]) -> str:
    """The measured recall with its confidence interval, and the predicted one."""
    if audit["recall"] is None:
        return f"Audit: no recall to measure: none of {count(audit['sample'], 'sampled item')} has a similar item."
    low, high = audit["interval"]
    pairs, were = count(audit["pairs"], "similar pair"), "was" if audit["found"] == 1 else "were"
    return (
        f"Audit of {count(audit['sample'], 'item')}: {audit['found']:,} of their {pairs} {were} found. Recall: "
        f"{audit['recall']:.2%} (95% interval: {low:.2%} to {high:.2%}; predicted {audit['predicted']:.2%})."
    )


def summarize_pairs(run: dict[str, Any], out: str | None, rejected: str, progress: Progress) -> None:
    """Print what pairs found; `rejected` names the skipped lines, or the file that contains them."""
    progress.finish()
    counts = run["counts"]
    progress.say(
        f"{count(counts['items'], 'item')} ({counts['empty']:,} empty), "
        f"{count(counts['candidates'], 'candidate pair')} compared, {counts['pairs']:,} similar. {_recall(run)}"
    )
    say_alarms(run, progress, rejected)
    if out is not None:
        progress.say(f"Results: {out}")


def _recall(run: dict[str, Any]) -> str:
    if run["options"].get("common"):
        return "Pairs that share only common shingles are missed; omit --common to find them."
    if run["options"]["method"] != "lsh":
        return "The method is exact: nothing is missed (recall 1)."
    recall = run["plan"]["recall"]
    return f"{recall:.2%} of the pairs at the threshold are expected to be found, and more of the closer pairs."


def say_alarms(run: dict[str, Any], progress: Progress, rejected: str = "") -> None:
    """Print what a user should check; `rejected` names the lines that could not be read, or the file with them."""
    for text in show_alarms(run["alarms"]):
        progress.say(f"Note: {text}")
    if rejected:
        progress.say(f"Left out: {rejected}")


def summarize_join(stats: JoinStats, progress: Progress) -> None:
    """Print how many pairs passed each filter of the exact join, which compares distinct sets only."""
    lines = [f"  {text:<46}{number:>16,}" for name, text in _FILTERS.items() if (number := getattr(stats, name))]
    for line in ["Among distinct sets:", *lines] if lines else []:
        progress.say(line)


_FILTERS = {
    "length": "pairs whose sizes allow it",
    "postings": "posting list entries read",
    "prefix": "pairs that share a rare element",
    "position": "pairs that share it early enough",
    "suffix": "pairs with enough elements after it",
    "signature": "pairs whose signatures are close",
    "verified": "pairs whose overlap was counted",
    "found": "pairs that are similar",
}
