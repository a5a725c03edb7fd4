import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.sorting import insertion_sort, sort_bits, sort_stretch


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**64 - 1), max_size=200), st.data())
def test_a_stretch_is_sorted_and_the_rest_left_alone(values, data):
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    want = values[:start] + sorted(values[start:end]) + values[end:]
    for sort in (sort_stretch, insertion_sort):
        array = np.array(values, np.uint64)
        sort(array, start, end)
        assert array.tolist() == want


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**64 - 1), max_size=200), st.integers(0, 56), st.integers(0, 8))
def test_words_are_sorted_by_some_of_their_bits_and_stay_in_order_otherwise(values, first, passes):
    passes = min(passes, (64 - first) // 8)
    words, other = np.array(values, np.uint64), np.zeros(len(values), np.uint64)
    swapped = sort_bits(words, other, first, passes)
    want = sorted(values, key=lambda value: value >> first & ((1 << 8 * passes) - 1))
    assert (other if swapped else words).tolist() == want
