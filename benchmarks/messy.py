"""Generated tables with the mess of real ones: shops, a crawler, films and CDs, with the words of news articles.

Compared with `catalogues.py`, fields hardly distinguish records, values are in the wrong field, and there are
compilations, sets of discs, and entries without content. `MESSY` maps a name to a function of (language, records,
share), which returns a `Case`; `share` is the part of the (smaller) table that has a match. Knows nothing about the
tools that read it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from catalogues import LETTERS, Case, Language, Row, one_table, two_tables


class NewsLanguage(Language):
    """Draws the words and names of a file of English texts, as often as they occur there."""

    def __init__(self, path: Path, seed: int) -> None:
        super().__init__(seed, words=1)
        words = re.findall(r"[A-Za-z][a-z]{2,}", path.read_text("utf-8", errors="replace"))
        often = Counter(word for word in words if word.islower())
        names = Counter(word for word in words if not word.islower() and word.lower() not in often)
        self.words = [word for word, _ in often.most_common()]
        self._cumulative = list(accumulate(often[word] for word in self.words))
        self.surnames = [name for name, _ in names.most_common(4_000)]
        self.given = self.surnames[:400]

    def text(self, least: int, most: int) -> str:
        """Some words."""
        count = self.draw.randint(least, most)
        return " ".join(self.draw.choices(self.words, cum_weights=self._cumulative, k=count))


def _name(say: Language) -> str:
    return say.common(say.surnames, 1.5)


def _noun(say: Language) -> str:
    """A word that is neither very common nor very rare."""
    return say.draw.choice(say.words[len(say.words) // 50 : len(say.words) // 2])


def _nouns(say: Language, *sizes: int) -> str:
    return " ".join(_noun(say) for _ in range(say.draw.choice(sizes))).title()


def make_shops(say: Language, records: int, share: float) -> Case:
    """Two shops: series of a maker, codes written in two ways, most attributes in one description only."""
    draw, chance = say.draw, say.chance
    brands, kinds = [_name(say) for _ in range(70)], [_nouns(say, 1, 2, 2, 3) for _ in range(60)]
    attributes = [_nouns(say, 1, 2, 3) for _ in range(250)]
    colours = ["Black", "White", "Silver", "Red", "Blue", "Stainless Steel", "Pink", "Titanium"]
    filler = ["New", "Genuine", "OEM", "Retail", "with Free Shipping", "Kit", "- Retail Pack", "Series", "Edition"]

    def series() -> list[dict[str, object]]:
        brand, kind, price = say.common(brands, 1.6), say.common(kinds, 1.3), draw.lognormvariate(5, 1.1)
        stem, number = "".join(draw.choices(LETTERS.upper(), k=draw.randint(1, 4))), draw.randint(10, 9_999)
        common = draw.sample(attributes, draw.randint(3, 9))
        sizes = ["", f"{draw.randint(5, 60)}'", f"{draw.choice([2, 4, 8, 16, 32])}GB"]
        return [
            {"brand": brand, "kind": kind, "stem": stem,
             "number": f"{number + 5 * step}{draw.choice(['', '', 'B', '/A'])}",
             "colour": draw.choice(colours), "size": draw.choice(sizes), "price": price * draw.uniform(0.8, 1.3),
             "has": [one if chance(0.8) else draw.choice(attributes) for one in common]}
            for step in range(draw.choice([1, 1, 1, 2, 3, 5]))
        ]  # fmt: skip

    def first(entity: int, one: dict) -> Row:
        size, colour = (one[key] if chance(0.5) else "" for key in ("size", "colour"))
        name = " ".join(f"{one['brand']} {size} {colour} {one['kind']} - {one['stem']}{one['number']}".split())
        about = "/ ".join([name, *one["has"], f"{one['colour']} Finish"])
        return {"entity": str(entity), "name": name, "description": about,
                "price": f"${one['price']:,.2f}" if chance(0.4) else ""}  # fmt: skip

    def second(entity: int, one: dict) -> Row:
        code = f"{one['stem']}{draw.choice(['', '', '-', ' '])}{one['number']}" if chance(0.82) else ""
        words = [word for word in one["kind"].split() if chance(0.85)] or one["kind"].split()[:1]
        parts = [one["brand"] if chance(0.95) else "", code, one["size"] if chance(0.5) else "", *words,
                 draw.choice(filler) if chance(0.25) else "", f"({one['colour']})" if chance(0.35) else ""]  # fmt: skip
        if chance(0.4):
            parts.append(parts.pop(1))
        about = ", ".join(draw.sample(one["has"], draw.randint(1, len(one["has"])))) if chance(0.6) else ""
        if about and chance(0.3):
            about = f"{say.text(8, 30)} {about}"
        return {"entity": str(entity), "name": " ".join(filter(None, parts)), "description": about,
                "price": f"${one['price'] * draw.uniform(0.7, 1.15):,.2f}" if chance(0.55) else ""}  # fmt: skip

    both, every = int(share * records), []
    while len(every) < 2 * records - both:
        every += series()
    left = [first(place, every[place]) for place in range(records)]
    right = [second(place, every[place]) for place in [*range(both), *range(records, 2 * records - both)]]
    return two_tables(left, right, "name,description,price", 1)


def make_electronics(say: Language, records: int, share: float) -> Case:
    """A small shop and one with six times as many products: model numbers in the title here, in a field there."""
    draw, chance = say.draw, say.chance
    brands, kinds = [_name(say) for _ in range(120)], [_nouns(say, 1, 2, 2) for _ in range(80)]
    adjectives, sections = [_nouns(say, 1) for _ in range(200)], [_noun(say) for _ in range(20)]
    many, both = 6 * records, int(share * records)

    def series() -> list[dict[str, object]]:
        brand, kind = say.common(brands, 1.8), draw.choice(kinds)
        stem = "".join(draw.choices(LETTERS.upper() + "0123456789", k=draw.randint(2, 5)))
        return [
            {"brand": brand, "kind": kind,
             "model": f"{stem}{draw.randint(1, 999)}{draw.choice(['', '', 'BK', '-A', '/US'])}",
             "words": draw.sample(adjectives, draw.randint(1, 4)), "price": draw.lognormvariate(3.5, 1.2),
             "size": draw.choice(["", "4GB", "8GB", "16GB", "15.4", "17", "6ft", "10ft", "25-pack"])}
            for _ in range(draw.choice([1, 1, 2, 4]))
        ]  # fmt: skip

    def small(entity: int, one: dict) -> Row:
        words = [one["brand"], *one["words"], one["size"], one["kind"], one["model"] if chance(0.25) else ""]
        return {"entity": str(entity), "title": " ".join(filter(None, words)), "brand": one["brand"],
                "category": f"{draw.choice(sections)} - {one['kind'].lower()}", "price": f"{one['price']:.2f}",
                "modelno": one["model"] if chance(0.85) else ""}  # fmt: skip

    def large(entity: int, one: dict) -> Row:
        words = [one["brand"] if chance(0.9) else "", one["model"] if chance(0.45) else ""]
        words += [word for word in [*one["words"], one["size"], *one["kind"].split()] if chance(0.7)]
        words += say.text(1, 5).split() if chance(0.4) else []
        words += ["for", say.common(brands), draw.choice(adjectives)] if chance(0.2) else []
        model = draw.choice([one["model"], one["model"], one["model"].replace("-", "").lower()])
        return {"entity": str(entity), "title": " ".join(filter(None, words)).title(),
                "category": draw.choice(sections) if chance(0.6) else one["kind"].lower(),
                "brand": one["brand"].lower() if chance(0.75) else "", "modelno": model if chance(0.6) else "",
                "price": f"{one['price'] * draw.uniform(0.6, 1.2):.2f}" if chance(0.75) else ""}  # fmt: skip

    every: list[dict] = []
    while len(every) < records + many - both:
        every += series()
    draw.shuffle(every := every[: records + many - both])
    left = [small(place, every[place]) for place in range(records)]
    right = [large(place, every[place]) for place in [*range(both), *range(records, len(every))]]
    return two_tables(left, right, "title,category,brand,modelno,price", 1)


class _Papers:
    """Papers as a library and as a crawler list them."""

    VENUES = (
        ("International Conference on Management of Data", "SIGMOD Conference"), ("Very Large Data Bases", "VLDB"),
        ("ACM Trans. Database Syst.", "TODS"), ("VLDB Journal", "VLDB J."), ("SIGMOD Record", "SIGMOD Rec."),
    )  # fmt: skip

    def __init__(self, say: Language) -> None:
        self.say = say
        self.topics = [[_noun(say) for _ in range(12)] for _ in range(60)]
        self.people = [say.person() for _ in range(3_000)]

    def paper(self) -> dict:
        say, draw = self.say, self.say.draw
        topic = draw.choice(self.topics)
        words = (draw.choice(topic) if say.chance(0.6) else say.text(1, 1) for _ in range(draw.randint(2, 7)))
        title = draw.choice(["Editorial", "Introduction", "Foreword"]) if say.chance(0.1) else " ".join(words)
        authors = [say.common(self.people, 1.4) for _ in range(draw.choice([1, 1, 2, 2, 3, 3, 4, 6]))]
        return {"title": title.capitalize(), "authors": authors, "venue": draw.choice(self.VENUES),
                "year": draw.randint(1994, 2003)}  # fmt: skip

    def clean(self, entity: str, one: dict) -> Row:
        return {"entity": entity, "title": one["title"], "authors": ", ".join(one["authors"]),
                "venue": one["venue"][self.say.chance(0.7)], "year": str(one["year"])}  # fmt: skip

    def crawled(self, entity: str, one: dict) -> Row:
        say, draw, chance = self.say, self.say.draw, self.say.chance
        authors = [f"{name[0]} {name.split()[-1]}" if chance(0.9) else name for name in one["authors"]]
        authors = authors[: draw.randint(0, len(authors))] if chance(0.2) else authors
        title = " ".join(say.mistype(word) if chance(0.03) else word for word in one["title"].split())
        if chance(0.06):
            title = title[: draw.randint(8, 40)]
        if chance(0.05):
            title += draw.choice([", 1999", " (extended abstract)", f" - technical report {draw.randint(1, 99)}"])
        if chance(0.03):
            title, authors = f"{' '.join(authors)} {title}", []
        long, short = one["venue"]
        venue = draw.choice(["", "", long, short, f"Proceedings of the {long} {one['year']}", say.text(3, 3).title(),
                             f"In {short}, pages {draw.randint(1, 400)}"])  # fmt: skip
        return {"entity": entity, "title": title, "authors": ", ".join(authors), "venue": venue,
                "year": str(one["year"]) if chance(0.45) else ""}  # fmt: skip


def make_crawler(say: Language, records: int, share: float) -> Case:
    """A library and a crawler with up to eight records of a paper, and other papers by the same authors."""
    papers, draw = _Papers(say), say.draw
    cited = [papers.paper() for _ in range(records)]
    right = [papers.crawled(str(place), cited[place]) for place in range(int(share * records))
             for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 5, 8]))]  # fmt: skip
    for number in range(5 * records):
        one = papers.paper()
        if say.chance(0.06):
            other = draw.choice(cited)
            one["authors"] = other["authors"]
            if say.chance(0.5):
                one["title"] = " ".join([word for word in other["title"].split() if say.chance(0.7)] + [say.text(2, 2)])
        right += [papers.crawled(f"x{number}", one) for _ in range(draw.choice([1, 1, 1, 2]))]
    left = [papers.clean(str(place), one) for place, one in enumerate(cited)]
    return two_tables(left, right, "title,authors,venue,year", 1)


def make_films(say: Language, records: int, share: float) -> Case:
    """Two tables of films by title and actors: one title in eight is of another film too, casts overlap in part."""
    draw, chance = say.draw, say.chance
    actors, both = [say.person() for _ in range(2 * records)], int(share * records)
    every: list[tuple[str, list[str]]] = []
    for _ in range(2 * records - both):
        title = ("The " if chance(0.5) else "") + say.text(1, 4).title()
        if every and chance(0.12):
            title = draw.choice(every)[0]
        every.append((title, [say.common(actors, 2) for _ in range(draw.randint(0, 10))]))

    def first(place: int) -> Row:
        title, cast = every[place]
        if title.startswith("The ") and chance(0.3):
            title = f"{title[4:]}, The"
        return {"entity": str(place), "title": title, "actors": "; ".join(cast[: draw.randint(0, 10)])}

    def second(place: int) -> Row:
        title, cast = every[place]
        title = say.text(3, 3).title() if chance(0.08) else title + (" (film)" if chance(0.1) else "")
        some = [name for name in cast if chance(0.6)]
        return {"entity": str(place), "title": title, "actors": ", ".join(some) if chance(0.8) else ""}

    right = [second(place) for place in [*range(both), *range(records, len(every))]]
    return two_tables([first(place) for place in range(records)], right, "title,actors", 1)


class _Albums:
    """CDs as users typed them in: artists with several albums, compilations, classical works, entries without names."""

    CATEGORIES = (
        "rock",
        "misc",
        "newage",
        "blues",
        "classical",
        "country",
        "data",
        "folk",
        "jazz",
        "reggae",
        "soundtrack",
    )
    GENRES = ("Rock", "Pop", "Classical", "Jazz", "Soundtrack", "Metal", "Hip-Hop", "Trance", "Other", "Blues", "Folk",
              "Alternative", "Punk", "Schlager", "Oldies", "Chanson")  # fmt: skip
    FORMULAS = ("Greatest Hits", "Live", "The Best Of", "Unplugged", "The Collection", "Gold", "Hits", "In Concert")
    MOVEMENTS = ("I. Allegro", "II. Andante", "III. Menuetto", "IV. Finale: Presto", "II. Adagio", "III. Rondo")
    WORKS = ("Symphony", "Piano Concerto", "Sonata", "String Quartet", "Violin Concerto")

    def __init__(self, say: Language, records: int) -> None:
        self.say, self.draw, self.chance = say, say.draw, say.chance
        bands = (("The " if self.chance(0.25) else "") + say.text(1, 3).title() for _ in range(records))
        self.artists = [say.person() if self.chance(0.4) else next(bands) for _ in range(max(1, records // 3))]
        self.songs = {one: [say.text(1, 5).title() for _ in range(say.draw.randint(12, 60))] for one in self.artists}
        self.composers = [_name(say) for _ in range(40)]

    def album(self, entity: str) -> Row:
        kind = self.draw.random()
        make = (self._nameless, self._compilation, self._classical, self._usual)[
            (kind > 0.02) + (kind > 0.13) + (kind > 0.2)
        ]
        artist, title, tracks = make()
        return {"entity": entity, "artist": artist, "title": title, "category": self.say.common(self.CATEGORIES, 1.5),
                "genre": self.say.common(self.GENRES, 1.5) if self.chance(0.55) else "",
                "year": str(self.draw.randint(1960, 2004)) if self.chance(0.45) else "",
                "tracks": " ".join(tracks)}  # fmt: skip

    def _nameless(self) -> tuple[str, str, list[str]]:
        tracks = [f"Track {number}" for number in range(1, self.draw.randint(5, 20))]
        artist = self.draw.choice(["Unknown", "Unknown Artist", "", "Various"])
        return artist, self.draw.choice(["Unknown", "New", "", "Untitled", "Sampler"]), tracks

    def _compilation(self) -> tuple[str, str, list[str]]:
        draw, words = self.draw, self.say.text(2, 5).title()
        series = draw.choice(["Bravo Hits", "Top", "Now", "Ballads", "Summer"])
        title = draw.choice([words, f"{words} Vol. {draw.randint(1, 9)}", f"{series} {draw.randint(1, 40)}"])
        artists = [self.say.common(self.artists, 2.5) for _ in range(draw.randint(10, 20))]
        tracks = [f"{one} / {draw.choice(self.songs[one])}" for one in artists]
        return "Various" if self.chance(0.8) else "Various Artists", title, tracks

    def _classical(self) -> tuple[str, str, list[str]]:
        draw, composer, work = self.draw, self.draw.choice(self.composers), self.draw.choice(self.WORKS)
        key, number = f"{draw.choice('ABCDEFG')} {draw.choice(['major', 'minor'])}", draw.randint(1, 9)
        tracks = [f"{work} No. {number} in {key}, Op. {draw.randint(1, 150)} - {part}" for part in self.MOVEMENTS[:4]]
        player = f"{self.say.person()}, {_name(self.say)} Philharmonic"
        title = draw.choice([f"{composer}: {work} No. {number}", f"{work}s"])
        return draw.choice([composer, player]), title, tracks * draw.randint(1, 3)

    def _usual(self) -> tuple[str, str, list[str]]:
        artist = self.say.common(self.artists, 1.5)
        title = self.draw.choice(self.FORMULAS) if self.chance(0.1) else self.say.text(1, 4).title()
        songs = self.songs[artist]
        tracks = self.draw.sample(songs, min(len(songs), self.draw.randint(8, 16)))
        return artist, artist if self.chance(0.06) else title, ["Intro", *tracks] if self.chance(0.1) else tracks

    def copy(self, one: Row) -> Row:
        say, draw, chance, row = self.say, self.draw, self.chance, dict(one)
        artist, title, tracks = one["artist"], one["title"], one["tracks"].split()
        if chance(0.45):
            row["category"] = say.common(self.CATEGORIES, 1.2)
        if chance(0.6):
            row["genre"] = say.common(self.GENRES, 1.2) if chance(0.5) else ""
        if chance(0.5):
            row["year"] = "" if chance(0.6) else str(draw.randint(1960, 2004))
        if chance(0.25):
            row["artist"] = draw.choice([say.mistype(artist), artist.upper(), ", ".join(reversed(artist.split(" ", 1))),
                                         f"{artist} & {_name(say)}", artist.split(" ")[0]])  # fmt: skip
        if chance(0.35):
            row["title"] = draw.choice([say.mistype(title), title.upper(), f"{title} (Disc 1)", f"{title} [Remastered]",
                                        title.split(" ")[0], f"{title} - {say.text(2, 2)}"])  # fmt: skip
        if chance(0.5):
            tracks = [say.mistype(word) if chance(0.06) else word for word in tracks]
        if chance(0.2):
            tracks = tracks[: int(len(tracks) * draw.uniform(0.5, 0.95))]
        if chance(0.15):
            tracks += say.text(3, 10).title().split()
        row["tracks"] = " ".join(tracks)
        return row


def make_albums(say: Language, records: int, share: float) -> Case:
    """One table of CDs, sets of up to three discs among them, some typed in twice."""
    albums, pairs = _Albums(say, records), int(share * records / 2)
    rows: list[Row] = []
    while len(rows) < records - pairs:
        one = albums.album(str(len(rows)))
        rows.append(one)
        for disc in range(2, say.draw.choice([3, 3, 4]) if say.chance(0.05) else 2):
            title = one["title"] + say.draw.choice([f" (Disc {disc})", f" CD{disc}", f" - CD {disc}"])
            rows.append({**albums.album(str(len(rows))), "artist": one["artist"], "title": title})
    del rows[records - pairs :]
    rows += [
        albums.copy(one) for one in say.draw.sample([row for row in rows if "Track 2" not in row["tracks"]], pairs)
    ]
    return one_table(rows, "artist,title,category,genre,year,tracks", 1)


def make_groups(say: Language, records: int, share: float) -> Case:
    """One table with three to ten records of each entity; `share` of the entities, the others have one record."""
    rows: list[Row] = []
    while len(rows) < records:
        entity, title, author = str(len(rows)), say.text(4, 9), say.person()
        for _ in range(say.draw.randint(3, 10) if say.chance(share) else 1):
            name = author if say.chance(0.6) else f"{author[0]}. {author.split()[1]}"
            rows.append({"entity": entity, "title": say.retype(title, 0.12), "author": name, "note": say.text(0, 6)})
    return one_table(rows, "title:text,author,note:text", 1)


def join_tables(case: Case, seed: int = 3) -> Case:
    """The records of two tables in one, without what tells the tables apart."""
    assert case.right is not None
    names = [field.partition(":")[0] for field in case.fields.split(",")]
    rows = [{"id": f"{side}{row['id']}", **{name: None if row[name] is None else str(row[name]) for name in names}}
            for side, table in (("l", case.left), ("r", case.right)) for row in table.to_pylist()]  # fmt: skip
    random.Random(seed).shuffle(rows)
    return Case(pa.Table.from_pylist(rows), None, case.fields, {(f"l{one}", f"r{other}") for one, other in case.truth})


MESSY: dict[str, Callable[[Language, int, float], Case]] = {
    "shops": make_shops, "electronics": make_electronics, "crawler": make_crawler, "films": make_films,
    "albums": make_albums, "groups": make_groups,
}  # fmt: skip
