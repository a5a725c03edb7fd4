"""What an index stores and how items are compared: its options and everything derived from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.engine.digest import DigestSettings, keyed_sets
from lookalike.engine.execution import Execution
from lookalike.engine.method import plan_for_vectors
from lookalike.engine.settings import Settings, one_of, plan_for, settings_of_run
from lookalike.engine.vectors import for_vectors, vectors_of
from lookalike.errors import BadDataError, LookalikeError, UsageError
from lookalike.tuning.plan import Plan
from lookalike.tuning.scales import PLANNED
from lookalike.tuning.thresholds import written
from lookalike.types import Source, VectorKind, matrix_to_arrow, strings_to_arrow
from lookalike.verify.measures import Measure
from lookalike.version import __version__

STORES = ("sets", "text")
OPTIONS = (
    "column", "id", "threshold", "recall", "hashes", "shingle", "bag", "language", "measure", "seed", "on_error",
    "encoding",
)  # fmt: skip
"""The settings that an index saves; the others apply to a single call."""
_KNOWN_TEXTS = ["A rose is a rose is a rose.", "Füße 東京 the quick brown fox, the lazy dog", "x", ""]


@dataclass(frozen=True)
class Kind:
    """The settings of an index, and what it stores for each item."""

    settings: Settings
    store: str
    decided: bool = True
    """Whether it is known if items are sets or vectors."""

    @classmethod
    def create(cls, settings: Settings, store: str) -> Kind:
        """Check the options of a new index."""
        one_of("store", store, STORES)
        measure = settings.matching.measure
        if settings.matching.length_ratio:
            raise UsageError("--length-ratio does not apply to an index; leave it out")
        if store == "text" and measure.of_vectors:
            raise UsageError(f"--store text: {measure.name} compares vectors; leave it out")
        if measure.name in ("cosine", "euclidean", "hamming"):
            return cls(settings.with_matching(method="lsh", plan=None), store, decided=False)
        return cls(_planned(settings), store)

    @classmethod
    def of(cls, described: Mapping[str, Any], place: str, **execution: Any) -> Kind:
        """The kind of an existing index, from the result of `to_dict`; `place` is where it was stored.

        Raises
        ------
        BadDataError
            If it is not such a result, or if this version of lookalike would compute other keys for the same items.
        """
        try:
            kind = cls._decode(described)
            same = not kind.decided or kind.known_answers() == described["known_answers"]
        except (LookalikeError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise BadDataError(
                f"{place}: the options of the index are damaged ({error!r}); restore it from a backup, or create the "
                "index again"
            ) from error
        if not same:
            raise BadDataError(
                f"{place}: the index was written by another version of lookalike, whose hash functions "
                f"differ from those of {__version__}; use that version, or create the index again"
            )
        return replace(kind, settings=replace(kind.settings, execution=Execution.parse(**execution)))

    @classmethod
    def _decode(cls, described: Mapping[str, Any]) -> Kind:
        kind = cls.create(settings_of_run({**described["options"], "method": "lsh"}), described["store"])
        if kind.decided or not described["decided"]:
            return kind
        return kind.decide(VectorKind(**described["vectors"]) if described["vectors"] else None)

    def decide_by(self, sources: list[Source]) -> Kind:
        """Determine from the first items whether they are sets or vectors."""
        if self.decided:
            return self
        return self.decide(vectors_of(sources, self.settings.items.column, self.settings.matching.measure))

    def decide(self, vectors: VectorKind | None) -> Kind:
        """The same kind, fixed to sets or to vectors of this kind."""
        if vectors is None:
            return replace(self, settings=_planned(self.settings), decided=True)
        if self.store == "text":
            raise UsageError("--store text: the items are vectors; leave it out")
        settings = for_vectors(self.settings, vectors)
        plan = plan_for_vectors(settings, vectors)
        if plan is None:
            raise UsageError(
                f"threshold {settings.matching.measure.written}: every pair of {vectors.dimension} bits is near enough"
            )
        return replace(self, settings=settings.with_matching(plan=plan), decided=True)

    @cached_property
    def digesting(self) -> DigestSettings:
        """Everything that the keys of the items depend on."""
        return self.settings.digesting

    @cached_property
    def holds_sets(self) -> bool:
        """Whether the sets of its items are stored: not their texts, and no vectors."""
        return self.store == "sets" and self.settings.items.vectors is None

    @property
    def plan(self) -> Plan:
        """Bands and rows."""
        assert self.settings.matching.plan is not None
        return self.settings.matching.plan

    @property
    def measure(self) -> Measure:
        """Measure and threshold."""
        return self.settings.matching.measure

    @property
    def dtype(self) -> Any:
        """The type of stored content."""
        return np.dtype(np.uint8 if self.store == "text" else np.uint64)

    def measure_at(self, threshold: float | str | Fraction | None) -> Measure:
        """The measure with a stricter threshold.

        Raises
        ------
        UsageError
            If it is less strict: such items need not share a bucket.
        """
        if threshold is None:
            return self.measure
        own = self.measure
        wanted = replace(Measure.parse(own.name, threshold), of_vectors=own.of_vectors)
        beyond = wanted.threshold > own.threshold if own.is_distance else wanted.threshold < own.threshold
        if beyond:
            side = "above" if own.is_distance else "below"
            raise UsageError(
                f"--threshold {written(wanted.threshold)} is {side} that of the index, {own.written}; create an index "
                "with another threshold"
            )
        return wanted

    def known_answers(self) -> str:
        """A hash of the sets and keys of some fixed items."""
        kind = self.settings.items.vectors
        if kind is None:
            items = strings_to_arrow(_KNOWN_TEXTS)
        elif kind.scalar == "bits":
            items = matrix_to_arrow(np.arange(3 * kind.dimension).reshape(3, -1) % 7 < 3)
        else:
            items = matrix_to_arrow(np.cos(np.arange(3.0 * kind.dimension)).astype(kind.scalar).reshape(3, -1))
        if kind is not None:
            items = items.cast(pa.large_list(items.type.value_type))
        found = keyed_sets(items, self.digesting)
        return hashlib.sha256(found.sets.elements.tobytes() + found.keys.tobytes()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """The values that a store saves."""
        told = self.settings.to_dict()
        kind = self.settings.items.vectors
        return {
            "options": {name: told[name] for name in OPTIONS},
            "store": self.store,
            "vectors": {"dimension": kind.dimension, "scalar": kind.scalar} if kind else None,
            "decided": self.decided,
            "plan": self.plan.to_dict() if self.decided else None,
            "known_answers": self.known_answers() if self.decided else "",
        }


def settings_for_index(*, measure: str = "jaccard", **options: Any) -> Settings:
    """Check the options of a new index, whose measure must have a plan.

    Examples
    --------
    >>> settings_for_index(measure="overlap")
    Traceback (most recent call last):
    lookalike.errors.UsageError: --measure must be one of jaccard, dice, cosine, euclidean, hamming, not 'overlap'
    """
    one_of("measure", measure, PLANNED)
    return Settings.parse(measure=measure, method="lsh", **options)


def _planned(settings: Settings) -> Settings:
    matching = settings.matching
    if matching.measure.of_vectors:
        return settings
    return settings.with_matching(method="lsh", plan=plan_for(matching.measure, matching.recall, matching.hashes))
