"""A kernel as the rest of the package sees it: a function whose machine code is in a pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


class Kernel:
    """A kernel in a pack, which is opened at the first call."""

    def __init__(self, function: Function) -> None:
        self.__wrapped__ = function
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._calls: list[Function] = []

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__name__}>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel on arguments of one of its signatures."""
        for call in self._calls or self._open():
            result = call(*arguments, **named)
            if result is not NotImplemented:
                return result
        return self._call_with_plain_arrays(arguments, named)

    def _open(self) -> list[Function]:
        from lookalike.kernels.pack.call import REQUIRED
        from lookalike.kernels.pack.load import open_pack

        code, defaults = self.__wrapped__.__code__, self.__wrapped__.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        parameters = dict.fromkeys(names, REQUIRED) | dict(zip(names[len(names) - len(defaults) :], defaults))
        self._calls = open_pack(self.__module__.rpartition(".")[2]).calls(self.__name__, parameters)
        return self._calls

    def _call_with_plain_arrays(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Try again with the arrays inside subclasses such as memory maps, then give up."""
        plain, plainly_named = _plain(arguments), dict(zip(named, _plain(tuple(named.values()))))
        for call in self._calls:
            result = call(*plain, **plainly_named)
            if result is not NotImplemented:
                return result
        raise TypeError(f"kernel {self.__name__} does not take {_types((*arguments, *named.values()))}")


def _plain(value: Any) -> Any:

    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return np.asarray(value) if isinstance(value, np.ndarray) else value


def _types(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_types(item) for item in value)})"
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "shape") and value.shape else type(value).__name__
