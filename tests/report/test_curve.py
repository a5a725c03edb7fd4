from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from lookalike.errors import UsageError
from lookalike.report.curve import _draw, plot_curve, terminal_curve
from lookalike.tuning.plan import Plan, tune

DISTANCES = [
    tune(threshold=2, measure="euclidean"),
    tune(threshold=0.004, measure="euclidean"),
    tune(threshold=1, hashes=8, recall=0.9, measure="euclidean", width=1),
    tune(threshold=8, measure="hamming", bits=64),
    tune(threshold=50, recall=0.9, measure="hamming", bits=64),
    tune(threshold=2000, recall=0.9, measure="hamming", bits=65536),
]
LECTURE = Plan(threshold=0.5, wanted_recall=None, hashes=100, bands=20, rows=5, recall=0.47)


def heights(drawing: str) -> list[float]:
    """Read the drawing back: the topmost braille dot of every column, as a share of the height."""
    lines = [line for line in drawing.splitlines() if len(line) > 4 and line[4] in "┤│"]
    found: dict[int, float] = {}
    for number, line in enumerate(lines):
        for column, character in enumerate(line[5:]):
            bits = ord(character) - 0x2800
            if not 0 < bits <= 0xFF:
                continue
            for right in (0, 1):
                rows = [row for row, masks in enumerate(((1, 8), (2, 16), (4, 32), (64, 128))) if bits & masks[right]]
                if rows:
                    found.setdefault(2 * column + right, 1 - (4 * number + rows[0]) / (4 * len(lines) - 1))
    return [found[x] for x in range(len(found))]


@pytest.mark.parametrize("plan", [LECTURE, tune(), tune(threshold=0.2), Plan(0.5, None, 1, 1, 1, 0.5)])
@pytest.mark.parametrize(("width", "height"), [(44, 9), (72, 18), (120, 40)])
def test_terminal_curve_shows_the_curve(plan, width, height):
    drawn = heights(terminal_curve(plan, width, height))
    assert len(drawn) == 2 * (width - 6)
    dot = 1 / (4 * ((height - 5) // 2 * 2 + 1) - 1)
    for x, level in enumerate(drawn):
        assert level == pytest.approx(plan.curve(x / (len(drawn) - 1)), abs=dot)


@pytest.mark.parametrize("plan", [*DISTANCES, tune(threshold=0.95, measure="cosine"), tune(measure="dice")])
@pytest.mark.parametrize(("width", "height"), [(44, 9), (72, 18)])
def test_terminal_curve_shows_similarities_and_distances(plan, width, height):
    drawing = terminal_curve(plan, width, height)
    drawn = heights(drawing)
    end = plan.axis[1]
    assert len(drawn) == 2 * (width - 6)
    dot = 1 / (4 * ((height - 5) // 2 * 2 + 1) - 1)
    # A falling curve's topmost dot of a column may be the end of the step down to it.
    levels = [plan.curve(end * x / (len(drawn) - 1)) for x in range(len(drawn))]
    for x, level in enumerate(drawn):
        assert levels[x] - dot <= level <= max(levels[max(x - 1, 0)], levels[x]) + dot
    lines = drawing.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[-1].index("▲") == 5 + round(plan.threshold / end * (width - 7))
    ticks = [float(label) for label in lines[-2].split()]
    assert ticks == pytest.approx([end * k / 5 for k in range(6)], rel=0.01)


@pytest.mark.parametrize("threshold", [0.02, 0.05, 0.3, 0.5, 0.8, 0.97, 1])
@pytest.mark.parametrize("width", [44, 60, 80])
def test_terminal_curve_fits_its_width_and_marks_the_threshold(threshold, width):
    plan = tune(threshold=threshold, recall=0.9, hashes=512)
    lines = terminal_curve(plan, width, 15).splitlines()
    assert len(lines) == 15
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1].index("▲") == 5 + round(threshold * (width - 7))
    assert f"threshold {threshold:g}" in lines[-1]
    assert [line[:5] for line in lines if line.startswith(("0", "1"))] == ["1.0 ┤", "0.5 ┤", "0.0 ┤"]
    assert lines[-2].split() == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_the_threshold_line_is_drawn_where_the_curve_is_not():
    lines = terminal_curve(tune(), 72, 18).splitlines()
    column = lines[-1].index("▲")
    marked = [line[column] for line in lines[1:-3]]
    assert marked.count("┊") >= len(marked) - 2


def test_too_small_a_drawing_is_refused():
    for width, height in [(43, 9), (44, 8)]:
        with pytest.raises(UsageError, match="at least 44 x 9"):
            terminal_curve(LECTURE, width, height)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_same_plan_gives_the_same_bytes(tmp_path, suffix):
    first = plot_curve(tune(), tmp_path / f"a.{suffix}").read_bytes()
    second = plot_curve(tune(), tmp_path / f"b.{suffix}").read_bytes()
    other = plot_curve(tune(threshold=0.7), tmp_path / f"c.{suffix}").read_bytes()
    assert first == second
    assert first != other


def test_svg_is_well_formed_without_date_and_software(tmp_path):
    path = plot_curve(tune(), tmp_path / "plan.svg")
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    text = path.read_text()
    assert "<dc:date>" not in text
    assert "matplotlib.org" not in text


@pytest.mark.parametrize(
    "plan",
    [tune(threshold=1), tune(threshold=0.05), tune(0.99, 0.5, 65536), tune(1, measure="cosine"), *DISTANCES[1::4]],
)
def test_extreme_plans_can_be_drawn(tmp_path, plan):
    assert plot_curve(plan, tmp_path / "plan.png").stat().st_size > 10_000


def test_plots_leave_no_state_behind(tmp_path):
    code = f"""
import sys
from lookalike.report.curve import plot_curve
from lookalike.tuning.plan import tune
plot_curve(tune(), {str(tmp_path / "plan.svg")!r})
import matplotlib
print("matplotlib.pyplot" in sys.modules, matplotlib.rcParams["svg.hashsalt"])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert result.stdout.split() == ["False", "None"]


def test_without_matplotlib_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"pip install 'lookalike\[plot\]'"):
        plot_curve(tune(), tmp_path / "plan.svg")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_output_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        plot_curve(tune(), tmp_path / "plan.gif")
    with pytest.raises(UsageError, match=r"cannot write .*: there is no folder"):
        plot_curve(tune(), tmp_path / "missing" / "plan.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        plot_curve(tune(), tmp_path / "folder.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


@pytest.mark.parametrize("plan", [LECTURE, tune(threshold=0.95, measure="cosine"), *DISTANCES])
def test_plots_shade_both_areas_on_their_sides_of_the_threshold(plan):
    (axes,) = _draw(plan).axes
    missed, false = axes.collections
    # Blue lies above the curve where pairs are wanted, green below it where they are not.
    low, high = (plan.axis[0], plan.threshold) if plan.scale.is_distance else (plan.threshold, plan.axis[1])
    for shade, inside, edge in ((missed, True, 1.0), (false, False, 0.0)):
        points = shade.get_paths()[0].vertices
        between = (points[:, 0] >= low - 1e-9) & (points[:, 0] <= high + 1e-9)
        assert (between == inside).sum() >= len(points) - 4  # those at the threshold belong to both
        on_edge = points[:, 1] == edge
        assert on_edge.sum() >= len(points) // 3
        assert points[~on_edge, 1] == pytest.approx(plan.curve(points[~on_edge, 0]), abs=1e-12)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named[0] == f"false negatives: area {plan.areas()[0]:.2g}"
    assert named[1].startswith(f"false positives: area {plan.areas()[1]:.2g}")
    assert axes.get_xlabel() == plan.scale.title


@pytest.mark.parametrize("plan", [tune(), tune(threshold=0.3), tune(threshold=0.95, measure="cosine"), *DISTANCES])
def test_the_legend_hides_no_curve(plan):
    figure = _draw(plan)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    for line in axes.lines[:2]:
        assert not any(box.contains(x, y) for x, y in axes.transData.transform(line.get_xydata()))


def test_a_steep_fall_has_no_holes():
    plan = tune(threshold=8, recall=0.9, hashes=65536, measure="hamming", bits=64)
    drawn = heights(terminal_curve(plan, 44, 40))
    levels = [plan.curve(plan.axis[1] * x / (len(drawn) - 1)) for x in range(len(drawn))]
    dot = 1 / (4 * 35 - 1)
    falls = [x for x in range(1, len(drawn)) if levels[x - 1] - levels[x] > 5 * dot]
    assert len(falls) > 3
    for x in falls:
        assert drawn[x] == pytest.approx(levels[x - 1], abs=2 * dot)
