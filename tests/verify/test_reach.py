from fractions import Fraction

import numpy as np
import pytest

from lookalike.errors import UsageError
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


@pytest.mark.parametrize("measure", ["euclidean", "hamming"])
@pytest.mark.parametrize("threshold", [0, "0", 0.0])
def test_a_largest_distance_of_0_is_0(measure, threshold):
    parsed = Measure.parse(measure, threshold)
    assert (parsed.threshold, parsed.written, parsed.of_vectors) == (0, 0, True)
    assert parsed.arguments[1:] == (0, 1)
    assert parsed.reached_by(np.array([0.0, 1e-9, 1.0])).tolist() == [True, False, False]


@pytest.mark.parametrize(("measure", "threshold"), [("euclidean", -1), ("hamming", -1), ("hamming", 0.5)])
def test_distances_that_make_no_sense_are_refused(measure, threshold):
    with pytest.raises(UsageError, match="largest distance"):
        Measure.parse(measure, threshold)
