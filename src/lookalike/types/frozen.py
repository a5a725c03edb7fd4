"""Dataclasses, frozen or not, whose methods are created on first use.

Creating a dataclass takes most of a millisecond, because its methods are generated as text and compiled. A small job
imports eighty of them and uses half. Here nothing is compiled. See docs/decisions/0021-frozen-records.md.
"""

from __future__ import annotations

import threading
from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)
_OF_DATACLASS = ("__match_args__", "__dataclass_fields__", "__dataclass_params__")
_OF_OBJECTS = ("__init__", "__dict__", "__weakref__", "__signature__")
_lock = threading.RLock()


def _values(one: Any) -> tuple[Any, ...]:
    return tuple([getattr(one, name) for name, about in one.__dataclass_fields__.items() if about.compare])


def _show(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, about in self.__dataclass_fields__.items() if about.repr]
    return f"{type(self).__qualname__.rpartition('<locals>.')[2]}({', '.join(shown)})"


def _equals(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, *value: object) -> None:  # noqa: ARG001 (the signature that Python expects)
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


_SHARED = {"__repr__": _show, "__eq__": _equals, "__hash__": _hash, "__setattr__": _refuse, "__delattr__": _refuse}
"""The same for all classes, so that they need not be compiled for each."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Class) -> Class:
    """Turn a class into a frozen dataclass when its first object is created.

    Examples
    --------
    >>> from dataclasses import replace
    >>> @frozen
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> replace(Point(1), y=2)
    Point(x=1, y=2)
    """
    _postpone(cls)
    for name, method in _SHARED.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable(cls: Class) -> Class:
    """Turn a class into a dataclass with fields that may change; objects are equal only to themselves.

    Examples
    --------
    >>> @mutable
    ... class Counter:
    ...     name: str
    ...     count: int = 0
    >>> counter = Counter("a")
    >>> counter.count += 1
    >>> counter.count, counter == Counter("a", 1)
    (1, False)
    """
    _postpone(cls)
    return cls


def _postpone(cls: Any) -> None:
    """Complete a class when its first object is created."""
    begun: Any = cls

    def first_init(self: Any, *given: Any, **named: Any) -> None:
        _complete(cls, first_init)
        begun.__init__(self, *given, **named)

    def set_state(self: Any, state: dict[str, Any]) -> None:
        _complete(cls, first_init)  # an object pickled by another process
        self.__dict__.update(state)

    begun.__init__, begun.__setstate__, begun.__signature__ = first_init, set_state, _Signature(first_init)


class _Signature:
    """The arguments of a class, for `help`, which would not find them otherwise."""

    def __init__(self, first_init: Any) -> None:
        self._first_init = first_init

    def __get__(self, one: Any, cls: Any) -> Any:
        from inspect import Parameter, Signature

        _complete(cls, self._first_init)
        parameters = []
        for name, about in cls.__dataclass_fields__.items():
            default = Parameter.empty if about.default is MISSING else about.default
            if about.default_factory is not MISSING:
                default = about.default_factory
            parameters.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=about.type))
        return Signature(parameters)


def _complete(cls: Any, first_init: Any) -> None:
    """Give a class the methods of a dataclass; any thread may be the first to call this."""
    with _lock:
        if cls.__dict__.get("__init__") is not first_init:
            return
        for base in cls.__mro__[1:]:
            begun = base.__dict__.get("__init__")
            if getattr(begun, "__qualname__", "") == first_init.__qualname__:
                _complete(base, begun)
        own = {name: value for name, value in cls.__dict__.items() if name not in _OF_OBJECTS}
        own["__doc__"] = cls.__name__  # otherwise one is generated from its signature
        # built from a copy, so that no thread sees the class half finished
        made = dataclass(init=False, repr=False, eq=False)(type(cls)(cls.__name__, cls.__bases__, own))
        for name in _OF_DATACLASS:
            setattr(cls, name, made.__dict__[name])
        for name in made.__dataclass_fields__:
            if name in cls.__dict__ and name not in made.__dict__:
                delattr(cls, name)  # a default factory is not a default value
        cls.__init__ = _init_of(cls)  # last: a class that has it counts as complete


def _init_of(cls: Any) -> Any:
    """The `__init__` of a class; unlike that of a dataclass, it is not compiled for each class."""
    fields = cls.__dataclass_fields__
    defaults = {name: one.default for name, one in fields.items() if one.default is not MISSING}
    factories = {name: one.default_factory for name, one in fields.items() if one.default_factory is not MISSING}
    finish = getattr(cls, "__post_init__", None)
    least = max((number for number, name in enumerate(fields, 1) if name not in defaults), default=0)

    def init(self: Any, *given: Any, **named: Any) -> None:
        if not named and finish is None and least <= len(given) <= len(fields):  # most calls; a third of the time
            self.__dict__.update(defaults)
            self.__dict__.update(zip(fields, given))
            return
        values = dict(zip(fields, given))
        if len(given) > len(fields) or not fields.keys() >= named.keys() or values.keys() & named.keys():
            raise TypeError(f"{cls.__name__}() takes the arguments {', '.join(fields)}, each once")
        values.update(named)
        if len(values) < len(fields):
            _fill_in(cls, values, defaults, factories)
        self.__dict__.update(values)
        if finish is not None:
            finish(self)

    return init


def _fill_in(cls: Any, values: dict[str, Any], defaults: dict[str, Any], factories: dict[str, Any]) -> None:
    for name in cls.__dataclass_fields__:
        if name not in values:
            if name not in defaults and name not in factories:
                raise TypeError(f"{cls.__name__}() lacks the argument {name}")
            values[name] = defaults[name] if name in defaults else factories[name]()
