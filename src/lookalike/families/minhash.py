"""The MinHash family: signatures of sets that agree in a value with probability Jaccard.

Three ways to the same family: `fast` (Fast Similarity Sketching, the default), `universal` (the lecture's
(a x + b) mod p) and `permutation` (true permutations of the elements that occur, for small collections).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lookalike.errors import ResourceError, UsageError
from lookalike.families.base import Family, Hashed
from lookalike.kernels import minhash as kernels
from lookalike.types import NOWHERE, Sets, Signatures, UInt32, UInt64

METHODS = ("fast", "universal", "permutation")
LARGEST_PERMUTATIONS = 1 << 28
"""Numbers (elements x hashes) that `permutation` may hold: 1 GiB."""


class MinHash(Family):
    """Minhash signatures of sets; as a family, for the Jaccard distance.

    Parameters
    ----------
    hashes
        How many values a signature has.
    seed
        Another seed gives other, independent signatures.
    method
        `fast`, `universal` or `permutation`.

    Examples
    --------
    >>> sets = Sets(np.array([0, 3, 6]), np.array([1, 2, 3, 1, 2, 3], np.uint64))
    >>> signatures = MinHash(hashes=64).signatures(sets)
    >>> signatures.values.shape, signatures.similarity(0, 1)
    ((2, 64), 1.0)
    """

    distance = "Jaccard distance"
    farthest = 1.0

    def __init__(self, hashes: int = 128, seed: int = 1, method: str = "fast") -> None:
        if method not in METHODS:
            raise UsageError(f"method {method!r}: one of {', '.join(METHODS)}")
        if not 1 <= hashes <= 65536:
            raise UsageError(f"hashes {hashes}: from 1 to 65536")
        self.hashes, self.seed, self.method = hashes, seed, method

    @staticmethod
    def collision(similarity: float) -> float:
        """How likely two sets of this Jaccard similarity agree in one value: just that.

        Examples
        --------
        >>> MinHash.collision(0.8)
        0.8
        """
        return similarity

    def probability(self, distance: float) -> float:
        """1 - distance."""
        return self.collision(1 - distance)

    def hash(self, items: Sets, count: int) -> Hashed:
        """The first values of the signatures; sets without elements are nowhere."""
        values = MinHash(count, self.seed, self.method).signatures(items).values.T.astype(np.int64)
        values[:, items.sizes == 0] = NOWHERE
        return Hashed(values[:, :, None])

    def signatures(self, sets: Sets) -> Signatures:
        """The signatures of sets; that of the empty set has the largest number everywhere."""
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


def merge(signatures: Iterable[Signatures]) -> Signatures:
    """Signatures of several batches as one.

    Examples
    --------
    >>> one = Signatures(np.ones((2, 4), np.uint32), "fast", 1)
    >>> len(merge([one, one]))
    4
    """
    parts = list(signatures)
    return Signatures(np.concatenate([part.values for part in parts]), parts[0].method, parts[0].seed)
