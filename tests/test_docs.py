"""The examples in the pages on applications run as they stand, in a folder of their own."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from calling import caller

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["baskets.md", "faces.md", "fingerprints.md", "hamming-lsh.md", "kernel.md", "link.md", "news.md", "vectors.md"]
SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run_as_they_stand(page, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text("utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    told = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=told.append)
    assert result.attempted > 3
    assert not result.failed, "".join(told)
    call = caller(capfd, monkeypatch)
    for line in "".join(SHELL.findall(text)).splitlines():
        name, *arguments = shlex.split(line)
        done = call(*arguments)
        assert (name, done.code) == ("lookalike", 0), done.err
        assert len(done.rows()) > ("--json" not in arguments)


@pytest.mark.parametrize("page", PAGES)
def test_pictures_and_links_lead_somewhere(page):
    text = (DOCS / page).read_text("utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert any(target.endswith(".svg") for target in targets)
    assert [target for target in targets if not (DOCS / target).is_file()] == []
