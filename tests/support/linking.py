"""Generated people in one table or two, of whom it is known who is who, and how well links agree with that."""

import importlib.util
from pathlib import Path

import pyarrow as pa

from lookalike.engine.run import open_run
from lookalike.linkage.link import link_tables

_PLACE = importlib.util.spec_from_file_location(
    "generated_people", Path(__file__).parents[2] / "benchmarks" / "people.py"
)
_PEOPLE = importlib.util.module_from_spec(_PLACE)
_PLACE.loader.exec_module(_PEOPLE)


def make_people(left, right, shared, errors=0.5, seed=1):
    """Two tables and the pairs of ids that are one person; ids are l0, l1, ... and r0, r1, ..."""
    one, other, truth = _PEOPLE.make_tables(left, right, shared, errors, seed=seed)
    tables = [
        table.set_column(0, "id", pa.array([f"{letter}{n}" for n in range(len(table))]))
        for letter, table in (("l", one), ("r", other))
    ]
    pairs = {(f"l{a}", f"r{b}") for a, b in zip(truth["left"].to_pylist(), truth["right"].to_pylist())}
    return *tables, pairs


make_copies = _PEOPLE.make_copies


def pairs_of(links):
    """The two ids of each link."""
    return set(zip(links["left"].to_pylist(), links["right"].to_pylist()))


def f1(found, truth):
    return 2 * len(found & truth) / (len(found) + len(truth))


def link_in_run(left, right, settings):
    """What `link_tables` finds in a run with these settings, with fewer random pairs, which saves time."""
    with open_run(settings) as run:
        return link_tables(left, right, run, random_pairs=100_000)
