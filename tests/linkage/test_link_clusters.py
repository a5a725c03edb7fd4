"""Clusters of linked records: against the truth, against all that hangs together, and against the links."""

from collections import Counter

import numpy as np
import pytest

import lookalike as la
from linking import link_in_run, make_copies, pairs_of
from lookalike.linkage.decide.clusters import connect_pairs
from lookalike.linkage.settings import LinkSettings


def count_within(groups):
    return sum(size * (size - 1) // 2 for size in Counter(groups).values())


def f1_of(first, person):
    """F1 of all pairs within clusters."""
    right = count_within(zip(first.tolist(), person.tolist()))
    return 2 * right / (count_within(first.tolist()) + count_within(person.tolist()))


def both_ways(found):
    """The clusters of the run, and what all pairs from the cut on would hold together."""
    left, right = found.candidates.left, found.candidates.right
    taken = found.chosen, found.score >= found.cut
    return [connect_pairs(left[some], right[some], found.sizes.records) for some in taken]


@pytest.mark.parametrize(("fields", "errors"), [("name,postcode", 0.5), ("name,phone,postcode", 0.6)])
@pytest.mark.parametrize("seed", [1, 2])
def test_wrong_links_do_not_chain_people(fields, errors, seed):
    """People with two to eight records each, some of whom are relatives."""
    table, person = make_copies(700, errors=errors, seed=seed)
    found = link_in_run(table, None, LinkSettings.parse(fields, threads=2))
    ours, closure = (f1_of(first, person) for first in both_ways(found))
    assert ours >= closure + 0.02, (ours, closure)
    assert found.refused == np.count_nonzero((found.score >= found.cut) & ~found.chosen) > 0


@pytest.fixture(scope="module")
def copies():
    return make_copies(400, errors=0.6, seed=5)[0]


FIELDS = "name,phone,postcode"


@pytest.fixture(scope="module")
def linked(copies):
    return la.link(copies, fields=FIELDS, threads=2)


def test_every_link_is_within_a_cluster_and_connects_it(linked):
    cluster = dict(zip(linked.clusters["id"].to_pylist(), linked.clusters["cluster"].to_pylist()))
    pairs = pairs_of(linked.links)
    assert all(cluster[a] == cluster[b] for a, b in pairs)
    ids = sorted(cluster)
    ends = (np.searchsorted(ids, [pair[side] for pair in sorted(pairs)]) for side in (0, 1))
    held = connect_pairs(*ends, len(ids))
    assert len(np.unique(held)) == len(set(cluster.values())) == linked.run["counts"]["clusters"]


def test_pairs_refused_by_clusters_are_counted_and_reported(linked):
    refused = linked.run["counts"]["refused"]
    assert refused > 0
    [sentence] = [note for note in linked.run["notes"] if "not linked" in note]
    why = "because most other pairs between the two clusters are not matches"
    assert sentence == f"{refused:,} pairs reach the cut but were not linked, {why}"


def test_threads_do_not_matter(copies, linked):
    again = la.link(copies, fields=FIELDS, threads=1)
    assert again.links.equals(linked.links)
    assert again.clusters.equals(linked.clusters)


@pytest.mark.parametrize("options", [{"probability": 0.99}, {"probability": 0.1}, {"scoring": "points"}])
def test_only_clusters_with_a_majority_against_them_stay_separate(copies, options):
    """Pairs that are matches more likely than not speak for a cluster, also where links must be surer than that."""
    found = link_in_run(copies, None, LinkSettings.parse(FIELDS, threads=2, **options))
    left, right = found.candidates.left, found.candidates.right
    first, _ = both_ways(found)
    sizes = np.bincount(first, minlength=found.sizes.records)
    even = found.cut if "scoring" in options else min(found.cut, 0)
    matches, links = Counter(), Counter()
    for counted, some in ((matches, found.score >= even), (links, found.score >= found.cut)):
        ends = np.sort([first[left[some]], first[right[some]]], axis=0)
        counted.update((a, b) for a, b in ends.T.tolist() if a != b)
    assert links.total() == found.refused > 0
    assert all(2 * matches[pair] < sizes[pair[0]] * sizes[pair[1]] for pair in links)


def test_two_tables_where_an_entity_is_in_the_right_one_many_times():
    """Records of one table are not compared with each other, and that does not part them."""
    table, person = make_copies(300, copies=(4, 4), errors=0.2, relatives=0.0, seed=6)
    _, original = np.unique(person, return_index=True)
    others = np.setdiff1d(np.arange(len(person)), original)
    settings = LinkSettings.parse("name,address,phone", one_to_one="no", threads=2)
    found = link_in_run(table.take(original), table.take(others), settings)
    ours, _ = both_ways(found)
    assert f1_of(ours, person[np.concatenate([original, others])]) > 0.98
    assert Counter(np.bincount(ours).tolist()).most_common(2)[-1][0] == 4
