"""A plan in words: what it promises, and shares as percentages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookalike.tuning.plan import Plan


def describe_plan(plan: Plan) -> str:
    """The plan and what it promises, in a few sentences (`Plan.describe` has examples)."""
    allowed = plan.scale.count_functions(plan.scale.functions(plan.hashes))
    return " ".join(
        [f"{plan.banding}, using {plan.used_hashes:,} of {allowed}.", *_hash_chance(plan), *_promises(plan)]
    )


def _hash_chance(plan: Plan) -> list[str]:
    """How often one hash function agrees at the threshold; for jaccard that is the threshold itself."""
    if plan.measure == "jaccard":
        return []
    chance = plan.scale.collision(plan.threshold)
    buckets = "" if plan.width is None else f" (buckets are {plan.width:g} wide)"
    pair = f"a pair {plan.scale.place(f'{plan.threshold:g}')}"
    return [f"One {plan.scale.function} agrees on {pair} with probability {chance:.4f}{buckets}."]


def _promises(plan: Plan) -> list[str]:
    """How often pairs at, nearer than and farther than the threshold become candidate pairs."""
    scale, threshold = plan.scale, plan.threshold
    found = percent(plan.recall, plan.miss(threshold))
    sentences = [f"A pair {scale.place(f'{threshold:g}')} is found with probability {found}"]
    if plan.wanted_recall is not None:
        sentences[0] += f" (target: {percent(plan.wanted_recall)})"
    preposition = "at" if scale.is_distance else "of"
    nearer = threshold / 2 if scale.is_distance else (threshold + 1) / 2
    if nearer != threshold:
        sentences[0] += f", one {preposition} {nearer:g} with {percent(plan.curve(nearer), plan.miss(nearer))}"
    farther = _farther(plan)
    if farther:
        nouns = (f"pairs {preposition} {scale.noun}", f"those {preposition}")
        chances = " and ".join(f"{percent(plan.curve(x))} of {noun} {x:.3g}" for x, noun in zip(farther, nouns))
        sentences.append(f"Verification will drop the false candidates: {chances}")
    even = plan.at(0.5)
    place = scale.place(f"{even:.4g}" if scale.is_distance else f"{even:.3f}")
    sentences.append(f"Pairs {place} have a 50% chance of becoming candidates")
    return [f"{sentence}." for sentence in sentences]


def _farther(plan: Plan) -> list[float]:
    """Two values beyond the threshold, where candidates are false."""
    if plan.scale.is_distance:
        return [x for x in (2 * plan.threshold, 4 * plan.threshold) if 0 < x <= (plan.bits or math.inf)]
    return [x for x in (plan.threshold - 0.2, plan.threshold - 0.4) if x > 0.005]


def percent(share: float, rest: float | None = None) -> str:
    """A share as a percentage; only 0 and 1 themselves are shown as 0% and 100%.

    Parameters
    ----------
    share : float
        From 0 to 1.
    rest : float, optional
        1 - share, if it is known more precisely than by subtraction.

    Examples
    --------
    >>> percent(0.5), percent(0.99644), percent(0.9999996), percent(0.0000123), percent(1.0)
    ('50%', '99.64%', '99.99996%', '0.0012%', '100%')
    """
    rest = 1 - share if rest is None else rest
    if share == 0 or rest == 0:
        return "0%" if share == 0 else "100%"
    smaller = 100 * min(share, rest)
    if smaller < 1e-10:
        return "almost 0%" if share < rest else "almost 100%"
    digits = max(2 if rest < 0.1 else 1, 1 - math.floor(math.log10(smaller))) if smaller < 1 else 1
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')}%"
