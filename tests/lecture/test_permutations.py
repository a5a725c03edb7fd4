"""The minhash examples of the lecture notes, number by number."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.lecture.permutations import permutation_signatures, universal_signatures


def columns(*rows: str) -> list[set[int]]:
    """The sets that a printed boolean matrix shows: a set of row numbers per column."""
    return [{row for row, bits in enumerate(rows) if bits.split()[c] == "1"} for c in range(len(rows[0].split()))]


def jaccard(left: set[int], right: set[int]) -> Fraction:
    return Fraction(len(left & right), len(left | right))


def agreement(signatures: np.ndarray, left: int, right: int) -> float:
    return float(np.mean(signatures[left] == signatures[right]))


def orders_of(universe: list[str], *orders: str) -> list[list[int]]:
    """Positions of the universe's rows in orders that are written as rows in sequence."""
    return [[order.split().index(row) for row in universe] for order in orders]


FIVE_ROWS = columns("1 0 0 1", "0 0 1 0", "0 1 0 1", "1 0 1 1", "0 0 1 0")


def test_universal_hashing_by_x_plus_1_and_3x_plus_1_mod_5():
    signatures = universal_signatures(FIVE_ROWS, [1, 3], [1, 1], 5)
    assert signatures.T.tolist() == [[1, 3, 0, 1], [0, 2, 0, 0]]
    assert signatures.dtype == np.int64
    # Estimates from two hashes, and the truth beside them.
    assert [agreement(signatures, 0, other) for other in (1, 2, 3)] == [0, 1 / 2, 1]
    assert [jaccard(FIVE_ROWS[0], FIVE_ROWS[other]) for other in (1, 2, 3)] == [
        0,
        Fraction(1, 4),
        Fraction(2, 3),
    ]


def test_universal_hashing_row_by_row():
    infinity = -1  # the slides write infinity where a column has had no 1 yet; here that is the empty set
    expected = [
        [[infinity] * 4, [infinity] * 4],
        [[1, infinity, infinity, 1], [1, infinity, infinity, 1]],
        [[1, infinity, 2, 1], [1, infinity, 4, 1]],
        [[1, 3, 2, 1], [1, 2, 4, 1]],
        # The slides print this table last, after the final one: it is the state before row 4.
        [[1, 3, 2, 1], [0, 2, 0, 0]],
        [[1, 3, 0, 1], [0, 2, 0, 0]],
    ]
    for seen, table in enumerate(expected):
        so_far = [{row for row in members if row < seen} for members in FIVE_ROWS]
        assert universal_signatures(so_far, [1, 3], [1, 1], 5).T.tolist() == table


def test_first_row_in_the_order_beadc():
    orders = orders_of(list("abcde"), "b e a d c")
    signatures = permutation_signatures(FIVE_ROWS, orders)
    first = ["beadc"[position] for position in signatures[:, 0]]
    assert first[:2] == ["a", "c"]  # the two that the slide names
    assert first == ["a", "c", "b", "a"]


SEVEN_ROWS = columns("1 0 1 0", "1 0 0 1", "0 1 0 1", "0 1 0 1", "0 1 0 1", "1 0 1 0", "1 0 1 0")
SEVEN_ORDERS = np.array([[2, 4, 3], [3, 2, 4], [7, 1, 7], [6, 3, 2], [1, 6, 6], [5, 7, 1], [4, 5, 5]]).T


def test_three_permutations_of_seven_rows():
    signatures = permutation_signatures(SEVEN_ROWS, SEVEN_ORDERS)
    assert signatures.T.tolist() == [[2, 1, 2, 1], [2, 1, 4, 1], [1, 2, 1, 2]]
    pairs = [(0, 2), (1, 3), (0, 1), (2, 3)]
    assert [float(jaccard(SEVEN_ROWS[i], SEVEN_ROWS[j])) for i, j in pairs] == [0.75, 0.75, 0, 0]
    assert [round(agreement(signatures, i, j), 2) for i, j in pairs] == [0.67, 1.00, 0, 0]


def test_the_same_signatures_as_row_numbers():
    signatures = permutation_signatures(SEVEN_ROWS, SEVEN_ORDERS)
    rows = [[int(np.flatnonzero(order == v)[0]) + 1 for v in row] for order, row in zip(SEVEN_ORDERS, signatures.T)]
    assert rows == [[1, 5, 1, 5], [2, 3, 1, 3], [6, 4, 6, 4]]


def test_elements_1_to_6_in_the_order_256143():
    sets = [{1, 2, 5}, {3}, {2, 3, 4, 6}, {1, 4, 6}]
    order = "2 5 6 1 4 3"
    signatures = permutation_signatures(sets, orders_of(list("0123456"), f"{order} 0"))
    assert [int(order.split()[position]) for position in signatures[:, 0]] == [2, 3, 2, 6]


NADAL, NADIA = {"na", "ad", "da", "al"}, {"na", "ad", "di", "ia"}
SHINGLES = ["na", "ad", "da", "al", "di", "ia"]


def numbers(shingles: set[str]) -> set[int]:
    return {SHINGLES.index(shingle) for shingle in shingles}


def test_nadal_and_nadia_in_the_order_di_da_ia_na_ad_al():
    order = "di da ia na ad al"
    signatures = permutation_signatures([numbers(NADAL), numbers(NADIA)], orders_of(SHINGLES, order))
    assert [order.split()[position] for position in signatures[:, 0]] == ["da", "di"]


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [
        (numbers(NADAL), numbers(NADIA), Fraction(2, 6)),
        # C1 = 10111, C2 = 10011: similarity 3/4, distance 1/4.
        ({0, 2, 3, 4}, {0, 3, 4}, Fraction(3, 4)),
        # The notes count 9 elements in the union and say 3/9, but 4 is in neither set: the union has 8.
        ({0, 1, 2, 5, 6}, {0, 2, 3, 5, 7, 9}, Fraction(3, 8)),
        # "I love chocolate and pizza", "I love white chocolate": the first five words against four, 3 shared.
        ({0, 1, 2, 3, 4}, {0, 1, 2, 5}, Fraction(3, 6)),
    ],
)
def test_over_all_permutations_signatures_agree_as_often_as_jaccard_says(left, right, similarity):
    # The minhash property itself, without chance: every order of the union counts once.
    union = sorted(left | right)
    assert jaccard(left, right) == similarity
    sets = [{union.index(x) for x in members} for members in (left, right)]
    orders = np.array(list(permutations(range(len(union)))))
    signatures = permutation_signatures(sets, orders)
    agreeing = int((signatures[0] == signatures[1]).sum())
    assert Fraction(agreeing, len(orders)) == similarity


small_sets = st.lists(st.sets(st.integers(0, 10**12), max_size=8), max_size=5)
hashes = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), max_size=4)


@given(small_sets, hashes, st.integers(1, 2**31))
def test_universal_signatures_agree_with_plain_python(sets, pairs, modulus):
    multipliers, offsets = [a for a, _ in pairs], [b for _, b in pairs]
    signatures = universal_signatures(sets, multipliers, offsets, modulus)
    assert signatures.shape == (len(sets), len(pairs))
    for members, row in zip(sets, signatures.tolist()):
        assert row == [min(((a * x + b) % modulus for x in members), default=-1) for a, b in pairs]


def test_empty_sets_have_minus_1():
    assert universal_signatures([set(), {1}], [1, 2], [0, 0], 7).tolist() == [[-1, -1], [1, 2]]
    assert permutation_signatures([set(), {1}], [[1, 0], [0, 1]]).tolist() == [[-1, -1], [0, 1]]


def test_wrong_arguments_are_usage_errors():
    with pytest.raises(UsageError, match="2 multipliers and 1 offsets"):
        universal_signatures([{1}], [1, 2], [0], 5)
    for modulus in (0, 2**31 + 1):
        with pytest.raises(UsageError, match="modulus must be"):
            universal_signatures([{1}], [1], [0], modulus)
    with pytest.raises(UsageError, match="non-negative integers, not -3"):
        universal_signatures([{-3}], [1], [0], 5)
    with pytest.raises(UsageError, match="no repeated or negative positions"):
        permutation_signatures([{0}], [[0, 0, 1]])
    with pytest.raises(UsageError, match="element 3 is outside the universe of 3 rows"):
        permutation_signatures([{3}], [[0, 1, 2]])
    with pytest.raises(UsageError, match="non-negative integers, not -1"):
        permutation_signatures([{-1}], [[0, 1, 2]])
