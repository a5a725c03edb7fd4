"""`lookalike tune`: threshold and recall in, the plan and its S-curve out. Computes nothing itself.

NumPy and what stands on it are imported when the command runs: `lookalike --help` must not wait for them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lookalike.tuning.plan import Plan

_EXAMPLE = """\b
Example:
  lookalike tune --threshold 0.7 --recall 0.95 --plot curve.svg
  lookalike tune --measure cosine --threshold 0.95
  lookalike tune --measure euclidean --threshold 2 --width 6
  lookalike tune --measure hamming --bits 64 --threshold 4
"""


@click.command("tune", epilog=_EXAMPLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--threshold",
    metavar="NUMBER",
    help="Similarity from which pairs are wanted; for euclidean and hamming the largest distance.  "
    "[default: 0.8 where it is a similarity]",
)
@click.option(
    "--measure",
    default="jaccard",
    show_default=True,
    metavar="MEASURE",
    help="jaccard, dice; cosine, euclidean (of vectors); hamming (of bits).",
)
@click.option("--bits", type=int, metavar="N", help="How many bits items have (hamming).")
@click.option(
    "--width",
    metavar="NUMBER",
    help="How wide the buckets on a line are (euclidean).  [default: three times the threshold]",
)
@click.option(
    "--recall",
    default="0.99",
    metavar="NUMBER",
    show_default=True,
    help="Share of the pairs at the threshold to be found.",
)
@click.option("--hashes", default=256, show_default=True, help="Values that a signature may have.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curve: FILE.svg or FILE.png.")
@click.option("--overwrite", is_flag=True, help="Replace the plot if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print the plan alone: no table, no curve, no messages.")
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
    """Show the plan for a threshold and a recall: how many bands and rows, and what they find.

    A pair becomes a candidate pair if its signatures agree in all rows of some band. Of the plans that reach
    the recall, this is the one with the fewest false candidates.
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
        click.echo(f"wrote {plot}", err=True)


def _plot(plan: Plan, path: Path, overwrite: bool) -> None:
    from lookalike.errors import UsageError
    from lookalike.report.curve import check_plot_path, plot_curve

    check_plot_path(path)
    if path.exists() and not overwrite:
        raise UsageError(f"--plot {path} exists: give --overwrite to replace it")
    plot_curve(plan, path)


def _summary(plan: Plan, rule: Plan, plot: Path | None) -> dict[str, Any]:
    curve = [{plan.scale.noun: value, "probability": plan.curve(value)} for value in _values(plan)]
    missed, false = plan.areas()
    areas = {"false_negatives": missed, "false_positives": false}
    shown = {"measure": plan.measure, **plan.to_dict(), "curve": curve, "areas": areas}
    return {**shown, "lecture": rule.to_dict(), "plot": plot and str(plot)}


def _values(plan: Plan) -> list[float]:
    """Ten similarities or distances along the axis, and the threshold where it is none of the tenths of jaccard."""
    if plan.measure == "hamming":
        steps = sorted({round(plan.axis[1] * tenth / 10) for tenth in range(1, 11)} - {0})
        return sorted({*map(float, steps), plan.threshold})
    tenths = [round(plan.axis[1] * tenth / 10, 12) for tenth in range(1, 11)]
    return tenths if plan.measure == "jaccard" else sorted({*tenths, plan.threshold})


def _table(plan: Plan, rule: Plan) -> list[str]:
    """How likely pairs are to become candidate pairs, beside what the lecture's rule would give."""
    from lookalike.tuning.plan import percent

    def chance(of: Plan, value: float) -> str:
        return percent(of.curve(value), of.miss(value))

    def number(value: float) -> str:
        return f"{value:.1f}" if plan.measure == "jaccard" else f"{value:g}"

    heading = f"{plan.scale.noun:>10}  {'candidate pair':>14}  {'lecture rule':>14}"
    lines = [f"{number(x):>10}  {chance(plan, x):>14}  {chance(rule, x):>14}" for x in _values(plan)]
    return [heading, *lines]


def _comparison(plan: Plan, rule: Plan) -> list[str]:
    from lookalike.tuning.curves import lecture_threshold
    from lookalike.tuning.plan import percent

    aim = f"(1/{rule.bands})^(1/{rule.rows}) = {lecture_threshold(rule.bands, rule.rows):.3f}"
    goal = "the threshold"
    if plan.measure != "jaccard":
        goal = f"{plan.scale.collision(plan.threshold):.3f}, the chance that one hash agrees at the threshold"
    found = f"{percent(rule.recall)} of the pairs at {plan.threshold:g}; this plan finds {percent(plan.recall)}"
    return [
        f"The lecture's rule takes {rule.banding}: {aim} is nearest {goal}.",
        f"It finds {found}.",
    ]


def _drawing(plan: Plan) -> str:
    """The curve, in plain characters where the terminal has no others."""
    from lookalike.report.curve import terminal_curve

    drawing = terminal_curve(plan, width=max(44, min(76, shutil.get_terminal_size().columns - 1)))
    try:
        drawing.encode((sys.stdout and sys.stdout.encoding) or "utf-8")
    except UnicodeEncodeError:
        plain = {"┤": "+", "│": "|", "└": "+", "┬": "+", "─": "-", "┊": ":", "▲": "^"}
        return "".join(c if c.isascii() else plain.get(c, "*") for c in drawing)
    return drawing


command = tune
