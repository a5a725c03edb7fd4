"""Stop words: the small words that are frequent in running text but rare in headings, menus and advertisements.

The lists in `stopwords.txt` hold *function words* only: articles, pronouns, prepositions, conjunctions,
auxiliary verbs, particles. The newspaper method needs these. A list with "get" and "buy" would find shingles in
"Get Vaccinated" and "Buy now", exactly the text that it is meant to skip.

Thai, Lao, Khmer and Burmese are missing for a reason: each of their characters is a token of its own, and hardly any of
their function words is a single character. For the same reason the Chinese and Japanese lists are single characters.

Nothing here knows tokens: to match words with text, fold both the same way.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lookalike.errors import UsageError


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, unfolded: to match tokens, fold them as the text is folded.

    Parameters
    ----------
    language : str
        An ISO 639-1 code or an English name, in any case: "en", "English".

    Raises
    ------
    UsageError
        If there is no list for the language.

    Examples
    --------
    >>> text = "studies have shown it is important for people to get vaccinated"
    >>> [word for word in text.split() if word in stop_words("en")]
    ['have', 'it', 'is', 'for', 'to']
    >>> "für" in stop_words("German")
    True
    """
    wanted = str(language).strip().casefold()
    for (code, name), words in _lists().items():
        if wanted in (code, name):
            return words
    known = ", ".join(f"{code} ({name})" for code, name in _lists())
    raise UsageError(f"no stop words for language {language!r}; choose one of {known}")


def languages() -> list[str]:
    """The codes of the languages that have stop words, in alphabetical order.

    Examples
    --------
    >>> len(languages()), languages()[:4]
    (36, ['ar', 'bg', 'ca', 'cs'])
    """
    return sorted(code for code, _ in _lists())


@cache
def _lists() -> dict[tuple[str, str], frozenset[str]]:
    """Words by (code, name). A section of the file: `[en english]`, then words and white space."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    lists = {}
    for section in text.split("[")[1:]:
        heading, words = section.split("]")
        code, name = heading.split()
        lists[code, name] = frozenset(words.split())
    return lists
