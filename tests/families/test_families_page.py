"""The examples of the pages on families and on the lecture run as they stand, and their pictures exist."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["families.md", "lecture.md"])
def test_examples_run_as_they_stand(page):
    told: list[str] = []
    text = (DOCS / page).read_text("utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner(verbose=False).run(examples, out=told.append)
    assert result.attempted > 10
    assert not result.failed, "".join(told)


@pytest.mark.parametrize("page", ["families.md", "lecture.md"])
def test_pictures_and_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)\)", (DOCS / page).read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (DOCS / target).is_file()] == []
