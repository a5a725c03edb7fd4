"""The worked examples of the lecture's methods for high similarity."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.candidates.exact import join_exact
from lookalike.errors import UsageError
from lookalike.kernels.sets import JACCARD
from lookalike.lecture.indexes import (
    buckets_of,
    buckets_to_probe,
    last_position,
    partner_lengths,
    prefix_length,
    suffixes_match,
)
from lookalike.types import Numbered

FIFTH, TENTH = Fraction(1, 5), Fraction(1, 10)


def symbols(buckets):
    return "".join(bucket[0] for bucket in buckets)


def test_lengths_between_90_and_111_percent():
    assert partner_lengths(100, TENTH) == range(90, 112)


def test_strings_indexed_under_their_first_symbols():
    assert symbols(buckets_of("abcdef", FIFTH, "prefix")) == "ab"
    assert symbols(buckets_of("acdfg", FIFTH, "prefix")) == "ac"
    assert symbols(buckets_of("bcde", FIFTH, "prefix")) == "b"
    assert symbols(buckets_to_probe("cdef", FIFTH, "prefix")) == "c"


def test_s_and_t_share_a_bucket_but_their_positions_show_that_they_differ():
    s, t = "acdefghijk", "bcdefghijk"
    assert symbols(buckets_of(s, TENTH, "prefix")) == "ac"
    assert symbols(buckets_of(t, TENTH, "prefix")) == "bc"
    assert Fraction(len({*s} & {*t}), len({*s} | {*t})) == Fraction(9, 11) < 1 - TENTH
    assert not set(buckets_to_probe(s, TENTH, "position")) & set(buckets_of(t, TENTH, "position"))
    assert buckets_of(s, TENTH, "suffix") == [("a", 1, 9), ("c", 2, 8)]


def test_six_buckets_of_the_position_example():
    probe = "adegjkmprz"
    assert prefix_length(len(probe), FIFTH) == 3
    assert [last_position(10, i, FIFTH) for i in (1, 2, 3)] == [3, 2, 1]
    want = [("a", 1), ("a", 2), ("a", 3), ("d", 1), ("d", 2), ("e", 1)]
    assert buckets_to_probe(probe, FIFTH, "position") == want


def test_buckets_of_the_suffix_example():
    assert prefix_length(5, FIFTH) == 2
    assert buckets_of("abcde", FIFTH, "suffix") == [("a", 1, 4), ("b", 2, 3)]
    want = [("a", 1, 3), ("a", 1, 4), ("a", 1, 5), ("a", 2, 4), ("b", 1, 3)]
    assert buckets_to_probe("abcde", FIFTH, "suffix") == want
    assert suffixes_match(1, 4, 1, 3, FIFTH)
    assert not suffixes_match(1, 4, 1, 2, FIFTH)


def test_an_index_that_the_lecture_does_not_have():
    with pytest.raises(UsageError, match="position"):
        buckets_of("abc", FIFTH, "infix")


strings = st.sets(st.sampled_from("abcdefghijkl"), min_size=1).map(lambda chosen: "".join(sorted(chosen)))


@pytest.mark.parametrize("index", ["prefix", "position", "suffix"])
@given(st.lists(strings, min_size=2, max_size=4), st.sampled_from([TENTH, FIFTH, Fraction(1, 3), Fraction(1, 2)]))
def test_no_near_string_is_outside_the_probed_buckets(index, chosen, distance):
    for s in chosen:
        for t in chosen:
            if 1 - Fraction(len({*s} & {*t}), len({*s} | {*t})) <= distance:
                assert set(buckets_to_probe(s, distance, index)) & set(buckets_of(t, distance, index))
                assert len(t) in partner_lengths(len(s), distance)


@given(st.lists(strings, min_size=2, max_size=8), st.sampled_from([TENTH, FIFTH, Fraction(1, 3)]))
def test_the_fast_join_finds_what_the_buckets_hold(chosen, distance):
    chosen.sort(key=len)
    indptr = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
    tokens = np.array([ord(symbol) - ord("a") for string in chosen for symbol in string], np.uint32)
    similarity = 1 - distance
    chunks = join_exact(Numbered(indptr, tokens, 12, 0), (JACCARD, similarity.numerator, similarity.denominator))
    got = {pair for chunk in chunks for pair in zip(chunk.left.tolist(), chunk.right.tolist())}
    for j, t in enumerate(chosen):
        for i, s in enumerate(chosen[:j]):
            if (i, j) in got:
                assert set(buckets_to_probe(s, distance)) & set(buckets_of(t, distance))
            else:
                assert 1 - Fraction(len({*s} & {*t}), len({*s} | {*t})) > distance
