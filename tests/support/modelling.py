"""A plain-Python model of an index: its items, as (id, text) in input order."""

from fractions import Fraction

import reference

# recall that close to 1 leaves no pair at this threshold out, in sets as small as these
OPTIONS = {"threshold": 0.5, "shingle": "word:1", "recall": 0.999999, "hashes": 1024}


def similar(items, text):
    """Ids and similarities, the best first; of equals, the one that came first."""
    mine = reference.shingles(text, "word:1")
    matches = []
    for place, (name, other) in enumerate(items):
        theirs = reference.shingles(other, "word:1")
        if reference.holds("jaccard", mine, theirs, Fraction(1, 2)):
            matches.append((-reference.exact("jaccard", mine, theirs), place, name))
    return [(name, float(-minus)) for minus, _, name in sorted(matches)]


def put(items, name, text):
    """The items with one more, which replaces another with its id."""
    return [*(row for row in items if row[0] != name), (name, text)]
