"""What a run of `lookalike link` has to tell: plain numbers and texts, nothing drawn.

The job fills these in; `report.links` makes a page of them. They know neither Arrow nor HTML. They live beside the job,
and not beside the page, because a job may not import a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MODEL_ALONE = "the model's own probability"
"""What `LinkReport.source_of_precision` says where nothing outside of the model confirms it."""


@dataclass(frozen=True, slots=True)
class FieldFact:
    """A field that is compared.

    Parameters
    ----------
    name, kind : str
        For example `surname` and `person`.
    why : str
        Why this kind was chosen.
    missing_share : float
        Share of the records without a value, from 0 to 1.
    distinct : int
        Number of different values.
    """

    name: str
    kind: str
    why: str
    missing_share: float
    distinct: int


@dataclass(frozen=True, slots=True)
class LevelWeight:
    """What one level of agreement of a field counts.

    Parameters
    ----------
    field, level : str
        For example `surname` and `one letter differs`.
    m, u : float or None
        Share of the matches, and of the other pairs, that are at this level. None where scores are points.
    weight : float
        log2(m / u), or points.
    pairs : int
        Candidate pairs at this level.
    """

    field: str
    level: str
    m: float | None
    u: float | None
    weight: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Bin:
    """The candidate pairs with a score from `low` to below `high`.

    Parameters
    ----------
    low, high : float
        Scores. The first and the last bin may be open (infinite).
    pairs : int
        How many there are.
    precision, precision_low, precision_high : float or None
        Estimated share of them that are matches, with its interval. None where it was not estimated.
    """

    low: float
    high: float
    pairs: int
    precision: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None


@dataclass(frozen=True, slots=True)
class PairField:
    """One field of a pair.

    Parameters
    ----------
    name : str
        The field.
    left, right : object
        The two values as given; None where missing.
    level : str
        The level of agreement.
    weight : float
        What that level counts.
    adjusted : float
        What is added to `weight` because the value is rare (above 0) or common (below 0).
    """

    name: str
    left: object
    right: object
    level: str
    weight: float
    adjusted: float = 0.0


@dataclass(frozen=True, slots=True)
class PairExample:
    """A pair with all that led to its score: `prior` plus `weight + adjusted` of every field.

    Parameters
    ----------
    left_id, right_id : object
        The ids of the two records.
    score : float
        log2 of the odds that the two are the same entity, or points.
    probability : float or None
        That they are. None where scores are points.
    fields : sequence of PairField
        In the order in which they are to be shown.
    prior : float
        Where the score starts, before any field is looked at: log2 of the odds. 0 for points.
    """

    left_id: object
    right_id: object
    score: float
    probability: float | None
    fields: Sequence[PairField]
    prior: float = 0.0


@dataclass(frozen=True, slots=True)
class HashFact:
    """What one of the hash functions that find candidates did.

    Parameters
    ----------
    name : str
        For example `surname + zip`.
    records, blocks, largest : int
        Records with a value of the hash, values shared by two records or more, records of the most common value.
    pairs, only : int
        Candidate pairs that it found, and those that no other hash found.
    note : str
        What else there is to say, for example on blocks that were left out.
    """

    name: str
    records: int
    blocks: int
    largest: int
    pairs: int
    only: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class LinkReport:
    """All that the report of a run shows.

    Parameters
    ----------
    title : str
        Heading of the page.
    tables : sequence of (str, int)
        Name and number of records of the table or the two tables.
    fields, hashes, weights, bins
        See there. Bins are in the order of their scores.
    recall : (float, float, float) or None
        Estimated share of the matches that became candidates, with its interval.
    converged, iterations
        Whether the estimation of the weights settled, and after how many rounds. None for points.
    cut : float or None
        Pairs with this score or more are taken. None if no pair can be.
    cut_reason : str
        Why there, as a clause: "the lowest score with a precision of 99%".
    source_of_precision : str
        "validated by 'created'", for example, or `MODEL_ALONE`.
    links : int
        Pairs that were written.
    clusters : int or None
        Entities with more than one record, where clusters were made.
    chosen : sequence of PairExample
        Pairs whose way to the score is shown.
    around : sequence of PairExample
        Pairs with scores around the cut.
    notes : sequence of str
        What the user must know besides.
    seconds : dict
        Time by stage.
    precision : (float, float | None, float | None), optional
        Estimated precision of all pairs from the cut on, with its interval. Without it, the mean over bins is shown.
    points : bool
        Scores are points, not logarithms of odds.

    Examples
    --------
    >>> LinkReport(title="a and b", tables=[("a.csv", 3), ("b.csv", 2)], links=1).links
    1
    """

    title: str
    tables: Sequence[tuple[str, int]]
    fields: Sequence[FieldFact] = ()
    hashes: Sequence[HashFact] = ()
    recall: tuple[float, float, float] | None = None
    weights: Sequence[LevelWeight] = ()
    converged: bool | None = None
    iterations: int | None = None
    bins: Sequence[Bin] = ()
    cut: float | None = None
    cut_reason: str = ""
    source_of_precision: str = MODEL_ALONE
    links: int = 0
    clusters: int | None = None
    chosen: Sequence[PairExample] = ()
    around: Sequence[PairExample] = ()
    notes: Sequence[str] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    precision: tuple[float, float | None, float | None] | None = None
    points: bool = False
