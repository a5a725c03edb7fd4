"""The definitions in plain Python: slow, obvious, and written without a look at the kernels."""

import unicodedata
from collections import Counter
from fractions import Fraction
from functools import cache
from math import isqrt

SPACELESS = [
    range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000),
    range(0x3040, 0x3100), range(0x31F0, 0x3200), range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800),
]  # fmt: skip
KNOWN_UNICODE = ("14.0.0", "15.0.0", "15.1.0")
# The definition is that of Unicode 14, in which these characters of Unicode 15 and 15.1 are unassigned.
LATER = {
    code for first, last in [
        (0xCF3, 0xCF3), (0xECE, 0xECE), (0x2FFC, 0x2FFF), (0x31EF, 0x31EF), (0x10EFD, 0x10EFF), (0x1123F, 0x11241),
        (0x11B00, 0x11B09), (0x11F00, 0x11F10), (0x11F12, 0x11F3A), (0x11F3E, 0x11F59), (0x1342F, 0x1342F),
        (0x13439, 0x13455), (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1D2C0, 0x1D2D3), (0x1DF25, 0x1DF2A),
        (0x1E030, 0x1E06D), (0x1E08F, 0x1E08F), (0x1E4D0, 0x1E4F9), (0x1F6DC, 0x1F6DC), (0x1F774, 0x1F776),
        (0x1F77B, 0x1F77F), (0x1F7D9, 0x1F7D9), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA88), (0x1FAAD, 0x1FAAF),
        (0x1FABB, 0x1FABD), (0x1FABF, 0x1FABF), (0x1FACE, 0x1FACF), (0x1FADA, 0x1FADB), (0x1FAE8, 0x1FAE8),
        (0x1FAF7, 0x1FAF8), (0x2B739, 0x2B739), (0x2EBF0, 0x2EE5D), (0x31350, 0x323AF),
    ] for code in range(first, last + 1)
}  # fmt: skip


@cache
def fold(char):
    if ord(char) in LATER:
        return char
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(d for d in decomposed if not unicodedata.combining(d))


@cache
def is_word(char):
    return ord(char) not in LATER and unicodedata.category(char)[0] in "LMN"


@cache
def stands_alone(char):
    return is_word(char) and any(ord(char) in block for block in SPACELESS)


def tokens(text):
    found = [""]
    for char in "".join(fold(c) for c in text):
        if stands_alone(char):
            found += [char, ""]
        elif is_word(char):
            found[-1] += char
        else:
            found.append("")
    return [token for token in found if token]


def shingles(text, spec="word:5", bag=False, stop_words=()):
    kind, _, width = spec.partition(":")
    width = int(width)
    sequence = tokens(text)
    if not sequence:
        return frozenset()
    if kind == "char":
        sequence = " ".join(sequence)
    if kind == "stopword":
        listed = [
            tuple(sequence[i : i + width])
            for i in range(len(sequence))
            if sequence[i] in stop_words and i + width <= len(sequence)
        ]
    elif len(sequence) < width:
        listed = [tuple(sequence)]
    else:
        listed = [tuple(sequence[i : i + width]) for i in range(len(sequence) - width + 1)]
    if not bag:
        return frozenset(listed)
    seen = Counter()
    counted = set()
    for shingle in listed:
        seen[shingle] += 1
        counted.add((shingle, seen[shingle]))
    return frozenset(counted)


def holds(measure, left, right, threshold):
    """Does the measure of two sets reach the threshold (a Fraction)?"""
    both, n, m = len(left & right), len(left), len(right)
    if not both:
        return False
    over, under = threshold.as_integer_ratio()
    if measure == "cosine":
        return (both * under) ** 2 >= over**2 * n * m
    part, whole = {
        "jaccard": (both, n + m - both),
        "dice": (2 * both, n + m),
        "containment": (both, n),
        "overlap": (both, 1),
    }[measure]
    return part * under >= over * whole


def exact(measure, left, right):
    both, n, m = len(left & right), len(left), len(right)
    if not both:
        return Fraction(0)
    if measure == "cosine":
        return Fraction(both) / Fraction(isqrt(n * m * 10**30), 10**15)
    return {
        "jaccard": Fraction(both, n + m - both),
        "dice": Fraction(2 * both, n + m),
        "containment": Fraction(both, n),
        "overlap": Fraction(both),
    }[measure]


def greedy(sets, order, measure, threshold, fixed=0):
    """The keeper of each item (or None): in priority order, removed if an earlier kept item is similar."""
    keeper, kept = {}, []
    for place, item in enumerate(order):
        similar = [k for k in kept if holds(measure, sets[item], sets[k], threshold)]
        keeper[item] = similar[0] if similar and place >= fixed else None
        if keeper[item] is None:
            kept.append(item)
    return keeper


def components(sets, measure, threshold):
    """The smallest member of each item's connected component."""
    label = list(range(len(sets)))
    for i in range(len(sets)):
        for j in range(i):
            if holds(measure, sets[i], sets[j], threshold) or holds(measure, sets[j], sets[i], threshold):
                old, new = max(label[i], label[j]), min(label[i], label[j])
                label = [new if one == old else one for one in label]
    return label
