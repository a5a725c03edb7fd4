"""The lessons of the course as Jupyter notebooks: the text and code of a page, with what the code printed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import nbformat
from nbformat import v4

COURSE = Path(__file__).parents[1] / "docs" / "course"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
DETAILS = re.compile(r"</?details[^>]*>\n|<summary>(\w+)</summary>\n")


def lessons() -> list[Path]:
    """The pages of the course, in order."""
    return sorted(COURSE.glob("[0-9]*.md"))


def notebook_files() -> dict[str, str]:
    """Each notebook as text, by its place on the site."""
    return {f"course/{page.stem}.ipynb": nbformat.writes(notebook(page.read_text("utf-8"))) for page in lessons()}


def notebook(page: str) -> nbformat.NotebookNode:
    """A page as a notebook. Links to other pages keep their text alone, since a notebook travels without them."""
    page = re.sub(r"(?<!!)\[([^\]]+)\]\((?!http)[^)]*\)", r"\1", page)
    page = DETAILS.sub(lambda match: f"## {match[1]}\n" if match[1] else "", page)
    cells, end = [], 0
    for match in BLOCK.finditer(page):
        cells += _markdown(page[end : match.start()])
        cells += _python(match[2]) if match[1] == "python" else [_console(match[2])]
        end = match.end()
    made = v4.new_notebook(cells=[*cells, *_markdown(page[end:])])
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"  # else it is random, and the site differs from build to build
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _markdown(text: str) -> list[nbformat.NotebookNode]:
    return [v4.new_markdown_cell(text.strip())] if text.strip() else []


def _python(session: str) -> list[nbformat.NotebookNode]:
    """A cell for each part of a session that ends with something printed."""
    cells, source = [], ""
    for example in doctest.DocTestParser().get_examples(session):
        source += example.source
        if example.want:
            cells.append(_code(source, example.want))
            source = ""
    return [*cells, _code(source, "")] if source else cells


def _console(session: str) -> nbformat.NotebookNode:
    parts = [part.partition("\n") for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]]
    return _code("".join(f"!{command}\n" for command, _, _ in parts), "".join(output for _, _, output in parts))


def _code(source: str, printed: str) -> nbformat.NotebookNode:
    outputs = [v4.new_output("stream", name="stdout", text=printed)] if printed else []
    return v4.new_code_cell(source.rstrip("\n"), outputs=outputs)
