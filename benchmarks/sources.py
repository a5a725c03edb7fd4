"""Generated pairs of sources that list the same things in their own ways: shops, guides, registers, lists.

Electronics, restaurants, beers, songs, hotels, books, drugs, species and companies, each with the noise and the
look-alikes of its trade: model numbers with and without hyphens, branches of a chain, remixes, strengths of a drug,
subspecies, subsidiaries. `SOURCES` maps a name to a function that returns the tables; `share` is the part of the
smaller table that has a match. F1 is compared with that of TF-IDF with mutual best partners, with the fields that a
user would name and with all columns.

    python benchmarks/sources.py --only beers,songs --shares 1,0.3 --seeds 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from catalogues import Case, Row
from mixtures import judge, link_by_tfidf, link_ours
from registers import make_companies, make_drugs, make_species
from trades import (
    BEERS,
    CITIES,
    COLOURS,
    CUISINES,
    FEATURES,
    GADGETS,
    KINDS_OF_BEER,
    STREETS,
    STYLES,
    Thing,
    Trade,
    collect_things,
    split_things,
)


def make_electronics(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two electronics shops: the model at the end or in the middle, in two spellings or as another number."""
    say = Trade(seed)
    features = [one.strip().title() for one in FEATURES.split("|")]
    brands = [*(say.text(1, 1).title() for _ in range(90)), "LG", "JVC", "HP", "GE"]

    def line() -> list[Thing]:
        kind = say.pick(*GADGETS)
        brand, words = say.common(brands, 1.8), GADGETS[kind]
        stem, number, price = say.upper(1, 4), int(say.digits(2, 4)), say.draw.lognormvariate(4.8, 1.1)
        common = say.draw.sample(words, min(len(words), say.draw.randint(1, 3)))
        series = say.title(1, 1) if say.chance(0.35) else ""
        about = "|".join(say.draw.sample(features, say.draw.randint(3, 7)))
        found = []
        for step in range(say.draw.choice([1, 1, 1, 2, 2, 3, 5])):
            has = [one if say.chance(0.75) else say.pick(*words) for one in common]
            suffix = say.pick("", "", "", "B", "S", "W", "BK", "SS", "/B")
            found.append({"brand": brand, "kind": kind, "has": "|".join(dict.fromkeys(has)), "series": series,
                          "stem": stem, "number": str(number + step * say.draw.choice([1, 5, 10, 50])) + suffix,
                          "other": say.digits(5, 6), "colour": say.pick(*COLOURS), "about": about,
                          "price": f"{price * say.draw.uniform(0.8, 1.4):.2f}"})  # fmt: skip
        return found

    def terse(one: Thing) -> Row:
        words = [one["brand"], one["series"], say.maybe(one["colour"], 0.5), *one["has"].split("|"), one["kind"]]
        name = f"{' '.join(' '.join(words).split())} - {one['stem']}{one['number'].replace('/', '')}"
        about = "/ ".join([name, *one["about"].split("|"), f"{one['colour']} Finish"])
        return {"name": name, "description": about, "price": say.maybe(f"${float(one['price']):,.2f}", 0.4)}

    def wordy(one: Thing) -> Row:
        code = one["stem"] + say.pick("", "", "-", "-", " ") + one["number"]
        has = [word for word in one["has"].split("|") if say.chance(0.55)]
        kind = one["kind"] if say.chance(0.75) else one["kind"].split()[-1]
        words = [one["brand"], say.maybe(one["series"], 0.8), say.maybe(code, 0.85), *has, kind]
        if say.chance(0.25):
            words.append(say.pick("System", "Kit", "- Retail", "(New)", "with Accessories", "Series"))
        tail = say.pick("", "", f" - {code}", f" - {one['other']}", f" - {one['colour']}")
        about = ", ".join(say.draw.sample(one["about"].split("|"), 2)) if say.chance(0.25) else ""
        about = about or say.maybe(f"{say.pick(*one['has'].split('|'))} - {one['colour']}", 0.45)
        price = say.maybe(f"${float(one['price']) * say.draw.uniform(0.7, 1.1):,.2f}", 0.55)
        return {"name": " ".join(" ".join(words).split()) + tail, "description": about, "price": price,
                "manufacturer": say.maybe(one["brand"].upper() if say.chance(0.5) else one["brand"], 0.9)}  # fmt: skip

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), line), (terse, wordy), "name,description,price"
    )


def make_restaurants(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two guides: short and full names, streets abbreviated, other names of a quarter, branches of a chain."""
    say = Trade(seed)
    streets = [f"{say.title(1, 1)} {say.pick(*STREETS)}" for _ in range(150)]
    quarters = {city: [city, city, f"{say.pick('West', 'North', 'East')} {city}", say.title(1, 1)] for city in CITIES}

    def house() -> list[Thing]:
        name = say.pick(f"{say.person().split()[1]}'s", say.title(1, 2), f"Cafe {say.title(1, 1)}",
                        f"The {say.title(1, 2)} Grill", f"Le {say.title(1, 1)}")  # fmt: skip
        cuisine, found = say.pick(*CUISINES), []
        for _ in range(say.draw.choice([1] * 12 + [2, 3])):
            address = f"{say.draw.randint(1, 9999)} {say.pick('', '', 'W. ', 'E. ')}{say.common(streets, 1.2)}"
            phone = f"{say.draw.randint(212, 240)} {say.digits(3, 3)} {say.digits(4, 4)}"
            found.append({"name": name, "address": address, "city": say.common(CITIES), "phone": phone,
                          "cuisine": cuisine})  # fmt: skip
        return found

    def first(one: Thing) -> Row:
        return {"name": one["name"], "addr": one["address"], "city": say.pick(*quarters[one["city"]]),
                "phone": one["phone"].replace(" ", "/", 1).replace(" ", "-"), "type": one["cuisine"]}  # fmt: skip

    def second(one: Thing) -> Row:
        name = one["name"] + say.pick("", "", "", " Restaurant", f" ({one['city']})", " Bar & Grill")
        address = " ".join(STREETS.get(word, word) for word in one["address"].split())
        if say.chance(0.3):
            address += say.pick(f" at {say.title(1, 1)} St.", f" between {say.title(1, 1)} and {say.title(1, 1)} Sts.")
        phone = one["phone"] if say.chance(0.93) else f"{one['phone'][:8]}{say.digits(4, 4)}"
        return {"name": name.removeprefix("The ") if say.chance(0.5) else name, "addr": address, "city": one["city"],
                "phone": phone.replace(" ", "-"), "type": say.pick(one["cuisine"], *CUISINES[:3])}  # fmt: skip

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), house), (first, second), "name,addr,city,phone,type"
    )


def make_beers(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two sites that rate beers: the brewery in the name or not, styles of two taxonomies, many beers of a brewery."""
    say = Trade(seed)
    tail = ["Brewing Company", "Brewery", "Brewing Co.", "Brewpub & Restaurant", "Craft Beers"]

    def brewery() -> list[Thing]:
        name, found = f"{say.title(1, 2)} {say.pick(*tail)}", []
        for _ in range(say.draw.choice([1, 2, 4, 8, 16])):
            own = say.maybe(say.title(1, 2), 0.75)
            words = f"{own} {say.maybe(say.pick(*BEERS), 0.5 if own else 1.0)} {say.pick(*KINDS_OF_BEER)}"
            found.append({"brewery": name, "beer": " ".join(words.split()), "style": say.common(STYLES, 1.4),
                          "abv": f"{say.draw.gauss(6.2, 1.6):.1f}"})  # fmt: skip
        return list({one["beer"]: one for one in found}.values())

    def first(one: Thing) -> Row:
        return {"Beer_Name": one["beer"], "Brew_Factory_Name": one["brewery"], "Style": one["style"],
                "ABV": f"{one['abv']}0 %" if say.chance(0.9) else "-"}  # fmt: skip

    def second(one: Thing) -> Row:
        brewery = one["brewery"]
        short = " ".join(word for word in brewery.split() if word in "&" or not any(word in end for end in tail))
        name = f"{short} {one['beer']}" if say.chance(0.75) else one["beer"]
        name = say.retype(name, 0.02) + say.pick("", "", "", " (Bottle)", " Beer", f" {say.draw.randint(2008, 2014)}")
        style = one["style"].partition(" / ")[0].removeprefix("American ") if say.chance(0.7) else say.pick(*STYLES)
        abv = float(one["abv"]) + (0 if say.chance(0.8) else say.draw.uniform(-0.5, 0.5))
        return {"Beer_Name": name, "Brew_Factory_Name": brewery if say.chance(0.6) else f"{short} {say.pick(*tail)}",
                "Style": style, "ABV": f"{abv:.1f} %" if say.chance(0.85) else "-"}  # fmt: skip

    fields = "Beer_Name,Brew_Factory_Name,Style,ABV"
    return split_things(say, sizes, share, collect_things(say, sum(sizes), brewery), (first, second), fields)


def make_songs(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two music shops: features and remixes in brackets, albums in several editions, times within a second."""
    say = Trade(seed)
    labels = [f"{say.title(1, 2)} Records" for _ in range(80)]

    def album() -> list[Thing]:
        artist, name = say.common([say.person(), say.title(1, 2)]), say.title(1, 3)
        released, label = (
            f"{say.draw.randint(1, 28)}-{say.pick('Jan', 'Mar', 'Oct')}-{say.digits(2, 2)}",
            say.pick(*labels),
        )
        found = []
        for _ in range(say.draw.choice([1, 2, 5, 10])):
            song = {"song": say.title(1, 4), "artist": artist, "album": name, "label": label, "released": released,
                    "price": say.pick("$0.99", "$1.29", "$1.29"), "genre": say.pick("Pop,Music", "Country,Music,Rock",
                    "Hip-Hop/Rap,Music,Dance", "Rock,Music"), "time": str(say.draw.randint(120, 330))}  # fmt: skip
            found.append(song)
            if say.chance(0.2):
                more = say.pick(" (Remix)", " (Live)", " (Acoustic Version)", f" (feat. {say.person()})")
                found.append({**song, "song": song["song"] + more, "time": str(say.draw.randint(120, 330))})
        return found

    def clock(seconds: str, off: int) -> str:
        value = int(seconds) + say.draw.randint(-off, off)
        return f"{value // 60}:{value % 60:02}"

    def first(one: Thing) -> Row:
        return {"Song_Name": one["song"], "Artist_Name": one["artist"], "Album_Name": one["album"],
                "Genre": one["genre"], "Price": one["price"], "CopyRight": f"2012 {one['label']}",
                "Time": clock(one["time"], 0), "Released": one["released"]}  # fmt: skip

    def second(one: Thing) -> Row:
        song = one["song"].replace("(", "[").replace(")", "]") if say.chance(0.5) else one["song"]
        album = one["album"] + say.pick("", "", "", " (Deluxe Edition)", " [Explicit]", " - EP")
        return {"Song_Name": song + say.maybe(" [Explicit]", 0.1), "Artist_Name": one["artist"], "Album_Name": album,
                "Genre": one["genre"].split(",")[0], "Price": say.pick("$0.99", "$1.29", one["price"]),
                "CopyRight": say.pick(f"(C) 2012 {one['label']}", one["label"]), "Time": clock(one["time"], 1),
                "Released": one["released"]}  # fmt: skip

    return split_things(say, sizes, share, collect_things(say, sum(sizes), album), (first, second),
                  "Song_Name,Artist_Name,Album_Name,Genre,Price,Time")  # fmt: skip


def make_hotels(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two booking sites: chains with many houses in a city, ALL CAPS, accents, words for hotel in other languages."""
    say = Trade(seed)
    chains = ["Hilton", "Hôtel Ibis", "Best Western", "Novotel", "Holiday Inn", "Mercure", "Radisson Blu", "Motel One"]
    cities = [f"{say.title(1, 1)}{say.pick('', '', 'é', 'ü', ' sur Mer')}" for _ in range(40)]

    def house() -> list[Thing]:
        city = say.common(cities, 1.4)
        place = say.pick("Centre", "Airport", "Gare", "City", "Nord", "Palace", say.title(1, 1), say.title(1, 1))
        own = f"{say.pick('Hotel', 'Hôtel', 'Pension')} {say.title(1, 2)}"
        name = f"{say.pick(*chains)} {city} {place}" if say.chance(0.45) else own
        return [{"name": name, "city": city, "street": f"{say.draw.randint(1, 200)} rue {say.title(1, 2)}",
                 "stars": str(say.draw.randint(2, 5)), "zip": say.digits(5, 5)}]  # fmt: skip

    def first(one: Thing) -> Row:
        return {"hotel": one["name"], "address": f"{one['street']}, {one['zip']} {one['city']}", "city": one["city"],
                "stars": one["stars"]}  # fmt: skip

    def second(one: Thing) -> Row:
        name = one["name"].replace("Hôtel", say.pick("Hotel", "HÔTEL", "Hostellerie"))
        words = [word for word in name.split() if word != one["city"] or say.chance(0.6)]
        name = " ".join(words) + say.pick("", "", " Hotel", f" {one['city']}", " & Spa", "")
        street = one["street"].replace("rue", say.pick("Rue de", "r.", "rue"))
        address = say.pick(f"{street}, {one['city']}", f"{one['zip']} {one['city']}, {street}", street)
        return {"hotel": name.upper() if say.chance(0.3) else name, "address": address,
                "city": one["city"].upper() if say.chance(0.3) else one["city"],
                "stars": say.pick(one["stars"], f"{one['stars']},0", f"{one['stars']} stars", "N/A")}  # fmt: skip

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), house), (first, second), "hotel,address,city,stars"
    )


def make_books(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two book shops: subtitles, several authors, volumes of a series and editions, an ISBN in one shop only."""
    say = Trade(seed)
    houses, people = [say.title(1, 2) for _ in range(60)], [say.person() for _ in range(900)]

    def series() -> list[Thing]:
        title, house = say.title(1, 5), say.common(houses)
        authors = "|".join(say.common(people, 1.3) for _ in range(say.draw.choice([1, 1, 2, 3])))
        volumes = say.draw.choice([0] * 8 + [2, 4])
        found = [
            {"title": title + (f", Vol. {number}" if number else ""), "authors": authors, "publisher": house,
             "sub": say.maybe(say.text(2, 6), 0.4), "pages": say.digits(3, 3), "isbn": say.digits(10, 10),
             "year": str(say.draw.randint(1985, 2015))} for number in range(bool(volumes), volumes + 1)
        ]  # fmt: skip
        if say.chance(0.08):
            found.append({**found[0], "title": f"{title} (2nd Edition)", "year": str(int(found[0]["year"]) + 5)})
        return found

    def first(one: Thing) -> Row:
        title = f"{one['title']}: {one['sub'].title()}" if one["sub"] else one["title"]
        return {"title": title, "author": " & ".join(one["authors"].split("|")), "publisher": one["publisher"],
                "isbn": one["isbn"], "year": one["year"], "pages": f"{one['pages']} pages"}  # fmt: skip

    def second(one: Thing) -> Row:
        title = f"{one['title']} - {one['sub']}" if one["sub"] and say.chance(0.6) else one["title"]
        title = title.replace("Vol.", say.pick("Vol", "Volume", "Book")) + say.pick(
            "", "", "", " (Paperback)", " [Hardcover]"
        )
        names = [f"{name.split()[1]}, {name.split()[0]}" for name in one["authors"].split("|")]
        house = say.pick(one["publisher"], f"{one['publisher']} Press", f"{one['publisher']} Publishing Group", "")
        return {"title": title.replace("&", "&amp;"), "author": "; ".join(names[: say.draw.choice([1, 3])]),
                "publisher": house, "isbn": "", "year": say.maybe(one["year"], 0.7), "pages": one["pages"]}  # fmt: skip

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), series), (first, second), "title,author,publisher,year"
    )


SOURCES: dict[str, tuple[Callable[[tuple[int, int], float, int], Case], tuple[int, int], float]] = {
    "electronics": (make_electronics, (1_081, 1_092), 0.98), "restaurants": (make_restaurants, (533, 331), 0.34),
    "beers": (make_beers, (4_345, 3_000), 0.3), "songs": (make_songs, (3_000, 8_000), 0.15),
    "hotels": (make_hotels, (1_500, 1_200), 0.5), "books": (make_books, (3_000, 2_000), 0.4),
    "drugs": (make_drugs, (1_500, 1_500), 0.6), "species": (make_species, (2_000, 2_000), 0.6),
    "companies": (make_companies, (2_000, 2_000), 0.5),
}  # fmt: skip
"""How to make each pair of tables, their usual sizes, and the usual share of the smaller one that is in both."""


def measure(case: Case, fields: str) -> list[str]:
    """Links, F1, estimated and true precision, the model, the kinds of the fields, and processor seconds."""
    started = time.process_time()
    links, run = link_ours(case, fields)
    seconds = time.process_time() - started
    f1, precision = judge(links, case.truth)
    estimate = (run["precision"] or {}).get("estimate", float("nan"))
    kinds = " ".join(one["kind"] for one in run["options"]["fields"])
    figures = (f"{one:.3f}" for one in (f1, estimate, precision))
    return [f"{len(links):,}", *figures, run["model"]["name"], kinds, f"{seconds:.1f}"]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--shares", default="", help="shares of the smaller table in both; the usual one by default")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    print("| data | share | matches | fields | TF-IDF | links | F1 | estimated | true | model | kinds | processor s |")
    print("|" + " --- |" * 12)
    for name in given.only.split(",") if given.only else SOURCES:
        make, sizes, usual = SOURCES[name]
        sizes = (int(given.scale * sizes[0]), int(given.scale * sizes[1]))
        for share in [float(one) for one in given.shares.split(",") if one] or [usual]:
            for seed in map(int, given.seeds.split(",")):
                case = make(sizes, share, seed)
                known = f"{judge(link_by_tfidf(case), case.truth)[0]:.3f}"
                for fields in dict.fromkeys((case.fields, "all")):
                    row = [name, f"{share:.0%}", f"{len(case.truth):,}", fields, known, *measure(case, fields)]
                    print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
