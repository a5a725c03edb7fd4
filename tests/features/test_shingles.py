import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.engine.digest import DigestSettings, digest_block
from lookalike.errors import BadDataError, UsageError
from lookalike.features import plain, unicode
from lookalike.features.shingles import Shingling, hash_lists, shingle_texts
from lookalike.features.stopwords import stop_words
from lookalike.features.unicode import UNICODE_VERSION, build_table, folding_table
from lookalike.types import text_arrays
from reference import KNOWN_UNICODE, LATER, fold, shingles, tokens

SPECS = ["word:1", "word:2", "word:5", "char:1", "char:2", "char:9", "stopword:2"]
STOPS = {token for word in stop_words("en") for token in tokens(word)[:1]}

awkward = st.sampled_from(
    [*"aZ09 .,-_\n\t\x00éßﬁＡ½ﷺ…漢字カﾅはงဂក한عΣςİı😀", "é", "ᄒ", "́", "ः", "\u200d", "\ufeff", "\xad", "the", " and "]
)
text = st.lists(awkward | st.characters(exclude_categories=["Cs"]), max_size=150).map("".join)


def kernel_sets(texts, spec, bag=False):
    sets = shingle_texts(pa.array(texts, pa.large_string()), Shingling.parse(spec, bag=bag))
    return [frozenset(sets[i].tolist()) for i in range(len(sets))]


def assert_same_structure(texts, spec, bag=False):
    """Hashes cannot be compared with strings, but sizes and overlaps of sets can."""
    ours = kernel_sets(texts, spec, bag)
    theirs = [shingles(t, spec, bag, STOPS) for t in texts]
    assert [len(s) for s in ours] == [len(s) for s in theirs]
    for i in range(len(texts)):
        for j in range(i):
            assert len(ours[i] & ours[j]) == len(theirs[i] & theirs[j]), (texts[i], texts[j])


@pytest.mark.parametrize("spec", SPECS)
@given(st.lists(text, min_size=1, max_size=4), st.booleans(), st.data())
@settings(max_examples=120)
def test_sets_are_those_of_the_definition(spec, texts, bag, data):
    cut = data.draw(st.integers(0, len(texts[0])))
    texts = [*texts, texts[0][:cut] + texts[0][cut + 1 :], texts[0] * 2]
    assert_same_structure(texts, spec, bag)


@given(text, st.integers(0, 140), st.integers(0, 140))
@settings(max_examples=300)
@example("x" * 64, 0, 0)
@example("é" * 64, 63, 1)
def test_the_place_of_a_64_byte_block_does_not_matter(inner, before, after):
    alone = kernel_sets([inner], "word:2")[0]
    padded = kernel_sets(["y" * before, " " * before + inner + "." * after, "z"], "word:2")[1]
    assert padded == alone


@given(st.text(alphabet="abc XYZ é漢", max_size=80))
def test_case_accents_and_composition_do_not_matter(inner):
    forms = [inner, inner.upper(), unicodedata.normalize("NFD", inner), unicodedata.normalize("NFC", inner)]
    sets = kernel_sets(forms, "word:3")
    assert sets[0] == sets[2] == sets[3] == sets[1]


def test_every_code_point_by_itself():
    codes = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and (c < 0x3400 or c % 11 == 0 or c > 0xF8FF)]
    codes = [c for c in codes if c < 0x20000 or c % 23 == 0]
    texts = [f"a{chr(c)}b" for c in codes]
    for spec in ("word:1", "char:2"):
        sets = shingle_texts(pa.array(texts, pa.large_string()), Shingling.parse(spec))
        wrong = [hex(c) for c, t, n in zip(codes, texts, sets.sizes.tolist()) if n != len(shingles(t, spec))]
        assert not wrong


def test_long_tokens_take_the_same_hash_on_both_paths():
    for length in (1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 200):
        word = "abcdefghij" * 20
        # a dropped accent sends the second through the table
        fast, table = kernel_sets([word[:length], word[: length - 1] + "\u0301" + word[length - 1]], "word:1")
        assert fast == table


BROKEN = {
    b"ab\xffcd": "ab cd",
    b"ab\xc3": "ab",
    b"ab\xe4\xb8": "ab",
    b"\xf0\x9f\x98": "",
    b"\xf5\x80\x80\x80x": "x",
    b"\x80\x80": "",
    b"a\x80\x80b": "a b",
    b"\xed\xa0\x80": "",
    b"a\xed\xa0\x80b": "a b",
}
"""Texts with bytes that begin no whole character, and a text with a gap instead."""


@pytest.mark.parametrize("spec", ["word:1", "char:2"])
@pytest.mark.parametrize("raw", BROKEN)
def test_bytes_that_begin_no_character_are_a_gap(raw, spec):
    assert kernel_sets_of_bytes(raw, spec) == kernel_sets([BROKEN[raw]], spec)[0]


@pytest.mark.parametrize("raw", [*BROKEN, b"ab", b"ab\xe4\xb8cd", b"\xe6\xbc\xa2", b"x" * 63, b"x" * 64])
def test_nothing_outside_the_text_is_read(raw):
    """What follows would complete a character that is cut off, or lengthen the last word."""
    alone = kernel_sets_of_bytes(raw, "char:2")
    for before, after in ((b"z", b"z"), (b"\xc3", b"\xa9"), (b"\xe4\xb8", b"\xad"), (b"\xf0\x9f\x98", b"\x80" * 64)):
        assert kernel_sets_of_bytes(raw, "char:2", before, after) == alone, (before, after)


def kernel_sets_of_bytes(raw, spec, before=b"", after=b""):
    """The set of a text that is a part of a buffer."""
    ends = np.array([len(before), len(before) + len(raw)], np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(before + raw + after)]
    array = pa.Array.from_buffers(pa.large_string(), 1, buffers)
    return frozenset(shingle_texts(array, Shingling.parse(spec))[0].tolist())


def test_the_definition_knows_the_unicode_of_this_python():
    assert unicodedata.unidata_version in KNOWN_UNICODE, "add its new characters to LATER in tests/support/reference.py"
    if unicodedata.unidata_version == UNICODE_VERSION:
        assert {unicodedata.category(chr(code)) for code in LATER} == {"Cn"}


@pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION, reason=f"this Python does not have Unicode {UNICODE_VERSION}"
)
def test_table_is_that_of_the_definition():
    stored, built = folding_table(), build_table()
    for ours, fresh in zip(stored, built):
        assert np.array_equal(ours, fresh)
    assert all(fold(chr(c)) == unicode.fold(chr(c)) for c in range(0x3000))


def test_every_code_point_is_folded_as_defined():
    """Whatever Unicode this Python has."""
    for code in (c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF):
        folded = "".join(piece for piece, _ in plain.pieces(chr(code)))
        if folded != fold(chr(code)):  # a character that is only a gap may be left as it is
            assert not tokens(folded + fold(chr(code))), hex(code)


@given(text, st.sampled_from(SPECS), st.booleans())
def test_plain_shingles_agree_with_the_kernels(inner, spec, bag):
    assert len(plain.shingles(inner, spec, bag=bag)) == len(kernel_sets([inner], spec, bag)[0])


def test_nulls_slices_and_types():
    array = pa.array(["a b", None, "", "c d"])
    for one in (array, array.cast(pa.large_string()), pa.array(["zz", "a b", None, "", "c d"])[1:]):
        assert shingle_texts(one, Shingling("word", 1)).sizes.tolist() == [2, 0, 0, 2]
    assert shingle_texts(pa.array([], pa.large_string()), Shingling("word", 1)).sizes.tolist() == []
    data, offsets = text_arrays(pa.array(["", ""]))
    assert offsets.tolist() == [0, 0, 0]
    assert not data.flags.writeable


def test_lecture_examples():
    assert plain.shingles("abcab", "char:2") == {"ab", "bc", "ca"}
    assert plain.shingles("Get Vaccinated.", "stopword:3") == set()
    news = "A spokesperson for WHO says today that studies have shown it is important for people to get vaccinated."
    found = plain.shingles(news, "stopword:3")
    assert {
        "a spokesperson for",
        "for who says",
        "that studies have",
        "have shown it",
        "it is important",
    } <= found
    assert len(kernel_sets(["Get Vaccinated."], "stopword:3")[0]) == 0


def test_token_lists():
    sets = hash_lists(pa.array([["a", "b", "a"], [], None, ["b"]]))
    assert sets.sizes.tolist() == [2, 0, 0, 1]
    assert set(sets[3].tolist()) <= set(sets[0].tolist())
    assert hash_lists(pa.array([["a", "b", "a"]]), bag=True).sizes.tolist() == [3]
    sliced = pa.array([["x"], ["a", "b"], ["b"]])[1:]
    assert hash_lists(sliced).sizes.tolist() == [2, 1]
    assert hash_lists(pa.array([[1, -1], [2**40]], pa.list_(pa.int64()))).sizes.tolist() == [2, 1]
    with pytest.raises(BadDataError, match="null"):
        hash_lists(pa.array([["a", None]]))
    with pytest.raises(BadDataError, match="double"):
        hash_lists(pa.array([[0.5]]))


@pytest.mark.parametrize("spec", ["word", "word:", "word:0", "word:-1", "line:3", "char:x", "word:1001", "word:²"])
def test_wrong_specs_are_refused(spec):
    with pytest.raises(UsageError, match="shingle"):
        Shingling.parse(spec)


def test_each_half_of_a_fingerprint_distinguishes_token_sequences():
    different = ["a b c", "b a c", "c b a", "a b", "a b c c", "a a b c", "a", "a a", "abc", "漢 字", "字 漢", ""]
    alike = ["A, b: c!", "  a\tb\nc", "á b\u0301 ç"]
    prints = digest_block(pa.array(different + alike, pa.large_string()), DigestSettings(Shingling("word", 2))).prints
    for half in prints.tolist():
        assert len(set(half[: len(different)])) == len(different)
        assert set(half[len(different) :]) == {half[0]}
