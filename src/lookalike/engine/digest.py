"""Digest a block of items: bucket keys, sizes and fingerprints.

Pure functions of arrays and settings: they hold no open files and can run in another process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.features.shingles import Shingling, hash_lists, is_list, sets_of
from lookalike.features.texts import text_arrays
from lookalike.features.vectors import fingerprints, rows_of, words_of
from lookalike.kernels import minhash as sketching
from lookalike.kernels import vectors as kernels
from lookalike.kernels.chunks import CHUNK_BYTES
from lookalike.types import Float64, Int64, Sets, UInt64, VectorKind, to_arrow, to_numpy

if TYPE_CHECKING:
    from lookalike.engine.settings import Settings
    from lookalike.engine.vector_plan import VectorPlan


def item_lengths(features: pa.Array) -> Int64:
    """How long each item is: characters of a text, tokens of a list; 0 for a null."""
    measured = pc.list_value_length(features) if is_list(features) else pc.utf8_length(features)
    if measured.null_count:
        # not fill_null: a scalar imports pandas (see types.to_arrow)
        measured = pc.coalesce(measured, to_arrow(np.zeros(len(measured), np.int64)).cast(measured.type))
    return to_numpy(measured).astype(np.int64)


def item_sets(features: pa.Array, settings: Settings) -> Sets:
    """The sets of items; of vectors their words."""
    return (
        vector_sets(features, settings.items.vectors)
        if settings.items.vectors
        else sets_of(features, settings.items.shingling)
    )


def digest_items(features: pa.Array, settings: Settings) -> tuple[UInt64, Int64, UInt64]:
    """What is kept of each item: bucket keys (bands x items), size, fingerprint (2 x items)."""
    if settings.items.vectors:
        return digest_vectors(features, settings)
    bands, rows = (settings.matching.plan.bands, settings.matching.plan.rows) if settings.matching.plan else (0, 0)
    return digest(features, settings.items.shingling, settings.matching.seed, bands, rows)


def digest(features: pa.Array, shingling: Shingling, seed: int, bands: int, rows: int) -> tuple[UInt64, Int64, UInt64]:
    """What a job keeps of each item: bucket keys (bands x items), number of shingles, fingerprint (2 x items)."""
    if is_list(features):
        sets = hash_lists(features, shingling.bag)
        return sketching.digest_sets(sets.indptr, sets.elements, np.uint64(seed), bands, rows)  # type: ignore[no-any-return]
    data, offsets = text_arrays(features)
    arguments = (data, offsets, *shingling.arguments(), np.uint64(seed), bands, rows, CHUNK_BYTES)
    return sketching.digest_texts(*arguments)  # type: ignore[no-any-return]


def vector_sets(features: pa.Array, kind: VectorKind) -> Sets:
    """The vectors of a column as words."""
    return words_of(*rows_of(features, kind), kind)


def digest_vectors(features: pa.Array, settings: Settings) -> tuple[UInt64, Int64, UInt64]:
    """What a job keeps of each vector: bucket keys (bands x items), number of words, fingerprint (2 x items).

    Nulls have no words, and neither have zero vectors where the angle counts: they have no direction.
    """
    kind = settings.items.vectors
    assert kind is not None
    rows, there = rows_of(features, kind)
    sets = words_of(rows, there, kind)
    counts = sets.sizes
    if settings.matching.measure.name == "cosine":
        counts[np.flatnonzero(there)[~rows.any(axis=1)]] = 0
    plan: Any = settings.matching.plan
    keys = np.zeros((plan.bands if plan else 0, len(features)), np.uint64)
    if plan:
        made = band_keys(rows, plan, kind, settings.matching.seed)
        keys[:, there] = made
    return keys, counts, fingerprints(sets)


def band_keys(rows: npt.NDArray[Any], plan: VectorPlan, kind: VectorKind, seed: int) -> UInt64:
    """The bucket key of each vector in each band."""
    keys = np.empty((plan.bands, len(rows)), np.uint64)
    if plan.measure == "hamming":
        kernels.bit_keys(rows, _positions(plan, kind, seed), plan.rows, keys)
    elif plan.measure == "cosine":
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        inverse = 1 / np.maximum(lengths, np.finfo(np.float64).tiny)
        scaled = np.empty(rows.shape, np.float32)
        np.multiply(rows, inverse[:, None], out=scaled, casting="same_kind")
        kernels.sign_keys(scaled, _hyperplanes(plan, kind, seed), plan.rows, keys)
    else:
        tiles, offsets = _lines(plan, kind, seed)
        kernels.line_keys(rows.astype(np.float64), tiles, offsets, plan.width, plan.rows, keys)
    return keys


@lru_cache(maxsize=2)
def _positions(plan: VectorPlan, kind: VectorKind, seed: int) -> Int64:
    from lookalike.families.bits import BitSampling  # loaded where it is used: a job on sets starts without

    return BitSampling(kind.dimension, seed).positions_for(kind.dimension, plan.used_hashes)


@lru_cache(maxsize=2)
def _hyperplanes(plan: VectorPlan, kind: VectorKind, seed: int) -> npt.NDArray[np.float32]:
    from lookalike.families.hyperplanes import Hyperplanes

    return _tiles(Hyperplanes(seed).vectors_for(kind.dimension, plan.used_hashes))


@lru_cache(maxsize=2)
def _lines(plan: VectorPlan, kind: VectorKind, seed: int) -> tuple[Float64, Float64]:
    from lookalike.families.lines import Lines

    lines, offsets = Lines(plan.width, seed).lines_for(kind.dimension, plan.used_hashes)
    return _tiles(lines.astype(np.float64)), offsets


def _tiles(columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Columns in groups of LANES, the last one filled up with zeros: groups x dimension x LANES."""
    dimension, count = columns.shape
    groups = -(-count // kernels.LANES)
    padded = np.zeros((dimension, groups * kernels.LANES), columns.dtype)
    padded[:, :count] = columns
    return np.ascontiguousarray(padded.reshape(dimension, groups, kernels.LANES).transpose(1, 0, 2))
