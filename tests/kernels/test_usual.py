"""The kernels that a first run compiles in advance are those that it calls."""

from __future__ import annotations

import pytest

import usual
from lookalike.kernels.compile import MODE
from lookalike.kernels.pack import provide
from lookalike.kernels.pack.usual import LIST, usual_units

pytestmark = pytest.mark.skipif(MODE != "pack", reason="kernels are compiled by Numba in this process")


def test_the_list_is_what_small_jobs_call(tmp_path):
    listed = sorted(LIST.read_text("ascii").splitlines())
    assert listed == sorted(usual.lines(usual.record(tmp_path))), "run tests/support/usual.py"


def test_only_kernels_that_exist_are_listed():
    listed = usual_units(("dedup exact", "dedup lsh", "pairs exact", "neighbors", "link", "link person"))
    assert set(listed) <= set(provide.all_units())
    assert "neighbors.find_nearest.0" in listed
    assert "agreement.person_levels.0" in listed
    assert "agreement.date_levels.0" not in listed


def test_units_are_listed_by_job():
    assert usual_units(()) == []
    assert not set(usual_units(("neighbors",))) & set(usual_units(("link date",)))
