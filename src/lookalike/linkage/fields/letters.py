"""What folding leaves as it is: scripts without spaces, letters with a stroke, and characters that nobody sees.

Folding is the same for all commands. What is added here applies to the fields of records only. Texts of ASCII have none
of this, and are searched with shorter patterns.
"""

from __future__ import annotations

import pyarrow as pa

from lookalike.types import compute as pc

UNSPACED = r"[\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{3FFFF}\x{3040}-\x{309F}]"
"""Chinese characters and hiragana, which are words of their own. Katakana, Thai, Lao, Khmer and Burmese are not
separated by spaces either, but have few letters: most texts have most of them, and trigrams tell more (docs/log.md)."""
PLAIN = {
    "": "\u00ad\u200b\u200c\u200d\u2060\ufeff",  # soft hyphens, spaces without width
    "l": "łŁ", "o": "øØ", "d": "đĐðÐ", "h": "ħĦ", "t": "ŧŦ", "i": "ı", "ae": "æÆ", "oe": "œŒ", "th": "þÞ",
}  # fmt: skip
"""Letters that are often written without their stroke or as two letters; Unicode does not consider them accented."""
_ODD = f"[{''.join(PLAIN.values())}]"


def _are_ascii(values: pa.Array) -> bool:
    return bool(pc.all(pc.string_is_ascii(values), min_count=0).as_py())


def pattern_for(values: pa.Array, pattern: str) -> str:
    r"""The pattern, with the letters of ASCII instead of all letters if the values have no others.

    All letters of Unicode take milliseconds to compile, longer than a few values take to search. In the pattern, the
    classes `\pL`, `\pM` and `\pZ` must be in brackets, and `\pM` not alone.

    Examples
    --------
    >>> pattern_for(pa.array(["lamp"]), r"[\pL\pM]+"), pattern_for(pa.array(["läuft"]), r"[\pL\pM]+")
    ('[A-Za-z]+', '[\\pL\\pM]+')
    """
    if not _are_ascii(values):
        return pattern
    return pattern.replace(r"\pL", "A-Za-z").replace(r"\pM", "").replace(r"\pZ", " ")


def _having(values: pa.Array, pattern: str) -> pa.Array | None:
    """Which values match; None if none does. Texts of ASCII are not searched."""
    if _are_ascii(values):
        return None
    found = pc.fill_null(pc.match_substring_regex(values, pattern), False)
    return found if pc.any(found, min_count=0).as_py() else None


def plain_letters(values: pa.Array) -> pa.Array:
    """Texts with plain letters for those with a stroke, and without invisible characters.

    Examples
    --------
    >>> plain_letters(pa.array(["Łódź", "Œuvre", "ışık", None], pa.large_string())).to_pylist()
    ['lódź', 'oeuvre', 'işik', None]
    """
    where = _having(values, _ODD)
    if where is None:
        return values
    some = pc.filter(values, where)
    for plain, letters in PLAIN.items():
        some = pc.replace_substring_regex(some, f"[{letters}]", plain)
    return pc.replace_with_mask(values, where, some)


def space_characters(values: pa.Array) -> pa.Array:
    """Folded texts with single spaces around Chinese characters and hiragana, each of which is a word.

    Examples
    --------
    >>> space_characters(pa.array(["索尼tv 55", "sony tv", None], pa.large_string())).to_pylist()
    ['索 尼 tv 55', 'sony tv', None]
    """
    where = _having(values, UNSPACED)
    if where is None:
        return values
    spaced = pc.replace_substring_regex(pc.filter(values, where), f" *({UNSPACED}) *", r" \1 ")
    single = pc.utf8_trim_whitespace(pc.replace_substring_regex(spaced, " +", " "))
    return pc.replace_with_mask(values, where, single)
