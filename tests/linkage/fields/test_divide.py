"""One text as several fields."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.divide import divide_text
from lookalike.types import strings_to_arrow

word = st.text(st.sampled_from("abcdé日"), min_size=1, max_size=6)
text = st.lists(word, min_size=1, max_size=8).map(" ".join)


@given(st.lists(text, unique=True, max_size=6), st.data())
def test_each_word_is_in_one_part_and_always_in_the_same(texts, data):
    codes = data.draw(st.lists(st.integers(-1, len(texts) - 1), max_size=9))
    parts = divide_text(Column("title", "text", np.array(codes, np.int32), strings_to_arrow(texts)))
    assert [part.name for part in parts] == [f"title (part {n})" for n in (1, 2, 3, 4)]
    of: dict[str, set[int]] = {}
    for record, code in enumerate(codes):
        found = []
        for number, part in enumerate(parts):
            own = part.codes[record]
            words = [] if own < 0 else part.values[int(own)].as_py().split(" ")
            given_order = [one for one in ([] if code < 0 else texts[code].split(" ")) if one in words]
            assert words == given_order
            found += words
            for one in words:
                of.setdefault(one[:4], set()).add(number)
        assert sorted(found) == sorted([] if code < 0 else texts[code].split(" "))
    assert all(len(numbers) == 1 for numbers in of.values())
    assert all("" not in part.values.to_pylist() for part in parts)
    assert all(part.codes.min(initial=-1) == -1 for part in parts)


def test_the_first_four_letters_of_a_word_decide():
    stems = ["abcd", "bbcd", "cbcd", "dbcd", "ebcd", "fbcd"]
    words = [stem + more for stem in stems for more in ("", *"abcdefgh")]
    texts = strings_to_arrow([" ".join(words), *words])
    parts = divide_text(Column("title", "text", np.zeros(1, np.int32), texts))
    found = [[] if part.codes[0] < 0 else part.values[int(part.codes[0])].as_py().split(" ") for part in parts]
    assert all(len(some) % 9 == 0 for some in found)  # none of the words of a stem is elsewhere
    assert sum(map(bool, found)) > 1
