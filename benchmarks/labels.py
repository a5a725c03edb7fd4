"""Labelled pairs: for the tools that need them, and those that `lookalike link --review` asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lookalike as la

MOST = 200
"""Of either kind."""


def draw_labels(
    left: pa.Table, right: pa.Table, truth: set[tuple[int, int]], fields: Sequence[str], most: int = MOST, seed: int = 1
) -> pa.Table:
    """Return as many matches as others, at most `most` and half of all matches: columns left, right and same.

    Ids are row numbers. Half of the other pairs have a field in common, as far as there are such pairs, since those are
    the hard cases; the rest are drawn from all pairs.
    """
    draw = np.random.default_rng(seed)
    count = min(most, len(truth) // 2)
    order = sorted(truth)
    matches = [order[place] for place in draw.choice(len(order), count, replace=False)]
    others: set[tuple[int, int]] = set()
    for field in fields:
        alike = [pair for pair in _share_value(left[field], right[field]) if pair not in truth]
        places = draw.permutation(len(alike))[: count // (2 * len(fields))]
        others.update(alike[place] for place in places)
    while len(others) < count:
        pair = int(draw.integers(left.num_rows)), int(draw.integers(right.num_rows))
        if pair not in truth:
            others.add(pair)
    pairs = matches + sorted(others)
    same = [True] * len(matches) + [False] * len(others)
    return pa.table({"left": [one for one, _ in pairs], "right": [other for _, other in pairs], "same": same})


def label_reviewed(left: pa.Table, right: pa.Table, fields: str, truth: set[tuple[str, str]], count: int) -> pa.Table:
    """The pairs that lookalike asks for, labelled by the known matches: columns left, right, weight and match."""
    asked = la.link(left, right, fields=fields, id="id", review=count).review.select(["left", "right", "weight"])
    pairs = zip(asked["left"].to_pylist(), asked["right"].to_pylist())
    return asked.append_column("match", pa.array([(str(one), str(other)) in truth for one, other in pairs]))


def _share_value(left: pa.ChunkedArray, right: pa.ChunkedArray) -> list[tuple[int, int]]:
    """Return each row on the left that has a value of the right, with the first row there that has it."""
    first = pc.index_in(left, value_set=right, skip_nulls=True).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(~np.isnan(first))
    return list(zip(rows.tolist(), first[rows].astype(np.int64).tolist()))
