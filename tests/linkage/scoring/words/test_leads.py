"""What the lead of a best partner says beyond its score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.linkage.scoring.words.best_partners import Partners
from lookalike.linkage.scoring.words.leads import MOST, NO_LEADS, SHARE, ChanceLeads
from lookalike.linkage.scoring.words.partner_bits import partner_bits
from lookalike.linkage.scoring.words.within import WithinTable

NUMBER = st.floats(-50, 50)


def within(leads, records=500):
    return WithinTable(Partners(np.asarray(leads) + 3.0, np.full(len(leads), 3.0)), records, 0.5)


@given(
    st.lists(st.floats(0, 40), min_size=1, max_size=90),
    st.lists(NUMBER, min_size=1, max_size=30),
    st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=9),
)
def test_the_evidence_is_the_density_of_the_lead_compared_with_what_the_score_allows(leads, next_best, pairs):
    found = ChanceLeads.fit([within(leads)], np.array(next_best))
    assert (np.diff(found.density) <= 1e-9).all()
    score, other = np.array([max(pair) for pair in pairs]), np.array([min(pair) for pair in pairs])
    bits = found.bits(score, other)

    def density(lead):
        return found.density[max(0, sum(edge <= lead for edge in found.edges) - 1)]

    for one, following, shown in zip(score, other, bits):
        usual = [density(one - level) for level in found.levels if one > level]
        wanted = SHARE * np.log2(np.mean(usual) / density(one - following)) if usual else 0.0
        assert shown == pytest.approx(min(wanted, MOST), abs=1e-6)


def test_of_equal_scores_those_with_a_lead_are_rather_matches():
    draw = np.random.default_rng(1)
    level = draw.normal(0, 2, 3_000)
    found = ChanceLeads.fit([within(draw.exponential(1, 400))], level)
    by_chance = found.bits(level[:1_500] + draw.exponential(1, 1_500), level[:1_500])
    match = found.bits(np.maximum(level[1_500:] + 0.01, 5.0), level[1_500:])
    assert match.mean() > by_chance.mean() + 0.3
    assert found.bits(np.array([5.0, 5.0]), np.array([4.9, 0.0])).tolist() == [pytest.approx(-1.7, abs=0.5), MOST]


def test_larger_tables_count_more():
    small, large = np.linspace(0.01, 0.2, 100), np.linspace(3, 5, 100)
    found = [
        ChanceLeads.fit([within(small, one), within(large, 1_000 - one)], np.linspace(-5, 3, 50)) for one in (900, 100)
    ]
    small_lead = [one.bits(np.array([3.1]), np.array([3.0]))[0] for one in found]
    assert small_lead[0] < small_lead[1] - 0.1


def test_scores_on_another_scale_have_the_same_evidence():
    leads = ChanceLeads.fit([within(np.linspace(0, 5, 90))], np.linspace(-3, 3, 50))
    score, other = np.array([2.0, 4.0, 1.0]), np.array([1.5, -1.0, -1.0])
    moved = leads.rescale(3.0, -2.0).bits(3 * score - 2, 3 * other - 2)
    assert moved == pytest.approx(leads.bits(score, other))


def test_without_leads_nothing_is_added():
    assert ChanceLeads.fit([within([])], np.zeros(3)) == ChanceLeads.fit([within([1.0])], np.zeros(0)) == NO_LEADS
    assert NO_LEADS.bits(np.array([3.0]), np.array([1.0])).tolist() == [0.0]


def test_only_best_partners_of_both_tables_have_a_lead():
    left, right, score = np.array([0, 0, 1], np.int32), np.array([2, 3, 3], np.int32), np.array([5.0, 4.8, 1.0])
    leads = ChanceLeads((0.0, 1.0), (0.9, 0.1), (-9.0, 4.0))
    with_leads, without = (partner_bits(left, right, score, 4, leads=some) for some in (leads, NO_LEADS))
    assert with_leads[0] < without[0] == 0
    assert with_leads[1:].tolist() == without[1:].tolist()
    assert partner_bits(left, right, score, 4, "none", leads=leads).tolist() == (
        partner_bits(left, right, score, 4, "none").tolist()
    )
