"""Format numbers and lists for messages and reports."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun.

    Parameters
    ----------
    plural
        By default the noun with -s, or with -es after -sh.

    Examples
    --------
    >>> count(1, "pair"), count(2000, "pair"), count(256, "hash"), count(0, "entity", "entities")
    ('1 pair', '2,000 pairs', '256 hashes', '0 entities')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + ('es' if noun.endswith('sh') else 's')}"


def duration(seconds: float) -> str:
    """A time with two digits.

    Examples
    --------
    >>> duration(9e-5), duration(0.0123), duration(0.84), duration(6.63), duration(48.2)
    ('under 1 ms', '12 ms', '840 ms', '6.6 s', '48 s')
    >>> duration(660), duration(9000)
    ('11 min', '2.5 h')
    """
    if seconds < 1e-3:
        return "under 1 ms"
    if seconds < 0.995:
        return f"{float(f'{1000 * seconds:.2g}'):.0f} ms"
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:,.1f} h"


def list_words(words: Sequence[str]) -> str:
    """Words joined as in a sentence.

    Examples
    --------
    >>> list_words(["name", "phone", "zip"])
    'name, phone and zip'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
