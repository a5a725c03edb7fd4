"""What the commands say on stderr: the plan before the work, the findings after it, and what to do next."""

from __future__ import annotations

from typing import Any

from lookalike.jobs.progress import Progress
from lookalike.jobs.settings import Settings


def say_plan(settings: Settings, progress: Progress) -> None:
    """The plan, before the work."""
    if settings.plan is None:
        progress.say("Plan: brute force, every pair is compared.")
    else:
        progress.say(f"Plan: {settings.plan.describe()}")


def warm_up(progress: Progress) -> None:
    """Load the kernels; the first use after an install compiles them, and says so."""
    from lookalike.jobs.warmup import compile_kernels, is_warm

    if not is_warm():
        progress.say("Compiling kernels, once after each install (about 15 seconds) ...")
        with progress.stage("compiling"):
            compile_kernels()


def say_run(run: dict[str, Any], out: str, progress: Progress) -> None:
    """What dedup found."""
    counts = run["counts"]
    seconds = sum(run["seconds"].values())
    items = max(1, counts["items"])
    progress.say(
        f"{counts['items']:,} items: kept {counts['kept']:,}, removed {counts['removed']:,} "
        f"({counts['removed'] / items:.1%}; {counts['identical']:,} of them identical sets), "
        f"{counts['empty']:,} empty. {seconds:.1f} s, {run['peak_memory_bytes'] / 1e6:,.0f} MB."
    )
    progress.say(
        f"{counts['candidates']:,} candidate pairs compared, {counts['pairs']:,} similar; every removal was "
        f"verified against a kept item. {_how_sure(run)}"
    )
    if counts["rejected"]:
        progress.say(f"{counts['rejected']:,} bad lines were set aside in {out}/rejected.jsonl.")
    _say_alarms(run, progress)
    progress.say(f"Results: {out}/kept, {out}/removed.parquet (why each went), {out}/clusters.parquet, {out}/run.json")


def say_pairs(run: dict[str, Any], out: str | None, aside: str, progress: Progress) -> None:
    """What pairs found."""
    counts = run["counts"]
    progress.say(
        f"{counts['items']:,} items ({counts['empty']:,} empty), {counts['candidates']:,} candidate pairs compared, "
        f"{counts['pairs']:,} similar. {_how_sure(run)}"
    )
    if counts["rejected"]:
        progress.say(f"{counts['rejected']:,} bad lines were left out: {aside}")
    _say_alarms(run, progress)
    if out is not None:
        progress.say(f"Results: {out}")


def _how_sure(run: dict[str, Any]) -> str:
    if run["options"]["method"] == "brute":
        return "Every pair was looked at: nothing is missed."
    recall = run["plan"]["recall"]
    return f"Of the pairs right at the threshold {recall:.2%} are expected to be found, of closer ones more."


def _say_alarms(run: dict[str, Any], progress: Progress) -> None:
    for alarm in run["alarms"]:
        progress.say(f"Note: {alarm['text']}")
