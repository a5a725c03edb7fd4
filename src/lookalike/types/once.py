"""Values of an object that are computed when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as once
else:

    class once:  # noqa: N801
        """Like `functools.cached_property`, without the lock that it takes in Python 3.11.

        For thousands of small objects, that lock takes longer than computing the value.

        Examples
        --------
        >>> class Name:
        ...     @once
        ...     def initial(self):
        ...         print("computed")
        ...         return "a"
        >>> name = Name()
        >>> name.initial + name.initial
        computed
        'aa'
        """

        def __init__(self, compute: Any) -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, one: Any, owner: type | None = None) -> Any:
            if one is None:
                return self
            value = one.__dict__[self._name] = self._compute(one)
            return value


__all__ = ["once"]
