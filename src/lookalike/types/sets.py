"""Sets, vectors, signatures, buckets and pairs: the data that stages pass to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.types import Float64, Int32, Int64, UInt32, UInt64
from lookalike.types.frozen import frozen


@frozen
class Sets:
    """Sets of 64-bit elements in compressed rows: row i is `elements[indptr[i]:indptr[i + 1]]`.

    Examples
    --------
    >>> sets = Sets(np.array([0, 2, 2]), np.array([3, 8], np.uint64))
    >>> len(sets), sets.sizes.tolist()
    (2, [2, 0])
    """

    indptr: Int64
    """int64, one more than there are sets; starts at 0 and never falls."""
    elements: UInt64
    """uint64; sorted and distinct within a set."""

    def __post_init__(self) -> None:
        # Always read-only, like sets loaded from a file, so that kernels are compiled once for both.
        for name in ("indptr", "elements"):
            fixed = getattr(self, name).view()
            fixed.flags.writeable = False
            object.__setattr__(self, name, fixed)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return np.diff(self.indptr)

    def __getitem__(self, row: int) -> UInt64:
        return self.elements[self.indptr[row] : self.indptr[row + 1]]

    @classmethod
    def joined(cls, parts: list[Sets]) -> Sets:
        """Concatenate sets. The list is emptied, so that each part is freed as soon as it is copied.

        Examples
        --------
        >>> one = Sets(np.array([0, 1]), np.array([3], np.uint64))
        >>> Sets.joined([one, one]).indptr.tolist()
        [0, 1, 2]
        """
        if len(parts) == 1:
            return parts.pop()
        sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        elements = np.empty(int(indptr[-1]), np.uint64)
        filled = 0
        while parts:
            part = parts.pop(0)
            elements[filled : filled + len(part.elements)] = part.elements
            filled += len(part.elements)
        return cls(indptr, elements)


@frozen
class VectorKind:
    """What a vector consists of: a fixed number of numbers, or of bits.

    Vectors are stored like sets: as words of 64 bits, the last one padded with zeros.

    Examples
    --------
    >>> VectorKind(3, "float32").words, VectorKind(100, "bits").words
    (2, 2)
    """

    dimension: int
    scalar: str
    """float32, float64 or bits."""

    @property
    def per_word(self) -> int:
        """How many numbers (or bits) fit in a word."""
        return {"float32": 2, "float64": 1, "bits": 64}[self.scalar]

    @property
    def words(self) -> int:
        """How many words a vector takes."""
        return -(-self.dimension // self.per_word)

    def as_rows(self, begins: Int64, ends: Int64, words: UInt64) -> tuple[Int64, Int64, Any]:
        """Vectors in the form that kernels take: begins, ends, and the numbers (for bit strings, the words)."""
        if self.scalar == "bits":
            return begins, ends, words
        starts = begins * self.per_word
        return starts, starts + self.dimension, words.view(self.scalar)


@frozen
class Numbered:
    """Sets in order of size, with elements numbered by frequency: rare ones have small numbers.

    Examples
    --------
    >>> Numbered(np.array([0, 1, 3]), np.array([1, 0, 1], np.uint32), 2, 1).sizes.tolist()
    [1, 2]
    """

    indptr: Int64
    """int64, one more than there are sets; sizes never fall. No set is empty."""
    tokens: UInt32
    """uint32; ascending and distinct within a set."""
    distinct: int
    """How many different elements there are: tokens are below this."""
    singles: int
    """Tokens below this are in one set only: they can match nothing."""

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def sizes(self) -> Int64:
        """How many elements each set has."""
        return np.diff(self.indptr)


@frozen
class Signatures:
    """One row of minhash values per item. The chance that two rows agree in a column is their Jaccard similarity.

    Examples
    --------
    >>> Signatures(np.zeros((3, 4), np.uint32), "fast", 1)
    Signatures(3 items x 4 hashes, method='fast', seed=1)
    """

    values: UInt32
    """uint32, items x hashes."""
    method: str
    seed: int

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Signatures({len(self)} items x {self.hashes} hashes, method={self.method!r}, seed={self.seed})"

    def _repr_html_(self) -> str:
        sentence = f"Signatures of {len(self):,} items, {self.hashes:,} hashes each"
        return f"<p>{sentence} (method {self.method}, seed {self.seed}).</p>"

    @property
    def hashes(self) -> int:
        """How many values each signature has."""
        return int(self.values.shape[1])

    def similarity(self, left: int, right: int) -> float:
        """The estimate of the Jaccard similarity of two items: the share of equal values."""
        return float(np.mean(self.values[left] == self.values[right]))


@frozen
class Buckets:
    """Groups of items to be compared with each other: bucket b is `members[starts[b]:starts[b + 1]]`."""

    starts: Int64
    """int64, one more than there are buckets."""
    members: Int32
    """Item numbers, ascending within a bucket."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Int64:
        """How many members each bucket has."""
        return np.diff(self.starts)

    def sizes_below(self, item: int) -> Int64:
        """How many members of each bucket are below this number."""
        if not len(self):
            return np.empty(0, np.int64)
        return np.add.reduceat(self.members < item, self.starts[:-1], dtype=np.int64)


@frozen
class Pairs:
    """Verified pairs of items, by number, with their exact similarity."""

    left: Int64
    right: Int64
    similarity: Float64

    def __len__(self) -> int:
        return len(self.left)


@frozen
class Overlapping:
    """Pairs of sets by number (left < right), and how many elements the two share."""

    left: Int64 | Int32
    right: Int64 | Int32
    overlaps: Int64 | Int32
    reached: int = 0
    """From a join that goes through the sets in order: all pairs with `right` below this have been listed."""

    def __len__(self) -> int:
        return len(self.left)
