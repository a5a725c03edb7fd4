"""Two texts side by side: words that occur in only one are marked, and long equal stretches are omitted.

Knows texts and lists of tokens, not where they come from.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

from lookalike.report.html import Markup, escape, join, tag
from lookalike.types.wording import count

WINDOW = 12_000
"""Characters of a text that are compared, from shortly before the first difference."""
BEFORE = 160
"""Characters of equal text that are shown before the first difference."""
CONTEXT = 8
"""Equal words that are shown on each side of a difference."""
SHOWN = 1_100
"""Characters of a text that are shown, about."""
MOST_WORDS = 1_200
"""Words of each text that are compared: finding differences takes quadratic time."""

_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"\s*(?:[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s]|\s$)\s*")
"""A word, a character of a script without spaces, or a punctuation mark, with the spaces around it."""


class Sides(NamedTuple):
    """The two texts as HTML, and a remark about them."""

    left: Markup
    right: Markup
    note: str


class _Piece(NamedTuple):
    kind: str
    left: str
    right: str


def compare_texts(left: str, right: str) -> Sides:
    """Two texts, each with the words that the other lacks marked: `del` on the left, `ins` on the right.

    Examples
    --------
    >>> compare_texts("one red cat", "one blue cat")[:2]
    ('one <del>red</del> cat', 'one <ins>blue</ins> cat')
    >>> compare_texts("same", "same").note
    'The texts are equal.'
    """
    if left == right:
        cut = left[:SHOWN]
        shown = join([cut, *([] if len(cut) == len(left) else [_gap(f"{len(left) - len(cut):,} more characters")])])
        return Sides(shown, shown, "The texts are equal.")
    start = _first_difference(left, right)
    windows = left[start : start + WINDOW], right[start : start + WINDOW]
    words = [_WORD.findall(window)[:MOST_WORDS] for window in windows]
    ends = [start + sum(map(len, some)) for some in words]
    pieces = _pieces(*words)
    sides = [_show(pieces, side, start, len(text) - ends[side]) for side, text in enumerate((left, right))]
    return Sides(sides[0], sides[1], _note(pieces, start, (left, right), ends))


def _first_difference(left: str, right: str) -> int:
    """Where to start: a little before the first character that differs, at the start of a word."""
    low, high = 0, min(len(left), len(right))
    while low < high:  # the longest common prefix, by bisection
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    if low <= 2 * BEFORE:
        return 0
    space = left.find(" ", low - BEFORE, low)
    return low - BEFORE if space < 0 else space + 1


def _pieces(left: Sequence[str], right: Sequence[str]) -> list[_Piece]:
    """Runs of words that both texts have, or only one of them; spaces do not count."""
    cores = [[word.strip() for word in words] for words in (left, right)]
    matcher = difflib.SequenceMatcher(None, cores[0], cores[1], autojunk=max(map(len, cores)) > 400)
    pieces: list[_Piece] = []
    for kind, *ends in matcher.get_opcodes():
        first, second = left[ends[0] : ends[1]], right[ends[2] : ends[3]]
        if kind == "equal" and len(first) > 2 * CONTEXT + 4:
            gap = f"{len(first) - 2 * CONTEXT:,} equal words"
            pieces.append(_Piece("equal", "".join(first[:CONTEXT]), "".join(second[:CONTEXT])))
            pieces.append(_Piece("gap", gap, gap))
            first, second = first[-CONTEXT:], second[-CONTEXT:]
        pieces.append(_Piece("equal" if kind == "equal" else "differs", "".join(first), "".join(second)))
    return pieces


def _show(pieces: Sequence[_Piece], side: int, before: int, after: int) -> Markup:
    """One side, until enough is shown."""
    parts: list[object] = [_gap(f"{before:,} characters before")] if before else []
    shown = 0
    for number, piece in enumerate(pieces):
        text = piece[1 + side]
        if piece.kind == "gap":
            parts.append(_gap(text))
            continue
        if shown + len(text) > SHOWN:
            cut = text[: max(0, SHOWN - shown)]
            rest = sum(len(one[1 + side]) for one in pieces[number:] if one.kind != "gap") - len(cut) + after
            parts += [_mark(piece.kind, cut, side), _gap(f"{rest:,} more characters")]
            return join(parts)
        parts.append(_mark(piece.kind, text, side))
        shown += len(text)
    return join([*parts, *([_gap(f"{after:,} more characters")] if after > 0 else [])])


def _mark(kind: str, text: str, side: int) -> Markup:
    """Text, marked if it differs; spaces around it are not."""
    core = text.strip()
    if kind != "differs" or not core:
        return escape(text)
    start = text.index(core)
    return join([text[:start], tag(("del", "ins")[side], core), text[start + len(core) :]])


def _gap(words: str) -> Markup:
    return join([" ", tag("span", f"[… {words} …]", class_="gap"), " "])


def _note(pieces: Sequence[_Piece], start: int, texts: tuple[str, str], ends: Sequence[int]) -> str:
    places = sum(piece.kind == "differs" for piece in pieces)
    compared = min(map(len, texts)) > min(ends) and max(len(text) - end for text, end in zip(texts, ends)) > 0
    if not places:
        return "The words are equal; spaces differ." if not compared else "No difference in the part shown."
    words = "1 difference" if places == 1 else f"{places:,} differences"
    if compared:
        words += f" in characters {start + 1:,} to {max(ends):,}; the rest was not compared here"
    elif start:
        words += f", the first after character {start:,}"
    return f"{words}."


def compare_tokens(left: Sequence[object], right: Sequence[object]) -> Sides:
    """Two lists of tokens as sets: common tokens are counted, and tokens that only one of them has are marked.

    Examples
    --------
    >>> compare_tokens([1, 2, 3], [2, 3, 4])
    Sides(left='<del>1</del>', right='<ins>4</ins>', note='2 shared elements, 1 only on the left, 1 only on the right.')
    """
    first, second = dict.fromkeys(map(str, left)), dict.fromkeys(map(str, right))
    own = [[one for one in first if one not in second], [one for one in second if one not in first]]
    shared = len(first) - len(own[0])
    sides = [
        join([tag(("del", "ins")[side], *_cut(some)) if some else tag("span", "no element of its own", class_="gap")])
        for side, some in enumerate(own)
    ]
    note = f"{count(shared, 'shared element')}, {len(own[0]):,} only on the left, {len(own[1]):,} only on the right."
    return Sides(sides[0], sides[1], note)


def _cut(words: Sequence[str], most: int = 60) -> list[str]:
    shown = " ".join(word[:80] for word in words[:most])
    return [shown] if len(words) <= most else [shown, f" … {len(words) - most:,} more"]


def compare_vectors(left: Sequence[float], right: Sequence[float], most: int = 16) -> Sides:
    """Two vectors: the coordinates that differ most, in order.

    Examples
    --------
    >>> compare_vectors([0.0, 1.0, 2.0], [0.0, 1.5, 2.0], most=1)[:2]
    ('1: <del>1</del>', '1: <ins>1.5</ins>')
    """
    apart = sorted(range(min(len(left), len(right))), key=lambda place: -abs(left[place] - right[place]))[:most]
    sides = []
    for side, values in enumerate((left, right)):
        shown = [join([f"{place}: ", tag(("del", "ins")[side], f"{values[place]:.6g}")]) for place in sorted(apart)
                 if left[place] != right[place]]  # fmt: skip
        sides.append(join(shown, ", ") if shown else tag("span", "no coordinate differs", class_="gap"))
    note = f"The {len(apart)} of {len(left):,} coordinates that differ most." if len(apart) < len(left) else ""
    return Sides(sides[0], sides[1], note)
