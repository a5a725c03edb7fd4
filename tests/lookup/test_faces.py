"""Face lookup: candidates, scores and ranks against a plain reference; the recall that is promised; real people."""

import csv
import math

import numpy as np
import pytest

from lookalike.errors import BadDataError, UsageError
from lookalike.families.cells import Cells
from lookalike.lookup.face_plan import expected_recall, plan_faces
from lookalike.lookup.faces import find_faces


def people(items=300, measurements=12, seed=1):
    """Measurements that go together, as those of bodies do."""
    random = np.random.default_rng(seed)
    size = random.normal(size=(items, 1))
    scales = random.uniform(1, 50, measurements)
    return (170 + scales * (0.7 * size + 0.7 * random.normal(size=(items, measurements)))).round(1)


def plain_faces(probes, gallery, plan, k, alone):
    """Everything as the book describes it, one pair at a time."""
    rows, looked_at = [], []
    both = plan.cells.hash(np.concatenate([probes, gallery]), plan.functions)
    for p, probe in enumerate(probes):
        candidates = [
            g
            for g in range(len(gallery))
            if not (alone and p == g)
            and any(
                both.agree(f, np.array([p]), np.array([len(probes) + g]))[0] for f in range(plan.functions)
            )
        ]  # fmt: skip
        looked_at.append(len(candidates))
        scored = []
        for g in candidates:
            differences = np.abs(probe - gallery[g])
            score = int((differences <= plan.tolerances).sum())
            if score >= plan.threshold:
                scored.append((-score, float(((differences / plan.scales) ** 2).sum()), g))
        rows += [(p, g, -score, rank) for rank, (score, _, g) in enumerate(sorted(scored)[:k], 1)]
    return rows, looked_at


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("edge", [0.0, 0.3])
def test_matches_are_those_of_the_plain_reference(alone, edge):
    gallery = people(40, 6)
    gallery[7] = gallery[3]  # a tie, settled by input order
    gallery[9, :2] = gallery[3, :2]
    probes = gallery if alone else gallery[3:15] + np.random.default_rng(2).normal(0, 3, (12, 6))
    plan = plan_faces(gallery, noise=0.3, threshold=2, close=0.5, edge=edge, functions=4)
    found = find_faces(probes, None if alone else gallery, plan=plan, k=3, probes_at_once=7)
    want, looked_at = plain_faces(probes, gallery, plan, 3, alone)
    assert len(want) > 10
    assert [tuple(row.values()) for row in found.table().to_pylist()] == want
    assert found.looked_at.tolist() == looked_at
    assert found.share == pytest.approx(np.mean(looked_at) / (39 if alone else 40))


@pytest.mark.parametrize("measurements", [4, 30])
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_the_expected_recall_is_reached(measurements, noise):
    gallery = people(400, measurements)
    scales = gallery.std(axis=0)
    cells = Cells(2.5 * noise * scales, r=3, edge=0.05)
    plan = plan_faces(gallery, noise=noise, widths=cells.widths, edge=0.05, functions=3)
    assert plan.recall == expected_recall(cells, 3, scales, noise)
    found = draws = 0
    for seed in range(8):
        random = np.random.default_rng(100 + seed)
        probes = gallery + random.normal(0, noise, gallery.shape) * scales
        drawn = Cells(cells.widths, 3, 0.05, seed)
        both = drawn.hash(np.concatenate([gallery, probes]), 3)
        places = np.arange(len(gallery))
        found += int(np.any([both.agree(f, places, places + len(gallery)) for f in range(3)], axis=0).sum())
        draws += len(gallery)
    # The probes of a seed share its choices of measurements, so there is a little more than binomial variation.
    assert abs(found - draws * plan.recall) <= 6 * math.sqrt(draws * plan.recall * (1 - plan.recall)) + 2


def test_the_plan_reaches_the_recall_with_the_fewest_functions():
    gallery = people()
    for recall in (0.9, 0.999):
        plan = plan_faces(gallery, noise=0.1, recall=recall)
        assert plan.recall >= recall
        if plan.functions > 3:
            assert expected_recall(plan.cells, plan.functions - 1, plan.scales, 0.1) < recall
    # a tenth of the strangers' components or so are close by chance
    assert 7 <= plan.threshold <= 8
    assert plan_faces(gallery, noise=1e-6).threshold == 6
    assert plan.tolerances == pytest.approx(0.3 * gallery.std(axis=0))


def test_noisy_copies_are_found_first_and_few_are_looked_at():
    gallery = people(2000, 40)
    random = np.random.default_rng(4)
    who = random.choice(len(gallery), 200, replace=False)
    probes = gallery[who] + random.normal(0, 0.02, (200, 40)) * gallery.std(axis=0)
    found = find_faces(probes, gallery)
    first = dict(zip(found.left[found.ranks == 1].tolist(), found.right[found.ranks == 1].tolist()))
    assert sum(first.get(p) == w for p, w in enumerate(who.tolist())) >= 199
    assert found.share < 0.01


def test_strangers_do_not_match():
    random = np.random.default_rng(3)
    found = find_faces(random.normal(size=(100, 30)), random.normal(size=(500, 30)), functions=400, noise=0.15)
    assert found.share > 0.3
    assert len(found.left) == 0


def test_own_tolerances_and_one_component_that_never_differs():
    gallery = np.array([[1.0, 5.0, 9.0], [2.0, 5.0, 9.5], [3.0, 5.0, 4.0]])
    probe, tolerances = np.array([[1.4, 5.0, 9.5]]), np.array([0.5, 0.0, 0.4])
    found = find_faces(probe, gallery, tolerances=tolerances, threshold=2, widths=100.0, edge=0.5)
    assert found.table().to_pylist() == [
        {"left": 0, "right": 0, "score": 2, "rank": 1},
        {"left": 0, "right": 1, "score": 2, "rank": 2},
    ]


def test_bad_measurements_are_named():
    good = people(5, 4)
    for bad in (np.nan, np.inf):
        wrong = good.copy()
        wrong[3, 2] = bad
        with pytest.raises(BadDataError, match="gallery: row 3, column 2"):
            find_faces(good, wrong)
        with pytest.raises(BadDataError, match="probes: row 3, column 2"):
            find_faces(wrong, good)
    with pytest.raises(BadDataError, match="row 1 has 2 measurements, row 0 has 3"):
        find_faces([[1.0, 2.0, 3.0], [1.0, 2.0]])
    with pytest.raises(BadDataError, match="probes have 3 measurements, the gallery has 4"):
        find_faces(good[:, :3], good)
    with pytest.raises(BadDataError, match="not numbers"):
        find_faces([["a", "b"]])
    with pytest.raises(BadDataError, match="matrix"):
        find_faces(np.zeros(4))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"noise": 0}, "noise must be above 0 and below 10 standard deviations, not 0"),
        ({"recall": 1}, "recall must be above 0 and below 1, not 1"),
        ({"threshold": 0}, "threshold must be from 1 to 4, the number of measurements, not 0"),
        ({"threshold": 5}, "threshold must be from 1 to 4, the number of measurements, not 5"),
        ({"k": 0}, "k must be at least 1, not 0"),
        ({"functions": 0}, "functions must be from 1 to 512, not 0"),
        ({"functions": 1000}, "functions must be from 1 to 512, not 1000"),
        ({"noise": 3, "widths": 0.001}, "512 functions cannot reach recall 0.999; ask for less, or for wider cells"),
    ],
)
def test_wrong_options_are_refused(wrong, says):
    with pytest.raises(UsageError, match=f"^{says}"):
        find_faces(people(20, 4), **wrong)


def test_one_person_and_nobody():
    assert find_faces(people(1, 4)).share == 0
    assert len(find_faces(np.empty((0, 4)), people(5, 4)).left) == 0
    assert len(find_faces(people(5, 4), np.empty((0, 4))).left) == 0


def soldiers(folder):
    rows = []
    for name in ("MALE", "FEMALE"):
        path = folder / "measurements" / f"ANSUR_II_{name}_Public.csv"
        with path.open(encoding="latin-1", newline="") as lines:
            reader = csv.reader(lines)
            header = next(reader)
            first, last = header.index("abdominalextensiondepthsitting"), header.index("wristheight")
            rows += [[float(value) for value in row[first : last + 1]] for row in reader]
    return np.array(rows)


def test_noisy_copies_of_real_people_are_found_first(data_folder):
    if not (data_folder / "measurements").is_dir():
        pytest.skip("no measurements in LOOKALIKE_DATA")
    gallery = soldiers(data_folder)
    assert len(gallery) == 6068
    random = np.random.default_rng(5)
    who = random.choice(len(gallery), 200, replace=False)
    probes = gallery[who] + random.normal(0, 0.02, (200, gallery.shape[1])) * gallery.std(axis=0)
    found = find_faces(probes, gallery)
    first = dict(zip(found.left[found.ranks == 1].tolist(), found.right[found.ranks == 1].tolist()))
    assert sum(first.get(p) == w for p, w in enumerate(who.tolist())) >= 198
    assert found.share < 0.05
