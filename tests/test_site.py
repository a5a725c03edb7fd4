"""The documentation site builds without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import ast
import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser

import lookalike as la
from browsing import Visit, browser
from calling import wait_for
from lookalike import families
from lookalike.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src", "object": "data"}
"""What a browser fetches by itself, and where it is named."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built in strict mode: a warning ends the build. Test processes of one run share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(partial)]
            environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
            assert done.returncode == 0, done.stderr
            partial.rename(folder)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: LexborHTMLParser(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def named(page: LexborHTMLParser) -> set[str]:
    """The anchors of a page."""
    return {node.attributes["id"] for node in page.css("[id]")}


def test_links_and_anchors_lead_somewhere(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the root of a server
            continue
        for target in (node.attributes["href"] or "" for node in page.css("a[href]")):
            parts = urlsplit(target)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            anchor = unquote(parts.fragment)
            lost = not there.exists() or (anchor and there in pages and anchor not in named(pages[there]))
            broken += [(path.name, target)] if lost else []
    assert broken == []


def test_nothing_is_loaded_from_another_host(site, pages):
    loaded = [
        (path, node.attributes.get(LOADED[tag]) or "")
        for path, page in pages.items()
        for tag in LOADED
        for node in page.css(tag)
        if node.attributes.get("rel") not in ("canonical", "next", "prev")
    ]
    assert len(loaded) > 10 * len(pages)
    assert {one for _, one in loaded if urlsplit(one).netloc} == set()
    here = [path.parent / urlsplit(one).path for path, one in loaded if path.name != "404.html"]
    assert {path for path in here if not path.exists()} == set()
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*", styles) == []


def test_nothing_of_the_text_is_lost_between_markdown_and_page(site, pages):
    """Marks that Markdown reads differently here than elsewhere: lists, `{...}`, and bars in tables."""
    for path, page in pages.items():
        assert [text for node in page.css("article p") if "\n- " in (text := node.html)] == []
        assert "\\|" not in page.css_first("article, body").text(), path
    lost = []
    for source in (ROOT / "docs").rglob("*.md"):
        prose = re.sub(r"^```.*?^```|`[^`]*`", "", source.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        place = source.relative_to(ROOT / "docs").with_suffix(".html")
        shown = pages[site / place.with_name("index.html" if place.stem == "README" else place.name)].body.text()
        lost += [(source.name, mark) for mark in re.findall(r"\{[^}\n]*\}", prose) if mark not in shown]
        lost += [(source.name, line) for line in re.findall(r"[^.:\n]\n +(\d+\. .*)", prose)]
    assert lost == []


def test_copied_examples_have_no_prompts_or_output(site):
    with browser() as running, Visit(running, permissions=["clipboard-read", "clipboard-write"]) as visit:
        visit.page.goto((site / "getting-started.html").as_uri())
        copied = []
        for number in (4, 5):  # a session in the shell, and one in Python
            before = visit.page.evaluate("navigator.clipboard.readText()")
            visit.page.locator("button[data-md-type=copy]").nth(number).click()
            wait_for(lambda: visit.page.evaluate("navigator.clipboard.readText()") != before)  # noqa: B023
            copied.append(visit.page.evaluate("navigator.clipboard.readText()").split("\n"))
        assert [line for line in copied[0] if line][1:] == ["ls clean", "wc -l < clean/kept/texts.jsonl"]
        assert copied[1][0] == "import pyarrow.parquet as pq"
        assert visit.said == []
        assert {urlsplit(address).scheme for address in visit.asked} <= {"file", "blob"}


def test_the_search_index_is_part_of_the_site(site):
    assert "near-duplicate" in (site / "search" / "search_index.js").read_text("utf-8")


def test_the_reference_has_every_command_and_every_name(site):
    first = (site / "index.html").read_text("utf-8")
    assert [name for name in ("commands", "python", "families") if f'href="reference/{name}.html"' not in first] == []
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    assert [name for name in COMMANDS if f'id="lookalike-{name}"' not in commands] == []
    python = (site / "reference" / "python.html").read_text("utf-8")
    assert [name for name in la.__all__ if f'id="lookalike.{name}"' not in python] == ["__version__"]
    leaves = (site / "reference" / "families.html").read_text("utf-8")
    assert [name for name in families.__all__ if f'id="lookalike.families.{name}"' not in leaves] == []


def test_notebooks_of_the_course_run(site, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    places = sorted((site / "course").glob("*.ipynb"))
    assert len(places) == 6
    for place in places:
        notebook, names = nbformat.read(place, as_version=4), {}
        nbformat.validate(notebook)
        for cell in (one for one in notebook.cells if one.cell_type == "code" and not one.source.startswith("!")):
            *steps, last = ast.parse(cell.source).body
            shown = isinstance(last, ast.Expr)
            exec(compile(ast.Module(steps if shown else [*steps, last], []), place.name, "exec"), names)
            value = eval(compile(ast.Expression(last.value), place.name, "eval"), names) if shown else None
            printed = capsys.readouterr().out + ("" if value is None else f"{value!r}\n")
            assert printed == "".join(output.text for output in cell.outputs), cell.source


def entries(nav: object) -> set[str]:
    if isinstance(nav, str):
        return {nav}
    return set().union(*(entries(one) for one in (nav.values() if isinstance(nav, dict) else nav)))


def test_every_page_is_in_the_navigation():
    text = re.sub(r"!!python/\S+ ", "", (ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = entries(yaml.safe_load(text)["nav"])
    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in there if not page.startswith("decisions/")} - listed == set()
