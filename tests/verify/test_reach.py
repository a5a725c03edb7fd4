from fractions import Fraction

import pytest

from lookalike.verify.measures import Measure
from reference import exact


@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine", "containment", "overlap"])
@pytest.mark.parametrize("threshold", ["0.55", "2/3", "0.9", "1"])
def test_sizes_reach_the_threshold_if_the_smaller_set_lies_in_the_larger(measure, threshold):
    threshold = "7" if measure == "overlap" else threshold
    for small in range(1, 25):
        for large in range(small, 25):
            best = exact(measure, set(range(small)), set(range(large)))
            close = abs(float(best) - float(Fraction(threshold))) < 1e-12
            reached = close if measure == "cosine" and close else best >= Fraction(threshold)
            assert Measure.parse(measure, threshold).can_reach(small, large) == reached
