"""Alarms of `link`: what a user should check before using the links."""

from __future__ import annotations

from lookalike.engine.alarms import Alarm
from lookalike.linkage.linked import Linked
from lookalike.linkage.scoring.points import Points
from lookalike.report.html import show_share
from lookalike.report.linkage.summary import GOOD_RECALL, describe_doubt, describe_measured_doubt


def find_alarms(found: Linked) -> list[Alarm]:
    """What makes the links doubtful."""
    alarms = []
    if not isinstance(found.scoring, Points) and not found.scoring.converged:
        text = "the weights did not converge: use more or better fields before relying on any number of this run"
        alarms.append({"kind": "not_converged", "text": text})
    if not found.chosen.any():
        text = "nothing was linked; look at the scores and fields in the report: is the cut too high, or a field empty?"
        alarms.append({"kind": "nothing_linked", "text": text})
    elif doubt := _doubt(found):
        alarms.append({"kind": "doubtful_links", "text": doubt})
    if found.recall is not None and found.recall[1] < GOOD_RECALL:
        share, low = map(show_share, found.recall[:2])
        text = f"{share} of the matches were compared, perhaps only {low}; the others cannot be linked: add fields"
        alarms.append({"kind": "few_candidates", "text": text})
    return alarms


def _doubt(found: Linked) -> str:
    """Whether many links are probably wrong, or how many is not known: by the labels, if there are any."""
    if found.figures is not None and found.figures.measures_precision:
        assert found.figures.precision is not None
        return describe_measured_doubt(*found.figures.precision)
    return "" if found.precision is None else describe_doubt(*found.precision[:3])
