"""Weights of a logistic regression: the minimum within the bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from lookalike.linkage.scoring.logistic import Pull, fit_logistic


@pytest.mark.parametrize("most", [np.inf, 0.4])
def test_the_minimum_is_that_of_a_general_minimiser(most):
    draw = np.random.default_rng(5)
    table = np.c_[np.ones(300), draw.normal(size=(300, 4))]
    aim = (table @ np.array([0.3, 2, -1, 0.5, 0]) + draw.normal(size=300) > 0).astype(float)
    belief, stiffness = draw.random(300), 0.01

    def loss(values):
        score = table @ values
        return belief @ (np.logaddexp(0, score) - aim * score) + stiffness / 2 * (values**2).sum()

    limits = np.full(5, most)
    found = fit_logistic(table, aim, belief, -limits, limits, Pull(np.zeros(5), np.full(5, stiffness)))
    bound = None if most == np.inf else most
    wanted = minimize(loss, np.zeros(5), method="L-BFGS-B", bounds=[(None if bound is None else -bound, bound)] * 5)
    assert np.abs(found).max() <= most
    assert loss(found) == pytest.approx(wanted.fun, rel=1e-6)
    assert found == pytest.approx(wanted.x, abs=0.01)
