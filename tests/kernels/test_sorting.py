import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.sorting import insertion_sort, sort_stretch


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**64 - 1), max_size=200), st.data())
def test_a_stretch_is_sorted_and_the_rest_left_alone(values, data):
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    want = values[:start] + sorted(values[start:end]) + values[end:]
    for sort in (sort_stretch, insertion_sort):
        array = np.array(values, np.uint64)
        sort(array, start, end)
        assert array.tolist() == want
