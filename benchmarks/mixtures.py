"""Generated tables that mix texts with names, codes, dates, prices and phones, linked as a user would first type them.

`MIXTURES` maps a name to a function that returns how to make an entity, how another source describes it, and the
columns to link by, without their kinds. F1 is compared with that of TF-IDF with mutual best partners, and of the way of
scoring that lookalike did not choose, which is forced by other kinds.

    python benchmarks/mixtures.py --records 600 --shares 0.5,0.1 --only books,events --seeds 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pyarrow as pa

import lookalike as la

sys.path.insert(0, str(Path(__file__).parent))
from catalogues import LETTERS, Case, Language, Row, one_table, split_tables
from words import best_by_tfidf

Maker = tuple[Callable[[str], Row], Callable[[Row], Row], str]
"""Makes an entity; varies a row as another source would; the columns to link by."""
STREETS = ["Street", "Road", "Avenue", "Lane", "Court"]
SHORT = {"Street": "St", "Road": "Rd", "Avenue": "Ave", "Lane": "Ln", "Court": "Ct"}


class Town(Language):
    """Draws what people, companies and events have: places, streets, phones, dates."""

    def __init__(self, seed: int, records: int) -> None:
        super().__init__(seed)
        self.cities = [self.text(1, 2).title() for _ in range(max(5, records // 20))]
        self.streets = [f"{self.text(1, 1).title()} {self.draw.choice(STREETS)}" for _ in range(max(9, records // 2))]

    def digits(self, count: int) -> str:
        """A number of this many digits."""
        return "".join(self.draw.choice("0123456789") for _ in range(count))

    def phone(self) -> str:
        """A phone number with an area code."""
        return f"({self.draw.randint(200, 240)}) {self.digits(3)}-{self.digits(4)}"

    def date(self, first: int, last: int) -> str:
        """A day between two years."""
        draw = self.draw
        return f"{draw.randint(first, last)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"

    def street(self) -> str:
        """A house number and a street."""
        return f"{self.draw.randint(1, 250)} {self.common(self.streets, 1.2)}"

    def shorten(self, address: str) -> str:
        """An address as others write it."""
        words = [SHORT.get(word, word) if self.chance(0.5) else word for word in address.split()]
        return " ".join(self.mistype(word) if word.isalpha() and self.chance(0.05) else word for word in words)

    def maybe(self, value: str, known: float) -> str:
        """The value with this probability, otherwise nothing."""
        return value if self.chance(known) else ""


def with_jobs(say: Town) -> Maker:
    """People with a free description of their job, which each source words differently."""
    jobs = [say.text(2, 4) for _ in range(60)]

    def make(entity: str) -> Row:
        return {"entity": entity, "name": say.person(), "born": say.date(1940, 2000), "city": say.common(say.cities),
                "job": f"{say.common(jobs)} {say.text(1, 4)}"}  # fmt: skip

    def vary(one: Row) -> Row:
        job = " ".join(word for word in one["job"].split() if say.chance(0.7))
        born = one["born"] if say.chance(0.8) else one["born"][:8] + f"{say.draw.randint(1, 28):02}"
        return {**one, "name": say.retype(one["name"], 0.15), "born": say.maybe(born, 0.85), "job": job}

    return make, vary, "name,born,city,job"


def with_notes(say: Town) -> Maker:
    """People with notes that have nothing in common between sources, and a phone."""

    def make(entity: str) -> Row:
        first, last = say.person().split()
        return {"entity": entity, "first_name": first, "last_name": last, "phone": say.phone(),
                "notes": say.maybe(say.text(6, 20), 0.8)}  # fmt: skip

    def vary(one: Row) -> Row:
        names = {name: say.retype(one[name], 0.15) for name in ("first_name", "last_name")}
        phone = say.maybe(one["phone"] if say.chance(0.8) else say.phone(), 0.8)
        return {**one, **names, "phone": phone, "notes": say.maybe(say.text(6, 20), 0.8)}

    return make, vary, "first_name,last_name,phone,notes"


def with_addresses(say: Town) -> Maker:
    """People with an address of several lines in one column, in another order in the other source."""

    def make(entity: str) -> Row:
        residence = f"{say.street()}, {say.common(say.cities)} {10_000 + say.draw.randint(1, 400)}"
        return {"entity": entity, "name": say.person(), "residence": residence}

    def vary(one: Row) -> Row:
        street, _, town = one["residence"].partition(", ")
        street = say.shorten(street)
        place = f"{street} {town}" if say.chance(0.6) else f"{town.rpartition(' ')[2]} {street}"
        first, last = one["name"].split()
        name = f"{last}, {first}" if say.chance(0.2) else say.retype(one["name"], 0.1)
        return {**one, "name": name, "residence": place}

    return make, vary, "name,residence"


def _products(say: Town) -> tuple[Callable[[str], Row], Callable[[Row], Row]]:
    """Products of series with a model number, and how another shop describes them; with a price."""
    makers = [say.text(1, 1).title() for _ in range(20)]
    series = [(say.common(makers), say.text(2, 3), say.draw.choice(LETTERS).upper()) for _ in range(80)]

    def make(entity: str) -> Row:
        maker, words, letter = say.draw.choice(series)
        model = f"{letter}{say.draw.choice(LETTERS).upper()}{say.digits(3)}"
        return {"entity": entity, "product": f"{maker} {words} {model} {say.text(0, 2)}".strip(),
                "price": f"{say.draw.uniform(5, 900):.2f}"}  # fmt: skip

    def vary(one: Row) -> Row:
        words = [say.mistype(word) if say.chance(0.05) else word for word in one["product"].split() if say.chance(0.8)]
        say.draw.shuffle(words)
        name = " ".join([*(words or one["product"].split()[:1]), *say.text(0, 2).split()])
        return {**one, "product": name, "price": f"{float(one['price']) * say.draw.uniform(0.9, 1.1):.2f}"}

    return make, vary


def with_eans(say: Town) -> Maker:
    """Products with an EAN that most records of either shop have, seldom mistyped."""
    product, other = _products(say)

    def make(entity: str) -> Row:
        return {**product(entity), "ean": say.maybe("40" + say.digits(11), 0.7)}

    def vary(one: Row) -> Row:
        ean = say.mistype(one["ean"]) if say.chance(0.02) else one["ean"]
        return {**other(one), "ean": say.maybe(ean, 0.6)}

    return make, vary, "product,price,ean"


def with_releases(say: Town) -> Maker:
    """Products with the date of their release, which shops date within a week of each other."""
    product, other = _products(say)

    def make(entity: str) -> Row:
        return {**product(entity), "released": say.date(2015, 2024)}

    def vary(one: Row) -> Row:
        day = min(28, max(1, int(one["released"][8:]) + say.draw.randint(-6, 6))) if say.chance(0.3) else None
        date = one["released"] if day is None else one["released"][:8] + f"{day:02}"
        return {**other(one), "released": say.maybe(date, 0.8)}

    return make, vary, "product,price,released"


def with_sellers(say: Town) -> Maker:
    """Second-hand products with the phone of the seller, who has several of them and one number per source."""
    product, other = _products(say)
    phones = [say.phone() for _ in range(60)]

    def make(entity: str) -> Row:
        return {**product(entity), "phone": say.common(phones, 1.2)}

    def vary(one: Row) -> Row:
        return {**other(one), "phone": say.maybe(one["phone"] if say.chance(0.7) else say.phone(), 0.7)}

    return make, vary, "product,price,phone"


def with_places(say: Town) -> Maker:
    """Events with a place and a date: a tour has the same name in many places, a fair comes back every year."""
    halls = [f"{say.text(1, 1).title()} {say.draw.choice(['Hall', 'Theatre', 'Arena', 'Club'])}" for _ in range(40)]
    names = [say.text(2, 5).title() for _ in range(150)]

    def make(entity: str) -> Row:
        hall, city = say.common(halls), say.common(say.cities)
        name = say.common(names, 1.5) if say.chance(0.5) else say.text(2, 5).title()
        return {"entity": entity, "event": name, "place": f"{hall}, {city}", "date": say.date(2023, 2024)}

    def vary(one: Row) -> Row:
        hall, _, city = one["place"].partition(", ")
        name = f"{one['event']} {say.maybe(say.draw.choice(['Tour', 'live', '2024', 'Festival']), 0.3)}".strip()
        place = hall if say.chance(0.3) else f"{city}: {hall}" if say.chance(0.5) else one["place"]
        return {**one, "event": say.retype(name, 0.08), "place": say.retype(place, 0.05),
                "date": say.maybe(one["date"], 0.95)}  # fmt: skip

    return make, vary, "event,place,date"


def with_isbns(say: Town) -> Maker:
    """Books: an ISBN that half of the records have, authors as initials, subtitles left out."""
    authors = [say.person() for _ in range(400)]

    def make(entity: str) -> Row:
        title = say.text(1, 5).title() + (f": {say.text(2, 5)}" if say.chance(0.4) else "")
        return {"entity": entity, "title": title, "author": say.common(authors, 1.5),
                "year": str(say.draw.randint(1960, 2023)), "isbn": say.maybe("978" + say.digits(10), 0.6)}  # fmt: skip

    def vary(one: Row) -> Row:
        first, last = one["author"].split()
        author = f"{last}, {first[0]}." if say.chance(0.4) else say.retype(one["author"], 0.05)
        title = one["title"].partition(":")[0] if say.chance(0.3) else one["title"]
        isbn = one["isbn"] and f"{one['isbn'][:3]}-{one['isbn'][3:12]}-{one['isbn'][12]}"
        return {**one, "title": say.retype(title, 0.06), "author": author, "isbn": say.maybe(isbn, 0.7),
                "year": say.maybe(one["year"], 0.7)}  # fmt: skip

    return make, vary, "title,author,year,isbn"


def with_companies(say: Town) -> Maker:
    """Companies with name, address and phone: legal forms differ, branches share the name or the phone."""
    forms, trades = ["Ltd", "Inc", "GmbH", "LLC", "& Sons"], [say.text(1, 1).title() for _ in range(40)]
    known: list[Row] = []

    def make(entity: str) -> Row:
        name = f"{say.common(say.surnames, 1.5)} {say.common(trades)} {say.draw.choice(forms)}"
        address = f"{say.street()}, {say.common(say.cities)}"
        one = {"entity": entity, "name": name, "address": address, "phone": say.phone()}
        if known and say.chance(0.1):  # a branch of another one
            one["name"] = say.draw.choice(known)["name"]
        known.append(one)
        return one

    def vary(one: Row) -> Row:
        words = one["name"].split()
        name = " ".join(words[:2]) if say.chance(0.4) else f"{' '.join(words[:2])} {say.draw.choice(forms)}"
        phone = say.maybe(one["phone"] if say.chance(0.85) else say.phone(), 0.75)
        return {**one, "name": say.retype(name, 0.06), "address": say.shorten(one["address"]), "phone": phone}

    return make, vary, "name,address,phone"


MIXTURES: dict[str, Callable[[Town], Maker]] = {
    "people, jobs": with_jobs, "people, notes": with_notes, "people, addresses": with_addresses,
    "products, EAN": with_eans, "products, date": with_releases, "products, phone": with_sellers,
    "events": with_places, "books": with_isbns, "companies": with_companies,
}  # fmt: skip


def make_mixture(name: str, records: int, share: float, seed: int, tables: int) -> Case:
    """Two tables of `records` each, or one with as many; a share of the entities has two records."""
    say = Town(seed, records)
    make, vary, fields = MIXTURES[name](say)
    if tables == 2:
        return split_tables(records, share, make, vary, fields, say, seed)
    twice = int(share * records / 2)
    rows = [make(str(number)) for number in range(records - twice)]
    return one_table([*rows, *(vary(dict(one)) for one in rows[:twice])], fields, seed)


def link_by_tfidf(case: Case) -> set[tuple[str, str]]:
    """Mutual best partners by the TF-IDF of the trigrams of all fields together."""
    names = case.fields.split(",")
    sides = [table for table in (case.left, case.right) if table is not None]
    texts = [[" ".join(row[name] or "" for name in names) for row in side.to_pylist()] for side in sides]
    ids = [side["id"].to_pylist() for side in sides]
    return {(ids[0][i], ids[-1][j]) for i, j in best_by_tfidf(texts[0], texts[1] if len(sides) == 2 else None)}


def force_other(run: dict, two_tables: bool) -> str:
    """The fields with kinds that make lookalike score in the way that it did not choose."""
    fields, words = run["options"]["fields"], run["model"]["name"] == "words"
    kinds = {one["left"]: one["kind"] for one in fields}
    if words:
        kinds = {name: "person" if kind == "text" else kind for name, kind in kinds.items()}
    else:
        wordy = ("person", "address") if two_tables else ("person", "address", "code", "phone", "date", "email")
        kinds = {name: "text" if kind in wordy else kind for name, kind in kinds.items()}
    return ",".join(f"{name}:{kind}" for name, kind in kinds.items())


def judge(links: set[tuple[str, str]], truth: set[tuple[str, str]]) -> tuple[float, float]:
    """F1 and precision."""
    found, true = ({(min(pair), max(pair)) for pair in some} for some in (links, truth))
    right = len(found & true)
    return 2 * right / max(1, len(found) + len(true)), right / max(1, len(found))


def link_ours(case: Case, fields: str, labels: pa.Table | None = None) -> tuple[set[tuple[str, str]], dict]:
    """The links of lookalike (in one table, all pairs within its clusters), and its run record."""
    result = la.link(case.left, case.right, fields=fields, id="id", labels=labels)
    if case.right is not None:
        return set(zip(result.links["left"].to_pylist(), result.links["right"].to_pylist())), result.run
    groups: dict[int, list[str]] = {}
    for row in result.clusters.to_pylist():
        groups.setdefault(row["cluster"], []).append(row["id"])
    return {pair for ids in groups.values() for pair in combinations(ids, 2)}, result.run


def measure(case: Case) -> str:
    """A row of the table."""
    started = time.process_time()
    links, run = link_ours(case, case.fields)
    seconds = time.process_time() - started
    f1, precision = judge(links, case.truth)
    other = judge(link_ours(case, force_other(run, case.right is not None))[0], case.truth)[0]
    estimate = (run["precision"] or {}).get("estimate", float("nan"))
    kinds = " ".join(one["kind"] for one in run["options"]["fields"])
    figures = [f1, judge(link_by_tfidf(case), case.truth)[0], other, precision, estimate]
    shown = [run["model"]["name"], kinds, f"{len(case.truth):,}", f"{len(links):,}", *(f"{one:.3f}" for one in figures)]
    return " | ".join([*shown, f"{seconds:.1f}"])


def cases(records: int, shares: list[float], seeds: list[int], only: list[str]) -> Iterator[tuple[str, Case]]:
    """Every mixture, of two tables and of one."""
    for name in only or MIXTURES:
        for tables in (2, 1):
            for share in shares:
                for seed in seeds:
                    label = f"{name} | {'two tables' if tables == 2 else 'one table'} | {share:.0%}"
                    yield label, make_mixture(name, records, share, seed, tables)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--shares", default="0.5,0.1")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--only", default="", help="names of mixtures, separated by semicolons")
    given = parser.parse_args()
    print("| data | tables | share | model | kinds | matches | links | F1 | TF-IDF | other model | precision "
          "| estimated | processor s |\n|" + " --- |" * 13)  # fmt: skip
    shares, seeds = [float(one) for one in given.shares.split(",")], [int(one) for one in given.seeds.split(",")]
    for label, case in cases(given.records, shares, seeds, [one for one in given.only.split(";") if one]):
        print("|", label, "|", measure(case), "|", flush=True)


if __name__ == "__main__":
    main()
