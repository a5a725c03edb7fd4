import numpy as np
import pytest

from lookalike.linkage.scoring.capture import estimate_recall, estimate_total


def search(draw, total, first, second, third):
    """Which of so many matches each of three independent searches finds; those of none are not seen."""
    a, b, c = (draw.random(total) < chance for chance in (first, second, third))
    return (a | 2 * b)[a | b | c].astype(np.uint8)


@pytest.mark.parametrize("shares", [(0.9, 0.8, 0.0), (0.6, 0.5, 0.5), (0.97, 0.99, 0.9), (0.3, 0.95, 0.0)])
def test_the_interval_holds_the_true_recall(shares):
    draw, runs, total = np.random.default_rng(1), 400, 2_000
    held, errors = 0, []
    for _ in range(runs):
        groups = search(draw, total, *shares)
        recall, low, high = estimate_recall(groups, np.ones(len(groups)))
        assert 0 <= low <= recall <= high <= 1
        held += low <= len(groups) / total <= high
        errors.append(recall - len(groups) / total)
    assert held >= 0.95 * runs - 3 * (runs * 0.95 * 0.05) ** 0.5
    assert abs(np.mean(errors)) < 0.003


def test_probabilities_count_as_parts_of_matches():
    """Unlikely pairs that one group alone brings are no evidence that the other misses matches."""
    draw = np.random.default_rng(2)
    groups = search(draw, 5_000, 0.9, 0.8, 0.0)
    false = draw.integers(1, 3, 50_000).astype(np.uint8)
    likely, unlikely = np.full(len(groups), 0.999), np.full(len(false), 1e-5)
    recall, _, _ = estimate_recall(np.concatenate([groups, false]), np.concatenate([likely, unlikely]))
    assert recall == pytest.approx(0.98, abs=0.01)


def test_searches_that_miss_the_same_matches_overestimate_the_recall():
    """The assumption, said in the docstring: a fifth that is hard for both stays unseen."""
    draw = np.random.default_rng(3)
    easy = search(draw, 8_000, 0.95, 0.95, 0.0)
    hard = search(draw, 2_000, 0.1, 0.1, 0.0)
    groups = np.concatenate([easy, hard])
    recall, _, _ = estimate_recall(groups, np.ones(len(groups)))
    assert recall > len(groups) / 10_000 + 0.05


def test_more_matches_make_the_interval_narrower():
    def width(times):
        groups = np.repeat(np.array([3, 1, 2], np.uint8), np.array([72, 18, 8]) * times)
        _, low, high = estimate_recall(groups, np.ones(len(groups)))
        return high - low

    assert width(100) < 0.2 * width(1)


def test_nothing_is_known_without_a_common_match():
    assert estimate_recall(np.empty(0, np.uint8), np.empty(0)) == (0.0, 0.0, 1.0)
    assert estimate_recall(np.array([1, 1, 2], np.uint8), np.ones(3))[1:] == (0.0, 1.0)
    for least in (1e-3, 1e-6, 1e-9, 1e-12, 1e-16, 1e-300):  # hardly a match at all
        recall, low, high = estimate_recall(np.array([1, 2, 3], np.uint8), np.full(3, least))
        assert 0 <= low <= recall <= high <= 1
        assert low < 0.1
        assert high == 1


def test_few_matches_that_both_found_prove_little():
    recall, low, high = estimate_recall(np.full(3, 3, np.uint8), np.ones(3))
    assert (recall, high) == (1.0, 1.0)
    assert low < 0.9


def test_the_lecture_of_fish():
    """Mark 100, catch 60 of which 20 are marked: about 3 x 100 in the pond."""
    assert estimate_total(100, 60, 20) == pytest.approx(292.4, abs=0.05)
