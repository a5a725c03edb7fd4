"""The documentation is true: examples run as they stand, links and paths exist, tables list every option."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import numpy as np
import pytest

import lookalike as la
from calling import caller
from lookalike.cli.main import COMMANDS, group
from lookalike.lookup.simulated import exact_rates
from pages import Page, furnish

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RECORDS = [DOCS / "log.md", *sorted((DOCS / "decisions").glob("*.md"))]
"""Written once and left as they were: names in them may be those of their day."""
PAGES = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - set(RECORDS))]
MAINTAINED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]

EXAMPLES = {
    "README.md": 6,
    "docs/baskets.md": 8,
    "docs/coming-from.md": 9,
    "docs/course/1-shingles.md": 15,
    "docs/course/2-minhash.md": 20,
    "docs/course/3-bands.md": 20,
    "docs/course/4-families.md": 20,
    "docs/course/5-exact-joins.md": 18,
    "docs/course/6-applications.md": 15,
    "docs/faces.md": 5,
    "docs/families.md": 30,
    "docs/fingerprints.md": 8,
    "docs/getting-started.md": 15,
    "docs/guide.md": 8,
    "docs/hamming-lsh.md": 6,
    "docs/howto/dataframes.md": 15,
    "docs/howto/decontaminate.md": 10,
    "docs/howto/embeddings.md": 12,
    "docs/howto/link-customers.md": 15,
    "docs/howto/link-products.md": 12,
    "docs/howto/overnight.md": 10,
    "docs/howto/remote.md": 15,
    "docs/howto/resume.md": 8,
    "docs/howto/training-corpus.md": 15,
    "docs/howto/who-copied-whom.md": 8,
    "docs/kernel.md": 10,
    "docs/lecture.md": 15,
    "docs/link.md": 20,
    "docs/news.md": 10,
    "docs/vectors.md": 10,
}
"""How many examples a page has at least."""
PROGRAMS = [
    path
    for path in sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "benchmarks" / "adapters").glob("*.py")])
    if path.name not in ("mllib.py", "spark.py")
]
"""Benchmarks, except those that run several jobs in one Spark session, which public calls do not share."""
APPLICATIONS = ["baskets", "faces", "fingerprints", "hamming-lsh", "kernel", "link", "news", "vectors"]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder in which the data of the docs are where a checkout has them."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", PAGES, ids=name)
@pytest.mark.usefixtures("folder")
def test_examples_run_unchanged(path):
    page = Page(path.read_text("utf-8"))
    page.run()
    assert page.wrong == []
    assert page.attempted >= EXAMPLES.get(name(path), 0)


def test_the_blocks_of_a_page_are_one_session():
    page = Page("""```python
>>> number = 1
>>> def value():
...     return number
```

```python
>>> number = 2
>>> value()
2
```
""")
    page.run()
    assert (page.wrong, page.attempted) == ([], 4)


@pytest.mark.usefixtures("folder")
def test_output_of_a_page_includes_messages_of_commands_in_a_shell():
    page = Page("```console\n$ echo message >&2; echo output\noutput\n```\n")
    assert "\nmessage\noutput\n```" in page.run()
    assert len(page.wrong) == 1


def anchors(path: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [*MAINTAINED, *RECORDS, ROOT / "CHANGELOG.md"], ids=name)
def test_links_lead_somewhere(path):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        page = path.parent / file if file else path
        if not page.exists() or (anchor and anchor not in anchors(page)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", MAINTAINED, ids=name)
def test_paths_that_are_mentioned_exist(path):
    text = path.read_text("utf-8")
    files = [file for file in re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.py)`", text) if "NAME" not in file]
    paths = re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]*)`", text)
    bases = [ROOT, ROOT / "src" / "lookalike", path.parent]
    assert [one for one in [*files, *paths] if not any((base / one).exists() for base in bases)] == []


@pytest.mark.parametrize("page", APPLICATIONS)
def test_pages_on_applications_have_a_picture(page):
    assert re.search(r"!\[[^\]]+\]\(images/[\w-]+\.svg\)", (DOCS / f"{page}.md").read_text("utf-8"))


def test_the_index_links_every_page():
    linked = set(re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "README.md").read_text("utf-8")))
    listed = {str(path.relative_to(DOCS)) for path in PAGES if DOCS in path.parents}
    assert listed - {"README.md"} - linked == set()


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_pages_use_public_names_only(path):
    modules = re.findall(r"\blookalike(?!\.tar)(?:\.\w+)+", path.read_text("utf-8"))
    taught = r"|lookalike\.lecture" if path.parent.name == "course" else ""
    public = rf"lookalike\.families(\.[A-Z]\w*)?{taught}"
    assert {module for module in modules if not re.fullmatch(public, module)} == set()


PUBLIC = {"lookalike", "lookalike.families", "lookalike.lecture", "lookalike.lookup"}
OF_A_STAGE = {"cpp_joins.py": {"lookalike.candidates.exact", "lookalike.candidates.numbering", "lookalike.types"}}
"""What a benchmark imports that measures a stage by itself, which no public function offers."""


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_benchmarks_import_public_names_only(path):
    imported = re.findall(r"^ *(?:from|import) (lookalike[\w.]*)", path.read_text("utf-8"), re.MULTILINE)
    assert {*imported} - PUBLIC == OF_A_STAGE.get(path.name, set())


def test_every_test_that_guards_a_promise_exists():
    text = (DOCS / "reliability.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/]+\.py::\w+)`", text))
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| promise"))]
    assert len(named) > 80
    assert [row for row in rows if ".py::" not in row] == []
    there = set()
    for file in {one.partition("::")[0] for one in named}:
        tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
        there |= {f"{file}::{one.name}" for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    assert {one for one in named if "::test_" not in one} | (named - there) == set()
    slow = set(re.findall(r"`([\w/]+\.py::\w+)` \(slow\)", text))
    assert {one for one in slow if not is_slow(one)} == set()


def is_slow(test: str) -> bool:
    """Whether a test is marked as slow, right above it."""
    file, _, function = test.partition("::")
    before, _, _ = (ROOT / "tests" / file).read_text("utf-8").partition(f"def {function}(")
    return "pytest.mark.slow" in before.rpartition("\n\n\n")[2]


def all_commands() -> dict[str, click.Command]:
    """Every command by its name; those of a group as `index add`."""
    context = click.Context(group)
    found = {}
    for one in COMMANDS:
        command = group.get_command(context, one)
        inner = command.commands if isinstance(command, click.Group) else {}
        found |= {f"{one} {name}": part for name, part in inner.items()} or {one: command}
    return found


def listed_options() -> list[tuple[str, str, str]]:
    """(command, option, default) of the tables in the guide, a row for each option and each of its commands."""
    section = (DOCS / "guide.md").read_text("utf-8").partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `-")
    ]
    return [
        (command, option, default)
        for options, commands, default, _ in rows
        for command in (all_commands() if commands == "all" else commands.split(", "))
        for option in re.findall(r"`(-[\w-]+)", options)
    ]


def test_the_guide_lists_every_option_once():
    listed = [(command, option) for command, option, _ in listed_options()]
    actual = [
        (name, option)
        for name, command in all_commands().items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
    ]
    assert sorted(listed) == sorted(actual)


def test_the_guide_shows_the_defaults():
    listed = {(command, option): default for command, option, default in listed_options()}
    for name, command in all_commands().items():
        for parameter in command.params:
            default, known = parameter.default, isinstance(parameter, click.Option) and not parameter.hidden
            if known and isinstance(default, str | int | float) and default not in (False, ""):
                shown = listed[name, parameter.opts[-1]]
                assert str(default) in re.split(r"[`,; ]+", shown), (name, parameter.opts, default)


def test_figures_of_the_page_on_faces(folder, monkeypatch, capfd):
    random = np.random.default_rng(1)
    people = 100 + 10 * (0.7 * random.normal(size=(1000, 1)) + 0.7 * random.normal(size=(1000, 40)))
    np.save("people.npy", people)
    np.save("probes.npy", people[[3, 141, 592]] + random.normal(0, 0.2, (3, 40)))
    call = caller(capfd, monkeypatch)
    run = call("faces", "probes.npy", "--against", "people.npy", "-o", "found.csv", "--json", "--quiet").json()
    assert (run["plan"]["functions"], run["plan"]["threshold"], round(100 * run["share"], 2)) == (3, 21, 0.13)
    for noise, stated in ((0.02, 1.0), (0.08, 0.84), (0.15, 0.37)):
        again = people + random.normal(size=people.shape) * noise * people.std(axis=0)
        found = la.faces(again, people, threshold=1, k=1000)  # so that everybody who is compared is a match
        share = np.mean(np.asarray(found["left"]) == np.asarray(found["right"])) * found.num_rows / len(people)
        assert abs(share - stated) < 0.05, (noise, share)


def test_figures_of_the_page_on_fingerprints():
    table = re.findall(
        r"^\| ([\d,]+) \| ([\d.]+)% \| ([\d.]+)% \|$", (DOCS / "fingerprints.md").read_text("utf-8"), re.M
    )
    assert len(table) == 4
    for squares, negatives, positives in table:
        rates = exact_rates(int(squares.replace(",", "")))
        assert [round(100 * rate, 1) for rate in rates] == [float(negatives), float(positives)]
