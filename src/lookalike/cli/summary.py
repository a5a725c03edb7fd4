"""The summaries that `dedup`, `audit` and `pairs` print to stderr: findings, notes, and where the results are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.engine.progress import Progress
from lookalike.types.wording import count

if TYPE_CHECKING:
    from lookalike.candidates.exact import JoinStats


def summarize_dedup(run: dict[str, Any], out: str, progress: Progress, report: bool = False) -> None:
    """Print what dedup found."""
    progress.finish()
    counts = run["counts"]
    seconds = sum(spent for stage, spent in run["seconds"].items() if stage != "compiling")
    progress.say(_outcome(counts) + f" {seconds:.1f} s, {run['peak_memory_bytes'] / 1e6:,.0f} MB.")
    if counts["items"]:
        checked = " Every removed item was compared with the kept item that it names." if counts["removed"] else ""
        progress.say(f"{count(counts['candidates'], 'candidate pair')} compared.{checked} {_recall(run)}")
    if counts["rejected"]:
        progress.say(f"{_rejected(counts)} set aside in {out}/rejected.jsonl.")
    if run["audit"]:
        progress.say(describe_audit(run["audit"]))
    _say_alarms(run, progress)
    if added := run.get("into"):
        progress.say(f"Added to {added['index']}: {count(added['items'], 'item')}.")
    progress.say(f"Results: {out}/kept, {out}/removed.parquet (reasons), {out}/clusters.parquet, {out}/run.json")
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


def _rejected(counts: dict[str, int]) -> str:
    bad = counts["rejected"]
    return f"{count(bad, 'bad line or file', 'bad lines or files')} {'was' if bad == 1 else 'were'}"


def summarize_pairs(run: dict[str, Any], out: str | None, rejected: str, progress: Progress) -> None:
    """Print what pairs found; `rejected` names the skipped lines, or the file that contains them."""
    progress.finish()
    counts = run["counts"]
    progress.say(
        f"{count(counts['items'], 'item')} ({counts['empty']:,} empty), "
        f"{count(counts['candidates'], 'candidate pair')} compared, {counts['pairs']:,} similar. {_recall(run)}"
    )
    if counts["rejected"]:
        progress.say(f"{_rejected(counts)} skipped: {rejected}")
    _say_alarms(run, progress)
    if out is not None:
        progress.say(f"Results: {out}")


def _recall(run: dict[str, Any]) -> str:
    if run["options"].get("common"):
        return "Pairs that share only common shingles are missed; omit --common to find them."
    if run["options"]["method"] != "lsh":
        return "The method is exact: nothing is missed (recall 1)."
    recall = run["plan"]["recall"]
    return f"{recall:.2%} of the pairs at the threshold are expected to be found, and more of the closer pairs."


def _say_alarms(run: dict[str, Any], progress: Progress) -> None:
    for alarm in run["alarms"]:
        progress.say(f"Note: {alarm['text']}")


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
