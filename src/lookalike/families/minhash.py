"""The MinHash family: signatures of sets, whose values agree with a probability equal to the Jaccard similarity.

Three methods give the same family: `fast` (Fast Similarity Sketching, the default), `universal` ((a x + b) mod p) and
`permutation` (true permutations of the elements that occur, for small collections).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lookalike.errors import BadDataError, ResourceError, UsageError
from lookalike.families.base import Family, Hashed
from lookalike.families.drawing import check_seed
from lookalike.kernels import minhash as kernels
from lookalike.kernels.sets import distinct_rows, hash_integers, hash_strings
from lookalike.types import NOWHERE, Sets, Signatures, UInt32, UInt64

METHODS = ("fast", "universal", "permutation")
LARGEST_PERMUTATIONS = 1 << 28
"""Numbers (elements x hashes) that `permutation` may hold: 1 GiB."""

Collections = Sets | Iterable[Iterable[str | int]]
"""Sets of 64-bit elements, or Python collections of strings or of integers."""


class MinHash(Family):
    """Minhash signatures of sets; as a family, for the Jaccard distance.

    Parameters
    ----------
    hashes
        The number of values of a signature.
    seed
        Another seed gives other, independent signatures.
    method
        `fast`, `universal` or `permutation`.

    Examples
    --------
    >>> signatures = MinHash(hashes=128, seed=1).signatures([{"ad", "bc"}, {"bc", "ad"}, {"zz"}])
    >>> signatures.values.shape, signatures.similarity(0, 1), signatures.similarity(0, 2)
    ((3, 128), 1.0, 0.0)
    """

    distance = "Jaccard distance"
    farthest = 1.0

    def __init__(self, hashes: int = 128, seed: int = 1, method: str = "fast") -> None:
        if method not in METHODS:
            raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
        if not 1 <= hashes <= 65536:
            raise UsageError(f"hashes must be from 1 to 65536, not {hashes}")
        self.hashes, self.seed, self.method = hashes, check_seed(seed), method

    @staticmethod
    def collision(similarity: float) -> float:
        """The probability that two sets of this Jaccard similarity agree in one value: the similarity itself.

        Examples
        --------
        >>> MinHash.collision(0.8)
        0.8
        """
        return similarity

    def probability(self, distance: float) -> float:
        """1 - distance."""
        return self.collision(1 - distance)

    def hash(self, items: Collections, count: int) -> Hashed:
        """The first values of the signatures; empty sets are in no bucket."""
        sets = as_sets(items)
        values = MinHash(count, self.seed, self.method).signatures(sets).values.T.astype(np.int64)
        values[:, sets.sizes == 0] = NOWHERE
        return Hashed(values[:, :, None])

    def signatures(self, sets: Collections) -> Signatures:
        """The signatures of sets; all values of the empty set are the largest number."""
        sets = as_sets(sets)
        values = np.empty((len(sets), self.hashes), np.uint32)
        if self.method == "fast":
            kernels.sketch_sets(sets.indptr, sets.elements, np.uint64(self.seed), values)
        elif self.method == "universal":
            kernels.universal_sets(sets.indptr, sets.elements, *self._coefficients(), values)
        else:
            self._permute(sets, values)
        return Signatures(values, self.method, self.seed)

    def _coefficients(self) -> tuple[UInt64, UInt64]:
        random = np.random.default_rng(self.seed)
        prime = int(kernels.MERSENNE)
        return (
            random.integers(1, prime, self.hashes, np.uint64),
            random.integers(0, prime, self.hashes, np.uint64),
        )

    def _permute(self, sets: Sets, values: UInt32) -> None:
        universe, rows = np.unique(sets.elements, return_inverse=True)
        if len(universe) * self.hashes > LARGEST_PERMUTATIONS:
            raise ResourceError(f"{self.hashes} permutations of {len(universe)} elements do not fit; use method='fast'")
        random = np.random.default_rng(self.seed)
        filled = sets.sizes > 0
        values[~filled] = np.iinfo(np.uint32).max
        starts = sets.indptr[:-1][filled]
        for j in range(self.hashes):
            place = random.permutation(len(universe)).astype(np.uint32)
            if len(starts):
                values[filled, j] = np.minimum.reduceat(place[rows], starts)


def as_sets(collections: Collections) -> Sets:
    """Python collections of strings or of integers as sets of 64-bit elements; `Sets` are returned unchanged.

    Examples
    --------
    >>> as_sets([["a", "b", "a"], [], {"b"}]).sizes.tolist()
    [2, 0, 1]
    """
    if isinstance(collections, Sets):
        return collections
    rows = [list(one) for one in collections]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return Sets(*distinct_rows(indptr, _hash_tokens([token for row in rows for token in row])))


def _hash_tokens(tokens: list[Any]) -> UInt64:
    if all(isinstance(token, str) for token in tokens):
        try:
            encoded = [token.encode() for token in tokens]
        except UnicodeEncodeError as error:
            raise BadDataError(f"a token is not valid Unicode: {error}") from None
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(one) for one in encoded], dtype=np.int64)])
        offsets.flags.writeable = False  # as the arrays of Arrow, for which the kernels are compiled
        hashed: UInt64 = hash_strings(np.frombuffer(b"".join(encoded) or bytes(1), np.uint8), offsets)
        return hashed
    if not all(isinstance(token, int | np.integer) and not isinstance(token, bool) for token in tokens):
        raise BadDataError("sets must hold strings only or integers only")
    if not all(-(1 << 63) <= int(token) < 1 << 64 for token in tokens):
        raise BadDataError("integers in sets must fit in 64 bits")
    values = np.array([int(token) % (1 << 64) for token in tokens], np.uint64)
    values.flags.writeable = False
    return hash_integers(values)  # type: ignore[no-any-return]


def merge(signatures: Iterable[Signatures]) -> Signatures:
    """Concatenate the signatures of several batches.

    Examples
    --------
    >>> one = Signatures(np.ones((2, 4), np.uint32), "fast", 1)
    >>> len(merge([one, one]))
    4
    """
    parts = list(signatures)
    return Signatures(np.concatenate([part.values for part in parts]), parts[0].method, parts[0].seed)
