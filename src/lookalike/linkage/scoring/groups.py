"""Fields that show groups of records instead of entities: the agency of a site, the chain of a shop.

If ten columns describe the agency of each site, all pairs of sites of an agency agree in ten fields. There are more of
these pairs than matches, so expectation-maximisation takes them for the matches. The fields whose values few records
share tell: such pairs differ in their names, addresses and phone numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.engine.run import Run
from lookalike.linkage.blocking.find import CandidatePairs
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.scoring.score import Agreement, Scores, score_pairs
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.settings import LinkSettings

SPARSE = 0.5
"""A field that more than this share of the records lack cannot tell them apart."""
SHARED = 10.0
"""Nor can one whose values are shared by more records than this, as seen by a record with a value."""
SAMPLE = 500_000
"""Of more candidates than twice this number, only a part is examined."""
MATCH = 0.5
"""The probability from which a pair is a match."""


def find_groups(
    columns: Sequence[Column],
    pairs: CandidatePairs,
    agreement: Agreement,
    scores: Scores,
    all_pairs: int,
    run: Run[LinkSettings],
    *,
    sample: int = SAMPLE,
) -> list[str]:
    """The names of the fields that show groups, if most matches by levels are only records of a group; else none.

    They are if they differ in the fields that tell records apart, by the weights of these fields alone. Those must find
    matches, too, which a single field does not: a title tells patents apart, but the name that many patents share is
    that of their inventor.
    """
    telling = [place for place, column in enumerate(columns) if tells_apart(column)]
    if len(telling) in (0, len(columns)) or not isinstance(scores.scoring, Weights) or scores.probability is None:
        return []
    every = max(1, len(pairs) // sample)
    matches = scores.probability[::every] >= MATCH
    names = [agreement.level_names[place] for place in telling]
    levels = np.ascontiguousarray(agreement.levels.T[telling, ::every]).T
    some = Agreement(levels, agreement.random[:, telling], names)
    drawn = replace(pairs, **{name: getattr(pairs, name)[::every].copy() for name in ("left", "right", "groups")})
    alone = score_pairs([columns[place] for place in telling], drawn, some, all_pairs // every, run, clean=False)
    if alone.probability is None or not matches.any() or not (alone.probability >= MATCH).any():
        return []
    assert isinstance(alone.scoring, Weights)
    if float(np.mean(alone.score[matches] < alone.scoring.prior_bits)) <= MATCH:
        return []
    return [column.name for place, column in enumerate(columns) if place not in telling]


def tells_apart(column: Column) -> bool:
    """Whether most records have a value, and few records share it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers = np.arange(40, dtype=np.int32)
    >>> made = [Column("", "code", codes, pa.array([])) for codes in (numbers, numbers // 20, numbers - 30)]
    >>> [tells_apart(column) for column in made]
    [True, False, False]
    """
    often = np.bincount(column.codes[column.codes >= 0]).astype(np.float64)
    return column.missing <= SPARSE * len(column) and float((often**2).sum()) <= SHARED * float(often.sum())
