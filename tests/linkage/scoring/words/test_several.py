"""Entities with several records in one of two tables of words."""

from __future__ import annotations

import random

import pytest

import lookalike as la
from lookalike.linkage.scoring.words import score

SYLLABLES = [one + two for one in "bdfgklmnrst" for two in "aeiou"]


def libraries(copies: int, turned: bool = False) -> tuple[list[dict], list[dict], set[tuple[str, str]]]:
    """A library of 300 papers, and a crawler that has 200 of them up to `copies` times, and 300 others."""
    draw = random.Random(5)
    terms = ["".join(draw.choices(SYLLABLES, k=3)) for _ in range(400)]

    def mistype(word: str) -> str:
        at = draw.randrange(len(word))
        return word[:at] + draw.choice("xyz") + word[at + 1 :]

    def crawl(words: list[str]) -> str:
        return " ".join(mistype(word) if draw.random() < 0.15 else word for word in words if draw.random() < 0.93)

    papers = [draw.sample(terms, 7) for _ in range(600)]
    crawled = [(n, crawl(words)) for n, words in enumerate(papers) if n < 200 for _ in range(draw.randint(1, copies))]
    crawled += [(n, crawl(papers[n])) for n in range(300, 600)]
    draw.shuffle(crawled)
    clean = [{"id": f"a{n}", "title": " ".join(papers[n])} for n in range(300)]
    dirty = [{"id": f"b{place}", "title": text} for place, (_, text) in enumerate(crawled)]
    truth = {(f"a{n}", f"b{place}") for place, (n, _) in enumerate(crawled) if n < 200}
    return (dirty, clean, {(two, one) for one, two in truth}) if turned else (clean, dirty, truth)


def f1_of(result: la.LinkResult, truth: set[tuple[str, str]]) -> float:
    found = set(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist()))
    return 2 * len(found & truth) / (len(found) + len(truth))


@pytest.mark.parametrize("turned", [False, True])
def test_several_records_in_one_table(turned):
    left, right, truth = libraries(5, turned)
    result = la.link(left, right, fields=["title:text"], threads=1)
    assert f1_of(result, truth) > 0.95
    assert any(
        f"the {'left' if turned else 'right'} table seems to have several" in note for note in result.run["notes"]
    )
    assert abs(result.run["precision"]["estimate"] - 1) < 0.1
    single = la.link(left, right, fields=["title:text"], one_to_one="optimal", threads=1)
    assert len(single.links) <= 205


def test_each_record_is_linked_once_if_most_of_several_links_would_be_wrong(monkeypatch):
    """As for the entries below a diagnosis in a catalogue."""
    monkeypatch.setattr(score, "are_doubtful", lambda likely: True)
    left, right, _ = libraries(5)
    result, asked = (la.link(left, right, fields=["title:text"], threads=1, **some)
                     for some in ({}, {"one_to_one": "right"}))  # fmt: skip
    assert 150 < len(result.links) <= 205
    assert not any("seems to have several" in note for note in result.run["notes"])
    assert len(asked.links) > 300  # the user knows better


@pytest.mark.parametrize("turned", [False, True])
def test_a_user_can_say_which_table_has_several_records(turned):
    left, right, truth = libraries(2, turned)  # too few copies to be detected
    many, once = ("left", "right") if turned else ("right", "left")
    given = la.link(left, right, fields=["title:text"], one_to_one=many, threads=1)
    assert f1_of(given, truth) > 0.95
    assert len(set(given.links[many].to_pylist())) == len(given.links) > 1.3 * len(set(given.links[once].to_pylist()))
    assert not any("several records" in note for note in given.run["notes"])
    other = la.link(left, right, fields=["title:text"], one_to_one=once, threads=1)
    assert len(set(other.links[once].to_pylist())) == len(other.links)
    assert f1_of(other, truth) < 0.9


def test_later_records_of_a_table_that_a_user_named():
    left, right, truth = libraries(2)
    old = la.link(left, right[:-50], fields=["title:text"], one_to_one="right", threads=1)
    later = la.link(right[-50:], against=old, into="right", threads=1)
    assert f1_of(later, truth) > 0.93
    assert len(set(later.links["right"].to_pylist())) == len(later.links)


def test_later_records_of_such_a_table():
    left, right, truth = libraries(5)
    old = la.link(left, right[:-50], fields=["title:text"], threads=1)
    later = la.link(right[-50:], against=old, into="right", threads=1)
    assert f1_of(later, truth) > 0.93


def test_one_record_each():
    left, right, truth = libraries(1)
    result = la.link(left, right, fields=["title:text"], threads=1)
    assert f1_of(result, truth) > 0.97
    assert not any("several records" in note for note in result.run["notes"])


def test_seasons_of_a_league_are_not_several_records_of_an_entity():
    """One table has a season of each league, the other all of them: each is a good partner, but not alike."""
    draw = random.Random(6)
    names = [" ".join("".join(draw.choices(SYLLABLES, k=3)) for _ in range(3)) for _ in range(150)]
    left, right, truth = [], [], set()
    for league, name in enumerate(names):
        own, *years = draw.sample(range(1980, 2020), 6)
        right.append({"id": f"b{league}", "title": f"{own} season of the {name} championship"})
        if league < 30:  # the other table has this season, too
            years.append(own)
            truth.add((f"a{league}-{own}", f"b{league}"))
        left += [{"id": f"a{league}-{year}", "title": f"{name} championship {year}"} for year in years]
    result = la.link(left, right, fields=["title:text"], threads=1)
    assert not any("several records" in note for note in result.run["notes"])
    assert len(result.links) <= len(right)
    found = set(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist()))
    assert len(found & truth) > 0.9 * len(truth)
