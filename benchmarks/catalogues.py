"""Generated records made of words, of several kinds, with known matches: to test principles, not one data set.

`KINDS` maps a name to a function of (records, share, seed) that returns a `Case`: one or two tables, the fields to link
by, and the pairs of ids that are the same entity. `share` is the part of the (smaller) table that has a match. Words
follow Zipf's law, people have more than one work, works come in series. Knows nothing about the tools that read it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import pyarrow as pa

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Row = dict[str, str]


@dataclass(frozen=True)
class Case:
    """Tables to link, and their true matches."""

    left: pa.Table
    right: pa.Table | None
    fields: str
    truth: set[tuple[str, str]]


class Language:
    """Draws words, names and errors."""

    def __init__(self, seed: int, words: int = 6_000) -> None:
        self.draw = random.Random(seed)
        self.words = [self._word() for _ in range(words)]
        self.given = [self._word().title() for _ in range(300)]
        self.surnames = [self._word().title() for _ in range(3_000)]

    def _word(self) -> str:
        draw = self.draw
        return "".join(
            draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") + draw.choice(["", "", "n", "r", "s"])
            for _ in range(draw.choice([1, 2, 2, 3, 3, 4]))
        )

    def common(self, kinds: Sequence[str], steep: float = 2.5) -> str:
        """Draw one of some values, the first ones far more often."""
        return kinds[int(len(kinds) * self.draw.random() ** steep)]

    def text(self, least: int, most: int) -> str:
        """Some words."""
        return " ".join(self.common(self.words, 3) for _ in range(self.draw.randint(least, most)))

    def person(self) -> str:
        """A given name and a surname."""
        return f"{self.common(self.given)} {self.common(self.surnames, 1.5)}"

    def chance(self, share: float) -> bool:
        """Whether something of this probability happens."""
        return self.draw.random() < share

    def mistype(self, text: str) -> str:
        """A text with one letter changed, omitted, doubled or swapped."""
        if len(text) < 3:
            return text
        at = self.draw.randrange(len(text) - 1)
        rest = text[at + 1 :]
        return text[:at] + self.draw.choice([self.draw.choice(LETTERS) + rest, rest, text[at] * 2 + rest,
                                             text[at + 1] + text[at] + text[at + 2 :]])  # fmt: skip

    def retype(self, text: str, errors: float) -> str:
        """A text with some words misspelt, and occasionally one missing or two swapped."""
        words = [self.mistype(word) if self.chance(errors) else word for word in text.split()]
        if len(words) > 2 and self.chance(errors):
            del words[self.draw.randrange(len(words))]
        if len(words) > 2 and self.chance(errors):
            at = self.draw.randrange(len(words) - 1)
            words[at : at + 2] = words[at + 1], words[at]
        return " ".join(words)


def two_tables(left: list[Row], right: list[Row], fields: str, seed: int) -> Case:
    """Two tables of rows; rows with the same `entity` match."""
    places: dict[str, list[str]] = {}
    for number, row in enumerate(left):
        row["id"] = f"a{number}"
        places.setdefault(row.pop("entity"), []).append(row["id"])
    random.Random(seed).shuffle(right)
    truth = set()
    for number, row in enumerate(right):
        row["id"] = f"b{number}"
        truth |= {(one, row["id"]) for one in places.get(row.pop("entity"), [])}
    return Case(pa.Table.from_pylist(left), pa.Table.from_pylist(right), fields, truth)


def one_table(rows: list[Row], fields: str, seed: int) -> Case:
    """One table; rows with the same `entity` match."""
    random.Random(seed).shuffle(rows)
    groups: dict[str, list[str]] = {}
    for number, row in enumerate(rows):
        row["id"] = str(number)
        groups.setdefault(row.pop("entity"), []).append(row["id"])
    truth = {pair for ids in groups.values() for pair in combinations(ids, 2)}
    return Case(pa.Table.from_pylist(rows), None, fields, truth)


def make_cds(records: int, share: float, seed: int) -> Case:
    """One table of CDs: artists with several albums, samplers, several discs of a set, empty years and genres."""
    say = Language(seed)
    artists = [say.text(1, 3).title() if say.chance(0.6) else say.person() for _ in range(records // 3)]
    genres = [say.text(1, 1) for _ in range(40)]
    formulas = ["Greatest Hits", "The Best Of", "Live", "Unplugged", "Greatest Hits Vol 2", "Collection"]
    rows: list[Row] = []

    def album(entity: str) -> Row:
        artist = "Various" if say.chance(0.12) else say.common(artists, 1.3)
        title = say.common(formulas) if say.chance(0.08) else say.text(1, 5).title()
        tracks = " | ".join(say.text(1, 4) for _ in range(say.draw.randint(8, 20)))
        return {
            "entity": entity, "artist": artist, "title": title, "category": say.common(genres[:11]),
            "genre": say.common(genres) if say.chance(0.6) else "",
            "year": str(say.draw.randint(1965, 2004)) if say.chance(0.55) else "", "tracks": tracks,
        }  # fmt: skip

    def copy(one: Row) -> Row:
        other = {**one, "artist": say.retype(one["artist"], 0.1), "title": say.retype(one["title"], 0.15)}
        other["tracks"] = say.retype(one["tracks"], 0.08)
        if say.chance(0.4):
            other["category"] = say.common(genres[:11])
        if say.chance(0.5):
            other["genre"], other["year"] = "", ""
        if say.chance(0.15):
            other["title"] += say.draw.choice([" (Remastered)", " [Bonus Tracks]", " - Disc 1"])
        return other

    while len(rows) < records:
        one = album(str(len(rows)))
        rows.append(one)
        if say.chance(0.05):  # the second disc has tracks of its own
            rows.append({**album(str(len(rows))), "artist": one["artist"], "title": one["title"] + " (Disc 2)"})
    for place in say.draw.sample(range(records // 2), int(share * records / 2)):
        rows[-1 - place] = copy(rows[place])
    return one_table(rows, "artist:text,title:text,category,genre,year,tracks:text", seed)


def make_citations(records: int, share: float, seed: int) -> Case:
    """Two tables of papers: authors with initials, venues abbreviated, years missing, authors with several."""
    say = Language(seed)
    people = [say.person() for _ in range(records)]
    topics = [[say.common(say.words, 1.2) for _ in range(8)] for _ in range(max(3, records // 20))]
    venues = [say.text(3, 6).title() for _ in range(60)]

    def paper(entity: str) -> Row:
        words = [say.draw.choice(say.draw.choice(topics)) if say.chance(0.3) else "" for _ in range(3)]
        title = f"{say.text(2, 5)} {' '.join(words)} {say.text(1, 3)}"
        authors = ", ".join(say.common(people, 1.5) for _ in range(say.draw.randint(1, 4)))
        year = str(say.draw.randint(1980, 2005))
        return {"entity": entity, "title": " ".join(title.split()).capitalize(), "authors": authors,
                "venue": say.common(venues), "year": year}  # fmt: skip

    def cite(one: Row) -> Row:
        authors = [f"{name.split()[0][0]} {name.split()[1]}" for name in one["authors"].split(", ")]
        if len(authors) > 2 and say.chance(0.3):
            authors = [*authors[:1], "et al"]
        venue = " ".join(word[:4] for word in one["venue"].split()) if say.chance(0.6) else ""
        cited = say.retype(", ".join(authors), 0.05)
        return {"entity": one["entity"], "title": say.retype(one["title"], 0.08), "venue": venue, "authors": cited,
                "year": one["year"] if say.chance(0.5) else ""}  # fmt: skip

    return split_tables(records, share, paper, cite, "title:text,authors:text,venue:text,year", say, seed)


def make_films(records: int, share: float, seed: int) -> Case:
    """Two tables of films by title and actors: remakes, sequels, other titles, half of the cast missing."""
    say = Language(seed)
    actors = [say.person() for _ in range(records * 2)]
    titles: list[str] = []

    def film(entity: str) -> Row:
        title = say.text(1, 4).title()
        if titles and say.chance(0.1):
            title = say.draw.choice(titles) + say.draw.choice(["", "", " II", " 2", " Returns"])
        titles.append(title)
        cast = ", ".join(say.common(actors, 2) for _ in range(say.draw.randint(1, 6)))
        return {"entity": entity, "title": title, "actors": cast if say.chance(0.9) else ""}

    def other(one: Row) -> Row:
        cast = [say.retype(name, 0.05) for name in one["actors"].split(", ") if name and say.chance(0.6)]
        say.draw.shuffle(cast)
        title = say.text(1, 4).title() if say.chance(0.12) else say.retype(one["title"], 0.05)
        if say.chance(0.1):
            title = f"{title}: {say.text(1, 3).title()}"
        return {"entity": one["entity"], "title": title, "actors": "; ".join(cast)}

    return split_tables(records, share, film, other, "title:text,actors:text", say, seed)


def make_terse(records: int, share: float, seed: int) -> Case:
    """Two shops: one with a name, a long description and a price, the other with a terse title that has the code."""
    say = Language(seed)
    makers = [say.text(1, 1).title() for _ in range(max(8, records // 25))]
    things = [say.text(2, 3) for _ in range(max(8, records // 15))]

    def full(entity: str) -> Row:
        maker, thing = say.common(makers), say.draw.choice(things)
        code = "".join(say.draw.choice(LETTERS.upper()) for _ in range(say.draw.randint(2, 4)))
        code += str(say.draw.randint(10, 9999)) + say.draw.choice(["", "", "B", "W", "/S"])
        colour, price = say.common(say.words[:12]), say.draw.uniform(10, 900)
        about = f"{maker} {thing} {code}/ {say.text(10, 25)} {colour}" if say.chance(0.95) else ""
        return {"entity": entity, "name": f"{maker} {thing.title()} - {code}", "description": about,
                "price": f"${price:.2f}" if say.chance(0.4) else ""}  # fmt: skip

    def terse(one: Row) -> Row:
        maker, *words, _, code = one["name"].split()
        words = [say.mistype(word) if say.chance(0.03) else word for word in words if say.chance(0.75)]
        code = code.replace("/", "") if say.chance(0.5) else code[:3] + "-" + code[3:]
        name = " ".join([maker, *([code] if say.chance(0.85) else []), *words, *say.text(0, 3).split()])
        about = say.text(3, 8) if say.chance(0.5) else ""
        price = one["price"] and f"{float(one['price'][1:]) * say.draw.uniform(0.85, 1.1):.2f}"
        return {"entity": one["entity"], "name": name, "description": about, "price": price}

    return split_tables(records, share, full, terse, "name:text,description:text,price", say, seed)


def make_sizes(records: int, share: float, seed: int) -> Case:
    """Two shops whose products come in volumes, packs and sizes: neighbours differ in one number only."""
    say = Language(seed)
    units = ["ml", "g", "pack", "inch", "volume", "edition"]
    bases = [say.text(2, 5) for _ in range(max(4, records // 4))]
    known: set[str] = set()

    def product(entity: str) -> Row:
        name = f"{say.draw.choice(bases)} {say.draw.choice([1, 2, 3, 4, 6, 8, 10, 12, 24, 50, 100, 250, 500])}"
        title = f"{name} {say.draw.choice(units)}"
        if title in known:  # the same name, number and unit make the same product
            return product(entity)
        known.add(title)
        return {"entity": entity, "title": title}

    def other(one: Row) -> Row:
        words = [say.mistype(word) if word.isalpha() and say.chance(0.1) else word for word in one["title"].split()]
        if say.chance(0.3):
            words.insert(0, say.text(1, 1))
        return {"entity": one["entity"], "title": " ".join(words)}

    return split_tables(records, share, product, other, "title:text", say, seed)


def make_figures(records: int, share: float, seed: int) -> Case:
    """One table of historical people: two to fifty records each, names varied, places and dates often missing."""
    say = Language(seed)
    places = [say.text(1, 2).title() for _ in range(800)]
    jobs = [say.text(1, 2) for _ in range(120)]
    rows: list[Row] = []
    while len(rows) < records:
        entity, name, birth = str(len(rows)), say.person().split(), say.draw.randint(1550, 1900)
        place, job, date = (
            say.common(places),
            say.common(jobs),
            f"{say.draw.randint(1, 12):02}-{say.draw.randint(1, 28):02}",
        )
        for _ in range(say.draw.choice([1, 2, 3, 5, 10, 20, 50]) if say.chance(share) else 1):
            given = (
                name[0]
                if say.chance(0.7)
                else say.draw.choice([name[0][0], say.mistype(name[0]), say.common(say.given)])
            )
            year = birth if say.chance(0.85) else birth + say.draw.randint(-3, 3)
            rows.append({
                "entity": entity, "first_name": given, "surname": say.mistype(name[1]) if say.chance(0.25) else name[1],
                "dob": f"{year}-{date if say.chance(0.7) else '01-01'}" if say.chance(0.8) else "",
                "birth_place": say.retype(place, 0.2) if say.chance(0.75) else "",
                "occupation": job if say.chance(0.6) else "",
            })  # fmt: skip
    return one_table(rows[:records], "first_name:person,surname:person,dob,birth_place,occupation", seed)


def split_tables(
    records: int, share: float, make: Callable[[str], Row], vary: Callable[[Row], Row], fields: str, say: Language,
    seed: int,
) -> Case:  # fmt: skip
    """Two tables of `records` each, a share of which is in both."""
    both = int(share * records)
    every = [make(str(number)) for number in range(2 * records - both)]
    other = [vary(one) for one in [*every[:both], *every[records:]]]
    say.draw.shuffle(left := every[:records])
    return two_tables(left, other, fields, seed)


VARIANTS = ("basic", "plus", "pro", "max", "mini")


def make_variants(records: int, share: float, seed: int, variants: int, divided: bool) -> Case:
    """Two shops whose products come in variants: every record has look-alikes in its own table.

    A shop has all variants of the products that only it has, or some of them if they are `divided`.
    """
    say = Language(seed)
    tables: tuple[list[Row], list[Row]] = [], []
    while min(map(len, tables)) < records:
        name, shop = say.text(2, 4), say.chance(0.5)
        for variant in VARIANTS[:variants]:
            title, entity = [*name.split(), variant], str(sum(map(len, tables)))
            both, shop = say.chance(share / (2 - share)), say.chance(0.5) if divided else shop
            if both or not shop:
                tables[0].append({"entity": entity, "title": " ".join(title)})
            if both or shop:
                words = [say.mistype(word) if say.chance(0.1) else word for word in title]
                say.draw.shuffle(words)
                tables[1].append({"entity": entity, "title": " ".join(words)})
    return two_tables(*tables, "title:text", seed)


KINDS: dict[str, Callable[[int, float, int], Case]] = {
    "CDs": make_cds, "citations": make_citations, "films": make_films, "terse and verbose": make_terse,
    "sizes": make_sizes, "figures": make_figures,
} | {
    f"{variants} variants{', divided' if divided else ''}": partial(make_variants, variants=variants, divided=divided)
    for variants in (2, 3, 5)
    for divided in (False, True)
}  # fmt: skip
