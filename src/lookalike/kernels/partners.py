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
def _insert(record, score, best):
    """Insert a score into a record's row of best scores, which is in descending order."""
    place = best.shape[1] - 1
    if score <= best[record, place]:
        return
    while place > 0 and best[record, place - 1] < score:
        best[record, place] = best[record, place - 1]
        place -= 1
    best[record, place] = score


@bare_kernel("int32[], int32[], float64[], float64[,]")
def find_highest(left, right, score, best):
    """Find the highest scores of each record, in descending order: float64[records, count], initially -infinity."""
    for k in range(left.size):
        _insert(left[k], score[k], best)
        _insert(right[k], score[k], best)
