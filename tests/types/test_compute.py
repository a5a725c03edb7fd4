"""Arrow's functions without `pyarrow.compute`: the same results, and it is not imported."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as theirs
import pytest

from lookalike.types import compute, distinct

TEXTS = pa.array(["b c", None, "", "Abc", "été 1"], pa.large_string())
NUMBERS = pa.array([3.5, None, -1.0, 2.0])
CALLS = [
    ("utf8_lower", (TEXTS,), {}),
    ("utf8_length", (TEXTS,), {}),
    ("and_", (pa.array([True, None]), pa.array([True, False])), {}),
    ("or_", (pa.array([True, None]), pa.array([True, False])), {}),
    ("match_substring_regex", (TEXTS, "[a-c]$"), {}),
    ("replace_substring_regex", (TEXTS, "[a-c]", "x"), {}),
    ("replace_substring", (TEXTS,), {"pattern": "b", "replacement": ""}),
    ("utf8_slice_codeunits", (TEXTS, 0, 2), {}),
    ("split_pattern", (TEXTS, " "), {}),
    ("extract_regex", (TEXTS, "(?P<n>[a-z])"), {}),
    ("index_in", (TEXTS, pa.array(["", "Abc"], pa.large_string())), {}),
    ("is_in", (TEXTS,), {"value_set": pa.array(["", "Abc"], pa.large_string())}),
    ("binary_join_element_wise", (TEXTS, TEXTS, pa.scalar("-", pa.large_string())), {}),
    ("coalesce", (TEXTS, pa.scalar("x", pa.large_string())), {}),
    ("if_else", (pa.array([True] * 5), TEXTS, pa.scalar("x", pa.large_string())), {}),
    ("sort_indices", (NUMBERS,), {}),
    ("any", (pa.array([False, None]),), {"min_count": 0}),
    ("sum", (NUMBERS,), {}),
    ("filter", (TEXTS, pa.array([True, False, True, False, True])), {}),
    ("is_null", (TEXTS,), {}),
    ("unique", (TEXTS,), {}),
    ("dictionary_encode", (TEXTS,), {}),
    ("take", (TEXTS, pa.array([2, 0])), {}),
    ("fill_null", (TEXTS, "?"), {}),
    ("fill_null", (NUMBERS, 0), {}),
    ("cast", (NUMBERS, pa.large_string()), {}),
    ("cast", (NUMBERS, pa.int64()), {"safe": False}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), CALLS, ids=[call[0] for call in CALLS])
def test_results_are_those_of_arrow(name, arguments, options):
    expected = getattr(theirs, name)(*arguments, **options)
    assert getattr(compute, name)(*arguments, **options).equals(expected)


def test_tables_are_taken_and_cast_like_arrays():
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert compute.take(table, pa.array([2])).equals(table.take([2]))
    schema = pa.schema([("a", pa.float64()), ("b", pa.large_string())])
    assert compute.cast_table(table, schema).equals(table.cast(schema))


def test_a_value_that_does_not_fit_is_an_error():
    with pytest.raises(pa.ArrowInvalid, match="was truncated converting to int64"):
        compute.cast(NUMBERS, pa.int64())


def test_an_unknown_function_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = compute.no_such_function


def test_nothing_heavy_is_imported():
    code = """
import sys
from lookalike.types import compute, distinct, strings_to_arrow, to_arrow
import numpy as np
texts = strings_to_arrow(["a", "b"])
compute.take(compute.utf8_upper(texts), to_arrow(distinct(np.array([1, 1]))))
compute.fill_null(compute.cast(texts, texts.type), "")
print([name for name in ("pyarrow.compute", "pandas", "numpy.ma") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("values", [[], [2, 1, 2, 2], [0.5, -1.0, 0.5]])
def test_distinct_values_are_those_of_numpy(values):
    assert distinct(np.array(values)).tolist() == np.unique(np.array(values)).tolist()
