"""The S-curve of a plan: drawn in the terminal, or as an SVG or PNG file. All numbers come from `tuning`."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.errors import UsageError
from lookalike.tuning.plan import Plan, lecture_plan
from lookalike.tuning.wording import percent
from lookalike.types import distinct
from lookalike.write import whole_file

PLOT_SUFFIXES = (".svg", ".png")
_MARGIN = 5  # width of "1.0 " and the axis
# The bit of each dot in a braille character (from U+2800), by row from the top and column.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLUE, _GREEN, _RED, _INK, _GREY = "#3b75af", "#519e3e", "#c44e52", "#222222", "#777777"
_CHANCE = "probability of becoming a candidate pair"


def terminal_curve(plan: Plan, width: int = 72, height: int = 18) -> str:
    """Draw the curve with braille dots: the probability of becoming a candidate pair by similarity or distance.

    Parameters
    ----------
    plan : Plan
        The plan to draw.
    width, height : int
        Size of the whole drawing in characters, at least 44 x 9.

    Returns
    -------
    str
        Lines without colours or trailing spaces. The curve has an odd number of lines, so that 0.5 has its own.

    Examples
    --------
    >>> from lookalike.tuning.plan import tune
    >>> drawing = terminal_curve(tune(threshold=0.8), width=44, height=10)
    >>> print(drawing.splitlines()[-1].strip())
    threshold 0.8 ▲ 99.16%
    """
    if width < 44 or height < 9:
        raise UsageError(f"the drawing must have at least 44 x 9 characters, not {width} x {height}")
    columns, lines = width - _MARGIN - 1, (height - 5) // 2 * 2 + 1
    cells = _curve_cells(plan, columns, lines)
    mark = round(plan.threshold / plan.axis[1] * (columns - 1))
    drawing = [_CHANCE]
    for number, cell_line in enumerate(cells):
        level = 1 - number / (lines - 1)
        label = f"{level:.1f} ┤" if level in (0, 0.5, 1) else "    │"
        characters = [chr(0x2800 + bits) if bits else " " for bits in cell_line]
        if not cell_line[mark]:
            characters[mark] = "┊"
        drawing.append(label + "".join(characters))
    drawing += _horizontal_axis(columns, plan.axis[1])
    return "\n".join(line.rstrip() for line in [*drawing, _threshold_line(plan, mark, width)])


def _curve_cells(plan: Plan, columns: int, lines: int) -> list[list[int]]:
    """The braille bits of every cell. Steep parts are filled so that the curve has no gaps."""
    heights = plan.curve(np.linspace(*plan.axis, 2 * columns))
    levels = np.rint((1 - heights) * (4 * lines - 1)).astype(int).tolist()
    cells = [[0] * columns for _ in range(lines)]
    for x, level in enumerate(levels):
        before = levels[max(x - 1, 0)]
        for y in range(min(level, before + 1), max(level, before - 1) + 1):
            cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return cells


def _horizontal_axis(columns: int, end: float) -> list[str]:
    """The axis with a tick and a label at every fifth."""
    ticks = [round(share / 5 * (columns - 1)) for share in range(6)]
    axis = "".join("┬" if column in ticks else "─" for column in range(columns))
    labels = [" "] * (columns + 3)
    for share, tick in enumerate(ticks):
        label = f"{share / 5:.1f}" if end == 1 else _short(share / 5 * end)
        start = min(max(tick - len(label) // 2, 0), columns + 1 - len(label))
        # A label that would touch the previous one is omitted.
        if not "".join(labels[max(start - 1, 0) : start + len(label)]).strip():
            labels[start : start + len(label)] = label
    return ["    └" + axis, " " * _MARGIN + "".join(labels)]


def _short(number: float) -> str:
    return f"{number:.0f}" if 1000 <= number < 1e6 else f"{number:.3g}"


def _threshold_line(plan: Plan, mark: int, width: int) -> str:
    """An arrow below the threshold, labelled on the side that has room."""
    name, chance = f"threshold {plan.threshold:g}", percent(plan.recall)
    before = f"{name} "
    if mark + _MARGIN >= len(before) and mark + _MARGIN + 2 + len(chance) <= width:
        return " " * (mark + _MARGIN - len(before)) + f"{before}▲ {chance}"
    if mark + _MARGIN >= len(before) + len(chance) + 2:
        before = f"{name}: {chance} "
        return " " * (mark + _MARGIN - len(before)) + f"{before}▲"
    return " " * (mark + _MARGIN) + f"▲ {name}: {chance}"


def plot_curve(plan: Plan, path: str | os.PathLike[str]) -> Path:
    """Draw the curve into an SVG or PNG file, with the areas of false negatives and false positives.

    The same plan gives the same bytes. The file appears complete or not at all; an existing file is replaced.

    Parameters
    ----------
    plan : Plan
        The plan to draw.
    path : path
        Must end in `.svg` or `.png`.

    Raises
    ------
    UsageError
        If the path ends in anything else or cannot be written, or if matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from lookalike.tuning.plan import tune
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_curve(tune(threshold=0.8), f"{folder}/plan.svg").stat().st_size > 10_000
    True
    """
    target = check_plot_path(path)
    figure = _draw(plan)
    picture = BytesIO()
    from matplotlib import rc_context

    # A fixed salt for the names of SVG elements and no date: otherwise no two files would be equal.
    with rc_context({"svg.hashsalt": "lookalike"}):
        kind = target.suffix.lower()[1:]
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(picture, format=kind, dpi=150, metadata=metadata)
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {target}: there is no folder {target.parent}")
    try:
        with whole_file(target) as partial:
            partial.write_bytes(picture.getvalue())
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}") from None
    return target


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """The path, if it names a supported image format.

    Examples
    --------
    >>> check_plot_path("plan.pdf")
    Traceback (most recent call last):
    lookalike.errors.UsageError: plan.pdf: a plot must be a .svg or .png file
    """
    target = Path(path)
    if target.suffix.lower() not in PLOT_SUFFIXES:
        raise UsageError(f"{target}: a plot must be a {' or '.join(PLOT_SUFFIXES)} file")
    return target


def _draw(plan: Plan) -> Any:
    """The matplotlib figure, made without pyplot so that the caller's own plots are not affected."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plots require matplotlib: pip install 'lookalike[plot]'") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    # Evenly spaced points alone would miss the rise of a steep curve.
    rise = [plan.at(chance) for chance in np.linspace(0.001, 0.999, 200)]
    values = distinct(np.clip(np.concatenate([np.linspace(*plan.axis, 401), rise, [plan.threshold]]), *plan.axis))
    chance = plan.curve(values)
    _shade(axes, plan, values, chance)
    _draw_lines(axes, plan, values, chance)
    _label(axes, plan)
    return figure


def _shade(axes: Any, plan: Plan, values: Any, chance: Any) -> None:
    """Shade the false negatives (similar, but missed) and the false positives (found, but not similar)."""
    wanted, others = values >= plan.threshold, values <= plan.threshold
    if plan.scale.is_distance:
        wanted, others = others, wanted
    missed, false = plan.areas()
    # Similarities end at 1; distances are cut off where the drawing ends.
    until = f" up to {plan.axis[1]:g}" if plan.scale.is_distance else ""
    axes.fill_between(
        values[wanted], chance[wanted], 1, color=_BLUE, alpha=0.35, lw=0,
        label=f"false negatives: area {missed:.2g}",
    )  # fmt: skip
    axes.fill_between(
        values[others], 0, chance[others], color=_GREEN, alpha=0.3, lw=0,
        label=f"false positives: area {false:.2g}{until}",
    )  # fmt: skip


def _draw_lines(axes: Any, plan: Plan, values: Any, chance: Any) -> None:
    rule = _rule_of(plan)
    axes.plot(
        values, rule.curve(values), color=_GREY, lw=1.2, ls=(0, (4, 3)),
        label=f"(1/b)^(1/r) rule: {rule.bands} × {rule.rows}, recall {percent(rule.recall)}",
    )  # fmt: skip
    axes.plot(
        values, chance, color=_INK, lw=2.2,
        label=f"this plan: {plan.bands} × {plan.rows}, recall {percent(plan.recall)}",
    )  # fmt: skip
    axes.axvline(plan.threshold, color=_RED, lw=1.2)
    axes.plot([plan.threshold], [plan.recall], "o", color=_RED, ms=6, zorder=5, clip_on=False)


def _rule_of(plan: Plan) -> Plan:
    return lecture_plan(plan.threshold, plan.hashes, plan.measure, plan.bits, plan.width)


def _free_corner(plan: Plan) -> str:
    """A corner for the legend that neither curve passes through."""
    start, end = plan.axis
    if not plan.scale.is_distance:
        return "upper left" if plan.threshold > (start + end) / 2 else "lower right"
    place = start + 0.6 * (end - start)
    return "upper right" if max(plan.curve(place), _rule_of(plan).curve(place)) < 0.75 else "lower left"


def _label(axes: Any, plan: Plan) -> None:
    axes.set(xlim=plan.axis, ylim=(0, 1.0), xlabel=plan.scale.title)
    axes.set_ylabel(_CHANCE)
    axes.set_title(
        f"{plan.banding}: {percent(plan.recall)} recall at {plan.threshold:g}",
        loc="left", fontsize=13, pad=20,
    )  # fmt: skip
    late = plan.threshold > sum(plan.axis) / 2
    axes.annotate(
        f"threshold {plan.threshold:g}", (plan.threshold, 1), xytext=(0, 5), textcoords="offset points",
        ha="right" if late else "left", va="bottom", color=_RED, fontsize=9, annotation_clip=False,
    )  # fmt: skip
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc=_free_corner(plan), frameon=True, fontsize=9)
