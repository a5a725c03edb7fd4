from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from lookalike.cli.tune import command
from lookalike.errors import UsageError
from lookalike.tuning.plan import lecture_plan, tune


def run(*arguments: str):
    return CliRunner().invoke(command, list(arguments))


def test_text_has_the_plan_the_table_the_curve_and_the_lecture():
    result = run()
    assert result.exit_code == 0
    text = result.stdout
    assert "26 bands of 8 rows, using 208 of 256 hashes." in text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()[:2] in ("0.", "1.")}
    assert rows["0.8"] == ["99.16%", "36.7%"]
    assert [f"{tenth / 10:.1f}" in rows for tenth in range(1, 11)] == [True] * 10
    assert "threshold 0.8 ▲" in text
    assert any("⠀" < character <= "⣿" for character in text)
    assert "16 bands of 16 rows: (1/16)^(1/16) = 0.841" in text
    assert "Pairs of similarity 0.635 have a 50% chance of becoming candidates." in text
    assert "\x1b" not in text


def test_json_is_one_object_on_standard_output():
    result = run("--threshold", "0.7", "--recall", "0.95", "--hashes", "128", "--json")
    summary = json.loads(result.stdout)
    plan = tune(0.7, 0.95, 128)
    assert {key: summary[key] for key in plan.to_dict()} == plan.to_dict()
    assert summary["lecture"] == lecture_plan(0.7, 128).to_dict()
    assert [point["similarity"] for point in summary["curve"]] == [t / 10 for t in range(1, 11)]
    assert summary["curve"][6]["probability"] == pytest.approx(plan.recall, rel=1e-12)
    assert summary["plot"] is None


def test_one_band_is_not_called_bands():
    text = run("--threshold", "1").stdout
    assert "The book's rule of thumb gives 1 band of 256 rows" in text
    assert "1 bands" not in text


def test_quiet_leaves_the_plan_alone():
    assert run("--quiet").stdout == tune().describe().replace(". ", ".\n") + "\n"


MEASURES = {
    "dice": ["--threshold", "0.7"],
    "cosine": ["--threshold", "0.9"],
    "euclidean": ["--threshold", "2"],
    "hamming": ["--threshold", "7", "--bits", "64"],
}


@pytest.mark.parametrize("measure", MEASURES)
def test_text_and_json_of_other_measures(measure, tmp_path):
    text = run("--measure", measure, *MEASURES[measure]).stdout
    target = tmp_path / "curve.svg"
    summary = json.loads(run("--measure", measure, *MEASURES[measure], "--json", "--plot", str(target)).stdout)
    threshold = float(MEASURES[measure][1])
    noun = "similarity" if threshold < 1 else "distance"
    assert target.read_text().startswith("<?xml")
    plan = tune(threshold, measure=measure, bits=64 if measure == "hamming" else None)
    assert plan.describe().replace(". ", ".\n") in text
    assert (summary["measure"], summary["threshold"], summary["bands"]) == (measure, threshold, plan.bands)
    points = {point[noun]: point["probability"] for point in summary["curve"]}
    assert points[threshold] == pytest.approx(plan.recall, abs=1e-9)
    table = [line.split() for line in text.split("rule of thumb\n")[1].split("\n\n")[0].splitlines()]
    assert [float(row[0]) for row in table] == pytest.approx(list(points), rel=1e-5)
    assert (summary["areas"]["false_negatives"], summary["areas"]["false_positives"]) == plan.areas()
    assert f"threshold {threshold:g} ▲" in text
    assert f"the probability that one {plan.scale.function} agrees at the threshold" in text


def test_the_width_of_buckets_can_be_set():
    options = ["--measure", "euclidean", "--threshold", "2", "--json"]
    assert json.loads(run(*options).stdout)["width"] == 6
    assert json.loads(run(*options, "--width", "10").stdout)["width"] == 10


@pytest.mark.parametrize("suffix", [".svg", ".png", ".SVG"])
def test_plot_is_written_and_named_on_standard_error(tmp_path, suffix):
    target = tmp_path / f"curve{suffix}"
    result = run("--plot", str(target), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["plot"] == str(target)
    assert f"Plot: {target}" in result.stderr
    assert target.read_bytes()[:5] == (b"\x89PNG\r" if suffix == ".png" else b"<?xml")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_an_existing_plot_stays_unless_overwrite_is_given(tmp_path):
    target = tmp_path / "curve.svg"
    target.write_text("mine")
    result = run("--plot", str(target))
    assert isinstance(result.exception, UsageError)
    assert "--overwrite" in str(result.exception)
    assert result.stdout == ""
    assert target.read_text() == "mine"
    assert run("--plot", str(target), "--overwrite").exit_code == 0
    assert target.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "curve.pdf"], r"\.svg or \.png"),
        (["--plot", "curve"], r"\.svg or \.png"),
        (["--plot", "no/such/folder/curve.svg"], "cannot write"),
        (["--threshold", "0"], "threshold must be above 0"),
        (["--threshold", "much"], "threshold must be a number"),
        (["--recall", "1"], "--method exact"),
        (["--measure", "euclidean"], "needs a threshold"),
        (["--measure", "hamming", "--threshold", "3"], "needs bits"),
        (["--measure", "cosine", "--width", "3"], "width applies to euclidean only"),
        (["--measure", "containment"], "--method exact"),
        (["--hashes", "0"], "hashes must be a whole number"),
        (["--threshold", "0.05", "--hashes", "16"], "set hashes to 90"),
    ],
)
def test_bad_values_are_usage_errors(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    with pytest.raises(UsageError, match=message):
        raise result.exception
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_hashes_that_are_not_a_number_are_refused_by_the_command_line():
    result = run("--hashes", "many")
    assert result.exit_code == 2
    assert "--hashes" in result.stderr


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_options_and_an_example(flag):
    result = run(flag)
    assert result.exit_code == 0
    for text in (
        "--threshold",
        "--measure",
        "--bits",
        "--width",
        "--recall",
        "--hashes",
        "--plot",
        "--overwrite",
        "--json",
        "--quiet",
        "Examples:",
    ):
        assert text in result.stdout


def test_a_terminal_without_unicode_gets_plain_characters():
    code = "from lookalike.cli.tune import command; command(['--threshold', '0.7'])"
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert b"threshold 0.7 ^" in result.stdout
    assert b"*" in result.stdout


def test_importing_the_command_imports_nothing_heavy():
    code = """
import sys
import lookalike.cli.tune
print([name for name in ("numpy", "numba", "pyarrow", "matplotlib") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert result.stdout.strip() == "[]"
