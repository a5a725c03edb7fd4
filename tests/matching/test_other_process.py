"""A block is digested, and a connected part decided, in another process just as in this one."""

import multiprocessing

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from corpora import corpus
from lookalike.candidates.parts import connected_parts
from lookalike.engine.digest import digest_block, item_sets
from lookalike.engine.method import choose
from lookalike.engine.settings import Settings
from lookalike.matching.comparable import Comparable
from lookalike.matching.decide import solve_part
from lookalike.read import open_data
from lookalike.types import Wanted

TEXTS = list(dict.fromkeys(corpus(200, seed=41)))  # equal texts are collapsed before parts are decided


@pytest.fixture(scope="module")
def process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.parametrize("features", [pa.array([*TEXTS[:50], None, ""]), pa.array([["a", "b"], [], None])])
def test_a_block_is_digested_elsewhere(process, features):
    settings = Settings.parse(method="lsh", seed=7).digesting
    here = digest_block(features, settings, hashes=32)
    there = process.apply(digest_block, (features, settings, 32))
    assert len(here.keys) == 26
    assert all(np.array_equal(one, other) for one, other in zip(here, there))


def test_vectors_are_digested_elsewhere(process):
    rows = np.random.default_rng(3).standard_normal((40, 8)).astype(np.float32)
    settings = Settings.parse(measure="cosine", threshold=0.9)
    source = open_data(rows, "text")
    chosen, _ = choose([source], settings.with_matching(method="lsh"))
    features = next(iter(source.blocks())).items(Wanted("text")).features
    here, there = digest_block(features, chosen.digesting), process.apply(digest_block, (features, chosen.digesting))
    assert len(here.keys) == chosen.matching.plan.bands > 1
    assert all(np.array_equal(one, other) for one, other in zip(here[:4], there[:4]))


@pytest.mark.parametrize("connected", [False, True])
def test_parts_decided_in_another_process_equal_dedup(process, connected):
    settings = Settings.parse(method="lsh", threshold=0.7, threads=1)
    features = pa.array(TEXTS)
    keys, sets = digest_block(features, settings.digesting).keys, item_sets(features, settings.digesting)
    whole = Comparable.from_keys(sets, keys)
    part_of = connected_parts([whole.buckets], len(TEXTS))
    removed = {}
    for head, size in zip(*np.unique(part_of, return_counts=True)):
        if size > 1:
            mine = np.flatnonzero(part_of == head)
            found = Comparable.from_keys(type(sets).joined([chosen(sets, item) for item in mine]), keys[:, mine])
            decided = process.apply(solve_part, (found, settings), {"connected": connected})
            for item, keeper, similarity in zip(mine[decided.removed], mine[decided.keeper], decided.similarity):
                removed[int(item)] = int(keeper), float(similarity)
    policy = "connected" if connected else "direct"
    expected = la.dedup(TEXTS, method="lsh", threshold=0.7, policy=policy).removed.to_pylist()
    assert len(removed) > 20
    assert removed == {row["row"]: (row["kept_row"], row["similarity"]) for row in expected}


def chosen(sets, item):
    low, high = sets.indptr[item : item + 2]
    return type(sets)(np.array([0, high - low]), sets.elements[low:high])
