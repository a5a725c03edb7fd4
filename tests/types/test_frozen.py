"""Frozen dataclasses that are made at first use behave as dataclasses do."""

import inspect
import pickle
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, asdict, astuple, field, replace

import pytest

from lookalike.types.frozen import frozen, mutable
from lookalike.types.items import ItemMemory


def make():
    @frozen
    class Point:
        x: int
        y: int = 0
        names: list[str] = field(default_factory=list, compare=False)

        @property
        def size(self) -> int:
            return self.x + self.y

    return Point


def test_objects_are_those_of_a_dataclass():
    point = make()
    one = point(1, y=2)
    assert (one.x, one.y, one.names, one.size) == (1, 2, [], 3)
    assert one.names is not point(1).names
    assert repr(one).endswith("Point(x=1, y=2, names=[])")
    assert replace(one, x=5).x == 5
    assert asdict(one) == {"x": 1, "y": 2, "names": []}
    assert astuple(one) == (1, 2, [])
    match one:
        case point(x, y):
            assert (x, y) == (1, 2)


def test_equal_by_value_and_class():
    point, other = make(), make()
    assert point(1, names=["a"]) == point(1)
    assert hash(point(1)) == hash(point(1))
    assert point(1) != point(2)
    assert point(1) != other(1)
    assert point(1) != (1, 0)


def test_help_shows_the_arguments():
    assert str(inspect.signature(make())) == "(x: int, y: int = 0, names: list[str] = <class 'list'>)"


def test_frozen():
    one = make()(1)
    with pytest.raises(FrozenInstanceError):
        one.x = 2
    with pytest.raises(FrozenInstanceError):
        del one.x


@pytest.mark.parametrize("given", [(), (1, 2, [], 3)])
def test_wrong_arguments_are_type_errors(given):
    with pytest.raises(TypeError, match="argument"):
        make()(*given)


def test_a_record_may_derive_from_another():
    base = make()

    @frozen
    class Named(base):
        label: str = ""

        def __repr__(self) -> str:
            return self.label

    assert repr(Named(1, 2, [], "here")) == "here"
    assert Named(1, label="a") == Named(1, label="a") != Named(1, label="b")
    assert base(1).x == 1


def test_many_threads_may_make_the_first_object():
    for _ in range(20):
        point, made, start = make(), [], threading.Barrier(8)

        def create(point=point, made=made, start=start):
            start.wait()
            made.append(point(1, 2))

        threads = [threading.Thread(target=create) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [point(1, 2)] * 8


def test_an_object_can_go_to_a_process_that_has_made_none():
    stored = pickle.dumps(ItemMemory(10, 4))
    code = f"""
import inspect
import pickle
from dataclasses import replace
from lookalike.types.items import ItemMemory
print(replace(pickle.loads({stored!r}), base_bytes=5))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "ItemMemory(memory_bytes=10, base_bytes=5, work_factor=0.0)"


def test_a_mutable_one_changes_and_equals_only_itself():
    @mutable
    class Counter:
        name: str
        count: int = 0
        seen: list[int] = field(default_factory=list)

        def add(self) -> None:
            self.count += 1

    one, other = Counter("a"), Counter("a")
    one.add()
    one.seen.append(1)
    assert (one.count, other.count, other.seen) == (1, 0, [])
    assert one != Counter("a", 1, [1])
    assert len({one, other}) == 2
    assert replace(one, name="b").count == 1
    with pytest.raises(TypeError, match="lacks the argument name"):
        Counter()
