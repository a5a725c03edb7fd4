"""Strings of character numbers, compared with rapidfuzz: all lengths, scripts and kinds of errors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, JaroWinkler, LCSseq

from by_numba import compiled, numba_module
from lookalike.linkage.compare.levels import Comparer
from lookalike.linkage.compare.values import Strings, Values
from lookalike.linkage.fields.columns import Column

kernels = numba_module("strings")

ALPHABETS = ("ab", "abcdefgh 0123", "aé漢語🙂 ")


@st.composite
def two_texts(draw, most):
    """Two texts; the second is often the first with some characters changed, moved or removed."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    one = draw(st.text(alphabet, min_size=1, max_size=most))
    if draw(st.booleans()):
        return one, draw(st.text(alphabet, min_size=1, max_size=most))
    other = one
    for _ in range(draw(st.integers(1, 4))):
        place, length = draw(st.integers(0, len(other))), draw(st.integers(0, 3))
        put_in = draw(st.sampled_from(["", "a", other[place : place + 2][::-1]]))
        other = (other[:place] + put_in + other[place + length :]) or "b"
    return one, other


@compiled
def _compare(chars, offsets, positions, marks, out):
    i, i_stop, j, j_stop = offsets[0], offsets[1], offsets[1], offsets[2]
    out[1] = kernels.long_common_subsequence(chars, i, i_stop, j, j_stop, positions, marks, 0)
    out[7] = kernels.long_common_subsequence(chars, i, i_stop, j, j_stop, positions, marks, (i_stop - i) // 2)
    jaro = kernels.long_jaro(chars, i, i_stop, j, j_stop, marks)
    out[3] = kernels.winkler(chars, i, i_stop, j, j_stop, jaro)
    out[4] = kernels.within_one_edit(chars, i, i_stop, j, j_stop)
    out[5] = kernels.within_two_edits(chars, i, i_stop, j, j_stop)
    if i_stop - i <= 64:
        kernels.note_positions(chars, i, i_stop, positions)
        out[0] = kernels.common_subsequence(chars, j, j_stop, positions)
        if j_stop - j <= 64:
            out[2] = kernels.winkler(
                chars, i, i_stop, j, j_stop, kernels.jaro(chars, i, i_stop, j, j_stop, positions, 0.0)
            )
            out[6] = kernels.jaro(chars, i, i_stop, j, j_stop, positions, 0.8)
        kernels.forget_positions(chars, i, i_stop, positions)


def compared(one: str, other: str) -> list[float]:
    strings = Strings(pa.array([one, other], pa.large_string()))
    positions, marks = np.zeros(4 * strings.alphabet, np.uint64), np.empty(2 * strings.longest, np.uint8)
    out = np.full(8, -1.0)
    _compare(strings.chars, strings.offsets, positions, marks, out)
    assert not positions.any()
    found: list[float] = out.tolist()
    return found


@given(two_texts(90) | two_texts(400))
@example(("a" * 64, "a" * 64))
@example(("a" * 65, "b" + "a" * 64))
@example(("ab" * 64, "ba" * 64))
@example(("ab" * 150, "ba" * 290))
@example(("a" * 256 + "b" * 300, "b" * 300))
@example(("a" * 256 + "b" * 300, "b" * 200))
@example(("a", "b"))
@example(("b" * 63 + "a", "c" * 30 + "a" + "c" * 33))  # just outside the window of Jaro
@example(("b" * 61 + "abb", "c" * 30 + "a" + "c" * 33))  # just inside
@example(("abcdefghij", "abcdefwxyz"))  # reaches 0.8 only by its first four characters
def test_similarities_are_those_of_rapidfuzz(texts):
    one, other = texts
    found = compared(one, other)
    longest, close, edits = LCSseq.similarity(one, other), JaroWinkler.similarity(one, other), OSA.distance(one, other)
    assert found[1] == longest
    assert found[7] == (longest if longest >= len(one) // 2 else 0)
    assert found[3] == pytest.approx(close, abs=1e-12)
    assert found[4] == min(edits, 2)
    assert found[5] == min(edits, 3)
    if len(one) <= 64:
        assert found[0] == longest
        if len(other) <= 64:
            assert found[2] == pytest.approx(close, abs=1e-12)
            if close >= 0.8:  # below 0.8 the result may be 0, otherwise not
                assert found[6] > 0


@given(st.lists(st.text(ALPHABETS[2] + "zy", min_size=1, max_size=30), min_size=1, max_size=5))
def test_characters_are_numbered_in_order(texts):
    strings = Strings(pa.array(["x", *texts], pa.large_string()).slice(1))
    for row, text in enumerate(texts):
        numbers = strings.chars[strings.offsets[row] : strings.offsets[row + 1]].tolist()
        assert len(numbers) == len(text)
        assert max(numbers) < strings.alphabet
        assert all((a < b) == (x < y) for a, x in zip(numbers, text) for b, y in zip(numbers, text))


def test_many_scripts_take_wider_numbers():
    texts = ["".join(chr(code) for code in range(start, start + 300)) for start in (0x4E00, 0x61)]
    strings = Strings(pa.array(texts, pa.large_string()))
    assert strings.chars.dtype == np.uint32
    assert strings.alphabet == 128 + len({char for text in texts for char in text if ord(char) > 127})
    column = Column("name", "person", np.array([0, 1], np.int32), pa.array(["漢" * 3, texts[0]], pa.large_string()))
    assert Comparer(column).compare(np.array([0]), np.array([1])).tolist() == [7]


@given(st.lists(st.lists(st.text("ab09é", min_size=1, max_size=3), min_size=1, max_size=40), min_size=1, max_size=4))
def test_words_are_hashed_distinct_and_put_in_order(rows):
    texts = [" ".join(words) for words in rows]
    values = Values(pa.array(texts, pa.large_string()))
    indptr, hashes = values.words
    known: dict[str, int] = {}
    for row, words in enumerate(rows):
        mine = hashes[indptr[row] : indptr[row + 1]].tolist()
        assert mine == sorted(set(mine))
        assert len(mine) == len(set(words))
        if len(mine) == 1:
            assert known.setdefault(words[0], mine[0]) == mine[0]
        assert sum(word & 1 for word in mine) == sum("0" in word or "9" in word for word in set(words))
    numbers = {char: number for number, char in zip(values.strings.chars.tolist(), "".join(texts))}
    offsets = values.strings.offsets
    for row, words in enumerate(rows):
        ordered = values.ordered[offsets[row] : offsets[row + 1]].tolist()
        assert ordered == [numbers[char] for char in " ".join(sorted(words))]
