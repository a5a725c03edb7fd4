"""Generated single tables whose entities have any number of records: job ads, restaurants, recipes, addresses, songs.

`REPEATS` maps a name to a function that returns how to make an entity, how it is written down once more, and the
columns to link by. `SIZES` maps a name to the numbers of records that entities can have.

    python benchmarks/repeats.py --records 1500 --only "job ads;songs" --sizes "three;one to six" --seeds 1,2
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from catalogues import LETTERS, Case, Row, one_table
from mixtures import Maker, Town
from word_quality import judge

SIZES: dict[str, list[int]] = {
    "one": [1], "one in ten twice": [1] * 9 + [2], "half twice": [1, 2], "one in ten three": [1] * 9 + [3],
    "two or three": [1, 1, 2, 3], "three": [3], "three to eight": [3, 4, 5, 6, 7, 8], "one to six": [1, 2, 3, 4, 5, 6],
    "mostly one, up to eight": [1] * 12 + [2, 3, 5, 8],
}  # fmt: skip
"""The numbers of records of an entity, each as likely as the others in its list."""


def job_ads(say: Town) -> Maker:
    """Job ads that are posted again with edits; the ads of a company share its description of itself."""
    jobs, places = [say.text(1, 3) for _ in range(150)], say.cities
    companies = [(say.text(1, 2).title(), say.text(10, 25)) for _ in range(120)]

    def make(entity: str) -> Row:
        company, about = say.draw.choice(companies)
        return {"entity": entity, "job": say.common(jobs, 1.3), "company": company, "city": say.common(places),
                "text": f"{say.text(12, 30)} {about}"}  # fmt: skip

    def vary(one: Row) -> Row:
        words = [word for word in one["text"].split() if say.chance(0.93)]
        start = say.draw.randrange(len(words)) if say.chance(0.2) else 0
        more = say.draw.choice(["", "", "urgent", "apply now", f"ref {say.digits(5)}", f"posted {say.digits(2)} may"])
        text = f"{say.retype(' '.join(words[start:] + words[:start]), 0.03)} {more}".strip()
        return {**one, "job": say.retype(f"{one['job']} {say.maybe('m/f', 0.3)}".strip(), 0.05), "text": text,
                "city": say.maybe(one["city"], 0.8)}  # fmt: skip

    return make, vary, "job:text,company,city,text:text"


def restaurants(say: Town) -> Maker:
    """Restaurants by name, address and kind of food: names of a chain, streets shortened."""
    foods = [say.text(1, 1) for _ in range(25)]
    chains = [f"{say.text(1, 2).title()} {say.draw.choice(['Grill', 'Cafe', 'Bar', 'Pizzeria'])}" for _ in range(60)]

    def make(entity: str) -> Row:
        name = say.draw.choice(chains) if say.chance(0.2) else f"{say.person().split()[1]} {say.text(1, 2).title()}"
        return {"entity": entity, "name": name, "place": f"{say.street()}, {say.common(say.cities)}",
                "food": say.common(foods)}  # fmt: skip

    def vary(one: Row) -> Row:
        name = say.retype(one["name"], 0.08) + say.maybe(" Restaurant", 0.2)
        place = one["place"].partition(", ")[0] if say.chance(0.2) else one["place"]
        return {**one, "name": name, "place": say.shorten(place), "food": say.maybe(one["food"], 0.7)}

    return make, vary, "record:text"


def recipes(say: Town) -> Maker:
    """Recipes by title and ingredients: many have common ingredients, and titles of two to five common words."""
    dishes, foods = [say.text(1, 1) for _ in range(250)], [say.text(1, 2) for _ in range(150)]

    def make(entity: str) -> Row:
        title = " ".join(say.common(dishes, 1.4) for _ in range(say.draw.randint(2, 5)))
        parts = {say.common(foods, 1.6): say.draw.randint(1, 9) for _ in range(say.draw.randint(5, 12))}
        return {"entity": entity, "title": title.title(),
                "ingredients": ", ".join(f"{count} {food}" for food, count in parts.items())}  # fmt: skip

    def vary(one: Row) -> Row:
        parts = [part for part in one["ingredients"].split(", ") if say.chance(0.9)]
        say.draw.shuffle(parts)
        title = say.maybe(say.draw.choice(["Easy ", "Best ", "My "]), 0.3) + say.retype(one["title"], 0.06)
        return {**one, "title": title, "ingredients": say.retype(", ".join(parts), 0.02)}

    return make, vary, "title:text,ingredients:text"


def addresses(say: Town) -> Maker:
    """Addresses as one text: neighbours differ in a number only."""

    def make(entity: str) -> Row:
        town = say.common(say.cities)
        return {"entity": entity, "address": f"{say.street()}, {town} {10_000 + 7 * say.cities.index(town)}"}

    def vary(one: Row) -> Row:
        street, _, town = one["address"].partition(", ")
        place = f"{street}, {town}" if say.chance(0.7) else f"{town.rpartition(' ')[0]}, {street}"
        return {**one, "address": say.retype(say.shorten(place), 0.03)}

    return make, vary, "address:text"


def songs(say: Town) -> Maker:
    """Songs by artist and title, some of them sung by several artists."""
    artists, titles = [say.text(1, 3).title() for _ in range(300)], [say.text(1, 4).title() for _ in range(200)]

    def make(entity: str) -> Row:
        title = say.common(titles, 1.2) if say.chance(0.3) else say.text(1, 5).title()
        return {"entity": entity, "artist": say.common(artists, 1.5), "song": title}

    def vary(one: Row) -> Row:
        more = say.draw.choice(["", "", "", " (Remastered)", " - Radio Edit", f" feat. {say.common(artists)}"])
        artist = f"The {one['artist']}" if say.chance(0.1) else say.retype(one["artist"], 0.06)
        return {**one, "artist": artist, "song": say.retype(one["song"], 0.06) + more}

    return make, vary, "artist:text,song:text"


def series(say: Town) -> Maker:
    """Products by title: those of a series differ in a number, a colour or a size."""
    colours, kinds = [say.text(1, 1) for _ in range(10)], [say.text(1, 3) for _ in range(60)]
    last: list[tuple[str, int]] = []

    def make(entity: str) -> Row:
        if not last or say.chance(0.4):
            stem = "".join(say.draw.choices(LETTERS.upper(), k=3))
            last[:] = [(f"{say.text(1, 1).title()} {say.common(kinds, 1.3)} {stem}", say.draw.randint(10, 900))]
        words, number = last[0]
        last[0] = words, number + 5
        size = say.draw.choice(["", "16GB", "32GB", "2-pack"])
        return {"entity": entity, "title": f"{words}{number} {say.draw.choice(colours)} {size}".strip()}

    def vary(one: Row) -> Row:
        words = [word for word in one["title"].split() if say.chance(0.9)] or one["title"].split()
        if say.chance(0.3):
            say.draw.shuffle(words)
        return {**one, "title": " ".join(say.mistype(word) if say.chance(0.03) else word for word in words)}

    return make, vary, "title:text"


def books(say: Town) -> Maker:
    """Books by title and author only: subtitles left out, authors as initials."""
    authors = [say.person() for _ in range(400)]

    def make(entity: str) -> Row:
        title = say.text(1, 5).title() + (f": {say.text(2, 5)}" if say.chance(0.4) else "")
        return {"entity": entity, "title": title, "author": say.common(authors, 1.5)}

    def vary(one: Row) -> Row:
        first, last = one["author"].split()
        author = f"{last}, {first[0]}." if say.chance(0.4) else say.retype(one["author"], 0.05)
        title = one["title"].partition(":")[0] if say.chance(0.3) else one["title"]
        return {**one, "title": say.retype(title, 0.06), "author": author}

    return make, vary, "title:text,author:text"


REPEATS: dict[str, Callable[[Town], Maker]] = {
    "job ads": job_ads, "restaurants": restaurants, "recipes": recipes, "addresses": addresses, "songs": songs,
    "series": series, "books": books,
}  # fmt: skip


def make_repeats(name: str, sizes: list[int], records: int, seed: int) -> Case:
    """One table of about `records` records, whose entities have the given numbers of records."""
    say = Town(seed, records)
    make, vary, fields = REPEATS[name](say)
    rows: list[Row] = []
    while len(rows) < records:
        one = make(str(len(rows)))
        rows.append(one)
        rows += [vary(dict(one)) for _ in range(say.draw.choice(sizes) - 1)]
    return one_table(rows, fields, seed)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_500)
    parser.add_argument("--only", default="", help="names of tables, separated by semicolons")
    parser.add_argument("--sizes", default="", help="numbers of records of an entity, separated by semicolons")
    parser.add_argument("--seeds", default="1")
    given = parser.parse_args()
    print("| data | records of an entity | matches | links | F1 | precision | estimated | processor s |")
    print("|" + " --- |" * 8)
    for name in [one for one in given.only.split(";") if one] or REPEATS:
        for sizes in [one for one in given.sizes.split(";") if one] or SIZES:
            for seed in map(int, given.seeds.split(",")):
                found = judge(make_repeats(name, SIZES[sizes], given.records, seed))
                shown = [f"{found[key]:.3f}" for key in ("f1", "precision", "estimate")]
                counts = [f"{found['matches']:,}", f"{found['links']:,}"]
                print("|", " | ".join([name, sizes, *counts, *shown, f"{found['seconds']:.1f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
