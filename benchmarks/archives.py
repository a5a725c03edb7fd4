"""Generated tables of the shapes that archives, libraries and shops have.

Many records of an entity, tables of very different sizes, lists of actors: large counterparts of `catalogues.py`, whose
words and errors they are made of.

    python benchmarks/archives.py OUT --kind figures --scale 1
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from catalogues import LETTERS, Case, Language, Row, make_cds, one_table, two_tables

TITLES = ["", "", "", "", "Sir", "Captain", "Dr", "Rev"]
SUFFIXES = ["", "", "", "", "1st Baronet", "Jr", "2nd Earl of {}", "of {}"]


class Archive(Language):
    """Draws historical people, and the records that chroniclers make of them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.places = [self.text(1, 2).title() for _ in range(1_500)]
        self.jobs = [self.text(1, 2) for _ in range(200)]

    def code(self) -> str:
        """A postcode; the second half is of a street."""
        draw = self.draw
        return f"{draw.choice(LETTERS)}{draw.choice(LETTERS)}{draw.randint(1, 40)}"

    def street(self) -> str:
        """The second half of a postcode."""
        draw = self.draw
        return f"{draw.randint(1, 9)}{draw.choice(LETTERS)}{draw.choice(LETTERS)}"

    def figure(self) -> Row:
        """A person as in an encyclopaedia."""
        draw, place = self.draw, self.common(self.places)
        given, surname = self.person().split()
        middle = f" {self.common(self.given)}" if self.chance(0.3) else ""
        title, suffix = draw.choice(TITLES), draw.choice(SUFFIXES).format(place)
        full = " ".join(f"{title} {given}{middle} {surname} {suffix}".split())
        born = f"{draw.randint(1550, 1900)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        return {"full_name": full, "first_name": given, "surname": surname, "dob": born, "birth_place": place,
                "postcode": f"{self.code()} {self.street()}", "gender": draw.choice("mmmf"),
                "occupation": self.common(self.jobs)}  # fmt: skip

    def chronicle(self, one: Row, worn: float) -> Row:
        """A record of a person in which each value is varied, wrong or missing with about this chance."""
        row, draw = dict(one), self.draw
        if self.chance(worn):
            row["first_name"] = draw.choice([self.mistype(one["first_name"]), one["first_name"][0],
                                             self.common(self.given), one["first_name"][:3]])  # fmt: skip
        if self.chance(worn):
            row["surname"] = draw.choice([self.mistype(one["surname"]), self.mistype(self.mistype(one["surname"])),
                                          self.common(self.surnames)])  # fmt: skip
        if self.chance(0.1 * worn):
            row["first_name"], row["surname"] = row["surname"], row["first_name"]
        row["full_name"] = one["full_name"].replace(one["first_name"], row["first_name"], 1)
        row["full_name"] = row["full_name"].replace(one["surname"], row["surname"], 1)
        if self.chance(worn):
            year, month, day = one["dob"].split("-")
            row["dob"] = draw.choice([f"{int(year) + draw.randint(-5, 5)}-{month}-{day}", f"{year}-01-01", f"{year}",
                                      f"{year}-{day if int(day) < 13 else month}-{month}", "", ""])  # fmt: skip
        if self.chance(worn):
            row["birth_place"] = draw.choice([self.mistype(one["birth_place"]), self.common(self.places), ""])
        if self.chance(2 * worn):
            code = one["postcode"].split()[0] if self.chance(0.7) else self.code()
            row["postcode"] = f"{code} {self.street()}" if self.chance(0.8) else ""
        if self.chance(worn / 3):
            row["gender"] = ""
        if self.chance(2 * worn):
            row["occupation"] = "" if self.chance(0.7) else self.common(self.jobs)
        row["first_and_surname"] = f"{row['first_name']} {row['surname']}"
        return row


def make_figures(scale: float, seed: int) -> Case:
    """One table of 50,000 records of some 5,000 historical people, 1 to 20 each; the later ones are worn."""
    say = Archive(seed)
    rows: list[Row] = []
    while len(rows) < int(50_000 * scale):
        one, entity = say.figure(), str(len(rows))
        worn = [0.05 + 0.5 * number / 20 for number in range(say.draw.randint(1, 20))]
        rows += [{"entity": entity, **say.chronicle(one, share)} for share in worn]
    return one_table(rows, "first_and_surname:person,dob,birth_place,postcode,occupation", seed)


def make_electronics(scale: float, seed: int) -> Case:
    """2,554 and 22,074 products of a small and a large shop, of which 1,000 are in both; accessories name a product."""
    say = Language(seed)
    brands = [say.text(1, 1) for _ in range(300)]
    kinds = [say.text(1, 3) for _ in range(250)]
    colours = say.words[:15]
    few, many, both = (int(scale * size) for size in (2_554, 22_074, 1_000))

    def product(entity: str) -> Row:
        draw, brand, kind = say.draw, say.common(brands), say.common(kinds, 1.5)
        model = "".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 4))) + str(draw.randint(10, 99_999))
        model += draw.choice(["", "", "", draw.choice(LETTERS), f"-{draw.choice(LETTERS)}{draw.randint(1, 9)}"])
        size = f"{draw.choice([2, 4, 8, 15, 16, 17, 32, 64, 500])}{draw.choice(['gb', 'inch', 'ft', 'pack'])}"
        words = f"{brand} {say.text(1, 3)} {size if say.chance(0.5) else ''} {kind} {say.common(colours)}"
        return {"entity": entity, "title": " ".join(words.split()), "category": kind, "brand": brand,
                "modelno": model, "price": f"{draw.lognormvariate(3.7, 1.1):.2f}"}  # fmt: skip

    def small(one: Row) -> Row:
        row = {**one, "category": f"{one['category']} - {say.common(kinds)}"}
        if say.chance(0.4):
            row["title"] += f" {one['modelno']}"
        for field, share in (("modelno", 0.15), ("price", 0.05), ("brand", 0.03)):
            if say.chance(share):
                row[field] = ""
        return row

    def large(one: Row) -> Row:
        words = [word for word in one["title"].split() if say.chance(0.8)] + say.text(0, 6).split()
        if say.chance(0.3):
            say.draw.shuffle(words)
        if say.chance(0.5):
            words.insert(say.draw.randint(0, len(words)), one["modelno"])
        code = (
            one["modelno"]
            if say.chance(0.6)
            else say.draw.choice(
                [one["modelno"].replace("-", ""), one["modelno"].upper() + "#ABA", one["modelno"][:-1]]
            )
        )
        price = f"{float(one['price']) * say.draw.uniform(0.6, 1.3):.2f}"
        return {"entity": one["entity"], "title": " ".join(words), "category": say.common(kinds) if say.chance(0.4) else
                one["category"], "brand": one["brand"] if say.chance(0.85) else "",
                "modelno": code if say.chance(0.65) else "", "price": price if say.chance(0.7) else ""}  # fmt: skip

    every = [product(str(number)) for number in range(few + many - both)]
    for one in every[few:]:  # accessories and variants in the large shop
        if say.chance(0.25):
            other = say.draw.choice(every)
            one["title"] = f"{other['title']} {say.text(1, 2)}"
            one["brand"] = other["brand"] if say.chance(0.5) else one["brand"]
    left = [small(one) for one in every[:few]]
    right = [large(one) for one in [*every[:both], *every[few:]]]
    return two_tables(left, right, "title:text,category,brand,modelno,price", seed)


def make_libraries(scale: float, seed: int, copies: tuple[int, ...] = (1,)) -> Case:
    """2,616 clean citations and 64,263 of a crawler: cut titles, initials, missing years and venues, garbage.

    `copies` are the numbers of crawled records of a cited paper, one of which is drawn for each.
    """
    say = Language(seed)
    people = [say.person() for _ in range(8_000)]
    venues = [say.text(3, 6).title() for _ in range(40)]
    few, many = int(2_616 * scale), int(64_263 * scale)

    def paper(entity: str) -> Row:
        authors = ", ".join(say.common(people, 1.5) for _ in range(say.draw.randint(1, 5)))
        return {"entity": entity, "title": say.text(4, 11).capitalize(), "authors": authors,
                "venue": say.common(venues), "year": str(say.draw.randint(1990, 2005))}  # fmt: skip

    def crawl(one: Row) -> Row:
        draw, title = say.draw, say.retype(one["title"], 0.06)
        authors = [f"{name[0]} {name.split()[1]}" for name in one["authors"].split(", ")]
        if say.chance(0.15):
            authors = authors[: draw.randint(0, len(authors))]
        if say.chance(0.08):
            title = " ".join(title.split()[: draw.randint(3, 8)])
        if say.chance(0.05):
            title = f"{say.text(1, 3)}, {title}"
        venue = draw.choice([one["venue"], "".join(word[0] for word in one["venue"].split()), "", "",
                             say.common(venues), f"Proc {one['venue']} {one['year']}"])  # fmt: skip
        return {"entity": one["entity"], "title": title, "authors": ", ".join(authors), "venue": venue,
                "year": one["year"] if say.chance(0.45) else ""}  # fmt: skip

    left = [paper(str(number)) for number in range(few)]
    right = [crawl(one) for one in left[: int(0.9 * few)] for _ in range(say.draw.choice(copies))]
    for number in range(many - len(right)):
        one = paper(f"x{number}")
        if say.chance(0.03):  # the longer version of a paper, or its successor, by the same authors
            other = say.draw.choice(left)
            one |= {"title": f"{other['title']} {say.text(2, 4)}", "authors": other["authors"]}
        right.append(crawl(one))
    return two_tables(left, right, "title:text,authors:text,venue:text,year", seed)


def make_cited(scale: float, seed: int) -> Case:
    """The same, with one to six crawled records of each paper."""
    return make_libraries(scale, seed, copies=(1, 1, 2, 2, 3, 6))


def make_casts(scale: float, seed: int) -> Case:
    """27,000 and 23,000 films by title and actors, 20,000 in both: remakes, other titles, few actors in common."""
    say = Language(seed)
    actors = [say.person() for _ in range(40_000)]
    few, many, both = (int(scale * size) for size in (27_000, 23_000, 20_000))
    titles: list[str] = []

    def film(entity: str) -> Row:
        title = say.text(1, 4).title()
        if titles and say.chance(0.15):
            title = say.draw.choice(titles) + say.draw.choice(["", "", "", " II", " 2", " Returns"])
        titles.append(title)
        cast = "|".join(say.common(actors, 2.2) for _ in range(say.draw.randint(1, 8)))
        return {"entity": entity, "title": title, "actors": cast if say.chance(0.85) else ""}

    def other(one: Row) -> Row:
        cast = [name for name in one["actors"].split("|") if name and say.chance(0.45)]
        cast += [say.common(actors, 2.2) for _ in range(say.draw.randint(0, 2))]
        say.draw.shuffle(cast)
        title = say.text(1, 4).title() if say.chance(0.1) else say.retype(one["title"], 0.03)
        if say.chance(0.12):
            title += say.draw.choice([" (film)", f" ({say.draw.randint(1930, 2005)} film)"])
        return {"entity": one["entity"], "title": title, "actors": ", ".join(cast) if say.chance(0.75) else ""}

    every = [film(str(number)) for number in range(few + many - both)]
    right = [other(one) for one in [*every[:both], *every[few:]]]
    return two_tables(every[:few], right, "title:text,actors:text", seed)


def make_discs(scale: float, seed: int) -> Case:
    """9,763 CDs in one table, 300 of them twice."""
    records = int(9_763 * scale)
    return make_cds(records, 600 / 9_763, seed)


SHAPES: dict[str, Callable[[float, int], Case]] = {
    "figures": make_figures, "electronics": make_electronics, "libraries": make_libraries, "cited": make_cited,
    "casts": make_casts, "discs": make_discs,
}  # fmt: skip


def main() -> None:
    """Write the tables of a shape and its truth to a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", choices=sorted(SHAPES), required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    case = SHAPES[given.kind](given.scale, given.seed)
    pq.write_table(case.left, given.out / "a.parquet")
    if case.right is not None:
        pq.write_table(case.right, given.out / "b.parquet")
    truth = sorted(case.truth)
    pq.write_table(pa.table({side: [pair[at] for pair in truth] for at, side in enumerate(("left", "right"))}),
                   given.out / "truth.parquet")  # fmt: skip


if __name__ == "__main__":
    main()
