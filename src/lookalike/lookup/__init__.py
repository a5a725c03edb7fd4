"""Lookup: find one item among many, such as a face by its measurements or a fingerprint by its minutiae.

faces, face_plan
    Which members of a gallery have nearly the same measurements as a probe, and how the search is planned.
fingerprints, prints, grid
    Which prints come from the same finger; what a print is, how it is normalised and laid on a grid.
buckets, search, matches
    What both share: candidates by common buckets, scoring and ranking them, the result.
files, read_numbers, read_prints, read_templates
    Both sides read from files.
simulated
    Prints of invented fingers, and the error rates that the book computes for them.
"""

from lookalike.lookup.fingerprints import find_prints
from lookalike.lookup.grid import choose_grid, normalise
from lookalike.lookup.simulated import draw_prints, recapture

__all__ = ["choose_grid", "draw_prints", "find_prints", "normalise", "recapture"]
