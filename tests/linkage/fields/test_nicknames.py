"""Groups of names: what a file may hold, and columns in which names of one group are equal."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import are_nicknames
from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.nicknames import LISTS, Nicknames, read_nicknames
from lookalike.types import strings_to_arrow

NAME = st.sampled_from("abcdefgh")
GROUPS = st.lists(st.lists(NAME, min_size=2, max_size=4, unique=True).map(tuple), min_size=1, max_size=6).map(tuple)
VALUES = st.lists(
    st.lists(NAME | st.sampled_from("xy"), min_size=1, max_size=3).map(" ".join), unique=True, max_size=12
)


def column_of(values):
    return Column("name", "person", np.arange(len(values), dtype=np.int32), strings_to_arrow(values))


@given(GROUPS, VALUES)
def test_words_have_the_groups_of_the_file(groups, values):
    found = Nicknames("mine", groups).words_of(column_of(values))
    words = [word for value in values for word in value.split(" ")]
    assert found.indptr.tolist() == np.cumsum([0, *(len(value.split(" ")) for value in values)]).tolist()
    assert len(found.words) == len(words)
    assert len(set(zip(words, found.words.tolist()))) == len(set(words)) == len(set(found.words.tolist()))
    for word, number in zip(words, found.words.tolist()):
        own = found.groups[found.starts[number] : found.starts[number + 1]] if number < len(found.starts) - 1 else []
        assert list(own) == [place for place, group in enumerate(groups) if word in group]


@given(GROUPS, VALUES)
def test_values_that_differ_by_one_nickname_are_equal_in_a_column(groups, values):
    codes = [coarse.codes.tolist() for coarse in Nicknames("mine", groups).coarsen(column_of(values))]
    for i, one in enumerate(values):
        for j, other in enumerate(values[:i]):
            apart = sum(a != b for a, b in zip(one.split(" "), other.split(" ")))
            if apart == 1 and are_nicknames(one, other, groups):
                assert any(own[i] == own[j] >= 0 for own in codes), (one, other)


@given(GROUPS, VALUES)
def test_a_column_holds_only_values_that_equal_another(groups, values):
    """Each value is replaced word by word, by the first name of a group of it."""
    firsts = {word: {group[0] for group in groups if word in group} or {word} for word in "abcdefghxy"}
    for coarse in Nicknames("mine", groups).coarsen(column_of(values)):
        assert len(coarse.values)
        assert set(coarse.codes.tolist()) - {-1} == set(range(len(coarse.values)))
        assert min(Counter(code for code in coarse.codes.tolist() if code >= 0).values()) > 1
        for value, code in zip(values, coarse.codes.tolist()):
            if code >= 0:
                replaced = coarse.values[code].as_py().split(" ")
                assert all(new in firsts[old] for old, new in zip(value.split(" "), replaced, strict=True))


def test_the_columns_have_the_records_of_the_field():
    column = Column("name", "person", np.array([1, -1, 0, 1, 2], np.int32), strings_to_arrow(["bob", "rob", "ann"]))
    [coarse] = Nicknames("mine", (("robert", "bob", "rob"),)).coarsen(column)
    assert (coarse.name, coarse.kind) == ("name by nickname", "person")
    assert coarse.codes.tolist() == [0, -1, 0, 0, -1]
    assert coarse.values.to_pylist() == ["robert"]
    assert Nicknames("mine", (("x", "y"),)).coarsen(column) == []
    assert Nicknames("mine", (("x", "y"),)).coarsen(column_of([])) == []


def test_the_english_list():
    known = read_nicknames("english")
    assert known.source == "english"
    assert 150 <= len(known.groups) <= 300
    assert len({group[0] for group in known.groups}) == len(known.groups)
    assert all(len(set(group)) == len(group) for group in known.groups)
    assert all(word.isascii() and word.isalpha() and word.islower() for group in known.groups for word in group)
    for one, other in [("bob", "robert"), ("bert", "herbert"), ("bert", "albert"), ("peggy", "margaret"),
                       ("bill", "william"), ("dick", "richard"), ("kate", "catherine"), ("jack", "john")]:  # fmt: skip
        assert are_nicknames(one, other, known.groups), (one, other)
    for one, other in [("robert", "albert"), ("john", "james"), ("mary", "margaret"), ("ann", "anna"), ("jon", "john")]:
        assert not are_nicknames(one, other, known.groups), (one, other)


def test_a_file(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeff# ours\n\nRobert  BOB\trob # short\r\nZoë zo ZOE\n  \n".encode())
    known = read_nicknames(path)
    assert known.groups == (("robert", "bob", "rob"), ("zoe", "zo"))
    assert known.source == str(path)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"robert bob\nrob\n", "line 2: 'rob' is alone on its line; add its other names"),
        (b"# ours\nzoe Zo\xc3\xab\n", "line 2: 'zoe' is alone on its line"),
        (b"robert, bob, -- rob", "line 1: '--' is not a single word; separate names by spaces"),
        (b"anna-lisa anneliese", "line 1: 'anna-lisa' is not a single word"),
        (b"robert;bob", "line 1: 'robert;bob' is not a single word"),
        (b"# nothing\n\n", "no names found; write one group per line"),
        (b"", "no names found"),
        (b"zo\xeb zoe", "not UTF-8"),
    ],
)
def test_an_error_names_the_line_and_the_remedy(tmp_path, written, said):
    path = tmp_path / "names.txt"
    path.write_bytes(written)
    with pytest.raises(BadDataError) as error:
        read_nicknames(path)
    assert str(error.value).startswith(f"--nicknames {path}")
    assert said in str(error.value)


def test_no_such_list(tmp_path):
    with pytest.raises(UsageError, match="--nicknames klingon: no such file, nor a list of that name; lists: english"):
        read_nicknames("klingon")
    with pytest.raises(UsageError, match="this is a folder"):
        read_nicknames(tmp_path)
    assert set(LISTS) == {"english"}
