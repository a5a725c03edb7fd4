"""The generated pairs of sources have the sizes and matches that they should have."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from sources import SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_sources_share_what_they_should(name):
    make = SOURCES[name][0]
    case = make((60, 40), 0.5, 1)
    assert case.right is not None
    assert (len(case.left), len(case.right), len(case.truth)) == (60, 40, 20)
    assert set(case.fields.split(",")) <= set(case.left.column_names) & set(case.right.column_names)
    assert make((60, 40), 0.5, 1).right.equals(case.right)
    assert not make((60, 40), 0.0, 1).truth
