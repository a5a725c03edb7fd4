import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import BadDataError

SAME = "one two three four five six seven"


def kept(values, rule, kind=None):
    table = pa.table({"text": [SAME] * len(values), "v": pa.array(values, kind), "n": list(range(len(values)))})
    return la.dedup(table, keep=f"{rule}:v").kept["n"].to_pylist()


@pytest.mark.parametrize(
    ("values", "rule", "kind", "stays"),
    [
        ([1, 3, 2], "max", None, 1),
        ([1.5, float("nan"), 0.5], "max", None, 0),
        ([1.5, float("nan"), 0.5], "min", None, 2),
        (["9", "10", " 2 "], "max", None, 1),
        (["9", "10", "n/a"], "max", None, 1),
        (["9", "", None], "min", None, 0),
        ([str(2**60 + 1), str(2**60 + 2)], "max", None, 1),
        (["b", "a", "c"], "max", None, 2),
        ([1.0, 3.0, 2.0], "max", pa.float16(), 1),
        (["x", "y"], "max", pa.dictionary(pa.int8(), pa.string()), 1),
        ([True, False], "min", None, 1),
    ],
)
def test_the_rule_picks_the_extreme_value(values, rule, kind, stays):
    assert kept(values, rule, kind) == [stays]


def test_values_that_have_no_order_are_refused():
    with pytest.raises(BadDataError, match="keep rule"):
        kept([[1], [2]], "max")


def test_ids_that_are_not_there_are_an_error_and_odd_ones_become_text(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    with pytest.raises(BadDataError, match="nope"):
        la.dedup(path, id="nope")
    table = pa.table({"id": [{"a": 1}, None, {"a": 2}], "text": [SAME] * 3})
    assert la.dedup(table).removed["id"].to_pylist() == ["data:1", '{"a": 2}']
