"""A kernel as seen by the rest of the package: a function whose machine code is in packs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lookalike.kernels.pack import signature

Function = Callable[..., Any]
_known: list[Kernel] = []
_lock = threading.Lock()


class Kernel:
    """A kernel with one pack per signature, which is opened when a call needs it."""

    def __init__(self, function: Function, signatures: tuple[str, ...], variables: dict[str, tuple[str, ...]]) -> None:
        self.__wrapped__ = function
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._signatures, self._variables = signatures, variables
        self._calls: list[Function] = []
        self._binders: dict[int, Function] = {}
        """By the number of arguments that they bind."""
        _known.append(self)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__name__}>"

    @property
    def units(self) -> list[str]:
        """The names of its packs, in the order in which they are tried."""
        name = f"{self.__module__.rpartition('.')[2]}.{self.__name__}"
        return [f"{name}.{number}" for number in range(signature.count(self._signatures, self._variables))]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel on arguments of one of its signatures."""
        for call in self._calls:
            result = call(*arguments, **named)
            if result is not NotImplemented:
                return result
        return self._call_any(arguments, named)

    def _call_any(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Open the remaining packs; then try again with subclasses of arrays, such as memory maps, as plain arrays."""
        for call in self._opening():
            result = call(*arguments, **named)
            if result is not NotImplemented:
                return result
        plain, plainly_named = _plain(arguments), dict(zip(named, _plain(tuple(named.values()))))
        for call in self._calls:
            result = call(*plain, **plainly_named)
            if result is not NotImplemented:
                return result
        raise TypeError(f"kernel {self.__name__} does not take {_types((*arguments, *named.values()))}")

    def bind(self, *first: Any) -> Function:
        """A function of the remaining arguments; the first ones are checked once. For kernels with one signature."""
        from lookalike.kernels.pack.load import open_binder

        with _lock:
            if len(first) not in self._binders:
                self._binders[len(first)] = open_binder(self.units[0], self._parameters(), len(first))
        bound = self._binders[len(first)](*first)
        if bound is NotImplemented:
            raise TypeError(f"kernel {self.__name__} does not take {_types(first)} first")
        return bound  # type: ignore[no-any-return]

    def _parameters(self) -> dict[str, Any]:
        """The names of the arguments, each with its default or `REQUIRED`."""
        from lookalike.kernels.pack.call import parameters_of

        return parameters_of(self.__wrapped__)

    def _opening(self) -> Iterator[Function]:
        from lookalike.kernels.pack.load import open_call

        for number, unit in enumerate(self.units):
            with _lock:  # several threads may get here at once
                if number == len(self._calls):
                    self._calls = [*self._calls, open_call(unit, self._parameters())]
            yield self._calls[number]


def known_units(first_only: bool = False) -> list[str]:
    """The names of the packs of all kernels in imported modules, or only the first of each kernel."""
    return [unit for kernel in _known for unit in (kernel.units[:1] if first_only else kernel.units)]


def units_called_by(unit: str) -> list[str]:
    """The first packs of the kernels that a kernel calls, directly or through functions inlined into it."""
    found: dict[str, None] = {}
    waiting = [kernel.__wrapped__ for kernel in _known if unit in kernel.units]
    seen = set(waiting)
    while waiting:
        function = waiting.pop()
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Kernel):
                found[value.units[0]] = None
                value = value.__wrapped__
            if isinstance(value, FunctionType) and value.__module__.startswith(__package__[:-5]) and value not in seen:
                seen.add(value)
                waiting.append(value)
    return list(found)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return np.asarray(value) if isinstance(value, np.ndarray) else value


def _types(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_types(item) for item in value)})"
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "shape") and value.shape else type(value).__name__
