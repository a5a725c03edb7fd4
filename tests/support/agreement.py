"""Levels of agreement by their definitions, in plain Python: slow and obvious."""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np


def jaro_winkler(a: str, b: str) -> float:
    reach = max(0, max(len(a), len(b)) // 2 - 1)
    taken: set[int] = set()
    matched_a = []
    for i, char in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if j not in taken and b[j] == char:
                taken.add(j)
                matched_a.append(char)
                break
    if not matched_a:
        return 0.0
    matched_b = [b[j] for j in sorted(taken)]
    half_swaps = sum(x != y for x, y in zip(matched_a, matched_b)) // 2
    m = len(matched_a)
    jaro = (m / len(a) + m / len(b) + (m - half_swaps) / m) / 3
    prefix = 0
    while prefix < min(4, len(a), len(b)) and a[prefix] == b[prefix]:
        prefix += 1
    return jaro + prefix * 0.1 * (1 - jaro) if jaro > 0.7 else jaro


@cache
def edits(a: str, b: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours, no part edited twice."""
    row = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best = min(row[i - 1, j] + 1, row[i, j - 1] + 1, row[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, row[i - 2, j - 2] + 1)
            row[i, j] = best
    return row[len(a), len(b)]


@cache
def edit_similarity(a: str, b: str) -> float:
    """Twice the longest common subsequence by the sum of the lengths."""
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else row[j] if row[j] > before[j + 1] else before[j + 1])
        before = row
    return 2 * before[-1] / (len(a) + len(b))


def alike(a: str, b: str) -> float:
    if len(a) + len(b) > 2000:
        one, other = set(a.split(" ")), set(b.split(" "))
        return 2 * len(one & other) / (len(one) + len(other))
    ordered = (" ".join(sorted(text.split(" "))) for text in (a, b))
    return max(edit_similarity(a, b), edit_similarity(*ordered))


def reach(score: float, cut: float) -> bool:
    return bool(np.float32(score) >= np.float32(cut))


def contained(a: str, b: str) -> bool:
    one, other = set(a.split(" ")), set(b.split(" "))
    return one <= other or other <= one


def abbreviated(a: str, b: str) -> bool:
    fewer, more = sorted((a.split(" "), b.split(" ")), key=len)
    rest = iter(more)
    return all(any(x.startswith(y) or y.startswith(x) for y in rest) for x in fewer)


def person(a: str, b: str) -> int:
    close = jaro_winkler(a, b)
    for level, cut in ((2, 0.95), (3, 0.88), (4, 0.8)):
        if reach(close, cut):
            return level
    return 5 if contained(a, b) else 6 if abbreviated(a, b) else 7


def are_nicknames(a: str, b: str, groups: tuple[tuple[str, ...], ...]) -> bool:
    one, other = a.split(" "), b.split(" ")
    return len(one) == len(other) and all(
        x == y or any(x in group and y in group for group in groups) for x, y in zip(one, other)
    )


def text(a: str, b: str) -> int:
    one, other = set(a.split(" ")), set(b.split(" "))
    if reach(alike(a, b), 0.9):
        return 2
    if reach(alike(a, b), 0.75) or contained(a, b):
        return 3
    if 2 * len(one & other) >= min(len(one), len(other)) or abbreviated(a, b):
        return 4
    return 5 if reach(alike(a, b), 0.55) else 6


def address(a: str, b: str) -> int:
    one, other = ({word for word in value.split(" ") if any("0" <= c <= "9" for c in word)} for value in (a, b))
    same = one <= other or other <= one
    if same and (reach(alike(a, b), 0.85) or contained(a, b)):
        return 2
    if same and (reach(alike(a, b), 0.6) or abbreviated(a, b)):
        return 3
    return 4 if reach(alike(a, b), 0.85) else 5


def code(a: str, b: str) -> int:
    longer, shorter, apart = max(len(a), len(b)), min(len(a), len(b)), edits(a, b)
    if apart == 1 and longer >= 3:
        return 2
    begins = shorter >= 4 and (a.startswith(b) or b.startswith(a))
    return 3 if (apart == 2 and longer >= 6) or begins else 4


def phone(a: str, b: str) -> int:
    if min(len(a), len(b)) >= 7 and a[-7:] == b[-7:]:
        return 2
    return 3 if edits(a, b) == 1 else 4


def email(a: str, b: str) -> int:
    one, other = a.split("@")[0], b.split("@")[0]
    if one == other:
        return 2
    if edits(a, b) <= 2:
        return 3
    return 4 if one and other and reach(jaro_winkler(one, other), 0.9) else 5


def parts(value: str) -> list[int]:
    found = value.split("-")
    if [len(part) for part in found] != [4, 2, 2][: len(found)] or not value.replace("-", "").isdigit():
        return [0, 0, 0]
    return ([int(part) for part in found] + [0, 0])[:3]


def days(value: str) -> float:
    year, month, day = parts(value)
    month, day = max(month, 1), max(day, 1)
    if not year or month > 12 or day > 31:
        return float("nan")
    return (datetime.date(year, month, 1) - datetime.date(1970, 1, 1)).days + day - 1


def date(a: str, b: str) -> int:
    (y, m, d), (y2, m2, d2) = parts(a), parts(b)
    if d and d2 and (y, m, d) == (y2, d2, m2):
        return 2
    if min(len(a), len(b)) > 4 and edits(a.replace("-", ""), b.replace("-", "")) == 1:
        return 2
    if sum(x == x2 != 0 for x, x2 in ((y, y2), (m, m2), (d, d2))) >= 2:
        return 3
    if not y or not y2:
        return 5
    if m and m2:
        return 4 if abs(days(a) - days(b)) <= 31 else 5
    return 4 if abs(y - y2) <= (0 if m or m2 else 1) else 5


def number(a: str, b: str) -> int:
    try:
        one, other = float(a), float(b)
    except ValueError:
        return 5
    apart = abs(one - other) / max(abs(one), abs(other))
    return 2 if apart <= 0.01 else 3 if apart <= 0.05 else 4 if apart <= 0.2 else 5


LEVEL_OF = {f.__name__: f for f in (person, text, address, code, phone, email, date, number)}
LEVEL_OF["place"] = person
