"""People whose phone number or address is another one: two fields that agree are enough."""

import random

import pytest

import lookalike as la


def make_people(replaced, seed=1, people=400):
    """Two lists of people, half of the first in the second; a share of the values of some fields is replaced."""
    draw = random.Random(seed)

    def word(syllables):
        return "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(syllables)).title()

    given, surnames, streets = ([word(n) for _ in range(100)] for n in (2, 3, 3))
    make = {
        "name": lambda: f"{draw.choice(given)} {draw.choice(surnames)}",
        "address": lambda: f"{draw.randrange(1, 999)} {draw.choice(streets)} Street",
        "phone": lambda: str(draw.randrange(2_000_000_000, 9_999_999_999)),
    }
    left, right = [], []
    for number in range(people):
        person = {name: value() for name, value in make.items()}
        for side, rows in (("l", left), ("r", right)) if number % 2 else (("l", left),):
            row = {name: make[name]() if draw.random() < replaced.get(name, 0) else person[name] for name in make}
            rows.append({"id": f"{side}{number}", **row})
    return left, right


@pytest.mark.parametrize("tables", [1, 2])
@pytest.mark.parametrize("replaced", [{"phone": 0.2}, {"phone": 0.4}, {"address": 0.3}, {"name": 0.2}])
def test_one_wrong_value_hides_no_match(replaced, tables):
    left, right = make_people(replaced)
    both = (left, right) if tables == 2 else (left + right,)
    result = la.link(*both, fields="name,address,phone", threads=1)
    links = {frozenset(one) for one in zip(*(result.links[side].to_pylist() for side in ("left", "right")))}
    matches = {frozenset((f"l{row['id'][1:]}", row["id"])) for row in right}
    assert 2 * len(links & matches) / (len(links) + len(matches)) > 0.97
