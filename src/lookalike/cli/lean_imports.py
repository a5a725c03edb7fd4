"""Modules that libraries import but no command needs, executed only if something uses them.

A third of the time to import NumPy is spent on docstrings of its C functions and on types for annotations: 16 of the
200 ms of a small job. `leave_out` makes these modules empty until someone asks for anything in them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

DOCSTRINGS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""When imported, they add docstrings to functions and scalar types."""
TYPES = ("numpy._typing", "numpy.typing")
"""NumPy itself and this package use only `NDArray` of these, in annotations."""
LEFT_OUT = (*DOCSTRINGS, *TYPES)
_LOADER = "__loader_of_the_contents__"
_lock = threading.RLock()


class LeftOut(ModuleType):
    """A module that is executed when an attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        with _lock:  # another thread may be executing it
            loader = self.__dict__.pop(_LOADER, None)
            if loader is not None:
                self.__loader__ = self.__spec__.loader = loader  # type: ignore[union-attr]
                loader.exec_module(self)
        if name not in self.__dict__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self.__dict__[name]


class LeavingOut:
    """A finder and loader of these modules, for `sys.meta_path`."""

    def __init__(self, name: str, contents: Any) -> None:
        self._name, self._contents = name, contents

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """The module as Python finds it, with a loader that waits; None for all other modules."""
        if name not in LEFT_OUT:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:  # otherwise a release that has no such module
            spec.loader = cls(name, spec.loader)  # type: ignore[assignment]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module."""
        return LeftOut(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing. An array as an annotation is a class that can be subscripted: nothing looks into it."""
        module.__dict__[_LOADER] = self._contents
        if self._name in TYPES:
            module.NDArray = sys.modules["numpy"].ndarray  # type: ignore[attr-defined]


def leave_out() -> None:
    """Import these modules empty, from now on in this process."""
    sys.meta_path.insert(0, LeavingOut)
