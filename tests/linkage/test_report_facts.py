"""What the report of a linking run shows, compared with a sort of all pairs."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.report_facts import _around
from lookalike.linkage.tables import RecordTable


@given(st.lists(st.integers(-4, 4) | st.floats(-5, 5), max_size=60), st.integers(-5, 5) | st.just(np.inf))
def test_the_pairs_next_to_the_cut_are_shown(scores, cut):
    """By score, ties in input order, whatever the number of pairs examined at a time."""
    score = np.array(scores, np.float64)
    order = np.argsort(score, kind="stable")
    at = int(np.searchsorted(score[order], cut))
    assert _around(score, cut, shown=3, step=7).tolist() == order[max(0, at - 3) : at + 3].tolist()


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.large_string(), pa.float64()])
@given(data=st.data())
def test_repeated_ids_are_counted(kind, data):
    numbers = data.draw(st.lists(st.integers(10, 30)) | st.lists(st.integers(10, 30), unique=True).map(sorted))
    ids = pa.array(numbers).cast(kind)
    assert RecordTable("left", pa.table({}), ids).repeated_ids() == len(numbers) - len(set(numbers))


def test_repeated_uuids_are_counted():
    ids = pa.array([bytes([number]) * 16 for number in (1, 2, 1)], pa.uuid())
    assert RecordTable("left", pa.table({}), ids).repeated_ids() == 1
