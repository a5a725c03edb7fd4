"""What else happens to tables: few partners or none, both in one, repeats, values in other columns, fields missing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from kinds.tables import Case, Row, pairs_between, pick

SMALL = 1_200
"""Records of a table in variants, at most: there are many variants."""
REPEATED_ROWS = 2_500
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def smaller(case: Case, most: int = SMALL) -> Case:
    """A sample of the entities, so that no table has many more records than this."""
    largest = max(len(case.left), len(case.right or []))
    if largest <= most:
        return case
    draw = np.random.default_rng(5)
    lefts, rights = case.entities()
    chosen = draw.random(max(lefts.max(), rights.max(initial=0)) + 1) < most / largest
    return pick(case, case.variant, np.flatnonzero(chosen[lefts]), np.flatnonzero(chosen[rights]))


def with_share(case: Case, share: float) -> Case:
    """Only this share of the entities that have partners keeps them: two tables lose the right records of the others.

    In one table, the others keep their first record.
    """
    draw = np.random.default_rng(int(1000 * share) + 7)
    lefts, rights = case.entities()
    keeps = draw.random(max(lefts.max(), rights.max(initial=0)) + 1) < share
    variant = f"{share:.0%} keep partners" if share else "no partners"
    if case.right is None:
        first = np.zeros(len(lefts), np.bool_)
        first[np.unique(lefts, return_index=True)[1]] = True
        return pick(case, variant, np.flatnonzero(keeps[lefts] | first), None)
    lonely = ~np.isin(rights, lefts)
    return pick(case, variant, range(len(lefts)), np.flatnonzero(keeps[rights] | lonely))


def as_one_table(case: Case) -> Case:
    """Both tables, one after the other."""
    assert case.right is not None
    labels = np.concatenate(case.entities())
    return case.changed(
        "both as one table", left=case.left + case.right, right=None, truth=pairs_between(labels, None), known=None
    )


def as_two_tables(case: Case) -> Case:
    """Each record of one table in one of two, by chance: both may have several records of an entity."""
    draw = np.random.default_rng(11)
    labels, right = case.entities()[0], draw.random(len(case.left)) < 0.5
    lefts, rights = np.flatnonzero(~right), np.flatnonzero(right)
    rows = [[case.left[n] for n in side] for side in (lefts, rights)]
    truth = pairs_between(labels[lefts], labels[rights])
    return case.changed("divided into two tables", left=rows[0], right=rows[1], truth=truth)


def with_typo(row: Row, columns: list[str], draw: random.Random) -> Row:
    """A record with one error."""
    filled = [name for name in columns if row.get(name)]
    if not filled or draw.random() < 0.4:
        return row
    name = draw.choice(filled)
    value, place = row[name], draw.randrange(len(row[name]))
    kind = draw.randrange(4)
    if kind == 0 and len(filled) > 1:
        value = ""
    elif kind == 1:
        value = value[:place] + value[place + 1 :]
    elif kind == 2:
        value = value[:place] + draw.choice(LETTERS) + value[place + 1 :]
    else:
        value = value[:place] + draw.choice(LETTERS) + value[place:]
    return row | {name: value}


def repeated(case: Case) -> Case:
    """The right table has some entities 2 to 300 times, with small errors, and some that are repeated nowhere."""
    assert case.right is not None
    draw = random.Random(3)
    lefts, rights = case.entities()
    rows, labels = [], []
    order = draw.sample(range(len(case.right)), len(case.right))
    for number in order:
        if len(rows) > REPEATED_ROWS:
            break
        times = round(2 * 150 ** draw.random()) if draw.random() < 0.5 else 1
        rows += [with_typo(case.right[number], case.columns, draw) for _ in range(times)]
        labels += [rights[number]] * times
    shuffled = draw.sample(range(len(rows)), len(rows))
    truth = pairs_between(lefts, np.array(labels)[shuffled])
    return case.changed("right records 2 to 300 times", right=[rows[n] for n in shuffled], truth=truth, known=None)


def shuffled_columns(case: Case) -> Case:
    """In a third of the records, the values of two columns have changed places."""
    draw = random.Random(4)
    rows = []
    for row in case.right if case.right is not None else case.left:
        if draw.random() < 0.33:
            first, second = draw.sample(case.columns, 2)
            row = row | {first: row.get(second, ""), second: row.get(first, "")}
        rows.append(row)
    return case.changed("values in other columns", **{"left" if case.right is None else "right": rows})


def without_first_field(case: Case) -> Case:
    """The first field, often the most important one, is not compared."""
    return case.changed("without the first field", fields=case.fields.partition(",")[2])


def exchanged(case: Case) -> Case:
    """Left and right exchanged."""
    known = None if case.known is None else case.known[:, ::-1]
    return case.changed("exchanged", left=case.right, right=case.left, truth=case.truth[:, ::-1], known=known)


def variants(case: Case) -> Iterator[Case]:
    """The case itself, and all its variants."""
    yield case
    little = smaller(case)
    shares = [lambda one, share=share: with_share(one, share) for share in (0.2, 0.05, 0.0)]
    changes: list[Callable[[Case], Case]] = shares
    if case.right is None:
        changes += [as_two_tables]
    else:
        changes += [as_one_table, repeated, exchanged]
    fields = case.fields.count(",") + 1
    if fields > 1:
        changes.append(shuffled_columns)
    if fields > 2:
        changes.append(without_first_field)
    for change in changes:
        yield change(little)
