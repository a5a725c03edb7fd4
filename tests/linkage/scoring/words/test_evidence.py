"""Levels of agreement of pairs that are not candidates."""

from functools import partial

import numpy as np
import pyarrow as pa

from linking import link_in_run
from lookalike.linkage.partners import Texts
from lookalike.linkage.scoring.score import Agreement, comparer_of
from lookalike.linkage.scoring.words.evidence import Evidence
from lookalike.linkage.settings import LinkSettings

PEOPLE = [
    {"name": "Robert Lee", "job": "keeper of the old light by the sea"},
    {"name": "Bob Lee", "job": "painter of boats and of the houses near them"},
    {"name": "Ann Ray", "job": "keeper of the lights, old and new, by the sea"},
    {"name": "Robert Lee", "job": "baker of bread and of other things"},
]


def test_pairs_within_a_table_have_the_levels_of_candidates():
    """With nicknames there is a level more, and all lower ones have another number."""
    settings = LinkSettings.parse("name:person,job:text", nicknames="english", threads=1)
    found = link_in_run(pa.Table.from_pylist(PEOPLE), None, settings)
    levels = found.levels[:, [0]]
    agreement = Agreement(found.levels, found.levels, found.level_names)
    evidence = Evidence(found.columns, Texts(found.columns), agreement.random, agreement.level_names)
    pairs = found.candidates.left, found.candidates.right
    again = evidence.levels_of(*pairs, partial(comparer_of, settings=settings))[:, [0]]
    assert again.tolist() == levels.tolist()
    assert found.level_names[0][levels.min(initial=9, where=levels > 1) - 1] == "equal by nickname"
    assert len(np.unique(levels)) == 3
