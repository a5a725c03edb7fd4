"""How close measurements are: the number of components within tolerance, and a distance to break ties."""

from lookalike.kernels.compile import kernel


@kernel("float64[,], float64[,], float64[], float64[], int64[], int64[], int64[], float64[]")
def count_close(probes, gallery, tolerances, scales, left, right, scores, distances):
    """Score pairs of a probe and a gallery member.

    Parameters
    ----------
    probes : float64[p, m]
    gallery : float64[g, m]
    tolerances : float64[m]
        A component is close if the absolute difference is at most this.
    scales : float64[m]
        The divisors of the differences in the distance.
    left, right : int64[n]
        The pairs.
    scores : int64[n]
        Receives the number of close components.
    distances : float64[n]
        Receives the sum of the squared scaled differences.
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
