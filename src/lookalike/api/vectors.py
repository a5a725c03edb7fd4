"""Vectors in any data as one matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.errors import BadDataError
from lookalike.features.vectors import VectorError, is_numbers, kind_of, rows_of
from lookalike.types import Float64, Source, VectorKind, Wanted


def vectors_in(sources: Sequence[Source], wanted: Wanted) -> Float64 | None:
    """The vectors of all sources, float64[items, components]; nulls are zero vectors. None if the items are no vectors.

    Examples
    --------
    >>> from lookalike.read import open_data
    >>> vectors_in([open_data([[1.0, 2.0], None], "v")], Wanted("v")).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    >>> vectors_in([open_data([[1, 2]], "v")], Wanted("v")) is None  # a set of integers
    True
    """
    kind: VectorKind | None = None
    parts = []
    empty = 0
    for source in sources:
        for block in source.blocks():
            features = block.items(wanted).features
            if features.null_count == len(features):
                empty += len(features)
                continue
            if not (getattr(source, "holds_vectors", False) or is_numbers(features)):
                source.rejected_rows.clear()  # the source will be read again
                return None
            try:
                kind = kind or VectorKind((kind_of(features, bits=False) or VectorKind(0, "")).dimension, "float64")
                rows, there = rows_of(features, kind)
            except VectorError as error:
                place = f"{source.name}: row {error.row}: column {wanted.features!r}"
                raise BadDataError(f"{place} {error}") from error
            matrix = np.zeros((empty + len(there), kind.dimension))
            matrix[empty + np.flatnonzero(there)] = rows
            parts.append(matrix)
            empty = 0
    if kind is None:
        return None
    return np.concatenate([*parts, np.zeros((empty, kind.dimension))])
