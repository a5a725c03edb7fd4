"""What MkDocs cannot do by itself: pages from files outside `docs/`, generated references, and links between them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from commands import command_pages
from notebooks import lessons, notebook_files
from python_names import python_pages

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks/scripts.md",
    "benchmarks/results/peers.md": "benchmarks/peers.md",
    "benchmarks/results/methods.md": "benchmarks/methods.md",
    "benchmarks/results/records.md": "benchmarks/records.md",
    "benchmarks/results/index.md": "benchmarks/index-results.md",
    "benchmarks/results/scale.svg": "images/scale.svg",
    "src/lookalike/run.schema.json": "reference/run.schema.json",
}
"""Files of the repository that are part of the site, and where they are there."""
ELSEWHERE = {"README.md": "README.md", "docs/decisions": "decisions/README.md"}
"""Other places of the repository, and what stands for them on the site."""
GENERATED = (
    "The website built by `make docs` also contains a reference of every command and every Python function.",
    "Generated from the code: [every command](reference/commands.md), [every Python function](reference/python.md) and "
    "[every family](reference/families.md).",
)
"""What the first page says of pages that are on the site alone, and what it says there."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```|~~~.*?^~~~)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    generated = {**command_pages(), **python_pages(), **notebook_files(), "decisions/README.md": decisions_page()}
    for place, text in generated.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    """Let links lead to pages of the site, and let Python sessions be coloured as such."""
    sources = {place: source for source, place in OUTSIDE.items()}
    here = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    known = {file.src_uri for file in files}

    def lead(match: re.Match[str]) -> str:
        return _lead(match, posixpath.dirname(here), page.file.src_uri, known)

    if page.file.src_uri in {f"course/{lesson.name}" for lesson in lessons()}:
        title, _, rest = markdown.partition("\n")
        name = posixpath.basename(page.file.src_uri).replace(".md", ".ipynb")
        markdown = f"{title}\n\n[Download as a notebook]({name}){{ .md-button }}\n{rest}"
    markdown = markdown.replace(*GENERATED)
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts).replace("```python\n>>>", "```pycon\n>>>")


def on_page_content(html: str, **_: Any) -> str:
    """Keep figures in tables and names of options on one line, and let the long names of tests break."""
    html = re.sub(r"<td([^>]*)>([^<]{0,16}\d[^<]{0,16})</td>", _short, html)
    html = re.sub(r"<code>([^<]*--[^<]*)</code>", _whole, html)
    return re.sub(r"(<code>[\w/]+\.py::)", r"\1<wbr>", html)


def _whole(match: re.Match[str]) -> str:
    """Code in which a line cannot end within `--an-option`."""
    return "<code>" + re.sub(r"--[\w-]+", r'<span class="whole">\g<0></span>', match[1]) + "</code>"


def _short(match: re.Match[str]) -> str:
    place, text = match.groups()
    return f'<td class="short"{place}>{text}</td>' if len(text) <= 16 else match.group(0)


def _lead(match: re.Match[str], folder: str, page: str, known: set[str]) -> str:
    """One link of a page: to the site if its target is there, without link if it is a file of the repository alone."""
    image, text, target = match.groups()
    path, _, anchor = target.partition("#")
    if ":" in target or not path:
        return match.group(0)
    there = posixpath.normpath(posixpath.join(folder, path))
    place = OUTSIDE.get(there) or ELSEWHERE.get(there) or there.removeprefix("docs/")
    if place in known:
        way = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f"{image}[{text}]({way}{'#' + anchor if anchor else ''})"
    if not (ROOT / there).exists():
        raise PluginError(f"{page}: {target} does not exist")
    return f"{text} (`{there}`)" if text.strip("`") != there else f"`{there}`"


def decisions_page() -> str:
    """A list of all decisions, by their own headings."""
    rows = []
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        title = path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        rows.append(f"- [{title}]({path.name})")
    return "# Decisions\n\nWhy things are the way they are, half a page each.\n\n" + "\n".join(rows) + "\n"
