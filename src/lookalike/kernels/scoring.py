"""Scores of candidate pairs, a pair at a time: what a pattern weighs, and what the frequency of a value adds."""

from lookalike.kernels.compile import kernel


@kernel
def look_up_scores(of_pair, table, first, last, scores):
    """The score of each pair's pattern: float64[pairs]."""
    for k in range(first, last):
        scores[k] = table[of_pair[k]]


@kernel
def add_frequencies(levels, above, codes, records, table, first, last, scores):
    """Add what the frequency of a value weighs where both records of a pair have it.

    Parameters
    ----------
    levels : int8[pairs]
        Of the field; only at level 1 there is one value.
    above : int8[pairs], or of size 0
        Of the field that it depends on: where that agrees as well, the value is no news.
    codes : int32[records]
    records : int32[pairs]
        One of each pair's records.
    table : float64[values]
    """
    for k in range(first, last):
        if levels[k] == 1 and not (above.size and above[k] == 1):
            scores[k] += table[codes[records[k]]]
