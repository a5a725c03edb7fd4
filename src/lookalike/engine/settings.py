"""The options that jobs share, checked once, before any work."""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.engine.digest import DigestSettings
from lookalike.engine.execution import Execution
from lookalike.errors import BadDataError, UsageError
from lookalike.features.shingles import Shingling
from lookalike.tuning.plan import Plan, tune
from lookalike.tuning.thresholds import parse_threshold, written
from lookalike.types import Bool, Int64
from lookalike.types.frozen import frozen
from lookalike.verify.measures import LARGEST_TERM, Measure

METHODS = ("auto", "lsh", "exact", "merge", "brute")
DEDUP_METHODS = ("auto", "lsh", "exact", "brute")
INDEXES = ("length", "prefix", "position", "suffix", "best")
"""Indexes of the exact join (candidates/exact.py), named here so that other methods need not import it."""
POLICIES = ("direct", "connected")
KEEP_RULES = ("first", "last", "longest", "shortest", "max:COL", "min:COL")


if TYPE_CHECKING:
    from lookalike.types import VectorKind


@frozen
class ItemSettings:
    """What an item is: where it is read from, and what it is turned into."""

    column: str
    id: str | None
    shingling: Shingling
    skip_errors: bool
    encoding: str
    vectors: VectorKind | None = None
    """What kind of vectors the items are; None if they are sets, or not known yet."""

    @property
    def characters(self) -> bool:
        """Whether shingles consist of characters: there are several times as many of them as of words."""
        return self.shingling.kind == "char"

    @classmethod
    def parse(
        cls,
        *,
        column: str = "text",
        id: str | None = None,
        shingle: str = "word:5",
        bag: bool = False,
        language: str = "en",
        on_error: str = "stop",
        encoding: str = "utf-8",
    ) -> ItemSettings:
        """Check the options that say what an item is.

        Examples
        --------
        >>> ItemSettings.parse(shingle="char:9").shingling.width
        9
        """
        one_of("on-error", on_error, ("stop", "skip"))
        for name, value in (("column", column), ("id", "" if id is None else id)):
            check_text(name, value)
        try:
            "".encode(encoding)
        except (LookupError, TypeError, UnicodeError):
            raise UsageError(f"--encoding {encoding!r} is not known; try utf-8, latin-1 or utf-16") from None
        shingling = Shingling.parse(shingle, bag=bag, language=language)
        return cls(column, id, shingling, on_error == "skip", encoding)

    def digesting(self, measure: Measure, seed: int = 1, plan: Plan | None = None) -> DigestSettings:
        """Everything that the digests of the items depend on, for this measure and plan."""
        return DigestSettings(self.shingling, seed, plan, self.vectors, by_angle=measure.name == "cosine")

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows them."""
        return {
            "column": self.column,
            "id": self.id,
            "shingle": f"{self.shingling.kind}:{self.shingling.width}",
            "bag": self.shingling.bag,
            "language": self.shingling.language,
            "on_error": "skip" if self.skip_errors else "stop",
            "encoding": self.encoding,
        }


@frozen
class MatchSettings:
    """Which pairs count as similar, and how they are found."""

    measure: Measure
    recall: float
    hashes: int
    method: str
    seed: int
    plan: Plan | None
    """Bands and rows; None if the method needs none."""
    length_ratio: Fraction = Fraction(0)
    """Candidates are only those pairs whose shorter set has at least this share of the longer one's elements."""

    @classmethod
    def parse(
        cls,
        *,
        threshold: float | str | Fraction = 0.8,
        measure: str = "jaccard",
        recall: float = 0.99,
        hashes: int = 256,
        method: str = "auto",
        seed: int = 1,
        length_ratio: float | str | Fraction | None = None,
    ) -> MatchSettings:
        """Check the options that say what is similar.

        Examples
        --------
        >>> MatchSettings.parse(threshold=0.8, method="lsh").plan.bands
        26
        """
        one_of("method", method, METHODS)
        seed, hashes = check_seed(seed), whole_number("hashes", hashes)
        if not 0 < recall <= 1:
            raise UsageError(f"--recall must be above 0 and at most 1, not {recall}; try 0.99")
        wanted = Measure.parse(measure, threshold)
        plan = plan_for(wanted, recall, hashes) if method == "lsh" and not wanted.of_vectors else None
        return cls(wanted, recall, hashes, method, seed, plan, _parse_ratio(length_ratio))

    def alike_in_length(self, sizes: Int64, others: Int64) -> Bool:
        """Which pairs of sets have sizes similar enough to be candidates; computed in integers.

        Examples
        --------
        >>> MatchSettings.parse(length_ratio="0.55").alike_in_length(np.array([55, 54]), np.array([100, 100])).tolist()
        [True, False]
        """
        num, den = self.length_ratio.as_integer_ratio()
        return np.asarray(np.minimum(sizes, others) * den >= np.maximum(sizes, others) * num)

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows them."""
        return {
            "measure": self.measure.name,
            "threshold": self.measure.written,
            "length_ratio": written(self.length_ratio) if self.length_ratio else None,
            "recall": self.recall,
            "hashes": self.hashes,
            "method": self.method,
            "seed": self.seed,
        }


@frozen
class Settings:
    """The settings of `dedup` and `pairs`: what items are, how they are matched, how the run is executed."""

    items: ItemSettings
    matching: MatchSettings
    execution: Execution

    @classmethod
    def parse(
        cls,
        *,
        column: str = "text",
        id: str | None = None,
        threshold: float | str | Fraction = 0.8,
        recall: float = 0.99,
        hashes: int = 256,
        shingle: str = "word:5",
        bag: bool = False,
        language: str = "en",
        measure: str = "jaccard",
        method: str = "auto",
        seed: int = 1,
        threads: int | None = None,
        on_error: str = "stop",
        encoding: str = "utf-8",
        memory: str | int | None = None,
        length_ratio: float | str | Fraction | None = None,
    ) -> Settings:
        """Check every option; an error names the option and says what would be accepted.

        Examples
        --------
        >>> Settings.parse(threshold=0.8, method="lsh").matching.plan.bands
        26
        """
        return cls(
            ItemSettings.parse(
                column=column, id=id, shingle=shingle, bag=bag, language=language, on_error=on_error, encoding=encoding
            ),
            MatchSettings.parse(
                threshold=threshold,
                measure=measure,
                recall=recall,
                hashes=hashes,
                method=method,
                seed=seed,
                length_ratio=length_ratio,
            ),
            Execution.parse(threads, memory),
        )

    @property
    def digesting(self) -> DigestSettings:
        """Everything that the digests of the items depend on."""
        matching = self.matching
        return self.items.digesting(matching.measure, matching.seed, matching.plan)

    def with_matching(self, **changes: Any) -> Settings:
        """The same settings with some of `matching` changed."""
        return replace(self, matching=replace(self.matching, **changes))

    def to_dict(self) -> dict[str, Any]:
        """As run.json shows them: the options that would repeat this run."""
        return {**self.items.to_dict(), **self.matching.to_dict(), **self.execution.to_dict()}


def settings_of_run(options: dict[str, Any], **others: Any) -> Settings:
    """The settings of a finished run, from the options in its run.json, with some replaced."""
    names = ("column", "id", "threshold", "recall", "hashes", "shingle", "bag", "language", "measure", "method", "seed")
    try:
        known = {name: options[name] for name in (*names, "on_error", "encoding")}
        known["length_ratio"] = options.get("length_ratio")  # runs of earlier versions lack it
        Settings.parse(**known)
    except (KeyError, TypeError, AttributeError, UsageError) as error:
        raise BadDataError(f"run.json: its options are damaged ({error!r}); run dedup on the input again") from error
    return Settings.parse(**{**known, **others})


def _parse_ratio(value: float | str | Fraction | None) -> Fraction:
    if value is None:
        return Fraction(0)
    try:
        ratio = parse_threshold(value)
    except UsageError:
        raise UsageError(f"--length-ratio must be a number such as 0.5, not {value}") from None
    if not 0 < ratio <= 1 or ratio.denominator >= LARGEST_TERM:
        raise UsageError(f"--length-ratio must be above 0 and at most 1, with at most nine decimals, not {value}")
    return ratio


def check_seed(seed: int) -> int:
    """Refuse a seed that does not fit 64 bits."""
    number = whole_number("seed", seed)
    if not 0 <= number < 1 << 64:
        raise UsageError(f"--seed must be from 0 to 2^64 - 1, not {seed}")
    return number


def whole_number(name: str, value: int) -> int:
    """The value as Python's own integer, which NumPy's are not.

    Examples
    --------
    >>> whole_number("hashes", np.int64(64))
    64
    """
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise UsageError(f"--{name} must be a whole number, not {value!r}")
    return operator.index(value)


def check_text(name: str, value: str) -> None:
    """Refuse a value that is not text, or that no file can contain."""
    if not isinstance(value, str):
        raise UsageError(f"--{name} must be text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"--{name} {value!r}: contains half of a surrogate pair") from None


def one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        raise UsageError(f"--{name} must be one of {', '.join(choices)}, not {value!r}")


def plan_for(measure: Measure, recall: float, hashes: int) -> Plan:
    """Bands and rows for the smallest Jaccard similarity that pairs at the threshold can have."""
    floor = measure.jaccard_floor
    if floor is None:
        raise UsageError(
            f"--measure {measure.name}: minhash cannot promise a recall for it, since a similar pair can have any "
            "Jaccard similarity; use --method exact"
        )
    return tune(threshold=floor, recall=recall, hashes=hashes)


def parse_keep(keep: str) -> tuple[str, str | None]:
    """Split a keep rule into its name and, for max and min, the column.

    Examples
    --------
    >>> parse_keep("longest"), parse_keep("max:score")
    (('longest', None), ('max', 'score'))
    """
    check_text("keep", keep)
    match = re.fullmatch(r"(max|min):(.+)", keep, re.DOTALL)
    if match:
        return match[1], match[2]
    if keep not in KEEP_RULES[:4]:
        raise UsageError(f"--keep must be one of {', '.join(KEEP_RULES)}, not {keep!r}")
    return keep, None


def check_join(method: str, index: str, common: str | None) -> Fraction | None:
    """Check the options of exact methods against the method; returns the share of `common` elements.

    Examples
    --------
    >>> check_join("merge", "best", "0.05")
    Fraction(1, 20)
    """
    one_of("index", index, INDEXES)
    if index != "best" and method != "exact":
        raise UsageError(f"--index {index} requires --method exact, not {method}")
    if common is None:
        return None
    if method != "merge":
        raise UsageError(f"--common requires --method merge, not {method}")
    share = parse_threshold(common)
    if not 0 < share <= 1:
        raise UsageError(f"--common must be above 0 and at most 1, not {common}")
    return share
