"""The exact answer for evaluating results: all pairs of items at or above a threshold.

Shingles are five consecutive words as the design defines them: fold, split into tokens, take every window of five. This
is an implementation of its own (it shares no code with the package), with a prefix filter that loses no pair. The
answer is kept on disk beside the corpus.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from numba import njit

SHINGLE_WORDS = 5
ALONE = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF), (0x3040, 0x30FF)),
    *((0x31F0, 0x31FF), (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),
)
ASCII_WORDS = re.compile(r"[a-z0-9]+")
MIX = np.uint64(0x9E3779B97F4A7C15)

Integers = npt.NDArray[np.int64]


class FoldTable(dict[int, str]):
    """What each character becomes, for `str.translate`: folded, gaps as spaces, made on first use."""

    def __missing__(self, code: int) -> str:
        once = unicodedata.normalize("NFKD", chr(code)).casefold()
        folded = (c for c in unicodedata.normalize("NFKD", once) if not unicodedata.combining(c))
        self[code] = "".join(map(self.place, folded))
        return self[code]

    @staticmethod
    def place(char: str) -> str:
        """Return a word character as it is, one that is a token of its own in spaces, others as a space."""
        if unicodedata.category(char)[0] not in "LMN":
            return " "
        return f" {char} " if any(low <= ord(char) <= high for low, high in ALONE) else char


FOLD = FoldTable()


def split_tokens(text: str) -> list[str]:
    """Return the tokens of a text."""
    if text.isascii():
        return ASCII_WORDS.findall(text.lower())
    return [token for token in text.translate(FOLD).split(" ") if token]


def hash_shingles(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Hash every window of five word numbers (or all of fewer) to 64 bits; sorted, distinct."""
    if not len(words):
        return words
    width = min(SHINGLE_WORDS, len(words))
    windows = len(words) - width + 1
    hashed = np.full(windows, width, np.uint64)
    for offset in range(width):
        hashed = (hashed ^ words[offset : offset + windows]) * MIX
        hashed ^= hashed >> np.uint64(29)
    return np.unique(hashed)


def shingle_texts(texts: Iterable[str]) -> list[npt.NDArray[np.uint64]]:
    """Return the set of hashed shingles of each text."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    sets = []
    for text in texts:
        tokens = split_tokens(text)
        words = np.fromiter(map(numbers.__getitem__, tokens), np.uint64, len(tokens))
        sets.append(hash_shingles(words + np.uint64(1)))
    return sets


def group_identical(sets: list[npt.NDArray[np.uint64]]) -> tuple[Integers, list[npt.NDArray[np.uint64]]]:
    """Number the distinct sets; return each item's number (-1 for the empty set) and the distinct sets."""
    numbers: dict[bytes, int] = {}
    distinct: list[npt.NDArray[np.uint64]] = []
    groups = np.full(len(sets), -1, np.int64)
    for item, elements in enumerate(sets):
        if not len(elements):
            continue
        key = elements.tobytes()
        if key not in numbers:
            numbers[key] = len(distinct)
            distinct.append(elements)
        groups[item] = numbers[key]
    return groups, distinct


def rank_by_rarity(sets: list[npt.NDArray[np.uint64]]) -> tuple[npt.NDArray[np.int32], Integers]:
    """Renumber the elements by ascending frequency; return the sorted sets as one array, and offsets."""
    offsets = np.concatenate([[0], np.cumsum([len(elements) for elements in sets])]).astype(np.int64)
    _, inverse, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    ranks = np.empty(len(counts), np.int32)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts), dtype=np.int32)
    values = ranks[inverse]
    for start, end in pairwise(offsets):
        values[start:end].sort()
    return values, offsets


@njit
def overlap_of(values, offsets, left, right):  # type: ignore[no-untyped-def]
    """Count the common elements of two sorted sets."""
    i, j, common = offsets[left], offsets[right], 0
    while i < offsets[left + 1] and j < offsets[right + 1]:
        if values[i] == values[j]:
            common += 1
            i += 1
            j += 1
        elif values[i] < values[j]:
            i += 1
        else:
            j += 1
    return common


@njit
def join_prefixes(values, offsets, order, numerator, denominator):  # type: ignore[no-untyped-def]
    """Return every pair of sets whose Jaccard similarity is at least numerator / denominator.

    Two such sets of sizes m <= n share one of the n - ceil(t n) + 1 rarest elements of each. Sets come in ascending
    size, and each element's chain is walked from the latest set back, so that the first set that is too small ends the
    walk.
    """
    head = np.full(values.max() + 1, -1, np.int64)
    link_set, link_next = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    seen = np.full(len(order), -1, np.int64)
    links, pairs = 0, [(0, 0) for _ in range(0)]
    for x in order:
        n = offsets[x + 1] - offsets[x]
        prefix = n - (numerator * n + denominator - 1) // denominator + 1
        for position in range(offsets[x], offsets[x] + prefix):
            element = values[position]
            link = head[element]
            while link >= 0:
                y = link_set[link]
                m = offsets[y + 1] - offsets[y]
                if m * denominator < numerator * n:
                    break
                if seen[y] != x:
                    seen[y] = x
                    common = overlap_of(values, offsets, x, y)
                    if common * (numerator + denominator) >= numerator * (n + m):
                        pairs.append((min(x, y), max(x, y)))
                link = link_next[link]
            link_set[links], link_next[links] = x, head[element]
            head[element] = links
            links += 1
    return pairs


@dataclass(frozen=True)
class ExactAnswer:
    """All similar pairs of a corpus.

    Attributes
    ----------
    groups : int64 (items,)
        The number of each item's set; items with equal sets share it; -1 for the empty set.
    pairs : int64 (pairs, 2)
        Numbers of distinct sets that are similar but not equal.
    """

    groups: Integers
    pairs: Integers

    def count_pairs(self, kept: npt.NDArray[np.bool_] | None = None) -> int:
        """Count the similar pairs of items, or those of which both items are kept."""
        size = self.sizes(np.ones(len(self.groups), bool) if kept is None else kept)
        within = int((size * (size - 1) // 2).sum())
        return within + int((size[self.pairs[:, 0]] * size[self.pairs[:, 1]]).sum())

    def sizes(self, chosen: npt.NDArray[np.bool_]) -> Integers:
        """Count the chosen items of each set."""
        return np.bincount(self.groups[chosen & (self.groups >= 0)], minlength=self.groups.max() + 1)

    def count_wrong_removals(self, kept: npt.NDArray[np.bool_]) -> int:
        """Count the removed items that are similar to no kept item."""
        alive = self.sizes(kept) > 0
        covered = alive.copy()
        np.logical_or.at(covered, self.pairs[:, 0], alive[self.pairs[:, 1]])
        np.logical_or.at(covered, self.pairs[:, 1], alive[self.pairs[:, 0]])
        removed = self.groups[~kept]
        return int((removed < 0).sum() + (~covered[removed[removed >= 0]]).sum())

    def keep_first(self) -> npt.NDArray[np.bool_]:
        """Apply the dedup rule in input order: kept unless similar to an earlier kept item."""
        neighbours: defaultdict[int, list[int]] = defaultdict(list)
        for left, right in self.pairs.tolist():
            neighbours[left].append(right)
            neighbours[right].append(left)
        alive: set[int] = set()
        kept = np.ones(len(self.groups), bool)
        for item, group in enumerate(self.groups.tolist()):
            if group < 0:
                continue
            kept[item] = group not in alive and alive.isdisjoint(neighbours[group])
            if kept[item]:
                alive.add(group)
        return kept


def solve_exactly(texts: Iterable[str], threshold: str = "0.8") -> ExactAnswer:
    """Find all pairs of texts whose sets of five-word shingles have Jaccard similarity >= `threshold`."""
    limit = Fraction(threshold)
    groups, distinct = group_identical(shingle_texts(texts))
    if not distinct:
        return ExactAnswer(groups, np.empty((0, 2), np.int64))
    values, offsets = rank_by_rarity(distinct)
    order = np.argsort(np.diff(offsets), kind="stable")
    pairs = join_prefixes(values, offsets, order, limit.numerator, limit.denominator)
    return ExactAnswer(groups, np.array(sorted(pairs), np.int64).reshape(-1, 2))


def load_answer(parquet: Path, threshold: str = "0.8") -> ExactAnswer:
    """Return the exact answer of a corpus: from disk if it was computed before, else computed and kept."""
    path = parquet.with_name(f"exact-word{SHINGLE_WORDS}-{threshold}.npz")
    if path.exists():
        with np.load(path) as stored:
            return ExactAnswer(stored["groups"], stored["pairs"])
    texts = pq.read_table(parquet, columns=["text"])["text"].to_pylist()
    answer = solve_exactly(texts, threshold)
    np.savez_compressed(path.with_suffix(".tmp.npz"), groups=answer.groups, pairs=answer.pairs)
    path.with_suffix(".tmp.npz").rename(path)
    return answer
