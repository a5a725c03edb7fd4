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


def list_words(words: Sequence[str]) -> str:
    """Words joined as in a sentence.

    Examples
    --------
    >>> list_words(["name", "phone", "zip"])
    'name, phone and zip'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
