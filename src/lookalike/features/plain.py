"""Tokens and shingles of one text as Python strings: slow and readable, for inspection and explanation.

The kernels give the same shingles as 64-bit hashes; jobs use only those.
"""

from __future__ import annotations

from lookalike.errors import UsageError
from lookalike.features.shingles import Shingling
from lookalike.features.stopwords import stop_words
from lookalike.features.unicode import folding_table
from lookalike.kernels.folding import DROPPED, MAPPED, OWN, WORD


def pieces(char: str) -> list[tuple[str, int]]:
    """A character folded by the table of the kernels, each resulting character with its kind."""
    table = folding_table()
    entry = int(table.entries[table.pages[ord(char) >> 8], ord(char) & 0xFF])
    if entry & 7 == DROPPED:
        return []
    if entry & 7 != MAPPED:
        return [(char, entry & 7)]
    first, count = entry >> 8, (entry >> 3) & 31
    return [(chr(int(piece) >> 2), int(piece) & 3) for piece in table.pool[first : first + count]]


def tokens(text: str) -> list[str]:
    """The tokens of a text, folded.

    Examples
    --------
    >>> tokens("L'été, 2 漢字")
    ['l', 'ete', '2', '漢', '字']
    """
    found: list[str] = []
    run = ""
    for char, kind in (piece for one in text + " " for piece in pieces(one)):
        if kind == WORD:
            run += char
            continue
        if run:
            found.append(run)
            run = ""
        if kind == OWN:
            found.append(char)
    return found


def _list_shingles(text: str, shingling: Shingling) -> list[str]:
    words = tokens(text)
    width = shingling.width
    if not words:
        return []
    if shingling.kind == "char":
        joined = " ".join(words)
        return [joined[i : i + width] for i in range(max(1, len(joined) - width + 1))]
    if shingling.kind == "stopword":
        stops = {token for word in stop_words(shingling.language) for token in tokens(word)[:1]}
        starts = [i for i in range(len(words) - width + 1) if words[i] in stops]
    else:
        starts = list(range(max(1, len(words) - width + 1)))
    return [" ".join(words[i : i + width]) for i in starts]


def shingles(
    text: str, shingle: str = "word:5", *, bag: bool = False, language: str = "en"
) -> set[str] | set[tuple[str, int]]:
    """List the distinct shingles of one text, as strings.

    Parameters
    ----------
    text : str
        The text.
    shingle : str, default "word:5"
        What the text is cut into: "word:W", "char:K" or "stopword:N".
    bag : bool, default False
        Count repeats: the j-th occurrence of a shingle is (shingle, j).
    language : str, default "en"
        Language of the stop words, for "stopword:N".

    Returns
    -------
    set of str, or of (str, int) with `bag`

    Raises
    ------
    UsageError
        If there is no such kind of shingle or no such language, or the text is not a str.

    Examples
    --------
    >>> sorted(shingles("abcab", "char:2"))
    ['ab', 'bc', 'ca']
    >>> sorted(shingles("abcab", "char:2", bag=True))
    [('ab', 1), ('ab', 2), ('bc', 1), ('ca', 1)]
    >>> sorted(shingles("Get vaccinated, they said", "word:2"))
    ['get vaccinated', 'they said', 'vaccinated they']
    """
    if not isinstance(text, str):
        raise UsageError(f"text is a {type(text).__name__}; shingles are those of one text, a str")
    listed = _list_shingles(text, Shingling.parse(shingle, bag=bag, language=language))
    if not bag:
        return set(listed)
    seen: dict[str, int] = {}
    counted = set()
    for element in listed:
        seen[element] = seen.get(element, 0) + 1
        counted.add((element, seen[element]))
    return counted
