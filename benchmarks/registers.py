"""Generated pairs of registers: drugs, species and companies, of which a name is nearly all that is known.

Used by `sources.py`.
"""

from __future__ import annotations

from catalogues import Case, Row
from trades import FORMS, TRADES, Thing, Trade, collect_things, split_things


def make_drugs(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two lists of drugs: strengths, packs and forms tell products apart; units and decimal marks differ."""
    say = Trade(seed)
    makers = [f"{say.title(1, 1)} {say.pick('Pharma', 'Labs', 'AG')}" for _ in range(40)]

    def substance() -> list[Thing]:
        name = say.text(1, 1) + say.pick("in", "ol", "ate", "one", "ide", "pril", "statin")
        found = {}
        for _ in range(say.draw.choice([1, 2, 3, 6])):
            strength, pack = (
                say.pick("0.5", "1", "2.5", "5", "10", "20", "50", "100", "250", "500"),
                say.pick("10", "28", "30", "100"),
            )
            one = {"name": name, "strength": strength, "pack": pack, "maker": say.pick(*makers),
                   "form": say.pick("tablet", "capsule", "film-coated tablet", "oral solution", "cream")}  # fmt: skip
            found[strength, pack, one["form"]] = one
        return list(found.values())

    def first(one: Thing) -> Row:
        return {"product": f"{one['name'].title()} {one['strength']} mg {one['form']}s, {one['pack']} pcs",
                "company": one["maker"]}  # fmt: skip

    def second(one: Thing) -> Row:
        strength = one["strength"].replace(".", say.pick(".", ","))
        form = say.pick(one["form"], one["form"][:3], one["form"].title())
        pack = say.pick(f"N{one['pack']}", f"x {one['pack']}", f"{one['pack']}")
        name = say.pick(
            f"{one['name'].upper()} {strength}MG {form} {pack}", f"{form} {one['name']} {strength} mg {pack}"
        )
        return {"product": name, "company": say.pick(one["maker"], one["maker"].split()[0], "")}

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), substance), (first, second), "product,company"
    )


def make_species(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two checklists: authors of a name in brackets or not, subspecies, epithets shared by many genera."""
    say = Trade(seed)
    epithets = [say.text(1, 1) + say.pick("us", "a", "um", "ensis", "oides", "ii") for _ in range(400)]
    people = [name.split()[1] for name in (say.person() for _ in range(120))]

    def genus() -> list[Thing]:
        name, family = (say.text(1, 1) + say.pick("us", "a", "ium", "ella")).title(), say.title(1, 1) + "idae"
        found = {}
        for _ in range(say.draw.choice([1, 2, 4, 8])):
            epithet = say.pick(*epithets)
            author, year = say.common(people, 2), str(say.draw.randint(1758, 1990))
            found[epithet] = {"name": f"{name} {epithet}", "author": author, "year": year, "family": family}
            if say.chance(0.1):
                found[f"{epithet} x"] = {**found[epithet], "name": f"{name} {epithet} {say.pick(*epithets)}"}
        return list(found.values())

    def first(one: Thing) -> Row:
        return {"scientific_name": f"{one['name']} {one['author']}, {one['year']}", "family": one["family"]}

    def second(one: Thing) -> Row:
        name = say.retype(one["name"], 0.04)
        author = say.pick("", f" ({one['author']}, {one['year']})", f" {one['author'][:4]}.", f" {one['author']}")
        return {"scientific_name": name + author, "family": say.maybe(one["family"].upper(), 0.8)}

    return split_things(
        say, sizes, share, collect_things(say, sum(sizes), genus), (first, second), "scientific_name,family"
    )


def make_companies(sizes: tuple[int, int], share: float, seed: int) -> Case:
    """Two registers of company names alone: legal forms differ or are left out, subsidiaries name their country."""
    say = Trade(seed)
    countries = ["Deutschland", "UK", "France", "USA", "International", "Europe", "Asia Pacific"]

    def group() -> list[Thing]:
        name = say.pick(say.common(say.surnames, 1.2), say.title(1, 2), say.upper(2, 4))
        name = f"{name} {say.pick(*TRADES, *TRADES, '')}"
        found = [{"name": name.strip(), "form": say.common(FORMS), "country": ""}]
        for country in say.draw.sample(countries, say.draw.choice([0] * 6 + [1, 2, 4])):
            found.append({**found[0], "country": country, "form": say.common(FORMS)})
        return found

    def first(one: Thing) -> Row:
        return {"name": " ".join(f"{one['name']} {one['country']} {one['form']}".split())}

    def second(one: Thing) -> Row:
        form = say.pick(one["form"], one["form"].upper(), "", say.common(FORMS))
        country = f"({one['country']})" if one["country"] and say.chance(0.5) else one["country"]
        name = " ".join(f"{say.retype(one['name'], 0.03)} {country} {form}".split())
        name = name.replace(" ", " & ", 1) if say.chance(0.03) else name
        return {"name": name.upper() if say.chance(0.4) else name}

    return split_things(say, sizes, share, collect_things(say, sum(sizes), group), (first, second), "name")
