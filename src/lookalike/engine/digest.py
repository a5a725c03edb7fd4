"""Digest a block of items: bucket keys, sizes and fingerprints.

Pure functions from arrays and small settings to arrays. They hold no open files, so a block can be digested on a
thread, in another process or on another machine.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.features.shingles import Shingling, hash_lists, is_list, sets_of, sketch_features
from lookalike.features.vectors import fingerprints, rows_of, words_of
from lookalike.kernels import minhash as sketching
from lookalike.kernels import vectors as kernels
from lookalike.kernels.chunks import CHUNK_BYTES
from lookalike.types import (
    Bool,
    Float64,
    Int64,
    Sets,
    UInt8,
    UInt32,
    UInt64,
    VectorKind,
    text_arrays,
    to_arrow,
    to_numpy,
)
from lookalike.types import compute as pc
from lookalike.types.frozen import frozen

if TYPE_CHECKING:
    from lookalike.tuning.plan import Plan


@frozen
class DigestSettings:
    """Everything that digests depend on."""

    shingling: Shingling
    seed: int = 1
    plan: Plan | None = None
    """Bands and rows; None makes no bucket keys."""
    vectors: VectorKind | None = None
    """What kind of vectors the items are; None if they are texts or token lists."""
    by_angle: bool = False
    """Whether vectors are compared by their angle: zero vectors then count as empty, since they have no direction."""

    @property
    def bands(self) -> int:
        """The number of bucket keys per item."""
        return self.plan.bands if self.plan else 0


class Digest(NamedTuple):
    """What is kept of each item of a block."""

    keys: UInt64
    """uint64[bands, items]: the bucket of each item in each band."""
    counts: Int64
    """int64[items]: shingles, repeats included; 0 for an empty item."""
    prints: UInt64
    """uint64[2, items]: a fingerprint, equal only for equal sequences of tokens."""
    lengths: Int64
    """int64[items]: characters of a text, tokens of a list."""
    signatures: UInt32 | None = None
    """uint32[items, hashes], if requested."""


def digest_block(features: pa.Array, settings: DigestSettings, hashes: int = 0) -> Digest:
    """Digest a column of texts, token lists or vectors; with `hashes`, also their minhash signatures.

    Examples
    --------
    >>> found = digest_block(pa.array(["a rose is a rose", None]), DigestSettings(Shingling("word", 2)), hashes=8)
    >>> found.counts.tolist(), found.lengths.tolist(), found.signatures.shape
    ([4, 0], [16, 0], (2, 8))
    """
    digest = _digest_vectors if settings.vectors else _digest_sets
    signatures = sketch_features(features, settings.shingling, settings.seed, hashes) if hashes else None
    return Digest(*digest(features, settings), _lengths(features), signatures)


def item_sets(features: pa.Array, settings: DigestSettings) -> Sets:
    """The sets of items; vectors as machine words.

    Examples
    --------
    >>> item_sets(pa.array(["a rose is a rose", None]), DigestSettings(Shingling("word", 2))).sizes.tolist()
    [3, 0]
    """
    if settings.vectors:
        return words_of(*rows_of(features, settings.vectors), settings.vectors)
    return sets_of(features, settings.shingling)


class KeyedSets(NamedTuple):
    """Items in the form in which they are compared, with their buckets."""

    sets: Sets
    keys: UInt64
    """uint64[bands, items]."""
    there: Bool
    """bool[items]: items that are not empty; the others are in no bucket."""

    def slice(self, low: int, high: int) -> KeyedSets:
        """Consecutive items; their elements are not copied."""
        if low == 0 and high == len(self.there):
            return self
        indptr = self.sets.indptr[low : high + 1]
        sets = Sets(indptr - indptr[0], self.sets.elements[indptr[0] : indptr[-1]])
        return KeyedSets(sets, np.ascontiguousarray(self.keys[:, low:high]), self.there[low:high])


def keyed_sets(features: pa.Array, settings: DigestSettings) -> KeyedSets:
    """Sets (vectors as words) and bucket keys of items; the keys are those of `digest_block`.

    Examples
    --------
    >>> from lookalike.tuning.plan import tune
    >>> plan = tune(0.8)
    >>> keyed_sets(pa.array(["a rose is a rose", None]), DigestSettings(Shingling("word", 2), plan=plan)).keys.shape
    (26, 2)
    """
    if settings.vectors or is_list(features):
        sets = item_sets(features, settings)
        return KeyedSets(sets, *keys_of_sets(sets, settings))
    return _keyed_texts(*text_arrays(features), settings)


def keyed_text(text: str, settings: DigestSettings) -> KeyedSets:
    """The result of `keyed_sets` for one text, without Arrow.

    Examples
    --------
    >>> from lookalike.tuning.plan import tune
    >>> keyed_text("a rose is a rose", DigestSettings(Shingling("word", 2), plan=tune(0.8))).sets.sizes.tolist()
    [3]
    """
    data = (text or " ").encode()
    return _keyed_texts(np.frombuffer(data, np.uint8), np.array([0, len(data)]), settings)


def _keyed_texts(data: UInt8, offsets: Int64, settings: DigestSettings) -> KeyedSets:
    plan = settings.plan
    assert plan is not None
    indptr, elements, keys = sketching.key_texts(
        data, offsets, *settings.shingling.arguments(), np.uint64(settings.seed), plan.bands, plan.rows, CHUNK_BYTES
    )
    return KeyedSets(Sets(indptr, elements), keys, indptr[1:] > indptr[:-1])


def keys_of_sets(sets: Sets, settings: DigestSettings) -> tuple[UInt64, Bool]:
    """The bucket keys of sets (or of vectors as words), and which of them are not empty."""
    plan, kind = settings.plan, settings.vectors
    assert plan is not None
    there = sets.sizes > 0
    if kind is None:
        return sketching.key_sets(sets.indptr, sets.elements, np.uint64(settings.seed), plan.bands, plan.rows), there
    rows = sets.elements.reshape(-1, kind.words)
    if kind.scalar != "bits":
        rows = np.ascontiguousarray(rows.view(kind.scalar)[:, : kind.dimension])
    keys = np.zeros((plan.bands, len(sets)), np.uint64)
    keys[:, there] = band_keys(rows, plan, kind, settings.seed)
    if settings.by_angle:
        there[np.flatnonzero(there)[~rows.any(axis=1)]] = False
    return keys, there


def _lengths(features: pa.Array) -> Int64:
    measured = pc.list_value_length(features) if is_list(features) else pc.utf8_length(features)
    if measured.null_count:
        # not fill_null: a scalar imports pandas (see types.to_arrow)
        measured = pc.coalesce(measured, to_arrow(np.zeros(len(measured), np.int64)).cast(measured.type))
    return to_numpy(measured).astype(np.int64)


def _digest_sets(features: pa.Array, settings: DigestSettings) -> tuple[UInt64, Int64, UInt64]:
    """Bucket keys, counts and fingerprints of texts or token lists."""
    shingling, seed = settings.shingling, np.uint64(settings.seed)
    bands, rows = (settings.plan.bands, settings.plan.rows) if settings.plan else (0, 0)
    if is_list(features):
        sets = hash_lists(features, shingling.bag)
        return sketching.digest_sets(sets.indptr, sets.elements, seed, bands, rows)  # type: ignore[no-any-return]
    data, offsets = text_arrays(features)
    arguments = (data, offsets, *shingling.arguments(), seed, bands, rows, CHUNK_BYTES)
    return sketching.digest_texts(*arguments)  # type: ignore[no-any-return]


def _digest_vectors(features: pa.Array, settings: DigestSettings) -> tuple[UInt64, Int64, UInt64]:
    """Bucket keys, number of words and fingerprints of vectors; nulls have no words."""
    kind, plan = settings.vectors, settings.plan
    assert kind is not None
    rows, there = rows_of(features, kind)
    sets = words_of(rows, there, kind)
    counts = sets.sizes
    if settings.by_angle:
        counts[np.flatnonzero(there)[~rows.any(axis=1)]] = 0
    keys = np.zeros((settings.bands, len(features)), np.uint64)
    if plan:
        keys[:, there] = band_keys(rows, plan, kind, settings.seed)
    return keys, counts, fingerprints(sets)


def band_keys(rows: npt.NDArray[Any], plan: Plan, kind: VectorKind, seed: int) -> UInt64:
    """The bucket key of each vector in each band: uint64[bands, vectors]."""
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
        tiles, offsets, width = _lines(plan, kind, seed)
        kernels.line_keys(rows.astype(np.float64), tiles, offsets, width, plan.rows, keys)
    return keys


@lru_cache(maxsize=2)
def _positions(plan: Plan, kind: VectorKind, seed: int) -> Int64:
    from lookalike.families.bits import BitSampling  # imported on use: runs on sets start faster without it

    return BitSampling(kind.dimension, seed).positions_for(kind.dimension, plan.used_hashes)


@lru_cache(maxsize=2)
def _hyperplanes(plan: Plan, kind: VectorKind, seed: int) -> npt.NDArray[np.float32]:
    from lookalike.families.hyperplanes import Hyperplanes

    return _tiles(Hyperplanes(seed).vectors_for(kind.dimension, plan.used_hashes))


@lru_cache(maxsize=2)
def _lines(plan: Plan, kind: VectorKind, seed: int) -> tuple[Float64, Float64, float]:
    from lookalike.families.lines import Lines

    assert plan.width is not None
    lines, offsets = Lines(plan.width, seed).lines_for(kind.dimension, plan.used_hashes)
    return _tiles(lines.astype(np.float64)), offsets, plan.width


def _tiles(columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Columns in groups of LANES, the last group padded with zeros: groups x dimension x LANES."""
    dimension, count = columns.shape
    groups = -(-count // kernels.LANES)
    padded = np.zeros((dimension, groups * kernels.LANES), columns.dtype)
    padded[:, :count] = columns
    return np.ascontiguousarray(padded.reshape(dimension, groups, kernels.LANES).transpose(1, 0, 2))
