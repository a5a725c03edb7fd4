"""`lookalike tune`: show the plan for a threshold and a recall, and its S-curve. Computes nothing itself.

NumPy and packages built on it are imported when the command runs: `lookalike --help` must not wait for them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookalike.cli.terminal import say

if TYPE_CHECKING:
    from lookalike.tuning.plan import Plan

_EXAMPLE = """\b
Examples:
  lookalike tune --threshold 0.7 --recall 0.95 --plot curve.svg
  lookalike tune --measure cosine --threshold 0.95
  lookalike tune --measure euclidean --threshold 2 --width 6
  lookalike tune --measure hamming --bits 64 --threshold 4
"""


@click.command("tune", epilog=_EXAMPLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--threshold",
    metavar="NUMBER",
    help="Lowest similarity of the pairs to find; for euclidean and hamming, their largest distance.  "
    "[default: 0.8 for a similarity]",
)
@click.option(
    "--measure",
    default="jaccard",
    show_default=True,
    metavar="MEASURE",
    help="jaccard, dice; cosine, euclidean (of vectors); hamming (of bits).",
)
@click.option("--bits", type=int, metavar="N", help="Number of bits of an item (hamming).")
@click.option(
    "--width",
    metavar="NUMBER",
    help="Width of the buckets on a line (euclidean).  [default: three times the threshold, as in all jobs]",
)
@click.option(
    "--recall",
    default="0.99",
    metavar="NUMBER",
    show_default=True,
    help="Target recall: the share of pairs at the threshold to find.",
)
@click.option(
    "--hashes",
    default=256,
    show_default=True,
    help="Maximum number of values per signature. For vectors, one counts as 8 hyperplanes, 8 sampled bits or 4 lines.",
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curve to a .svg or .png file.")
@click.option("--overwrite", is_flag=True, help="Replace the plot if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="Print only the plan: no table, no curve, no messages.")
def tune(
    threshold: str | None,
    measure: str,
    bits: int | None,
    width: str | None,
    recall: str,
    hashes: int,
    plot: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the plan for a threshold and a recall: how many bands and rows, and which pairs they find.

    A pair becomes a candidate pair if its signatures agree in all rows of at least one band. Of the plans that reach
    the recall, this is the one with the fewest false candidates. `dedup` and `pairs` use the same plan with
    `--method lsh`.
    """
    from lookalike.tuning.plan import lecture_plan
    from lookalike.tuning.plan import tune as make_plan

    plan = make_plan(threshold, recall, hashes, measure, bits, width)
    rule = lecture_plan(threshold, hashes, measure, bits, width)
    if plot is not None:
        _plot(plan, plot, overwrite)
    if as_json:
        click.echo(json.dumps(_summary(plan, rule, plot)))
    else:
        click.echo(plan.describe().replace(". ", ".\n"))
        if not quiet:
            click.echo("\n".join(["", *_table(plan, rule), "", *_comparison(plan, rule), "", _drawing(plan)]))
    if plot is not None and not quiet:
        say(f"Plot: {plot}")


def _plot(plan: Plan, path: Path, overwrite: bool) -> None:
    from lookalike.errors import UsageError
    from lookalike.report.curve import check_plot_path, plot_curve

    check_plot_path(path)
    if path.exists() and not overwrite:
        raise UsageError(f"--plot {path} already exists; use --overwrite to replace it")
    plot_curve(plan, path)


def _summary(plan: Plan, rule: Plan, plot: Path | None) -> dict[str, Any]:
    curve = [{plan.scale.noun: value, "probability": plan.curve(value)} for value in _values(plan)]
    missed, false = plan.areas()
    areas = {"false_negatives": missed, "false_positives": false}
    shown = {"measure": plan.measure, **plan.to_dict(), "curve": curve, "areas": areas}
    return {**shown, "lecture": rule.to_dict(), "plot": plot and str(plot)}


def _values(plan: Plan) -> list[float]:
    """Ten similarities or distances along the axis; for measures other than jaccard, also the threshold."""
    if plan.measure == "hamming":
        steps = sorted({round(plan.axis[1] * tenth / 10) for tenth in range(1, 11)} - {0})
        return sorted({*map(float, steps), plan.threshold})
    tenths = [round(plan.axis[1] * tenth / 10, 12) for tenth in range(1, 11)]
    return tenths if plan.measure == "jaccard" else sorted({*tenths, plan.threshold})


def _table(plan: Plan, rule: Plan) -> list[str]:
    """The probability of becoming a candidate pair, by this plan and by the rule of the book."""
    from lookalike.tuning.wording import percent

    def chance(of: Plan, value: float) -> str:
        return percent(of.curve(value), of.miss(value))

    def number(value: float) -> str:
        return f"{value:.1f}" if plan.measure == "jaccard" else f"{value:g}"

    heading = f"{plan.scale.noun:>10}  {'candidate pair':>14}  {'rule of thumb':>14}"
    lines = [f"{number(x):>10}  {chance(plan, x):>14}  {chance(rule, x):>14}" for x in _values(plan)]
    return [heading, *lines]


def _comparison(plan: Plan, rule: Plan) -> list[str]:
    from lookalike.tuning.curves import lecture_threshold
    from lookalike.tuning.wording import percent

    aim = f"(1/{rule.bands})^(1/{rule.rows}) = {lecture_threshold(rule.bands, rule.rows):.3f}"
    goal = "the threshold"
    if plan.measure != "jaccard":
        chance = plan.scale.collision(plan.threshold)
        goal = f"{chance:.3f}, the probability that one {plan.scale.function} agrees at the threshold"
    found = f"{percent(rule.recall)} of the pairs at {plan.threshold:g}; this plan finds {percent(plan.recall)}"
    return [
        f"The book's rule of thumb gives {rule.banding}: {aim} is closest to {goal}.",
        f"It finds {found}.",
    ]


def _drawing(plan: Plan) -> str:
    """The curve, in ASCII if the terminal has no Unicode."""
    from lookalike.report.curve import terminal_curve

    drawing = terminal_curve(plan, width=max(44, min(76, shutil.get_terminal_size().columns - 1)))
    try:
        drawing.encode((sys.stdout and sys.stdout.encoding) or "utf-8")
    except UnicodeEncodeError:
        plain = {"┤": "+", "│": "|", "└": "+", "┬": "+", "─": "-", "┊": ":", "▲": "^"}
        return "".join(c if c.isascii() else plain.get(c, "*") for c in drawing)
    return drawing


command = tune
