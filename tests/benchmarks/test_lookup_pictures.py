"""The pictures of the pages on faces, fingerprints and Hamming LSH can be drawn."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "lookup_pictures.py"


@pytest.mark.parametrize("page", ["faces", "fingerprints", "hamming-lsh"])
def test_the_picture_can_be_drawn(page, tmp_path):
    place = importlib.util.spec_from_file_location("lookup_pictures", SCRIPT)
    script = importlib.util.module_from_spec(place)
    place.loader.exec_module(script)
    script.PICTURES = {page: script.PICTURES[page]}
    (drawn,) = script.draw(tmp_path)
    assert drawn.read_text("utf-8").count("<path") > 50
