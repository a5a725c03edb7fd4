"""The best partners of each record among scored pairs."""

from lookalike.kernels.compile import bare, bare_kernel


@bare
def _offer(record, other, score, best, partner):
    if partner[record] < 0 or score > best[record] or (score == best[record] and other < partner[record]):
        best[record], partner[record] = score, other


@bare_kernel("int32[], int32[], float64[], float64[], int32[]")
def find_best(left, right, score, best, partner):
    """Find the highest score of each record (float64[records]) and the partner with that score (int32[records]).

    `partner` is -1 where a record has none yet. Of equal scores, the one with the first partner counts.
    """
    for k in range(left.size):
        _offer(left[k], right[k], score[k], best, partner)
        _offer(right[k], left[k], score[k], best, partner)


@bare
def _rank(record, place, score, best, places):
    last = best.shape[1] - 1
    if places[record, last] >= 0 and score <= best[record, last]:
        return
    rank = last
    while rank > 0 and (places[record, rank - 1] < 0 or score > best[record, rank - 1]):
        best[record, rank], places[record, rank] = best[record, rank - 1], places[record, rank - 1]
        rank -= 1
    best[record, rank], places[record, rank] = score, place


@bare_kernel("int32[], int32[], float64[], float64[,], int32[,]")
def rank_partners(left, right, score, best, places):
    """Find the highest scores of each record, best first (float64[records, ranks]), and the pairs that have them.

    `places` (int32[records, ranks]) is -1 where a record has no pair yet. Of equal scores, the first pair counts.
    """
    for k in range(left.size):
        _rank(left[k], k, score[k], best, places)
        _rank(right[k], k, score[k], best, places)
