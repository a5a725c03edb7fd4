"""Long texts are processed in chunks: the result must be, bit for bit, that of the text in one piece."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.features.shingles import Shingling
from lookalike.features.unicode import folding_table
from lookalike.kernels import minhash, shingles
from lookalike.kernels.folding import DROPPED, GAP, MAPPED, OWN
from lookalike.kernels.sets import sort_distinct_stretch, sorting_capacity
from lookalike.kernels.words import character_capacity, token_capacity

SCRIPTS = [
    *"aZ09 .,-\n\x00éßﬁＡ½ﷺ…漢字カﾅはงဂก한عΣİ😀",
    *(
        "e\u0301",
        "\u0301",
        "\u200d",
        "the ",
        " and ",
        "aaaaaaaaaaaaaaaaaaaaaaaa",
        "ééééééééé",
        "漢字漢字漢字",
        "ภาษาไทย",
    ),
]
BROKEN = [b"\xff", b"\xc3", b"\xe4\xb8", b"\xe4 a", b"\xf0\x9f\x98", b"\xf0 \x9f\x98", b"\xf5\x80\x80\x80", b"\x80\x80"]
piece = st.sampled_from([one.encode() for one in SCRIPTS] + BROKEN) | st.characters(exclude_categories=["Cs"]).map(
    lambda char: char.encode()
)
raw_text = st.lists(piece, max_size=60).map(b"".join)
spec = st.tuples(st.sampled_from(["word", "char", "stopword"]), st.integers(1, 7), st.booleans())
WHOLE = 1 << 40


def as_arrays(texts):
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    return data, np.cumsum([0, *map(len, texts)], dtype=np.int64)


def outcomes(texts, shingling, chunk):
    """Keys, counts, prints and signatures; then the sets, by their ends and elements."""
    arguments = (*as_arrays(texts), *shingling.arguments())
    values = np.empty((len(texts), 20), np.uint32)
    minhash.sketch_texts(*arguments, np.uint64(1), values, chunk)
    rows = np.arange(len(texts))
    sets = shingles.shingle_texts(*arguments[:2], rows, *arguments[2:], chunk)
    return [*minhash.digest_texts(*arguments, np.uint64(1), 10, 2, chunk), values, *sets]


@given(st.lists(raw_text, min_size=1, max_size=3), spec, st.integers(1, 40))
@settings(max_examples=600)
@example([b"the \xe4\xb8 and"], ("char", 1, False), 5)
@example(["漢字".encode() * 20], ("word", 3, False), 10)
@example([b"a" * 100], ("char", 2, False), 10)
@example([b"a b " * 100], ("word", 2, False), 16)
def test_chunks_change_nothing(texts, kind, chunk):
    shingling = Shingling(*kind)
    for chunked, whole in zip(outcomes(texts, shingling, chunk), outcomes(texts, shingling, WHOLE), strict=True):
        assert np.array_equal(chunked, whole)


@pytest.mark.parametrize("kind", ["word", "char", "stopword"])
@pytest.mark.parametrize("text", ["the rain in spain ", "漢字かな交じり文", "größer als die Straße ", "a", "a ", "ab"])
def test_texts_of_several_real_chunks(kind, text):
    raw = (text * (3 * shingles.CHUNK_BYTES // len(text.encode()) + 1)).encode()
    arguments = (*as_arrays([b"before", raw, b"after"]), *Shingling(kind, 3).arguments())
    chunked = minhash.digest_texts(*arguments, np.uint64(1), 40, 5, shingles.CHUNK_BYTES)
    for found, wanted in zip(chunked, minhash.digest_texts(*arguments, np.uint64(1), 40, 5, WHOLE), strict=True):
        assert np.array_equal(found, wanted)


@given(st.lists(st.integers(0, 2**64 - 2), max_size=200), st.integers(1, 9), st.booleans())
def test_sorting_with_room_for_a_group(values, room, narrow):
    values = [value >> 56 for value in values] if narrow else values  # all in one group, which does not fit
    array = np.array([7, *values, 9], np.uint64)
    group, work = np.empty(room, np.uint64), np.empty(sorting_capacity(room), np.uint64)
    end = sort_distinct_stretch(array, 1, len(array) - 1, group, work)
    assert array[1:end].tolist() == sorted(set(values))
    assert array[0] == 7
    assert array[-1] == 9


def test_no_code_point_takes_more_room_than_is_counted_with():
    table = folding_table()
    for code in range(0x80, 0x110000):
        entry = int(table.entries[table.pages[code >> 8], code & 0xFF])
        kinds = [entry & 7] if entry & 7 != DROPPED else []
        if entry & 7 == MAPPED:
            kinds = [int(one) & 3 for one in table.pool[entry >> 8 : (entry >> 8) + (entry >> 3 & 31)]]
        tokens = sum(kind == OWN or (kind != GAP and (k == 0 or kinds[k - 1] != kind)) for k, kind in enumerate(kinds))
        size = 2 if code < 0x800 else 3 if code < 0x10000 else 4
        assert tokens <= token_capacity(size, size) - 2
        assert 2 * len(kinds) <= character_capacity(size, size) - 2
