"""The facts shown in the report of `lookalike link`: plain numbers and texts.

`linkage/report_facts.py` collects them, `page.py` turns them into HTML. They know neither Arrow nor HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

from lookalike.engine.alarms import Alarm
from lookalike.types.frozen import frozen

MODEL_ALONE = "the model's own probability"
"""The value of `LinkReport.source_of_precision` if nothing outside the model confirms it."""
CALIBRATED = "probabilities calibrated on the labels"
"""Its value if labels confirm or correct the model."""


@frozen
class FieldFact:
    """A compared field.

    Parameters
    ----------
    name, kind : str
        For example `surname` and `person`.
    why : str
        Reason for this kind.
    missing_share : float
        Share of records without a value, from 0 to 1.
    distinct : int
        Number of distinct values.
    """

    name: str
    kind: str
    why: str
    missing_share: float
    distinct: int


@frozen
class LevelWeight:
    """The weight of one level of agreement of a field.

    Parameters
    ----------
    field, level : str
        For example `surname` and `one letter differs`.
    m, u : float or None
        Share of the matches, and of the other pairs, at this level. None if scores are points.
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


@frozen
class EvidenceWeight:
    """The weight of one kind of evidence in a field, if pairs are scored by their words.

    Parameters
    ----------
    field, level : str
        For example `title` and `words in common`.
    weight : float
        What this evidence adds to the score if it is complete.
    """

    field: str
    level: str
    weight: float


@frozen
class Bin:
    """The candidate pairs with a score of at least `low` and below `high`.

    Parameters
    ----------
    low, high : float
        Scores. The first and the last bin may be open (infinite).
    pairs : int
        Number of pairs.
    precision, precision_low, precision_high : float or None
        Estimated share of matches among them, with its interval. None if not estimated.
    """

    low: float
    high: float
    pairs: int
    precision: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None

    def is_above(self, cut: float | None) -> bool:
        """Whether all pairs of the bin are at or above the cut; its edge may differ from the cut by rounding.

        Examples
        --------
        >>> Bin(2, 3, 10).is_above(2.0), Bin(1, 2, 10).is_above(2.0), Bin(1, 2, 10).is_above(None)
        (True, False, False)
        """
        return cut is not None and self.low >= cut - 1e-9 * max(1.0, abs(cut))


@frozen
class PairField:
    """One field of a pair.

    Parameters
    ----------
    name : str
        The field.
    left, right : object
        The two original values; None if missing.
    level : str
        The level of agreement.
    weight : float
        Weight of that level.
    adjusted : float
        Adjustment of `weight` because the value is rare (above 0) or common (below 0).
    shared : tuple of (str, int)
        Of texts, the words that both have, each with the number of records that have it, rarest first.
    """

    name: str
    left: object
    right: object
    level: str
    weight: float
    adjusted: float = 0.0
    shared: tuple[tuple[str, int], ...] = ()


@frozen
class PairExample:
    """A pair and how its score comes about: `prior` plus `weight + adjusted` of every field.

    Parameters
    ----------
    left_id, right_id : object
        The ids of the two records.
    score : float
        log2 of the odds that both are the same entity, or points.
    probability : float or None
        Probability that they are. None if scores are points.
    fields : sequence of PairField
        In display order.
    prior : float
        The score before any field is considered: log2 of the odds. 0 for points. For words, the start of the scale.
    """

    left_id: object
    right_id: object
    score: float
    probability: float | None
    fields: Sequence[PairField]
    prior: float = 0.0


@frozen
class HashFact:
    """What one of the hash functions contributed to the candidates.

    Parameters
    ----------
    name : str
        For example `surname + zip`.
    records, blocks, largest : int
        Records with a hash value, values shared by two or more records, records with the most common value.
    pairs, only : int
        Candidate pairs it found, and those that no other function found.
    note : str
        A remark, for example on blocks that were skipped.
    """

    name: str
    records: int
    blocks: int
    largest: int
    pairs: int
    only: int
    note: str = ""


@frozen
class LinkReport:
    """Everything that the report of a run shows.

    Parameters
    ----------
    title : str
        Heading of the page.
    tables : sequence of (str, int)
        Name and number of records of the table or the two tables.
    fields, hashes, weights, evidence, bins
        See their classes. Scoring by words has `evidence` instead of `weights`. Bins are in order of score.
    recall : (float, float, float) or None
        Estimated share of the matches that became candidates, with its interval.
    converged, iterations
        Whether the estimation of the weights converged, and after how many iterations. None for points.
    cut : float or None
        Pairs with at least this score are accepted. None if no pair can be.
    cut_reason : str
        The reason for it, as a clause: "the lowest score with a precision of 99%".
    source_of_precision : str
        "validated by 'created'", for example, `CALIBRATED` or `MODEL_ALONE`.
    links : int
        Number of pairs written.
    clusters : int or None
        Number of entities with several records, if clusters were formed.
    chosen : sequence of PairExample
        Links whose scores are explained.
    around : sequence of PairExample
        Pairs with scores around the cut.
    notes : sequence of str
        Other things the user should know.
    alarms
        As in run.json.
    precision : (float, float | None, float | None), optional
        Estimated precision of all pairs at or above the cut, with its interval. By default, the mean over the bins.
    points : bool
        Whether scores are points rather than logarithms of odds.
    model, model_reason : str
        How pairs were scored (words, levels or points), and the reason, as a clause.
    labels : str
        How well the links agree with labelled pairs, as a sentence; empty without labels.
    measured : (float, float, float), optional
        The precision that was measured on labelled pairs, with its interval.

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
    evidence: Sequence[EvidenceWeight] = ()
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
    precision: tuple[float, float | None, float | None] | None = None
    points: bool = False
    model: str = ""
    model_reason: str = ""
    labels: str = ""
    measured: tuple[float, float, float] | None = None
    alarms: Sequence[Alarm] = ()


def short_names(names: Sequence[str]) -> list[str]:
    """Tables by their file names, or by their paths if the names are equal.

    Examples
    --------
    >>> short_names(["in/a.csv", "in/b.csv"]), short_names(["2024/a.csv", "2025/a.csv"])
    (['a.csv', 'b.csv'], ['2024/a.csv', '2025/a.csv'])
    """
    short = [name.rstrip("/").rpartition("/")[2] for name in names]
    return short if len(set(short)) == len(names) else [*names]
