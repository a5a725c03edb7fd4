"""Face lookup: which members of a gallery have nearly the same measurements as a probe.

Candidates share a cell of some hash function (`families/cells.py`). A candidate's score is the number of components
that are close; it is a match if the score reaches the threshold. Without a gallery, each item is looked up among all
the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.engine.progress import Progress
from lookalike.errors import BadDataError
from lookalike.kernels.closeness import count_close
from lookalike.lookup.face_plan import FacePlan, check_measurements, expected_recall, plan_faces
from lookalike.lookup.matches import Matches
from lookalike.lookup.search import PROBES_AT_ONCE, Scored, check_k, search
from lookalike.types import Int64

__all__ = ["FacePlan", "expected_recall", "find_faces", "plan_faces"]


def find_faces(
    probes: npt.ArrayLike,
    gallery: npt.ArrayLike | None = None,
    *,
    plan: FacePlan | None = None,
    k: int = 10,
    noise: float = 0.02,
    recall: float = 0.999,
    close: float | None = None,
    tolerances: npt.ArrayLike | None = None,
    threshold: int | None = None,
    r: int = 3,
    edge: float = 0.1,
    widths: npt.ArrayLike | None = None,
    functions: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    probes_at_once: int = PROBES_AT_ONCE,
) -> Matches[FacePlan]:
    """Look the probes up in a gallery, or without one, each among all the others.

    Parameters
    ----------
    probes, gallery : float64[items, measurements]
    plan
        By default made from the gallery by `plan_faces`, which explains noise, recall, close, tolerances, threshold, r,
        edge, widths, functions and seed. A plan that is given takes precedence over all of these.
    k
        Largest number of matches per probe, best first: by score, then by the sum of squared standardised differences,
        then in input order.
    probes_at_once
        Probes per batch.

    Examples
    --------
    >>> gallery = np.random.default_rng(1).normal(size=(500, 30))
    >>> found = find_faces(gallery[[7, 42]] + 0.001, gallery)
    >>> found.table().to_pylist()
    [{'left': 0, 'right': 7, 'score': 30, 'rank': 1}, {'left': 1, 'right': 42, 'score': 30, 'rank': 1}]
    >>> found.share < 0.1
    True
    """
    check_k(k)
    progress = progress or Progress()
    mine = check_measurements(probes, "probes")
    theirs = mine if gallery is None else check_measurements(gallery, "gallery")
    if mine.shape[1] != theirs.shape[1]:
        raise BadDataError(f"probes have {mine.shape[1]} measurements, the gallery has {theirs.shape[1]}")
    with progress.stage("planning"):
        chosen = plan or plan_faces(
            theirs, noise=noise, recall=recall, close=close, tolerances=tolerances, threshold=threshold, r=r,
            edge=edge, widths=widths, functions=functions, seed=seed,
        )  # fmt: skip

    def score(rows: slice, left: Int64, right: Int64) -> Scored:
        scores, distances = np.empty(len(left), np.int64), np.empty(len(left))
        count_close(mine[rows], theirs, chosen.tolerances, chosen.scales, left, right, scores, distances)
        return Scored(scores, scores >= chosen.threshold, (distances, -scores))

    parts = search(
        mine, None if gallery is None else theirs, chosen.cells, chosen.functions, score,
        k=k, progress=progress, probes_at_once=probes_at_once,
    )  # fmt: skip
    return Matches.joined(parts, len(theirs) - (gallery is None), chosen)
