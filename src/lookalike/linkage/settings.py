"""What a linking run is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.engine.memory import parse_memory
from lookalike.engine.workers import count_threads
from lookalike.errors import UsageError
from lookalike.linkage.fields.fields import Field, parse_fields
from lookalike.linkage.fields.nicknames import Nicknames, read_nicknames

SCORINGS = ("weights", "points")
ASSIGNMENTS = ("auto", "optimal", "greedy", "no")


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """What a run is asked for."""

    fields: tuple[Field, ...]
    id: str | None = None
    validate: str | None = None
    precision: float | None = None
    probability: float = 0.5
    one_to_one: str = "auto"
    scoring: str = "weights"
    seed: int = 1
    threads: int = 1
    encoding: str = "utf-8"
    memory_bytes: int = 1 << 32
    nicknames: Nicknames | None = None

    @classmethod
    def parse(
        cls,
        fields: str | Sequence[str],
        *,
        id: str | None = None,
        validate: str | None = None,
        precision: float | None = None,
        probability: float = 0.5,
        one_to_one: str = "auto",
        scoring: str = "weights",
        seed: int = 1,
        threads: int | None = None,
        encoding: str = "utf-8",
        memory: str | int | None = None,
        nicknames: str | Path | None = None,
    ) -> LinkSettings:
        """Check every option; the message of an error names it and says what would do."""
        named = tuple(parse_fields(fields))
        for name, share in (("precision", precision), ("probability", probability)):
            if share is not None and not 0 < share < 1:
                raise UsageError(f"--{name} must be above 0 and below 1, not {share}")
        if scoring not in SCORINGS:
            raise UsageError(f"--scoring must be one of {', '.join(SCORINGS)}, not {scoring!r}")
        if one_to_one not in ASSIGNMENTS:
            raise UsageError(f"--one-to-one must be one of {', '.join(ASSIGNMENTS)}, not {one_to_one!r}")
        asked = set() if validate is None else set(both_names(validate))
        if asked & ({one.left for one in named} | {one.right for one in named}):
            raise UsageError(
                f"--validate {validate}: a field that is in the score cannot validate it; leave it out of --fields"
            )
        if scoring == "points" and precision is not None and validate is None:
            raise UsageError("--precision with --scoring points needs --validate: points alone tell no precision")
        return cls(named, id, validate, precision, probability, one_to_one, scoring, seed,
                   count_threads(threads), encoding, parse_memory(memory),
                   read_nicknames(nicknames) if nicknames else None)  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows them."""
        return {
            "fields": [{"left": one.left, "right": one.right, "kind": one.kind, "why": one.why} for one in self.fields],
            "id": self.id,
            "validate": self.validate,
            "precision": self.precision,
            "probability": self.probability,
            "one_to_one": self.one_to_one,
            "scoring": self.scoring,
            "seed": self.seed,
            "threads": self.threads,
            "encoding": self.encoding,
            "memory_bytes": self.memory_bytes,
            "nicknames": None if self.nicknames is None else self.nicknames.source,
        }

    def names(self, side: str) -> list[str]:
        """The columns that are needed of a table."""
        others = [getattr(both_names(name), side) for name in (self.id, self.validate) if name is not None]
        return [*(getattr(one, side) for one in self.fields), *others]

    def id_of(self, side: str) -> str | None:
        """The column that names a record of a table; None where none was stated."""
        return None if self.id is None else getattr(both_names(self.id), side)


class Names(NamedTuple):
    """What the two tables call a column."""

    left: str
    right: str


def both_names(name: str) -> Names:
    """A column's name in the left and in the right table: NAME, or LEFT=RIGHT."""
    left, equals, right = name.partition("=")
    return Names(left.strip(), right.strip() if equals else left.strip())
