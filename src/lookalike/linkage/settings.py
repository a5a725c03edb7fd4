"""The settings of a linking run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lookalike.engine.execution import Execution
from lookalike.engine.settings import check_seed, check_text
from lookalike.errors import UsageError
from lookalike.linkage.fields.nicknames import Nicknames, read_nicknames
from lookalike.linkage.fields.spec import ALL, Field, parse_fields, parse_names
from lookalike.types import DEFAULT_ID
from lookalike.types.frozen import frozen

DEFAULT_PROBABILITY = 0.5
DEFAULT_ENCODING = "utf-8"
SCORINGS = ("weights", "points")
ASSIGNMENTS = ("auto", "optimal", "greedy", "left", "right", "no")


@frozen
class LinkSettings:
    """The settings of a linking run; made by `parse`, which checks them."""

    fields: tuple[Field, ...]
    """Empty until the tables are read, if all columns are compared."""
    id: str | None
    validate: str | None
    precision: float | None
    probability: float
    one_to_one: str
    scoring: str
    nicknames: Nicknames | None
    seed: int
    encoding: str
    execution: Execution

    @classmethod
    def parse(
        cls,
        fields: str | Sequence[str | Field],
        *,
        id: str | None = None,
        validate: str | None = None,
        precision: float | None = None,
        probability: float = DEFAULT_PROBABILITY,
        one_to_one: str = "auto",
        scoring: str = "weights",
        nicknames: str | Path | None = None,
        seed: int = 1,
        encoding: str | None = None,
        threads: int | None = None,
        memory: str | int | None = None,
    ) -> LinkSettings:
        """Check every option; an error message names the option and a remedy.

        Examples
        --------
        >>> LinkSettings.parse("name,born:date", threads=2).execution.threads
        2
        """
        every = fields == ALL or list(fields) == [ALL]
        named = () if every else tuple(parse_fields(fields))
        for name, share in (("precision", precision), ("probability", probability)):
            if share is not None and not 0 < share < 1:
                raise UsageError(f"--{name} must be above 0 and below 1, not {share}")
        if scoring not in SCORINGS:
            raise UsageError(f"--scoring must be one of {', '.join(SCORINGS)}, not {scoring!r}")
        if one_to_one not in ASSIGNMENTS:
            raise UsageError(f"--one-to-one must be one of {', '.join(ASSIGNMENTS)}, not {one_to_one!r}")
        seed = check_seed(seed)
        for name, column in (("id", id), ("validate", validate)):
            check_text(name, "" if column is None else column)
        validating = set() if validate is None else set(parse_names(validate))
        if validating & ({one.left for one in named} | {one.right for one in named}):
            raise UsageError(
                f"--validate {validate}: a field that is part of the score cannot validate it; remove it from --fields"
            )
        if scoring == "points" and precision is not None and validate is None:
            raise UsageError(
                "--precision with --scoring points needs --validate: points carry no probability, so precision cannot "
                "be estimated"
            )
        return cls(
            named, id, validate, precision, probability, one_to_one, scoring,
            read_nicknames(nicknames) if nicknames else None, seed, encoding or DEFAULT_ENCODING,
            Execution.parse(threads, memory),
        )  # fmt: skip

    @classmethod
    def refuse_others(cls, given: dict[str, Any]) -> None:
        """Refuse options that a finished run has decided (`against`), if they are not the defaults."""
        usual = {"probability": DEFAULT_PROBABILITY, "one_to_one": "auto", "scoring": "weights", "seed": 1}
        for name, value in given.items():
            if value not in (None, (), "", usual.get(name)):
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} cannot be given with --against: the finished run has decided it")

    def to_dict(self) -> dict[str, Any]:
        """The settings as in run.json."""
        return {
            "fields": [_field_to_dict(one) for one in self.fields],
            "id": self.id,
            "validate": self.validate,
            "precision": self.precision,
            "probability": self.probability,
            "one_to_one": self.one_to_one,
            "scoring": self.scoring,
            "nicknames": None if self.nicknames is None else self.nicknames.source,
            "seed": self.seed,
            "encoding": self.encoding,
            **self.execution.to_dict(),
        }

    @property
    def custom(self) -> dict[str, Field]:
        """The fields whose comparison a user defined, by name."""
        return {one.name: one for one in self.fields if one.levels is not None}

    def identity(self) -> dict[str, Any]:
        """The settings that identify a resumable run; nicknames by content, because a file may have changed."""
        return self.to_dict() | ({} if self.nicknames is None else {"nicknames": self.nicknames.groups})

    def columns(self, side: str) -> list[str]:
        """The columns needed from a table (`left` or `right`)."""
        others = [getattr(parse_names(name), side) for name in (self.id, self.validate) if name is not None]
        return [*(getattr(one, side) for one in self.fields), *others]

    def others(self, side: str) -> set[str]:
        """The columns of a table that are needed but not compared: ids, and the validating column."""
        names = (self.id, self.validate) if self.id is not None else (DEFAULT_ID, self.validate)
        return {getattr(parse_names(name), side) for name in names if name is not None}

    def id_of(self, side: str) -> str | None:
        """The column of a table that identifies a record; None if none was given."""
        return None if self.id is None else getattr(parse_names(self.id), side)


def _field_to_dict(field: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"left": field.left, "right": field.right, "kind": field.kind, "why": field.why}
    if field.levels is not None:
        found["levels"] = field.levels
    if field.compare is not None:
        found["compare"] = getattr(field.compare, "__qualname__", repr(field.compare))
    return found
