"""What the commands say on stderr: the plan before the work, the findings after it, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.engine.progress import Progress
from lookalike.types.wording import count

if TYPE_CHECKING:
    from lookalike.candidates.exact import JoinStats


def warm_up(progress: Progress) -> None:
    """Load the kernels; the first use after an install compiles them, and says so."""
    from lookalike.cli.warmup import compile_kernels, is_warm

    if not is_warm():
        progress.say("Compiling kernels, once after each install (about 15 seconds) ...")
        with progress.stage("compiling"):
            compile_kernels()


def say_run(run: dict[str, Any], out: str, progress: Progress) -> None:
    """What dedup found."""
    progress.finish()
    counts = run["counts"]
    seconds = sum(spent for stage, spent in run["seconds"].items() if stage != "compiling")
    progress.say(_outcome(counts) + f" {seconds:.1f} s, {run['peak_memory_bytes'] / 1e6:,.0f} MB.")
    if counts["items"]:
        checked = " Every removed item was compared with the kept one that it names." if counts["removed"] else ""
        progress.say(f"{count(counts['candidates'], 'candidate pair')} compared.{checked} {_how_sure(run)}")
    if counts["rejected"]:
        progress.say(f"{_rejected(counts)} set aside in {out}/rejected.jsonl.")
    if run["audit"]:
        progress.say(describe_audit(run["audit"]))
    _say_alarms(run, progress)
    progress.say(f"Results: {out}/kept, {out}/removed.parquet (why each went), {out}/clusters.parquet, {out}/run.json")


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
    """Measured recall, how sure it is, and what was predicted."""
    if audit["recall"] is None:
        return f"Audit: none of {count(audit['sample'], 'sampled item')} has a similar one; no recall to measure."
    low, high = audit["interval"]
    pairs = count(audit["pairs"], "similar pair")
    return (
        f"Audit of {count(audit['sample'], 'item')}: {audit['found']:,} of their {pairs} share a band, recall "
        f"{audit['recall']:.2%} (95% sure: {low:.2%} to {high:.2%}; predicted {audit['predicted']:.2%})."
    )


def _rejected(counts: dict[str, int]) -> str:
    bad = counts["rejected"]
    return f"{count(bad, 'bad line or file')} {'was' if bad == 1 else 'were'}".replace(
        "line or files", "lines or files"
    )


def say_pairs(run: dict[str, Any], out: str | None, aside: str, progress: Progress) -> None:
    """What pairs found."""
    progress.finish()
    counts = run["counts"]
    progress.say(
        f"{count(counts['items'], 'item')} ({counts['empty']:,} empty), "
        f"{count(counts['candidates'], 'candidate pair')} compared, {counts['pairs']:,} similar. {_how_sure(run)}"
    )
    if counts["rejected"]:
        progress.say(f"{_rejected(counts)} left out: {aside}")
    _say_alarms(run, progress)
    if out is not None:
        progress.say(f"Results: {out}")


def _how_sure(run: dict[str, Any]) -> str:
    if run["options"].get("common"):
        return "Pairs that share only common shingles are missed: without --common, nothing is."
    if run["options"]["method"] != "lsh":
        return "The method is exact: nothing is missed (recall 1)."
    recall = run["plan"]["recall"]
    return f"Of the pairs right at the threshold {recall:.2%} are expected to be found, of closer ones more."


def _say_alarms(run: dict[str, Any], progress: Progress) -> None:
    for alarm in run["alarms"]:
        progress.say(f"Note: {alarm['text']}")


def say_stats(stats: JoinStats, progress: Progress) -> None:
    """How many pairs each filter of the exact join left."""
    for name, text in _FILTERS.items():
        if number := getattr(stats, name):
            progress.say(f"  {text:<46}{number:>16,}")


_FILTERS = {
    "length": "pairs whose sizes allow it",
    "postings": "entries of posting lists looked at",
    "prefix": "pairs that share a rare element",
    "position": "pairs that share it early enough",
    "suffix": "pairs with enough behind it in both",
    "signature": "pairs whose signatures differ little",
    "verified": "pairs whose overlap was counted",
    "found": "pairs that are similar",
}
