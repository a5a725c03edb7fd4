"""What the lead of a best partner over the next best one says, beyond its score.

Of two pairs between two tables with the same score, the one whose records have nearly as good partners elsewhere is
more likely due to chance: leads by chance are small, as those within the tables show. The score of a match does not
depend on which other partners its records have, so its lead is whatever the next best partner leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lookalike.linkage.scoring.words.best_partners import weighted_quantiles
from lookalike.linkage.scoring.words.within import WithinTable
from lookalike.tuning.monotone import rising
from lookalike.types import Float64

BINS = 20
"""The most bins of leads, with equal numbers of pairs."""
PER_BIN = 20
"""The fewest pairs within the tables per bin."""
LEVELS = 50
"""Quantiles of the scores of next best partners."""
NARROW = 1e-3
"""The least width of a bin, as a share of the mean lead: some pairs have no lead at all."""
SHARE = 0.5
"""How much of this evidence counts. The score and the lead of a pair come from the same features, so that a pair with
an unusual score also has an unusual lead."""
MOST = 0.5
"""The most bits that a large lead can add: that its records have no look-alikes does not make a pair alike."""


class ChanceLeads(NamedTuple):
    """The leads of best partners by chance, and the scores of next best partners."""

    edges: tuple[float, ...] = ()
    """Where the bins of leads begin, from 0 upwards."""
    density: tuple[float, ...] = ()
    """The density of leads in each bin, which never rises; that of the last bin also holds beyond it."""
    levels: tuple[float, ...] = ()
    """Quantiles of the scores of next best partners between the tables."""

    @classmethod
    def fit(cls, within: Sequence[WithinTable], next_best: Float64) -> ChanceLeads:
        """The leads of partners within the tables, and the scores of next best partners between them.

        Examples
        --------
        >>> from lookalike.linkage.scoring.words.best_partners import Partners
        >>> within = WithinTable(Partners(np.linspace(3, 5, 40) ** 2, np.full(40, 9.0)), 40, 0.5)
        >>> found = ChanceLeads.fit([within], np.array([1.0, 2.0]))
        >>> [len(one) for one in found], found.density[0] > found.density[1]
        ([2, 2, 50], True)
        """
        known = [one for one in within if len(one.partners.score)]
        if not known or not len(next_best):
            return cls()
        leads = np.concatenate([one.partners.score - one.partners.next for one in known])
        sizes = [len(one.partners.score) for one in known]
        weights = np.repeat([one.records / size for one, size in zip(known, sizes)], sizes)
        bins = int(np.clip(len(leads) // PER_BIN, 2, BINS))
        edges = np.append(0.0, weighted_quantiles(leads, weights, np.arange(1, bins + 1) / bins))
        width = np.maximum(np.diff(edges), NARROW * max(float(np.average(leads, weights=weights)), NARROW))
        density = -rising(-1 / (bins * width), width)
        levels = np.quantile(next_best, (np.arange(LEVELS) + 0.5) / LEVELS)
        return cls(tuple(edges[:-1].tolist()), tuple(density.tolist()), tuple(levels.tolist()))

    def rescale(self, factor: float, shift: float) -> ChanceLeads:
        """The same for scores that were multiplied by a factor and then shifted.

        Examples
        --------
        >>> ChanceLeads((0.0, 1.0), (0.8, 0.2), (3.0,)).rescale(2.0, -1.0)
        ChanceLeads(edges=(0.0, 2.0), density=(0.4, 0.1), levels=(5.0,))
        """
        return ChanceLeads(
            tuple(factor * one for one in self.edges),
            tuple(one / factor for one in self.density),
            tuple(factor * one + shift for one in self.levels),
        )

    def bits(self, score: Float64, next_best: Float64) -> Float64:
        """The evidence for a match in the lead of each pair, given its score, in bits; negative for a small lead.

        A match has the next best partner of any pair with such a score. For a pair by chance, those with likely leads
        are more likely. So the evidence is how likely the lead is by chance, compared with the mean over the next best
        partners that the score allows.

        Examples
        --------
        >>> leads = ChanceLeads((0.0, 1.0), (0.8, 0.2), (2.0, 4.5))
        >>> leads.bits(np.array([5.0, 5.0, 1.0]), np.array([4.5, 2.0, 0.0])).round(2).tolist()
        [-0.34, 0.5, 0.0]
        """
        if not self.edges:
            return np.zeros(len(score))
        usual, number = np.zeros(len(score)), np.zeros(len(score))
        for level in self.levels:
            lower = score > level
            usual[lower] += self._density(score[lower] - level)
            number += lower
        known = number > 0
        bits = np.zeros(len(score))
        bits[known] = np.log2(usual[known] / number[known] / self._density((score - next_best)[known]))
        return np.minimum(SHARE * bits, MOST)

    def _density(self, leads: Float64) -> Float64:
        """The density of these leads by chance."""
        place = np.searchsorted(self.edges, leads, "right") - 1
        return np.array(self.density)[np.maximum(place, 0)]


NO_LEADS = ChanceLeads()
"""Nothing is known of leads by chance."""
