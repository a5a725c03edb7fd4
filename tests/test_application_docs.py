"""The pages on applications: every example runs, every picture can be drawn and is there."""

import doctest
import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["faces", "fingerprints", "hamming-lsh"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page):
    done = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False)
    assert done.attempted > 3
    assert done.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_the_picture_can_be_drawn_and_is_shown(page, tmp_path):
    place = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    pictures = importlib.util.module_from_spec(place)
    place.loader.exec_module(pictures)
    pictures.PICTURES = {page: pictures.PICTURES[page]}
    (drawn,) = pictures.draw(tmp_path)
    assert drawn.stat().st_size > 10_000
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert f"(images/{page}.svg)" in text
    assert (DOCS / "images" / f"{page}.svg").stat().st_size > 10_000
