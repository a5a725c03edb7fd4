"""dedupe: people of two tables by its RecordLink, trained with labelled pairs, since it needs some.

Run as ``python ADAPTER LEFT RIGHT OUT LABELS``. LABELS has the columns left, right and same. Links are one to one, from
a probability of 0.5 on. Two settings are not its defaults: it learns blocks on 1,000 people of each table (on 10,000 it
takes more than 10 GB, since it keeps every pair that a rule covers), and without index predicates (with them it found
0.77 of the matches among 10,000 people, without them 0.97).
"""

import io
import random
import sys
from typing import Any

import dedupe
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dedupe.serializer import write_training

FIELDS = ("name", "address", "postcode", "phone")
SAMPLE = 1_000
Person = dict[str, str | None]


def read_people(path: str) -> dict[int, Person]:
    """Return the people of a table by their id."""
    table = pq.read_table(path, columns=["id", *FIELDS])
    rows = zip(*(table[field].to_pylist() for field in FIELDS))
    return {id_: dict(zip(FIELDS, row)) for id_, row in zip(table["id"].to_pylist(), rows)}


def draw_some(people: dict[int, Person]) -> dict[int, Person]:
    """Return the people that blocks are learned on."""
    return {id_: people[id_] for id_ in sorted(random.sample(list(people), min(SAMPLE, len(people))))}


def write_labels(path: str, left: dict[int, Person], right: dict[int, Person]) -> io.StringIO:
    """Return the labelled pairs as its training file."""
    pairs: dict[str, list[Any]] = {"match": [], "distinct": []}
    for label in pq.read_table(path).to_pylist():
        pairs["match" if label["same"] else "distinct"].append((left[label["left"]], right[label["right"]]))
    file = io.StringIO()
    write_training(pairs, file)
    file.seek(0)
    return file


def main() -> None:
    """Train, join, write."""
    left_path, right_path, out, labels = sys.argv[1:5]
    random.seed(1)
    np.random.seed(1)  # it draws from both
    left, right = read_people(left_path), read_people(right_path)
    of = dedupe.variables
    linker = dedupe.RecordLink(
        [
            of.String("name"),
            of.String("address"),
            of.ShortString("postcode"),
            of.ShortString("phone", has_missing=True),
        ]
    )
    linker.prepare_training(draw_some(left), draw_some(right), training_file=write_labels(labels, left, right))
    linker.train(index_predicates=False)
    linker.cleanup_training()
    links = [tuple(map(int, pair)) for pair, _ in linker.join(left, right, threshold=0.5, constraint="one-to-one")]
    pq.write_table(pa.table({"left": [one for one, _ in links], "right": [other for _, other in links]}), out)


if __name__ == "__main__":
    main()
