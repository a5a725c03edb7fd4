"""How close measurements are: components within their tolerance, and a finer distance for ties."""

from lookalike.kernels.compile import kernel


@kernel
def count_close(probes, gallery, tolerances, scales, left, right, scores, distances):
    """Score pairs of a probe and a member of the gallery.

    Parameters
    ----------
    probes : float64[p, m]
    gallery : float64[g, m]
    tolerances : float64[m]
        A component is close where the difference is at most this.
    scales : float64[m]
        What a difference is divided by for the finer distance.
    left, right : int64[n]
        The pairs.
    scores : int64[n]
        Gets the number of close components.
    distances : float64[n]
        Gets the sum of the squared scaled differences.
    """
    for pair in range(left.size):
        close = 0
        total = 0.0
        for column in range(tolerances.size):
            difference = abs(probes[left[pair], column] - gallery[right[pair], column])
            close += difference <= tolerances[column]
            scaled = difference / scales[column]
            total += scaled * scaled
        scores[pair] = close
        distances[pair] = total
