"""Lets the reference show our frozen records as what they are: dataclasses."""

from __future__ import annotations

from typing import Any

import griffe


class FrozenRecords(griffe.Extension):
    """Takes `@frozen` of the package as `@dataclass`, so that constructors have their parameters."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called for each class."""
        for decorator in cls.decorators:
            if str(decorator.value) == "frozen":
                decorator.value = griffe.ExprName("dataclasses.dataclass")
